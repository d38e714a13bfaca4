"""The learning rate as a function of the step, counted from 1."""

import math
from typing import Protocol

from weft.core.types import Count, Positive, Share, Whole


class Schedule(Protocol):
    """Made as Schedule(steps, ...), steps = the length of the whole run.

    open: in this first share of the run the rates are the same however long it is; so the length may be fixed later.
    """

    @property
    def open(self) -> float: ...

    def __call__(self, step: int) -> float: ...


class InverseSquareRoot:
    """peak min(s / w, sqrt(w / s)). Vaswani et al. 2017, equation 3."""

    open = 1.0

    def __init__(self, steps: int, *, peak: Positive = 1e-3, warmup: Whole = 1000):  # noqa: ARG002
        self.peak, self.warmup = peak, max(1, warmup)

    def __call__(self, step: int) -> float:
        return self.peak * min(step / self.warmup, math.sqrt(self.warmup / step))


class Cosine:
    """After warm-up, down along half a cosine to `floor` of the peak at the last step. Loshchilov & Hutter 2017."""

    open = 0.0

    def __init__(self, steps: int, *, peak: Positive = 1e-3, warmup: Whole = 1000, floor: Share = 0.0):
        self.steps, self.peak, self.warmup, self.floor = steps, peak, warmup, floor

    def __call__(self, step: int) -> float:
        if step < self.warmup:
            return self.peak * step / self.warmup
        done = min(1.0, (step - self.warmup) / max(1, self.steps - self.warmup))
        return self.peak * (self.floor + (1 - self.floor) * (1 + math.cos(math.pi * done)) / 2)


class Halving:
    """`peak` for `hold` steps, then half of it every `every` steps. Sutskever et al. 2014; Luong et al. 2015."""

    open = 1.0

    def __init__(self, steps: int, *, peak: Positive = 1.0, hold: Whole = 100_000, every: Count = 10_000):  # noqa: ARG002
        self.peak, self.hold, self.every = peak, hold, every

    def __call__(self, step: int) -> float:
        return self.peak * 0.5 ** (max(0, step - self.hold + self.every - 1) // self.every)


class WarmupStableDecay:
    """After warm-up, stay at the peak, then over the last `decay` share of the run go linearly to `floor` of it.

    Zhai et al. 2022, section 3.5; `decay: 1` (the registry's `linear`) falls from the end of the warm-up on.
    """

    def __init__(
        self,
        steps: int,
        *,
        peak: Positive = 1e-3,
        warmup: Whole = 1000,
        decay: Share = 0.5,
        floor: Share = 0.0,
    ):
        self.peak, self.warmup, self.floor = peak, warmup, floor
        self.steps, self.open = steps, 1 - decay
        self.turn = max(warmup, steps - round(decay * steps))

    def __call__(self, step: int) -> float:
        if step < self.warmup:
            return self.peak * step / self.warmup
        left = (self.steps - step) / max(1, self.steps - self.turn)
        return self.peak * max(self.floor, min(1.0, left))


class Linear(WarmupStableDecay):
    """After warm-up, down linearly to `floor` of the peak at the last step."""

    def __init__(self, steps: int, *, peak: Positive = 1e-3, warmup: Whole = 1000, floor: Share = 0.0):
        super().__init__(steps, peak=peak, warmup=warmup, decay=1.0, floor=floor)
