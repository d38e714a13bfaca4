"""All that a model says of an output at once, where no step follows from another; and what reads it."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class Frames(NamedTuple):
    """What each frame says of the classes, log_probs [B,F,C]; mask [B,F], True = real.

    With a blank (connectionist temporal classification) C is the vocabulary and one class more, the last, for "no
    token"; without one, frame i is the i-th token of the output, its END included. `lengths` [B,L] are the
    log-probabilities of an output of 0 ... L - 1 tokens, END not counted; None: the frames themselves tell.
    """

    log_probs: Tensor
    mask: Tensor
    lengths: Tensor | None = None
