"""Law 4: the image encoder equals its equation in numpy."""

import numpy as np
import torch
from numpy.typing import NDArray

from weft.core.padded import Padded
from weft.models.encoders.image_cnn import ImageConvLayer, ImageEncoder

Array = NDArray[np.float64]


def test_image_encoder_equals_equation() -> None:
    torch.manual_seed(1)
    encoder = ImageEncoder(7, layers=3, channels=2, subsampling=2, dim=5).double()
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    columns = torch.rand(1, 9, 7, dtype=torch.float64)
    image = columns[0].numpy()[None]  # [C,T,H]
    for layer in encoder.layers:
        image = np.maximum(normalize(convolve(image, layer), layer), 0)
    vectors = np.moveaxis(image, 0, -1).reshape(image.shape[1], -1)
    weight, bias = encoder.project.weight.detach().numpy(), encoder.project.bias.detach().numpy()
    expected = vectors @ weight.T + bias
    np.testing.assert_allclose(encoder(Padded.unpadded(columns)).keys[0].detach().numpy(), expected, atol=1e-12)


def convolve(image: Array, layer: ImageConvLayer) -> Array:
    """y_c(t,h) = sum_{k,i,j} w_{c,k}(i,j) x_k(s t+i-1, 2 h+j-1), x = 0 outside."""
    weight: Array = layer.convolution.weight.detach().numpy()
    times, heights = -(-image.shape[1] // layer.stride), -(-image.shape[2] // 2)
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1)))
    result = np.zeros((len(weight), times, heights))
    for time in range(times):
        for height in range(heights):
            left, top = layer.stride * time, 2 * height
            window = padded[:, left : left + 3, top : top + 3]
            result[:, time, height] = (weight * window).sum((1, 2, 3))
    return result


def normalize(image: Array, layer: ImageConvLayer) -> Array:
    """Normalize over the channels of each pixel."""
    gain, shift = (part.detach().numpy()[:, None, None] for part in (layer.norm.weight, layer.norm.bias))
    centered = image - image.mean(0)
    result: Array = gain * centered / np.sqrt((centered**2).mean(0) + layer.norm.eps) + shift
    return result
