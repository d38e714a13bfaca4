"""Helpers for workers of engines written in torch."""

from __future__ import annotations

import torch
from benchmarks.beam_search.job import Job
from benchmarks.beam_search.workers.worker import Arrays
from torch import Tensor, nn


def fill(model: nn.Module, arrays: Arrays) -> None:
    """Copy the arrays into the model; raise ValueError unless names and shapes match."""
    parameters = dict(model.named_parameters())
    places = parameters | dict(model.named_buffers())
    wrong = (parameters.keys() - arrays.keys()) | (arrays.keys() - places.keys())
    if wrong:
        raise ValueError(f"names that one has and the other has not: {sorted(wrong)}")
    with torch.no_grad():
        for name, array in arrays.items():
            if places[name].shape != array.shape:
                raise ValueError(f"{name}: got {array.shape}, expected {tuple(places[name].shape)}")
            places[name].copy_(torch.from_numpy(array))


def pad_batch(rows: list[list[int]], job: Job) -> tuple[Tensor, Tensor]:
    """Return the rows [B,S] with EOS and padding, and their lengths [B]."""
    ended = [torch.tensor([*row, job.end]) for row in rows]
    return nn.utils.rnn.pad_sequence(ended, batch_first=True, padding_value=job.pad), torch.tensor(
        list(map(len, ended))
    )
