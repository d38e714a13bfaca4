"""Law 3 on real models: beam 1 = greedy; wide enough = exhaustive; the returned score is the forced score.

And no output depends on the batch that its sentence is in.
"""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor

from laws.variants import VOCABULARY, Variant, batch, small, variants, whole
from weft.config.registry import REGISTRY
from weft.core.codec import EOS
from weft.core.padded import Padded
from weft.core.state import Hypothesis
from weft.data.batches import Batch
from weft.decoding.beam import BeamSearch
from weft.decoding.diverse_beam import DiverseBeamSearch
from weft.decoding.exhaustive import ExhaustiveSearch
from weft.decoding.forced_decoding import forced_scores
from weft.decoding.greedy import GreedySearch
from weft.decoding.length_penalty import GNMTLengthPenalty, LengthPenalty, NoLengthPenalty, WordReward
from weft.decoding.sampling import Sampling
from weft.decoding.search import Search
from weft.models.model import Model
from weft.models.slots import Decoder

SENTENCES = batch((4, 2), (2, 2), (6, 2))
LIMIT = torch.tensor([2, 3, 1])
MANY = batch(*((2 + 7 * number % 5, 2) for number in range(64)))
LIMITS = torch.tensor([1 + number % 4 for number in range(64)])
SEARCHES: dict[str, Search] = {
    "greedy": GreedySearch(),
    "beam": BeamSearch(size=3, n_best=2),
    "beam-gnmt-coverage": BeamSearch(
        size=3, n_best=3, length_penalty=GNMTLengthPenalty, coverage_penalty=0.3, stop_rule="limit"
    ),
    "beam-reward-top": BeamSearch(size=3, length_penalty=WordReward, stop_rule="top"),
    "beam-keep-greedy": BeamSearch(size=3, n_best=3, keep_greedy=True),
    "beam-first": BeamSearch(size=3, stop_rule="first"),
    "diverse": DiverseBeamSearch(size=4, groups=2, n_best=3),
    "sampling": Sampling(n_best=2),
    "sampling-truncated": Sampling(temperature=1.3, top_k=6, top_p=0.9, min_p=0.05),
    "exhaustive": ExhaustiveSearch(n_best=2),
}


def slow(name: str) -> Any:
    return pytest.param(name, marks=pytest.mark.slow)


def lively(name: str) -> Model:
    made = whole("decoder", small(REGISTRY[Decoder][name]))()
    with torch.no_grad():
        made.head.weight.mul_(4)  # livelier than fresh weights, so that searches differ
    return made


@pytest.fixture(params=[name for name in REGISTRY[Decoder] if name != "none"], scope="module")
def model(request: pytest.FixtureRequest) -> Model:
    return lively(request.param)


@pytest.fixture(scope="module", params=["luong", "transformer"])
def of_both_kinds(request: pytest.FixtureRequest) -> Model:
    return lively(request.param)


def found(model: Model, search: Search) -> list[list[Hypothesis]]:
    return in_batches(model, search, SENTENCES, LIMIT, 3)


@torch.no_grad()
def in_batches(model: Model, search: Search, pairs: Batch, limit: Tensor, size: int) -> list[list[Hypothesis]]:
    """The sentences in batches of this size, none with more padding than it needs."""
    everything = []
    for lines in torch.split(torch.arange(len(limit)), size):
        longest = int(pairs.source.lengths()[lines].max())
        source = Padded(pairs.source.data[lines, :longest], pairs.source.mask[lines, :longest])
        everything += search(model.step, model.start(model.encode(source)), limit[lines], lines)
    return everything


def test_beam_of_one_is_greedy(model: Model) -> None:
    greedy = found(model, GreedySearch())
    beam = found(model, BeamSearch(size=1))
    assert [line[0].tokens for line in beam] == [line[0].tokens for line in greedy]
    assert [line[0].score for line in beam] == pytest.approx([line[0].score for line in greedy])


