"""Minimum Bayes risk decoding: select the sample with the lowest expected cost."""

from pathlib import Path
from random import Random
from typing import get_args

import numpy as np
import pytest

from unit.models import BAHDANAU, CTC, TRANSFORMER, letter_tokenizer, save_model_folder, untrained_model
from weft.core.errors import UserError
from weft.core.state import Hypothesis
from weft.decoding.sampling import Sampling
from weft.inference.loader import load_translator
from weft.inference.mbr import MBRSelector, expected_costs
from weft.inference.translator import Translator
from weft.metrics.sentence_metrics import CostName, pairwise_costs, sentence_cost

LINES = ["abc", "edcba", "", "a", "bbcc", "ddd"]


def samples(*texts: str) -> list[Hypothesis]:
    rows = letter_tokenizer().encode(texts)
    return [Hypothesis(tuple(row), -float(index), (-float(index),), True) for index, row in enumerate(rows)]


def test_samples_are_sorted_by_expected_cost() -> None:
    """Costs by hand: edits between abc, abd and e, per letter of the other; abd occurs twice, so it counts twice."""
    selector = MBRSelector("cer", letter_tokenizer(), n_best=3)
    ranked = selector(samples("abc", "abd", "e", "abd"))
    assert letter_tokenizer().decode([hypothesis.tokens for hypothesis, _ in ranked]) == ["e", "abd", "abc"]
    assert [rank for _, rank in ranked] == pytest.approx([-(1 + 2) / 4, -(1 / 3 + 3) / 4, -(2 / 3 + 3) / 4])
    assert ranked[1][0].score == -1.0  # the first of the two samples
    assert selector([]) == []


def test_costs_are_means_over_all_samples() -> None:
    texts = ["ab", "ac", "ab", "e"]
    costs = expected_costs(texts, "exact")
    assert costs == {"ab": 0.5, "ac": 0.75, "e": 0.75}
    expected = {text: sum(sentence_cost("cer")(text, other) for other in texts) / 4 for text in texts}
    assert expected_costs(texts, "cer") == pytest.approx(expected)


@pytest.mark.parametrize("name", get_args(CostName))
def test_pairwise_costs_match_sentence_costs(name: CostName) -> None:
    draws = Random(7)
    words = ["a", "cat", "sat", "on", "the", "mat", ",", "old", "ä", "."]
    lines = [" ".join(draws.choices(words, k=length)) for length in (0, 1, 1, 2, 3, 4, 5, 8, 12, 20) for _ in "ab"]
    texts = [*lines, "the cat sat on the mat", "the cat sat on a mat", "It's 3.5, (really)!", "  spaced   out "]
    expected = [[sentence_cost(name)(text, other) for other in texts] for text in texts]
    np.testing.assert_allclose(pairwise_costs(name, texts), expected, atol=1e-12)


@pytest.mark.parametrize("family", [TRANSFORMER, BAHDANAU], ids=["transformer", "bahdanau"])
def test_single_sample_equals_sampling_and_batching_changes_nothing(family: dict[str, object], tmp_path: Path) -> None:
    folder = save_model_folder(tmp_path / "model", untrained_model(family))
    single = load_translator(folder, overrides=["translate.mbr.samples=1"])
    sampled = load_translator(folder, overrides=["translate.search=sampling"])
    assert [line.text for line in single.translate(LINES)] == [line.text for line in sampled.translate(LINES)]
    trained = untrained_model(family)
    selector = MBRSelector("chrf", trained.target_tokenizer, n_best=3)

    def texts(batch_tokens: int, window: int) -> list[list[str]]:
        settings = trained.recipe.translate.__class__(batch_tokens=batch_tokens, buffer_size=window, max_length_extra=3)
        translator = Translator(trained, Sampling(n_best=8), settings, mbr=selector)
        return [[alternative.text for alternative in line.alternatives] for line in translator.translate(LINES)]

    assert texts(4096, 64) == texts(1, 64) == texts(20, 2)
    assert any(len(row) == 3 for row in texts(4096, 64))


def test_mbr_is_configured_in_the_recipe(tmp_path: Path) -> None:
    folder = save_model_folder(tmp_path / "model", untrained_model(BAHDANAU))
    settings = ["translate.mbr.samples=6", "translate.mbr.cost=wer", "translate.search={type: sampling, seed: 7}"]
    translator = load_translator(folder, n_best=2, overrides=settings)
    assert isinstance(translator.search, Sampling)
    assert (translator.search.n_best, translator.search.seed) == (6, 7)
    ranks = [
        [alternative.ranking_score for alternative in line.alternatives] for line in translator.translate(["abc", "de"])
    ]
    assert all(len(row) <= 2 and row == sorted(row, key=lambda rank: -(rank or 0)) for row in ranks)
    with pytest.raises(UserError, match=r"--beam 3: translate\.mbr\.samples is 6, so outputs are sampled"):
        load_translator(folder, beam=3, overrides=settings[:2])
    with pytest.raises(
        UserError, match=r"--set translate\.search\.size=3: .* only settings of the type sampling have an effect"
    ):
        load_translator(folder, overrides=["translate.search.size=3", *settings[:2]])
    with pytest.raises(UserError, match=r"mbr\.cost=bleu: has an effect only with samples"):
        load_translator(folder, overrides=["translate.mbr.cost=bleu"])
    with pytest.raises(UserError, match=r"--n-best 7: translate\.mbr\.samples is 6, so there are fewer outputs"):
        load_translator(folder, n_best=7, overrides=settings)
    ctc = save_model_folder(tmp_path / "ctc", untrained_model(CTC))
    with pytest.raises(UserError, match=r"translate\.mbr\.samples: is 6, but this model has no decoder"):
        load_translator(ctc, overrides=["translate.mbr.samples=6"])
