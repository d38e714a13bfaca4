"""Models that say every position of their output at once: their loss, their score, their limits."""

import math
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from laws.given import GIVEN
from laws.variants import VOCABULARY, batch
from weft.config.load import load_recipe
from weft.core.errors import ConfigError, UserError
from weft.core.frames import Frames
from weft.core.marks import END
from weft.core.padded import Padded
from weft.data.batches import Batch
from weft.model.build import build
from weft.model.encoders.embedded import Embedded
from weft.model.model import Model
from weft.objective.positions import PositionEntropy
from weft.search.readings.best_path import BestPath
from weft.search.readings.positions import PositionReading
from weft.search.role import Given, Language
from weft.training.checks import check

LATTICES: dict[str, dict[str, Any]] = {
    "aligned-end": {"type": "aligned", "length": "end"},
    "aligned-head": {"type": "aligned", "length": "head", "widths": [5]},
    "dense-end": {"type": "dense", "limit": 8, "widths": [6], "length": "end"},
    "dense-head": {"type": "dense", "limit": 8, "widths": [6], "length": "head"},
}
PAIRS = batch((5, 5), (3, 2), (7, 6))


def node(lattice: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "data": {"train": ["train.tsv"], "max_length": 7},
        "text": {"source": "character"},
        "model": {
            "source": {"dim": 4, "scaled": False},
            "encoder": {"type": "recurrent", "cell": {"dim": 4}},
            "target": "none",
            "decoder": "none",
            "lattice": lattice,
        }
        | changes,
        "objective": "positions",
        "train": {"validation": {"reading": "positions"}},
        "translate": {"reading": "positions"},
    }


def made(lattice: dict[str, Any], **changes: Any) -> Model:
    recipe = load_recipe(node(lattice, **changes))
    torch.manual_seed(4)
    model = build(recipe.model, VOCABULARY, VOCABULARY, joint=True).double().eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.5 * torch.randn_like(weight))
    return model


@pytest.fixture(params=LATTICES)
def model(request: pytest.FixtureRequest) -> Model:
    return made(LATTICES[request.param])


def no_language_model(folder: str) -> Language:
    raise FileNotFoundError(folder)


def given(*, blank: bool) -> Given:
    return Given(blank, VOCABULARY, lambda lines: [[] for _ in lines], no_language_model)


READ = PositionReading(given(blank=False))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_is_a_plain_loop(model: Model, smoothing: float) -> None:
    loss = PositionEntropy(GIVEN, smoothing=smoothing)(model, PAIRS, 1)
    frames = model.frames(PAIRS.source)
    total = likelihood = right = 0.0
    for row, target in enumerate(rows(PAIRS.target)):
        for place, token in enumerate(target):
            if token == END and frames.lengths is not None:
                said, share = frames.lengths[row], 0.0
                token = place
            else:
                said, share = frames.log_probs[row, place], smoothing
            likelihood -= said[token].item()
            total -= (1 - share) * said[token].item() + (share * said.mean().item() if share else 0.0)
            right += said.argmax().item() == token
    assert loss.count.item() == sum(map(len, rows(PAIRS.target)))
    assert loss.total.item() == pytest.approx(total)
    assert loss.parts["nll"].item() == pytest.approx(likelihood)
    assert loss.parts["accuracy"].item() == pytest.approx(100 * right)


def rows(padded: Padded) -> list[list[int]]:
    return [row[:length] for row, length in zip(padded.data.tolist(), padded.lengths().tolist(), strict=True)]


def test_the_padding_of_neither_side_counts(model: Model) -> None:
    source, target = (side.with_data(side.data.masked_fill(~side.mask, 7)) for side in (PAIRS.source, PAIRS.target))
    scribbled = Batch(source, target, PAIRS.indices)
    found, wanted = (PositionEntropy(GIVEN)(model, pairs).total for pairs in (scribbled, PAIRS))
    assert_close(found, wanted, atol=1e-10, rtol=0)