def test_a_beam_that_keeps_greedy_search_never_finds_less(model: Model) -> None:
    beam = BeamSearch(size=2, length_penalty=NoLengthPenalty, stop_rule="limit", keep_greedy=True)
    greedy, kept = (in_batches(model, search, MANY, LIMITS * 3, 64) for search in (GreedySearch(), beam))
    assert all(found.score >= least.score - 1e-9 for [found], [least] in zip(kept, greedy, strict=True))


@pytest.mark.parametrize("penalty", REGISTRY[LengthPenalty])
def test_a_wide_beam_is_exhaustive(model: Model, penalty: str) -> None:
    kind = REGISTRY[LengthPenalty][penalty]
    wide = found(model, BeamSearch(size=len(VOCABULARY) ** 3, n_best=3, length_penalty=kind, stop_rule="limit"))
    exact = found(model, ExhaustiveSearch(n_best=3, length_penalty=kind))
    assert [[one.tokens for one in line] for line in wide] == [[one.tokens for one in line] for line in exact]


@pytest.mark.parametrize("name", REGISTRY[Search])
def test_the_returned_score_is_the_forced_score(model: Model, name: str) -> None:
    assert_forced(model, REGISTRY[Search][name]())


@pytest.mark.parametrize("variant", list(variants(Search)), ids=lambda variant: variant.name)
def test_so_it_is_with_every_setting(variant: Variant) -> None:
    assert_forced(lively("bahdanau"), variant.make())


def assert_forced(model: Model, search: Search) -> None:
    for number, hypotheses in enumerate(found(model, search)):
        assert hypotheses
        single = SENTENCES.source._replace(
            data=SENTENCES.source.data[number : number + 1], mask=SENTENCES.source.mask[number : number + 1]
        )
        for hypothesis in hypotheses:
            target = Padded.from_rows([[*hypothesis.tokens, EOS]])
            (forced,) = forced_scores(model.step, model.start(model.encode(single)), target)
            assert hypothesis.score == pytest.approx(forced.score, abs=1e-9)
            assert sum(hypothesis.token_scores) == pytest.approx(hypothesis.score, abs=1e-9)


def test_every_search_is_among_them() -> None:
    assert {type(search) for search in SEARCHES.values()} == set(REGISTRY[Search].values())


@pytest.mark.parametrize("name", [slow(name) if name.startswith("beam-") else name for name in SEARCHES])
def test_the_batch_changes_nothing(of_both_kinds: Model, name: str) -> None:
    limits = LIMITS.clamp(max=1) if name == "exhaustive" else LIMITS
    together, some, alone = (in_batches(of_both_kinds, SEARCHES[name], MANY, limits, size) for size in (64, 7, 1))
    assert tokens(together) == tokens(some) == tokens(alone)
    for others in (some, alone):
        for one, other in zip(together, others, strict=True):
            assert scores(one) == pytest.approx(scores(other), abs=1e-10)


@pytest.mark.parametrize("name", [name if name in ("greedy", "beam", "sampling") else slow(name) for name in SEARCHES])
def test_in_single_precision_a_difference_is_a_tie(of_both_kinds: Model, name: str) -> None:
    single = copy.deepcopy(of_both_kinds).float()
    limits = LIMITS.clamp(max=1) if name == "exhaustive" else LIMITS
    together, some, alone = (in_batches(single, SEARCHES[name], MANY, limits, size) for size in (64, 7, 1))
    for one, *others in zip(together, some, alone, strict=True):
        for other in others:
            assert tokens([one]) == tokens([other]) or scores(one) == pytest.approx(scores(other), abs=1e-4)


def tokens(found: list[list[Hypothesis]]) -> list[list[tuple[int, ...]]]:
    return [[one.tokens for one in line] for line in found]


def scores(hypotheses: list[Hypothesis]) -> list[float]:
    return [one.score for one in hypotheses]
