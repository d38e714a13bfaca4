"""Law 3 on real models: beam 1 = greedy; wide enough = exhaustive; the returned score is the forced score."""

import pytest
import torch

from laws.variants import VOCABULARY, batch, small, whole
from weft.config.registry import REGISTRY
from weft.core.marks import END
from weft.core.padded import Padded
from weft.core.state import Hypothesis
from weft.model.model import Model
from weft.model.roles import Decoder
from weft.search.beam import Beam
from weft.search.exhaustive import Exhaustive
from weft.search.forced import forced_scores
from weft.search.greedy import Greedy
from weft.search.penalties import Penalty
from weft.search.role import Search

SENTENCES = batch((4, 2), (2, 2), (6, 2))
LIMIT = torch.tensor([2, 3, 1])


@pytest.fixture(params=[name for name in REGISTRY[Decoder] if name != "none"], scope="module")
def model(request: pytest.FixtureRequest) -> Model:
    made = whole("decoder", small(REGISTRY[Decoder][request.param]))()
    with torch.no_grad():
        made.head.weight.mul_(4)  # livelier than fresh weights, so that searches differ
    return made


def found(model: Model, search: Search) -> list[list[Hypothesis]]:
    with torch.no_grad():
        return search(model.step, model.start(model.encode(SENTENCES.source)), LIMIT)


def test_beam_of_one_is_greedy(model: Model) -> None:
    greedy = found(model, Greedy())
    beam = found(model, Beam(size=1))
    assert [line[0].tokens for line in beam] == [line[0].tokens for line in greedy]
    assert [line[0].score for line in beam] == pytest.approx([line[0].score for line in greedy])


@pytest.mark.parametrize("penalty", REGISTRY[Penalty])
def test_a_wide_beam_is_exhaustive(model: Model, penalty: str) -> None:
    kind = REGISTRY[Penalty][penalty]
    wide = found(model, Beam(size=len(VOCABULARY) ** 3, best=3, length_penalty=kind, stop="limit"))
    exact = found(model, Exhaustive(best=3, length_penalty=kind))
    assert [[one.tokens for one in line] for line in wide] == [[one.tokens for one in line] for line in exact]


@pytest.mark.parametrize("name", REGISTRY[Search])
def test_the_returned_score_is_the_forced_score(model: Model, name: str) -> None:
    for number, hypotheses in enumerate(found(model, REGISTRY[Search][name]())):
        single = SENTENCES.source._replace(
            data=SENTENCES.source.data[number : number + 1], mask=SENTENCES.source.mask[number : number + 1]
        )
        for hypothesis in hypotheses:
            target = Padded.of([[*hypothesis.tokens, END]])
            (forced,) = forced_scores(model.step, model.start(model.encode(single)), target)
            assert hypothesis.score == pytest.approx(forced.score, abs=1e-9)
            assert sum(hypothesis.token_scores) == pytest.approx(hypothesis.score, abs=1e-9)
