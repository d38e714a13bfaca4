"""Learning rate schedules: the rate as a function of the step, counted from 1."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Protocol

from weft.core.setting_types import NonNegativeInt, PositiveFloat, PositiveInt, UnitInterval


class LearningRateSchedule(Protocol):
    """Called as Schedule(steps, ...), with the length of the run.

    open_fraction: the first part of the run in which the rates do not depend on its length, so that the length can be
    fixed later.
    """

    @property
    def open_fraction(self) -> float: ...

    def __call__(self, step: int) -> float: ...


@dataclass(frozen=True)
class _WarmupSchedule:
    steps: int
    _: KW_ONLY
    learning_rate: PositiveFloat = 1e-3
    warmup_steps: NonNegativeInt = 1000


@dataclass(frozen=True)
class InverseSquareRootSchedule(_WarmupSchedule):
    """learning_rate min(s / w, sqrt(w / s)), w = warmup_steps. Vaswani et al. 2017, equation 3."""

    open_fraction: ClassVar[float] = 1.0

    def __call__(self, step: int) -> float:
        warmup = max(1, self.warmup_steps)
        return self.learning_rate * min(step / warmup, math.sqrt(warmup / step))


@dataclass(frozen=True)
class CosineSchedule(_WarmupSchedule):
    """After warmup, half a cosine down to `min_lr_ratio` of the learning rate. Loshchilov & Hutter 2017."""

    _: KW_ONLY
    min_lr_ratio: UnitInterval = 0.0
    open_fraction: ClassVar[float] = 0.0

    def __call__(self, step: int) -> float:
        if step < self.warmup_steps:
            return self.learning_rate * step / self.warmup_steps
        done = min(1.0, (step - self.warmup_steps) / max(1, self.steps - self.warmup_steps))
        return self.learning_rate * (self.min_lr_ratio + (1 - self.min_lr_ratio) * (1 + math.cos(math.pi * done)) / 2)


@dataclass(frozen=True)
class HalvingSchedule:
    """The learning rate, halved every `decay_steps` steps after `start_decay_steps`.

    Sutskever et al. 2014; Luong et al. 2015.
    """

    steps: int
    _: KW_ONLY
    learning_rate: PositiveFloat = 1.0
    start_decay_steps: NonNegativeInt = 100_000
    decay_steps: PositiveInt = 10_000
    open_fraction: ClassVar[float] = 1.0

    def __call__(self, step: int) -> float:
        halvings = max(0, step - self.start_decay_steps + self.decay_steps - 1) // self.decay_steps
        return self.learning_rate * 0.5**halvings


@dataclass(frozen=True)
class LinearSchedule(_WarmupSchedule):
    """After warmup, linearly down to `min_lr_ratio` of the learning rate at the last step."""

    _: KW_ONLY
    min_lr_ratio: UnitInterval = 0.0
    open_fraction: ClassVar[float] = 0.0

    def __call__(self, step: int) -> float:
        return _linear_decay(self, step, self.warmup_steps)


@dataclass(frozen=True)
class WarmupStableDecaySchedule(_WarmupSchedule):
    """After warmup, constant; then as `linear` over the last `decay_ratio` of the run. Zhai et al. 2022, sec. 3.5."""

    _: KW_ONLY
    decay_ratio: UnitInterval = 0.5
    min_lr_ratio: UnitInterval = 0.0

    @property
    def open_fraction(self) -> float:
        return 1 - self.decay_ratio

    def __call__(self, step: int) -> float:
        decay_start = max(self.warmup_steps, self.steps - round(self.decay_ratio * self.steps))
        return _linear_decay(self, step, decay_start)


def _linear_decay(schedule: LinearSchedule | WarmupStableDecaySchedule, step: int, decay_start: int) -> float:
    if step < schedule.warmup_steps:
        return schedule.learning_rate * step / schedule.warmup_steps
    remaining = (schedule.steps - step) / max(1, schedule.steps - decay_start)
    return schedule.learning_rate * max(schedule.min_lr_ratio, min(1.0, remaining))
