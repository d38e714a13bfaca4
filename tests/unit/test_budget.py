"""How many steps fit into a budget of minutes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.optim.schedules import Cosine, InverseSquareRoot, Linear, Schedule, WarmupStableDecay
from weft.training.budget import ENDLESS, Spent, is_time, steps_that_fit


def test_the_steps_take_the_time_that_is_left() -> None:
    spent = Spent(steps=300, seconds=150 + 3 * 10, paused=30, before=20)  # half a second an update, 10 s a validation
    steps = steps_that_fit(10, 0.4, spent, every=100)
    assert spent.before + steps * 0.5 + (steps // 100 + 1) * 10 == pytest.approx(600, abs=11)


def test_without_a_validation_so_far_only_updates_count() -> None:
    assert steps_that_fit(1, 0.4, Spent(20, 10.0, 0.0, 10.0), every=1000) == 100


@given(
    steps=st.integers(1, 10_000),
    update=st.floats(0.001, 10),
    pause=st.floats(0, 60),
    before=st.floats(0, 600),
    share=st.floats(0.1, 1),
    minutes=st.floats(0.01, 1000),
)
def test_the_schedule_never_learns_of_its_end_too_late(
    steps: int, update: float, pause: float, before: float, share: float, minutes: float
) -> None:
    fitting = steps_that_fit(minutes, share, Spent(steps, steps * update + pause, pause, before), 100)
    assert steps <= share * fitting + 1e-6 * fitting


def test_the_moment_comes_when_most_of_the_open_time_is_over() -> None:
    assert not is_time(10, 0.4, Spent(100, 150, 0, 20))
    assert is_time(10, 0.4, Spent(100, 161, 0, 20))


@pytest.mark.parametrize("make", [InverseSquareRoot, WarmupStableDecay, Cosine, Linear])
def test_in_its_open_part_a_schedule_does_not_depend_on_the_length(make: type[Schedule]) -> None:
    endless, short = make(ENDLESS, warmup=10), make(100, warmup=10)  # type: ignore[call-arg]
    for step in range(1, round(100 * short.open) + 1):
        assert short(step) == endless(step)
    assert short.open == endless.open
