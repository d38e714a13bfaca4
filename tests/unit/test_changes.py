"""What changed between two configurations."""

from pathlib import Path
from typing import Any

import pytest

from weft.core.errors import UserError
from weft.training.run_folder import (
    ReusableState,
    check_fixed_settings,
    describe_changes,
    fixed_settings,
    reusable_state,
)


def node(**train: Any) -> dict[str, Any]:
    return {"train": {"steps": 3, "minutes": None, **train}, "data": {"train": ["a"]}}


def test_nothing_changed() -> None:
    assert describe_changes(node(), node(), 2) is None


def test_both_values_are_told_at_their_places() -> None:
    told = describe_changes(node(average={"type": "snapshots"}), node(average=None, clip_norm=1.0), 2)
    assert told is not None
    changed = "since step 2: train.average: {type: snapshots} -> null; train.clip_norm: nothing -> 1.0. The new values"
    assert changed in told


def test_a_list_is_one_value() -> None:
    other = {**node(), "data": {"train": ["b", "c"]}}
    assert "data.train: [a] -> [b, c]" in (describe_changes(node(), other, 2) or "")


def test_minutes_that_became_steps_were_changed_by_nobody() -> None:
    assert describe_changes(node(steps=None, minutes=2.0), node(steps=9), 2) is None
    assert describe_changes(node(steps=None, minutes=2.0), node(steps=9, seed=2), 2) is not None


ADAM, ALL = {"type": "adam", "beta1": 0.9}, ReusableState(optimizer=True, average=True, meter=True, best=True)


@pytest.mark.parametrize(
    ("before", "now", "still"),
    [
        (node(optimizer=ADAM), node(optimizer={**ADAM, "beta1": 0.8}), ALL),
        (node(optimizer=ADAM), node(optimizer={"type": "adamw"}), ALL._replace(optimizer=False)),
        (node(average=None), node(average={"type": "snapshots"}), ALL._replace(average=False)),
        (node(average={"type": "snapshots"}), node(average=None), ALL),
        (node(average={"type": "snapshots", "count": 2}), node(average={"type": "snapshots", "count": 3}), ALL),
        (node(average={"type": "snapshots"}), node(average={"type": "exponential"}), ALL._replace(average=False)),
        (node(validation={"best_metric": "bleu"}), node(validation={"best_metric": "loss"}), ALL._replace(best=False)),
        (node(validation={"every": 2}), node(validation={"every": 3}), ALL),
        ({**node(), "objective": {"a": 1}}, {**node(), "objective": {"a": 2}}, ALL._replace(meter=False, best=False)),
    ],
)
def test_what_is_kept_of_a_checkpoint(before: dict[str, Any], now: dict[str, Any], still: ReusableState) -> None:
    assert reusable_state(before, now) == still
    assert len(still.reset_parts()) == still.count(False)


def test_all_that_cannot_change_is_told_at_once() -> None:
    before = {"model": {"dim": 4, "dropout": 0.1}, "text": {"size": 5}, "train": {"freeze": [], "seed": 1}}
    now = {"model": {"dim": 8, "dropout": 0.2}, "text": {"size": 5}, "train": {"freeze": ["head"], "seed": 2}}
    check_fixed_settings(fixed_settings(before), fixed_settings(before), Path("config.yaml"))
    with pytest.raises(UserError, match=r"^config\.yaml: model\.dim: 4 -> 8; train\.freeze: \[\] -> \[head\]: this"):
        check_fixed_settings(fixed_settings(before), fixed_settings(now), Path("config.yaml"))
