"""Law 3: beam size 1 equals greedy search, a wide beam equals exhaustive search, scores equal forced scores.

No output depends on the other sentences of its batch.
"""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor

from laws.variants import VOCABULARY, Variant, batch, model_with, small, variants
from weft.config.registry import REGISTRY
from weft.core.padded import Padded
from weft.core.special_tokens import EOS
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
from weft.models.interfaces import Decoder
from weft.models.model import Model

SENTENCES = batch((4, 2), (2, 2), (6, 2))
SENTENCE_LIMITS = torch.tensor([2, 3, 1])
MANY_SENTENCES = batch(*((2 + 7 * number % 5, 2) for number in range(64)))
MANY_LIMITS = torch.tensor([1 + number % 4 for number in range(64)])
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


def peaked_model(name: str) -> Model:
    result = model_with("decoder", small(REGISTRY[Decoder][name]))()
    with torch.no_grad():
        result.head.weight.mul_(4)  # more peaked than initial weights, so that searches differ
    return result


@pytest.fixture(params=[name for name in REGISTRY[Decoder] if name != "none"], scope="module")
def model(request: pytest.FixtureRequest) -> Model:
    return peaked_model(request.param)


@pytest.fixture(scope="module", params=["luong", "transformer"])
def small_model(request: pytest.FixtureRequest) -> Model:
    return peaked_model(request.param)


def run_search(model: Model, search: Search) -> list[list[Hypothesis]]:
    return search_in_batches(model, search, SENTENCES, SENTENCE_LIMITS, 3)


@torch.no_grad()
def search_in_batches(model: Model, search: Search, pairs: Batch, limit: Tensor, size: int) -> list[list[Hypothesis]]:
    """Search the sentences in batches of `size`, without needless padding."""
    results = []
    for lines in torch.split(torch.arange(len(limit)), size):
        longest = int(pairs.source.lengths()[lines].max())
        source = Padded(pairs.source.data[lines, :longest], pairs.source.mask[lines, :longest])
        results += search(model.step, model.start(model.encode(source)), limit[lines], lines)
    return results


def test_beam_of_size_one_equals_greedy(model: Model) -> None:
    greedy = run_search(model, GreedySearch())
    beam = run_search(model, BeamSearch(size=1))
    assert [line[0].tokens for line in beam] == [line[0].tokens for line in greedy]
    assert [line[0].score for line in beam] == pytest.approx([line[0].score for line in greedy])


def test_keep_greedy_never_scores_below_greedy(model: Model) -> None:
    beam = BeamSearch(size=2, length_penalty=NoLengthPenalty, stop_rule="limit", keep_greedy=True)
    greedy, beam_outputs = (
        search_in_batches(model, search, MANY_SENTENCES, MANY_LIMITS * 3, 64) for search in (GreedySearch(), beam)
    )
    assert all(best.score >= least.score - 1e-9 for [best], [least] in zip(beam_outputs, greedy, strict=True))


@pytest.mark.parametrize("penalty", REGISTRY[LengthPenalty])
def test_wide_beam_equals_exhaustive_search(model: Model, penalty: str) -> None:
    kind = REGISTRY[LengthPenalty][penalty]
    wide = run_search(model, BeamSearch(size=len(VOCABULARY) ** 3, n_best=3, length_penalty=kind, stop_rule="limit"))
    exact = run_search(model, ExhaustiveSearch(n_best=3, length_penalty=kind))
    assert tokens(wide) == tokens(exact)


@pytest.mark.parametrize("name", REGISTRY[Search])
def test_returned_score_equals_forced_score(model: Model, name: str) -> None:
    assert_forced_scores(model, REGISTRY[Search][name]())


@pytest.mark.parametrize("variant", list(variants(Search)), ids=lambda variant: variant.name)
def test_returned_score_equals_forced_score_for_every_setting(variant: Variant) -> None:
    assert_forced_scores(peaked_model("bahdanau"), variant.make())


def assert_forced_scores(model: Model, search: Search) -> None:
    for number, hypotheses in enumerate(run_search(model, search)):
        assert hypotheses
        source = SENTENCES.source._replace(
            data=SENTENCES.source.data[number : number + 1], mask=SENTENCES.source.mask[number : number + 1]
        )
        for hypothesis in hypotheses:
            target = Padded.from_rows([[*hypothesis.tokens, EOS]])
            (forced,) = forced_scores(model.step, model.start(model.encode(source)), target)
            assert hypothesis.score == pytest.approx(forced.score, abs=1e-9)
            assert sum(hypothesis.token_scores) == pytest.approx(hypothesis.score, abs=1e-9)


def test_every_search_is_covered() -> None:
    assert {type(search) for search in SEARCHES.values()} == set(REGISTRY[Search].values())


@pytest.mark.parametrize("name", [slow(name) if name.startswith("beam-") else name for name in SEARCHES])
def test_output_does_not_depend_on_batch(small_model: Model, name: str) -> None:
    limits = MANY_LIMITS.clamp(max=1) if name == "exhaustive" else MANY_LIMITS
    batched, small_batches, single = (
        search_in_batches(small_model, SEARCHES[name], MANY_SENTENCES, limits, size) for size in (64, 7, 1)
    )
    assert tokens(batched) == tokens(small_batches) == tokens(single)
    for others in (small_batches, single):
        for expected, other in zip(batched, others, strict=True):
            assert scores(expected) == pytest.approx(scores(other), abs=1e-10)


@pytest.mark.parametrize("name", [name if name in ("greedy", "beam", "sampling") else slow(name) for name in SEARCHES])
def test_differences_in_float32_are_ties(small_model: Model, name: str) -> None:
    float_model = copy.deepcopy(small_model).float()
    limits = MANY_LIMITS.clamp(max=1) if name == "exhaustive" else MANY_LIMITS
    batched, small_batches, single = (
        search_in_batches(float_model, SEARCHES[name], MANY_SENTENCES, limits, size) for size in (64, 7, 1)
    )
    for expected, *others in zip(batched, small_batches, single, strict=True):
        for other in others:
            assert tokens([expected]) == tokens([other]) or scores(expected) == pytest.approx(scores(other), abs=1e-4)


def tokens(results: list[list[Hypothesis]]) -> list[list[tuple[int, ...]]]:
    return [[hypothesis.tokens for hypothesis in hypotheses] for hypotheses in results]


def scores(hypotheses: list[Hypothesis]) -> list[float]:
    return [hypothesis.score for hypothesis in hypotheses]
