"""Law 4: convolutional encoders and decoders equal the equations of their papers in numpy."""

from typing import Any

import numpy as np
import torch
from numpy.testing import assert_allclose
from torch import nn

from laws.numpy_reference import Array, array, half_padded, sequence, sigmoid, softmax
from weft.models.convs2s import ConvS2SDecoder, ConvS2SEncoder
from weft.models.encoders.convolutional import ConvolutionalEncoder
from weft.models.kalchbrenner import KalchbrennerDecoder, KalchbrennerEncoder
from weft.nn.convolution import ConvLayerGroup, WeightNormLinear
from weft.nn.encoder_memory import Memory, MemorySizes

HALF = np.sqrt(0.5)
LENGTHS = (6, 3)


def with_random_weights(module: nn.Module) -> Any:
    """Return the module in float64 with random weights in place of the initial ones."""
    torch.manual_seed(2)
    for weight in module.parameters():
        nn.init.normal_(weight, std=0.5)
    return module.double().eval()


def apply_linear(linear: Any, x: Array) -> Array:
    """W x + b, with W = g v / |v| if the layer has weight normalization."""
    if isinstance(linear, WeightNormLinear):
        v = array(linear.direction)
        weight = array(linear.length)[:, None] * v / np.sqrt((v**2).sum(1, keepdims=True))
    else:
        weight = array(linear.weight)
    result: Array = x @ weight.T + array(linear.bias)
    return result


def apply_skip(skip: nn.Module, x: Array) -> Array:
    return apply_linear(skip, x) if isinstance(skip, WeightNormLinear) else x


def gated_linear_unit(x: Array) -> Array:
    a, b = np.split(x, 2, -1)
    result: Array = a * sigmoid(b)
    return result


def windows(x: Array, width: int, before: int) -> Array:
    """Return for each row the window of `width` rows that starts `before` rows above it, padded with zeros."""
    wide = np.concatenate([np.zeros((before, x.shape[1])), x, np.zeros((width - 1 - before, x.shape[1]))])
    return np.array([wide[first : first + width].flatten() for first in range(len(x))])


def test_convs2s_encoder_equals_paper_equations() -> None:
    encoder = with_random_weights(
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
        h = apply_linear(encoder.input_map, e)
        for layer, kernel in zip(encoder.layers, (3, 1, 5), strict=True):
            y = gated_linear_unit(apply_linear(layer.convolution.linear, windows(h, kernel, kernel // 2)))
            h = (y + apply_skip(layer.skip, h)) * HALF
        z = apply_linear(encoder.output_map, h)
        assert_allclose(array(memory.keys)[row, :length], z, atol=1e-10)
        assert_allclose(array(memory.values)[row, :length], (z + e) * HALF, atol=1e-10)


def test_convs2s_decoder_equals_paper_equations() -> None:
    decoder = with_random_weights(
        ConvS2SDecoder(6, MemorySizes(6, 7), layers=1, dim=4, upper_layers=(ConvLayerGroup(dim=5, kernel_size=2),))
    )
    annotations, x = half_padded(2, 6, 6), sequence(2, 4, 6).data
    values = torch.randn(2, 6, 7, dtype=torch.float64)
    output, _ = decoder(x, decoder.start(Memory(annotations.data, values, annotations.mask)))
    for row, length in enumerate(LENGTHS):
        z, value, g = array(annotations.data)[row, :length], array(values)[row, :length], array(x)[row]
        u, attention = apply_linear(decoder.input_map, g), []
        for layer, kernel in zip(decoder.layers, (3, 2), strict=True):
            h = gated_linear_unit(apply_linear(layer.convolution.linear, windows(u, kernel, kernel - 1)))
            d = (apply_linear(layer.query, h) + g) * HALF
            a = softmax(d @ z.T)
            c = length * np.sqrt(1 / length) * (a @ value)
            u = ((h + apply_linear(layer.context, c)) * HALF + apply_skip(layer.skip, u)) * HALF
            attention.append(a)
        assert_allclose(array(output.hidden)[row], apply_linear(decoder.output_map, u), atol=1e-10)
        assert_allclose(array(output.attention)[row, :, :length], np.mean(attention, 0), atol=1e-10)


def test_convolutional_encoder_equals_paper_equations() -> None:
    encoder = with_random_weights(
        ConvolutionalEncoder(6, layers=2, dim=8, kernel_sizes=(1, 4), value_layers=1, activation="tanh")
    )
    x = half_padded(2, 6, 6)
    memory = encoder(x)
    for row, length in enumerate(LENGTHS):
        for tower, actual in ((encoder.keys, memory.keys), (encoder.values, memory.values)):
            h = array(x.data)[row, :length]
            for layer in tower.layers:
                narrow, wide = layer.convolutions
                y = np.tanh(np.concatenate([apply_linear(narrow, h), apply_linear(wide, windows(h, 4, 1))], -1))
                h = y + h if h.shape == y.shape else y
            assert_allclose(array(actual)[row, :length], h, atol=1e-10)


def test_kalchbrenner_encoder_equals_paper_equations() -> None:
    """Six columns become 5 (kernel size 2), 3 (kernel size 3), then one by L^3; three become 2, then one by L^2."""
    encoder = with_random_weights(KalchbrennerEncoder(6, layers=3))
    x = half_padded(2, 6, 6)
    memory = encoder(x)
    for row, kernels, remaining in ((0, (0, 1), 3), (1, (0,), 2)):
        columns = array(x.data)[row, : LENGTHS[row]]
        for number in kernels:
            weight, bias = array(encoder.kernels[number].weight)[:, 0].T, array(encoder.kernels[number].bias)
            count = len(columns) - len(weight) + 1
            columns = np.array([np.tanh((columns[t : t + len(weight)] * weight).sum(0) + bias) for t in range(count)])
        assert len(columns) == remaining
        s = np.tanh((columns * array(encoder.tops)[remaining - 1, :, :remaining].T).sum(0))
        assert_allclose(array(memory.keys)[row, 0], s, atol=1e-10)
        assert_allclose(array(memory.final[0][0][0])[row], s, atol=1e-10)


def test_kalchbrenner_decoder_equals_paper_equations() -> None:
    decoder = with_random_weights(KalchbrennerDecoder(6, MemorySizes(4, 4)))
    x, s = sequence(2, 3, 6).data, torch.randn(2, 1, 4, dtype=torch.float64)
    output, _ = decoder(x, decoder.start(Memory(s, s, torch.ones(2, 1, dtype=torch.bool))))
    w, b = array(decoder.cell.inputs.input.weight), array(decoder.cell.inputs.bias)
    r = array(decoder.cell.recurrence.matrix.weight)
    h = np.zeros((2, decoder.dim))
    for t in range(3):
        h = np.tanh(array(x)[:, t] @ w[:, :6].T + h @ r.T + array(s)[:, 0] @ w[:, 6:].T + b)
        assert_allclose(array(output.hidden)[:, t], h, atol=1e-10)
