"""Proposal distributions of sampled losses, inclusion probabilities and target token counts."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from weft.core.special_tokens import EOS, NUM_SPECIAL_TOKENS
from weft.data import token_cache
from weft.data.corpus import Corpus
from weft.data.data_config import DataConfig
from weft.data.token_cache import open_token_cache
from weft.losses.sampled_losses import (
    LogUniformProposal,
    ProposalDistribution,
    UniformProposal,
    UnigramProposal,
    inclusion_probabilities,
)
from weft.text.tokenizer_training import WhitespaceTokenizerTrainer

COUNTS = np.array([0, 5, 40, 7])


@pytest.mark.parametrize(
    "proposal", [UnigramProposal(), UnigramProposal(power=0.0), LogUniformProposal(), UniformProposal()]
)
def test_proposals_are_positive_and_sum_to_one(proposal: ProposalDistribution) -> None:
    probabilities = proposal(COUNTS)
    assert (probabilities > 0).all()
    assert probabilities.sum() == pytest.approx(1)


def test_proposals_at_known_counts() -> None:
    assert UnigramProposal(power=1.0)(COUNTS) == pytest.approx(np.array([1, 6, 41, 8]) / 56)
    raised = np.array([1, 6, 41, 8]) ** 0.5
    assert UnigramProposal(power=0.5)(COUNTS) == pytest.approx(raised / raised.sum())
    assert UniformProposal()(COUNTS) == pytest.approx([0.25] * 4)
    by_rank = np.log([5 / 4, 4 / 3, 2 / 1, 3 / 2]) / np.log(5)
    assert LogUniformProposal()(COUNTS) == pytest.approx(by_rank)


def normalize(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    normalized: NDArray[np.float64] = weights / weights.sum()
    return normalized


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=40), st.integers(1, 50))
def test_expected_number_of_classes_is_the_sample_size(counts: list[int], size: int) -> None:
    proposal = UnigramProposal(power=1.0)(np.array(counts))
    included = inclusion_probabilities(proposal, size)
    assert included.sum() == pytest.approx(min(size, len(counts)))
    assert (included > 0).all()
    assert (included <= 1).all()
    below = included < 1
    assert included[below].tolist() == pytest.approx((included[below].sum() * normalize(proposal[below])).tolist())


def test_certain_classes_leave_the_rest_to_the_others() -> None:
    assert inclusion_probabilities(np.array([0.9, 0.06, 0.04]), 2) == pytest.approx([1.0, 0.6, 0.4])


@pytest.mark.parametrize("chunk", [2, 4096])
def test_target_tokens_are_counted_in_chunks(chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_cache, "CHUNK_PAIRS", chunk)
    path = tmp_path / "pairs.tsv"
    path.write_text("x y\ta b a\ny x\tb\n", "utf-8")
    tokenizer = WhitespaceTokenizerTrainer().train(["a a a b b x x y y"])
    tokens = open_token_cache(Corpus([path]), tokenizer, tokenizer, DataConfig(cache=str(tmp_path / "cache")))
    counted = tokens.target_counts()
    counts_by_token = dict(zip(tokenizer.vocabulary(), counted.tolist(), strict=True))
    assert counted[EOS] == 2
    assert (counts_by_token["a"], counts_by_token["b"], counts_by_token["x"]) == (2, 2, 0)
    assert counted[:EOS].sum() == 0
    assert counted[NUM_SPECIAL_TOKENS:].sum() == 4
