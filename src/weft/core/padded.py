"""Sequences of different lengths in one tensor, with the only mask convention: True = real."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from weft.core.marks import PAD


class Padded(NamedTuple):
    """data: ids [B,T] or vectors [B,T,D]; mask: [B,T] bool, real positions first."""

    data: Tensor
    mask: Tensor

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> Padded:
        """Rows of ids, padded at the end to the longest."""
        lengths = torch.tensor([len(row) for row in rows])
        mask = torch.arange(int(lengths.max())) < lengths[:, None]
        data = torch.full(mask.shape, PAD)
        data[mask] = torch.tensor([token for row in rows for token in row], dtype=torch.long)
        return cls(data, mask)

    @classmethod
    def whole(cls, data: Tensor) -> Padded:
        """Rows of one length: nothing is padding."""
        return cls(data, torch.ones(data.shape[:2], dtype=torch.bool, device=data.device))

    def with_data(self, data: Tensor) -> Padded:
        return Padded(data, self.mask)

    def lengths(self) -> Tensor:
        """[B], the number of real positions of each row."""
        return self.mask.sum(1)

    def reverse(self) -> Padded:
        """Each row's real positions in the opposite order; the padding stays at the end."""
        positions = torch.arange(self.mask.shape[1], device=self.mask.device)
        mirrored = self.lengths()[:, None] - 1 - positions  # [B,T], negative in the padding
        index = torch.where(self.mask, mirrored, positions)
        if self.data.dim() == 3:
            return self.with_data(self.data.gather(1, index[:, :, None].expand_as(self.data)))
        return self.with_data(self.data.gather(1, index))

    def bias(self, dtype: torch.dtype) -> Tensor:
        """[B,T], 0 where real and minus infinity in the padding: added to scores before a softmax."""
        return torch.zeros_like(self.mask, dtype=dtype).masked_fill_(~self.mask, float("-inf"))

    def to(self, device: torch.device | str) -> Padded:
        return Padded(moved(self.data, device), moved(self.mask, device))


def moved(tensor: Tensor, device: torch.device | str) -> Tensor:
    """On the device; to a GPU from pinned memory, so that nobody waits for the copy (CUDA keeps the order)."""
    if torch.device(device).type != "cuda" or tensor.device.type != "cpu":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)
