"""Numpy functions for the equations of papers, and input sequences."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from weft.core.padded import Padded

Array = NDArray[np.float64]


def array(tensor: Tensor) -> Array:
    result: Array = tensor.detach().numpy()
    return result


def sigmoid(x: Array) -> Array:
    result: Array = 1 / (1 + np.exp(-x))
    return result


def softmax(x: Array) -> Array:
    exponentials = np.exp(x - x.max(-1, keepdims=True))
    result: Array = exponentials / exponentials.sum(-1, keepdims=True)
    return result


def sequence(*shape: int) -> Padded:
    torch.manual_seed(1)
    return Padded(torch.randn(*shape, dtype=torch.float64), torch.ones(shape[:2], dtype=torch.bool))


def half_padded(*shape: int) -> Padded:
    """Return a sequence whose second row has three unpadded positions."""
    x = sequence(*shape)
    x.mask[1, 3:] = False
    return x
