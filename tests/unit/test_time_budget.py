"""The number of steps that fit into a time budget."""

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.core.formatting import format_minutes
from weft.optim.schedules import (
    CosineSchedule,
    InverseSquareRootSchedule,
    LearningRateSchedule,
    LinearSchedule,
    WarmupStableDecaySchedule,
)
from weft.training.time_budget import UNKNOWN_STEPS, TimeSpent, can_fix_steps, steps_in_budget


def test_steps_fill_the_remaining_time() -> None:
    spent = TimeSpent(20.0, [0.5] * 300, [40.0, 12.0, 10.0])  # the latest validation counts
    steps = steps_in_budget(10, 0.4, spent, validate_every=100)
    validations = steps // 100 + 1 - 3
    assert spent.total() + (steps - 300) * 0.5 + validations * 10 == pytest.approx(600, abs=11)


def test_only_updates_count_before_the_first_validation() -> None:
    assert steps_in_budget(1, 0.4, TimeSpent(10.0, [0.5] * 20), validate_every=1000) == 100


def test_a_few_slow_updates_are_ignored() -> None:
    regular, irregular = TimeSpent(0.0, [0.5] * 40), TimeSpent(0.0, [0.5] * 36 + [5.0] * 4)
    remaining = 60 - irregular.total()
    assert steps_in_budget(1, 0.4, regular, 1000) == 120
    assert steps_in_budget(1, 0.1, irregular, 1000) >= 40 + remaining / 0.53


@given(
    updates=st.lists(st.floats(0.001, 10), min_size=1, max_size=50),
    validations=st.lists(st.floats(0, 60), max_size=3),
    before=st.floats(0, 600),
    share=st.floats(0.1, 1),
    minutes=st.floats(0.01, 1000),
)
def test_steps_are_fixed_before_the_schedule_needs_them(
    updates: list[float], validations: list[float], before: float, share: float, minutes: float
) -> None:
    steps = steps_in_budget(minutes, share, TimeSpent(before, updates, validations), 100)
    assert len(updates) <= share * steps + 1e-6 * steps


def test_steps_are_fixed_near_the_end_of_the_open_part() -> None:
    assert not can_fix_steps(10, 0.4, TimeSpent(20.0, [1.0] * 190))
    assert can_fix_steps(10, 0.4, TimeSpent(20.0, [1.0] * 190, [6.0]))


@pytest.mark.parametrize(
    "make",
    [
        partial(kind, warmup_steps=10)
        for kind in (InverseSquareRootSchedule, WarmupStableDecaySchedule, CosineSchedule, LinearSchedule)
    ],
)
def test_open_part_of_a_schedule_does_not_depend_on_its_length(make: Callable[[int], LearningRateSchedule]) -> None:
    endless, short = make(UNKNOWN_STEPS), make(100)
    same = [short(step) == endless(step) for step in range(1, 101)]
    assert all(same[: round(100 * short.open_fraction)])
    assert short.open_fraction == endless.open_fraction
    assert short.open_fraction == 1 or not all(same)


def test_format_minutes() -> None:
    formatted = [format_minutes(number) for number in (1, 1.0, 2.5, 60)]
    assert formatted == ["1 minute", "1 minute", "2.5 minutes", "60 minutes"]
