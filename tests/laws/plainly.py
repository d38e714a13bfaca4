"""What the equations of papers are written with in plain numpy, and sequences to try them on."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from weft.core.padded import Padded

Array = NDArray[np.float64]


def array(tensor: Tensor) -> Array:
    plain: Array = tensor.detach().numpy()
    return plain


def sigmoid(x: Array) -> Array:
    gate: Array = 1 / (1 + np.exp(-x))
    return gate


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    shares: Array = e / e.sum(-1, keepdims=True)
    return shares


def sequence(*shape: int) -> Padded:
    torch.manual_seed(1)
    return Padded(torch.randn(*shape, dtype=torch.float64), torch.ones(shape[:2], dtype=torch.bool))


def half_padded(*shape: int) -> Padded:
    """A second row of three."""
    x = sequence(*shape)
    x.mask[1, 3:] = False
    return x
