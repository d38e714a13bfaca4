"""Settings of a recipe that differ from the defaults."""

import pytest

from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.config.serialization import from_dict, non_default_settings, to_dict


def changed_settings(node: object) -> set[str]:
    return non_default_settings(from_dict(node, Recipe, REGISTRY), REGISTRY)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ({}, set()),
        ({"train": {"steps": 10_000}}, set()),
        ({"train": {"steps": 7}}, {"train.steps"}),
        ({"train": {"steps": None, "minutes": 3}}, {"train.steps", "train.minutes"}),
        ({"train": {"clip_norm": None}}, {"train.clip_norm"}),
        ({"model": {"encoder": {"layers": 2}}}, {"model.encoder.layers"}),
        ({"model": {"frame_head": "ctc"}}, {"model.frame_head.type"}),
        ({"text": {"source": "word"}}, {"text.source.type"}),
        ({"translate": {"search": {"type": "greedy"}}}, {"translate.search.type"}),
        ({"translate": {"search": {"stop_rule": "first"}}}, {"translate.search.stop_rule"}),
    ],
)
def test_changed_settings_are_listed(node: object, expected: set[str]) -> None:
    assert changed_settings(node) == expected


def test_written_defaults_do_not_count_as_changed() -> None:
    whole = to_dict(from_dict({"model": {"decoder": "bahdanau"}, "train": {"steps": 7}}, Recipe, REGISTRY), REGISTRY)
    assert changed_settings(whole) == {"model.decoder.type", "train.steps"}
