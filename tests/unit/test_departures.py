"""Where a recipe differs from the defaults."""

import pytest

from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.config.serialization import from_dict, non_default_settings, to_dict


def differing(node: object) -> set[str]:
    return non_default_settings(from_dict(node, Recipe, REGISTRY), REGISTRY)


@pytest.mark.parametrize(
    ("node", "places"),
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
def test_places_are_told(node: object, places: set[str]) -> None:
    assert differing(node) == places


def test_what_is_written_out_differs_no_more() -> None:
    whole = to_dict(from_dict({"model": {"decoder": "bahdanau"}, "train": {"steps": 7}}, Recipe, REGISTRY), REGISTRY)
    assert differing(whole) == {"model.decoder.type", "train.steps"}
