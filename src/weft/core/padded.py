"""Padded batches: sequences of different lengths in one tensor with a mask (True = real position)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from weft.core.special_tokens import PAD


class Padded(NamedTuple):
    """data: ids [B,T] or vectors [B,T,D]; mask: [B,T] bool, real positions first."""

    data: Tensor
    mask: Tensor

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[int]]) -> Padded:
        """Pad rows of ids at the end, to the length of the longest."""
        lengths = torch.tensor([len(row) for row in rows])
        mask = torch.arange(int(lengths.max())) < lengths[:, None]
        data = torch.full(mask.shape, PAD)
        data[mask] = torch.tensor([token for row in rows for token in row], dtype=torch.long)
        return cls(data, mask)

    @classmethod
    def unpadded(cls, data: Tensor) -> Padded:
        """Wrap rows of equal length."""
        return cls(data, torch.ones(data.shape[:2], dtype=torch.bool, device=data.device))

    def with_data(self, data: Tensor) -> Padded:
        return Padded(data, self.mask)

    def lengths(self) -> Tensor:
        """Return the number of real positions of each row [B]."""
        return self.mask.sum(1)

    def reverse(self) -> Padded:
        """Reverse the real positions of each row; the padding stays at the end."""
        positions = torch.arange(self.mask.shape[1], device=self.mask.device)
        mirrored = self.lengths()[:, None] - 1 - positions  # [B,T], negative in the padding
        index = torch.where(self.mask, mirrored, positions)
        if self.data.dim() == 3:
            return self.with_data(self.data.gather(1, index[:, :, None].expand_as(self.data)))
        return self.with_data(self.data.gather(1, index))

    def bias(self, dtype: torch.dtype) -> Tensor:
        """Return [B,T], 0 where real and -inf in the padding, to add to scores before a softmax."""
        return torch.zeros_like(self.mask, dtype=dtype).masked_fill_(~self.mask, float("-inf"))

    def to(self, device: torch.device | str) -> Padded:
        return Padded(to_device(self.data, device), to_device(self.mask, device))


def to_device(tensor: Tensor, device: torch.device | str) -> Tensor:
    """Copy a tensor to the device; to a GPU asynchronously, from pinned memory (CUDA keeps the order)."""
    if torch.device(device).type != "cuda" or tensor.device.type != "cpu":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


def upcast(tensor: Tensor) -> Tensor:
    """Return half-precision tensors as float32, as logarithms, losses and long sums need them."""
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))
