"""Where a recipe differs from the defaults."""

import pytest

from weft.config.departures import departures
from weft.config.reader import describe, read
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY


def differing(node: object) -> set[str]:
    return departures(read(node, Recipe, REGISTRY), REGISTRY)


@pytest.mark.parametrize(
    ("node", "places"),
    [
        ({}, set()),
        ({"train": {"steps": 10_000}}, set()),
        ({"train": {"steps": 7}}, {"train.steps"}),
        ({"train": {"steps": None, "minutes": 3}}, {"train.steps", "train.minutes"}),
        ({"train": {"clip": None}}, {"train.clip"}),
        ({"model": {"encoder": {"layers": 2}}}, {"model.encoder.layers"}),
        ({"model": {"lattice": "ctc"}}, {"model.lattice.type"}),
        ({"text": {"source": "word"}}, {"text.source.type"}),
        ({"translate": {"search": {"type": "greedy"}}}, {"translate.search.type"}),
        ({"translate": {"search": {"stop": "first"}}}, {"translate.search.stop"}),
    ],
)
def test_places_are_told(node: object, places: set[str]) -> None:
    assert differing(node) == places


def test_what_is_written_out_differs_no_more() -> None:
    whole = describe(read({"model": {"decoder": "bahdanau"}, "train": {"steps": 7}}, Recipe, REGISTRY), REGISTRY)
    assert differing(whole) == {"model.decoder.type", "train.steps"}
