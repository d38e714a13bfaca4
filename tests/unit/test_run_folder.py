"""Changes of the configuration of a resumed run."""

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


def config(**train: Any) -> dict[str, Any]:
    return {"train": {"steps": 3, "minutes": None, **train}, "data": {"train": ["a"]}}


def test_equal_configs_have_no_changes() -> None:
    assert describe_changes(config(), config(), 2) is None


def test_changes_show_key_and_both_values() -> None:
    description = describe_changes(config(average={"type": "snapshots"}), config(average=None, clip_norm=1.0), 2)
    assert description is not None
    expected = "since step 2: train.average: {type: snapshots} -> null; train.clip_norm: nothing -> 1.0. The new values"
    assert expected in description


def test_list_is_compared_as_a_single_value() -> None:
    other = {**config(), "data": {"train": ["b", "c"]}}
    assert "data.train: [a] -> [b, c]" in (describe_changes(config(), other, 2) or "")


def test_steps_computed_from_minutes_are_not_a_change() -> None:
    assert describe_changes(config(steps=None, minutes=2.0), config(steps=9), 2) is None
    assert describe_changes(config(steps=None, minutes=2.0), config(steps=9, seed=2), 2) is not None


ADAM, ALL = {"type": "adam", "beta1": 0.9}, ReusableState(optimizer=True, average=True, meter=True, best=True)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (config(optimizer=ADAM), config(optimizer={**ADAM, "beta1": 0.8}), ALL),
        (config(optimizer=ADAM), config(optimizer={"type": "adamw"}), ALL._replace(optimizer=False)),
        (config(average=None), config(average={"type": "snapshots"}), ALL._replace(average=False)),
        (config(average={"type": "snapshots"}), config(average=None), ALL),
        (config(average={"type": "snapshots", "count": 2}), config(average={"type": "snapshots", "count": 3}), ALL),
        (config(average={"type": "snapshots"}), config(average={"type": "exponential"}), ALL._replace(average=False)),
        (
            config(validation={"best_metric": "bleu"}),
            config(validation={"best_metric": "loss"}),
            ALL._replace(best=False),
        ),
        (config(validation={"every": 2}), config(validation={"every": 3}), ALL),
        (
            {**config(), "objective": {"a": 1}},
            {**config(), "objective": {"a": 2}},
            ALL._replace(meter=False, best=False),
        ),
    ],
)
def test_reusable_state(before: dict[str, Any], after: dict[str, Any], expected: ReusableState) -> None:
    assert reusable_state(before, after) == expected
    assert len(expected.reset_parts()) == expected.count(False)


def test_all_changed_fixed_settings_are_reported_together() -> None:
    before = {"model": {"dim": 4, "dropout": 0.1}, "text": {"size": 5}, "train": {"freeze": [], "seed": 1}}
    after = {"model": {"dim": 8, "dropout": 0.2}, "text": {"size": 5}, "train": {"freeze": ["head"], "seed": 2}}
    check_fixed_settings(fixed_settings(before), fixed_settings(before), Path("config.yaml"))
    with pytest.raises(UserError, match=r"^config\.yaml: model\.dim: 4 -> 8; train\.freeze: \[\] -> \[head\]: this"):
        check_fixed_settings(fixed_settings(before), fixed_settings(after), Path("config.yaml"))