def test_the_score_of_an_output_is_its_log_probability(model: Model) -> None:
    found = READ(model.frames(PAIRS.source), torch.tensor([4, 1, 9]))
    for row, (hypothesis,) in enumerate(found):
        source = Padded.of([rows(PAIRS.source)[row]])
        pair = Batch(source, Padded.of([[*hypothesis.tokens, END]]), (0,))
        loss = PositionEntropy(GIVEN, smoothing=0.0)(model, pair)
        assert hypothesis.score == pytest.approx(-loss.total.item())
        assert hypothesis.score == pytest.approx(sum(hypothesis.token_scores))
        assert len(hypothesis.token_scores) == len(hypothesis.tokens) + 1


def test_the_limit_is_kept_and_told(model: Model) -> None:
    free = READ(model.frames(PAIRS.source), torch.tensor([9, 9, 9]))
    for limit in range(3):
        found = READ(model.frames(PAIRS.source), torch.tensor([limit] * 3))
        for (held,), (whole,) in zip(found, free, strict=True):
            assert len(held.tokens) <= limit
            assert held.finished == (whole.finished and len(whole.tokens) <= limit)


def test_broken_weights_give_no_output() -> None:
    nowhere = Frames(torch.full((1, 2, 5), math.nan), torch.ones(1, 2, dtype=torch.bool))
    assert READ(nowhere, torch.tensor([3])) == [[]]
    assert READ(nowhere._replace(lengths=torch.full((1, 2), math.nan)), torch.tensor([3])) == [[]]


def test_with_the_embedded_encoder_a_frame_depends_on_its_token_alone() -> None:
    model = made(LATTICES["aligned-end"], encoder="embedded")
    changed = PAIRS.source.data.clone()
    changed[2, 3] = 5 if changed[2, 3] != 5 else 6
    before, after = (model.frames(PAIRS.source.with_data(data)) for data in (PAIRS.source.data, changed))
    same = (before.log_probs == after.log_probs).all(-1)
    assert not same[2, 3]
    assert int((~same).sum()) == 1


def test_embedded_hands_its_input_on() -> None:
    x = Padded(torch.randn(2, 3, 4), torch.ones(2, 3, dtype=torch.bool))
    memory = Embedded(4)(x)
    assert_close(memory.keys, x.data)
    assert memory.mask is x.mask


def test_a_target_needs_a_frame_for_each_token_and_the_end(model: Model) -> None:
    assert model.lattice is not None
    assert model.lattice.needs(PAIRS.target).tolist() == [5, 2, 6]


def test_a_target_longer_than_the_frames_is_refused() -> None:
    model = made(LATTICES["aligned-end"])
    told = "pair 2 has no room in the frames: its target needs 4, and its source gives 3"
    with pytest.raises(UserError, match=told):
        PositionEntropy(GIVEN)(model, batch((5, 5), (3, 4)))


def test_a_source_past_the_last_place_is_refused() -> None:
    model = made(LATTICES["dense-end"])
    with pytest.raises(ValueError, match="a source of 9 tokens, END counted, is longer than the 8 places"):
        model.frames(batch((9, 2)).source)


def problems(recipe: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(ConfigError) as caught:
        check(load_recipe(recipe))
    return [(problem.place, problem.text) for problem in caught.value.problems]


def test_a_lattice_needs_a_source() -> None:
    for lattice in LATTICES.values():
        told = problems(node(lattice, source="none", encoder="none"))
        assert ("model.lattice", "needs a source, but model.encoder is none: only a decoder can do without one") in told


def test_an_embedded_encoder_needs_embeddings() -> None:
    ((place, text),) = problems(node(LATTICES["dense-end"], source="none", encoder="embedded"))
    assert (place, text) == (
        "model.encoder",
        "reads a source, but model.source is none: give both the type none, or neither",
    )


def test_lines_longer_than_the_places_are_told_before_training() -> None:
    recipe = node(LATTICES["dense-end"])
    recipe["data"]["max_length"] = 8
    told = "is 8, but model.lattice has positions for 8 tokens, END counted"
    assert problems(recipe) == [("data.max_length", told)]


def test_readings_refuse_frames_of_the_other_kind() -> None:
    with pytest.raises(UserError, match="take the reading best-path or prefix-beam"):
        PositionReading(given(blank=True))
    with pytest.raises(UserError, match="take the reading positions"):
        BestPath(given(blank=False))
