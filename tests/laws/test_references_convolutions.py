"""Law 4: convolutional encoders and decoders equal a plain writing of their papers."""

from typing import Any

import numpy as np
import torch
from numpy.testing import assert_allclose
from torch import nn

from laws.plainly import Array, array, half_padded, sequence, sigmoid, softmax
from weft.models.convs2s import ConvS2SDecoder, ConvS2SEncoder
from weft.models.encoders.convolutional import ConvolutionalEncoder
from weft.models.kalchbrenner import KalchbrennerDecoder, KalchbrennerEncoder
from weft.nn.convolution import ConvLayerGroup, WeightNormLinear
from weft.nn.memory import Memory, MemorySizes

HALF = np.sqrt(0.5)
LENGTHS = (6, 3)


def scattered(module: nn.Module) -> Any:
    """The module in float64, with all weights away from where they start."""
    torch.manual_seed(2)
    for weight in module.parameters():
        nn.init.normal_(weight, std=0.5)
    return module.double().eval()


def mapped(linear: Any, x: Array) -> Array:
    """W x + b, by a plain map or a normed one: W = g v / |v|."""
    if isinstance(linear, WeightNormLinear):
        v = array(linear.direction)
        weight = array(linear.length)[:, None] * v / np.sqrt((v**2).sum(1, keepdims=True))
    else:
        weight = array(linear.weight)
    result: Array = x @ weight.T + array(linear.bias)
    return result


def passed(skip: nn.Module, x: Array) -> Array:
    return mapped(skip, x) if isinstance(skip, WeightNormLinear) else x


def gated(x: Array) -> Array:
    a, b = np.split(x, 2, -1)
    result: Array = a * sigmoid(b)
    return result


def windows(x: Array, width: int, before: int) -> Array:
    """The `width` neighbours of each row, beginning `before` rows above it; zeros past the ends."""
    wide = np.concatenate([np.zeros((before, x.shape[1])), x, np.zeros((width - 1 - before, x.shape[1]))])
    return np.array([wide[first : first + width].flatten() for first in range(len(x))])


def test_the_convs2s_encoder_is_the_papers() -> None:
    encoder = scattered(
        ConvS2SEncoder(
            6,
            layers=1,
            dim=4,
            upper_layers=(ConvLayerGroup(dim=5, kernel_size=1), ConvLayerGroup(dim=5, kernel_size=5)),
        )
    )
    x = half_padded(2, 6, 6)
    memory = encoder(x)
    for row, length in enumerate(LENGTHS):
        e = array(x.data)[row, :length]
        h = mapped(encoder.input_map, e)
        for layer, kernel in zip(encoder.layers, (3, 1, 5), strict=True):
            y = gated(mapped(layer.convolution.linear, windows(h, kernel, kernel // 2)))
            h = (y + passed(layer.skip, h)) * HALF
        z = mapped(encoder.output_map, h)
        assert_allclose(array(memory.keys)[row, :length], z, atol=1e-10)
        assert_allclose(array(memory.values)[row, :length], (z + e) * HALF, atol=1e-10)


def test_the_convs2s_decoder_is_the_papers() -> None:
    decoder = scattered(
        ConvS2SDecoder(6, MemorySizes(6, 7), layers=1, dim=4, upper_layers=(ConvLayerGroup(dim=5, kernel_size=2),))
    )
    annotations, x = half_padded(2, 6, 6), sequence(2, 4, 6).data
    values = torch.randn(2, 6, 7, dtype=torch.float64)
    output, _ = decoder(x, decoder.start(Memory(annotations.data, values, annotations.mask)))
    for row, length in enumerate(LENGTHS):
        z, value, g = array(annotations.data)[row, :length], array(values)[row, :length], array(x)[row]
        u, looks = mapped(decoder.input_map, g), []
        for layer, kernel in zip(decoder.layers, (3, 2), strict=True):
            h = gated(mapped(layer.convolution.linear, windows(u, kernel, kernel - 1)))
            d = (mapped(layer.query, h) + g) * HALF
            a = softmax(d @ z.T)
            c = length * np.sqrt(1 / length) * (a @ value)
            u = ((h + mapped(layer.context, c)) * HALF + passed(layer.skip, u)) * HALF
            looks.append(a)
        assert_allclose(array(output.hidden)[row], mapped(decoder.output_map, u), atol=1e-10)
        assert_allclose(array(output.attention)[row, :, :length], np.mean(looks, 0), atol=1e-10)


def test_the_convolutional_encoder_is_the_papers() -> None:
    encoder = scattered(
        ConvolutionalEncoder(6, layers=2, dim=8, kernel_sizes=(1, 4), value_layers=1, activation="tanh")
    )
    x = half_padded(2, 6, 6)
    memory = encoder(x)
    for row, length in enumerate(LENGTHS):
        for tower, found in ((encoder.keys, memory.keys), (encoder.values, memory.values)):
            h = array(x.data)[row, :length]
            for layer in tower.layers:
                one, four = layer.convolutions
                y = np.tanh(np.concatenate([mapped(one, h), mapped(four, windows(h, 4, 1))], -1))
                h = y + h if h.shape == y.shape else y
            assert_allclose(array(found)[row, :length], h, atol=1e-10)


def test_the_sentence_model_is_the_papers() -> None:
    """Six columns become 5 (kernel of 2), 3 (kernel of 3), and one through L^3; three become 2, and one through L^2."""
    encoder = scattered(KalchbrennerEncoder(6, layers=3))
    x = half_padded(2, 6, 6)
    memory = encoder(x)
    for row, kernels, left in ((0, (0, 1), 3), (1, (0,), 2)):
        columns = array(x.data)[row, : LENGTHS[row]]
        for number in kernels:
            weight, bias = array(encoder.kernels[number].weight)[:, 0].T, array(encoder.kernels[number].bias)
            count = len(columns) - len(weight) + 1
            columns = np.array([np.tanh((columns[t : t + len(weight)] * weight).sum(0) + bias) for t in range(count)])
        assert len(columns) == left
        s = np.tanh((columns * array(encoder.tops)[left - 1, :, :left].T).sum(0))
        assert_allclose(array(memory.keys)[row, 0], s, atol=1e-10)
        assert_allclose(array(memory.final[0][0][0])[row], s, atol=1e-10)


def test_the_decoder_given_a_sentence_vector_is_the_papers() -> None:
    decoder = scattered(KalchbrennerDecoder(6, MemorySizes(4, 4)))
    x, s = sequence(2, 3, 6).data, torch.randn(2, 1, 4, dtype=torch.float64)
    output, _ = decoder(x, decoder.start(Memory(s, s, torch.ones(2, 1, dtype=torch.bool))))
    w, b = array(decoder.cell.inputs.input.weight), array(decoder.cell.inputs.bias)
    r = array(decoder.cell.recurrence.matrix.weight)
    h = np.zeros((2, decoder.dim))
    for t in range(3):
        h = np.tanh(array(x)[:, t] @ w[:, :6].T + h @ r.T + array(s)[:, 0] @ w[:, 6:].T + b)
        assert_allclose(array(output.hidden)[:, t], h, atol=1e-10)
