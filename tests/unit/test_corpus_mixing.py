"""Mixing of corpora with weights: how often each pair occurs, reproducibility and error messages."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from weft.config.recipe import load_recipe
from weft.core.errors import ConfigError, UserError
from weft.data.batches import BatchLoader, epoch_pairs
from weft.data.data_config import CorpusConfig, DataConfig
from weft.data.token_cache import TokenCache, open_token_cache
from weft.text.tokenizer_training import WhitespaceTokenizerTrainer
from weft.training.recipe_checks import check_recipe

TOKENIZER = WhitespaceTokenizerTrainer().train([" ".join(map(str, range(100)))])
EPOCHS = 12


def epoch_counts(sizes: list[int], times: list[float], epochs: range, seed: int = 1) -> list[Counter[int]]:
    return [Counter(epoch_pairs(sizes, times, seed, epoch).tolist()) for epoch in epochs]


def test_single_corpus_with_weight_1_gives_all_pairs() -> None:
    assert epoch_pairs([5], [1.0], 1, 3).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("times", [3.0, 0.5, 0.3, 1.7, 0.01, 2.25])
def test_pairs_of_a_corpus_occur_equally_often(times: float) -> None:
    epochs = epoch_counts([50, 30], [1.0, times], range(EPOCHS))
    for epochs_done in range(1, EPOCHS + 1):
        total = sum(epochs[:epochs_done], Counter())
        assert all(total[pair] == epochs_done for pair in range(50))
        counts = [total[pair] for pair in range(50, 80)]
        assert sum(counts) == round(epochs_done * times * 30)
        assert max(counts) - min(counts) <= 1


def test_epoch_depends_only_on_seed_and_number() -> None:
    sizes, times = [40, 60], [0.5, 0.25]
    assert epoch_counts(sizes, times, range(3)) == epoch_counts(sizes, times, range(3))
    assert epoch_counts(sizes, times, range(2, 3)) == epoch_counts(sizes, times, range(3))[2:]
    assert epoch_counts(sizes, times, range(1)) != epoch_counts(sizes, times, range(1), seed=2)
    assert epoch_counts([40, 40], [0.5, 0.5], range(1))[0] != Counter(
        {**(half := epoch_counts([40], [0.5], range(1))[0]), **{pair + 40: count for pair, count in half.items()}}
    )  # corpora of equal size are sampled independently


def test_empty_corpus_is_skipped() -> None:
    assert epoch_pairs([0, 3], [2.0, 1.0], 1, 0).tolist() == [0, 1, 2]


@pytest.fixture
def mix(tmp_path: Path) -> DataConfig:
    (tmp_path / "large.tsv").write_text("".join(f"{n}\t{n}\n" for n in range(60)), encoding="utf-8")
    (tmp_path / "small.tsv").write_text("".join(f"{n}\t{n}\n" for n in range(50, 70)), encoding="utf-8")
    mixed = CorpusConfig(files=("large.tsv",), weight=0.5), CorpusConfig(files=("small.tsv",), weight=3.0)
    return DataConfig(folder=str(tmp_path), mix=mixed, cache=str(tmp_path / "cache"))


def open_cache(data: DataConfig) -> TokenCache:
    return open_token_cache(data.splits()["train"], TOKENIZER, TOKENIZER, data)


def test_batches_follow_the_corpus_weights(mix: DataConfig) -> None:
    cache = open_cache(mix)
    assert cache.statistics.corpora == [60, 10]  # ten pairs of the second corpus are also in the first
    batches = BatchLoader(cache, 30, 1, weights=mix.corpus_weights())
    epochs = [Counter(pair for batch in batches.epoch(epoch) for pair in batch.corpus_indices) for epoch in (0, 1)]
    assert [sum(count for pair, count in epoch.items() if pair < 60) for epoch in epochs] == [30, 30]
    assert all(epoch[pair] == 3 for epoch in epochs for pair in range(70, 80))
    assert all((epochs[0] + epochs[1])[pair] == 1 for pair in range(60))


def test_epoch_can_be_resumed_at_any_batch(mix: DataConfig) -> None:
    batches = BatchLoader(open_cache(mix), 30, 1, weights=mix.corpus_weights())
    whole = [batch.corpus_indices for batch in batches.epoch(5)]
    assert [batch.corpus_indices for batch in batches.epoch(5, 4)] == whole[4:]


def test_excluded_pairs_never_occur(mix: DataConfig) -> None:
    cache = open_cache(mix)
    batches = BatchLoader(cache, 30, 1, weights=mix.corpus_weights(), excluded=np.array([65, 3]))
    pairs = {pair for epoch in range(4) for batch in batches.epoch(epoch) for pair in batch.corpus_indices}
    assert pairs == set(cache.corpus_indices.tolist()) - {3, int(cache.corpus_indices[65])}


def test_epochs_can_be_empty(mix: DataConfig) -> None:
    batches = BatchLoader(open_cache(mix), 30, 1, weights=(0.001, 0.001))
    assert [sum(len(batch.corpus_indices) for batch in batches.epoch(epoch)) for epoch in range(10)].count(0) > 7


def test_locations_name_the_right_file(mix: DataConfig) -> None:
    corpus = mix.splits()["train"]
    assert corpus.location(61) == f"{mix.folder}/small.tsv, line 2"
    assert str(corpus) == f"{mix.folder}/large.tsv, {mix.folder}/small.tsv"


def test_empty_corpus_is_reported_by_name(mix: DataConfig) -> None:
    (Path(mix.folder) / "small.tsv").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match=r"small\.tsv: empty") as caught:
        open_cache(mix)
    assert "large" not in str(caught.value)


def test_split_of_a_corpus_can_be_empty(mix: DataConfig) -> None:
    (Path(mix.folder) / "small.tsv").write_text("99\t99\n", encoding="utf-8")
    splits = DataConfig(folder=mix.folder, mix=mix.mix, validation_fraction=0.2).splits()
    assert sum(len(list(corpus.pairs())) for corpus in splits.values()) == 61


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["data.mix=[{files: [a, b]}]"], "data.mix: names the training data, and so does data.train"),
        (["data.train=[]", "data.mix=[{files: [a, b]}, {weight: 2}]"], "data.mix.1.files: names no files"),
        (["data.train=[]", "data.mix=[{files: [a, b], weight: 0}]"], "data.mix.0.weight: should be"),
    ],
)
def test_invalid_mix_is_reported(settings: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_recipe(load_recipe({"data": {"train": ["a", "b"]}}, settings))
    assert message in str(caught.value)
