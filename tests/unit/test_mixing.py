"""Several corpora, each used so many times an epoch: how often each pair comes, and what of it depends on what."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from weft.config.recipe import load_recipe
from weft.core.errors import ConfigError, UserError
from weft.data.batches import BatchLoader, epoch_pairs
from weft.data.data_config import CorpusConfig, DataConfig
from weft.data.token_cache import TokenCache, open_training_cache
from weft.text.tokenizer_training import WhitespaceTokenizerTrainer
from weft.training.recipe_checks import check_recipe

TOKENIZER = WhitespaceTokenizerTrainer().train([" ".join(map(str, range(100)))])
EPOCHS = 12


def taken(sizes: list[int], times: list[float], epochs: range, seed: int = 1) -> list[Counter[int]]:
    return [Counter(epoch_pairs(sizes, times, seed, epoch).tolist()) for epoch in epochs]


def test_one_corpus_once_is_all_of_its_pairs() -> None:
    assert epoch_pairs([5], [1.0], 1, 3).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("times", [3.0, 0.5, 0.3, 1.7, 0.01, 2.25])
def test_each_pair_comes_as_often_as_any_other(times: float) -> None:
    epochs = taken([50, 30], [1.0, times], range(EPOCHS))
    for so_far in range(1, EPOCHS + 1):
        total = sum(epochs[:so_far], Counter())
        assert all(total[pair] == so_far for pair in range(50))
        counts = [total[pair] for pair in range(50, 80)]
        assert sum(counts) == round(so_far * times * 30)
        assert max(counts) - min(counts) <= 1


def test_an_epoch_depends_on_seed_and_number_alone() -> None:
    sizes, times = [40, 60], [0.5, 0.25]
    assert taken(sizes, times, range(3)) == taken(sizes, times, range(3))
    assert taken(sizes, times, range(2, 3)) == taken(sizes, times, range(3))[2:]
    assert taken(sizes, times, range(1)) != taken(sizes, times, range(1), seed=2)
    assert taken([40, 40], [0.5, 0.5], range(1))[0] != Counter(
        {**(half := taken([40], [0.5], range(1))[0]), **{pair + 40: count for pair, count in half.items()}}
    )  # corpora of one size are drawn from apart


def test_a_corpus_of_which_nothing_is_left() -> None:
    assert epoch_pairs([0, 3], [2.0, 1.0], 1, 0).tolist() == [0, 1, 2]


@pytest.fixture
def mix(tmp_path: Path) -> DataConfig:
    (tmp_path / "large.tsv").write_text("".join(f"{n}\t{n}\n" for n in range(60)), encoding="utf-8")
    (tmp_path / "small.tsv").write_text("".join(f"{n}\t{n}\n" for n in range(50, 70)), encoding="utf-8")
    mixed = CorpusConfig(files=("large.tsv",), weight=0.5), CorpusConfig(files=("small.tsv",), weight=3.0)
    return DataConfig(folder=str(tmp_path), mix=mixed, cache=str(tmp_path / "cache"))


def cache_of(data: DataConfig) -> TokenCache:
    return open_training_cache(data.splits()["train"], TOKENIZER, TOKENIZER, data)


def test_batches_take_each_corpus_as_often_as_it_is_to_be(mix: DataConfig) -> None:
    cache = cache_of(mix)
    assert cache.corpus_sizes == [60, 10]  # ten pairs of the second were in the first
    batches = BatchLoader(cache, 30, 1, weights=mix.corpus_weights())
    epochs = [Counter(pair for batch in batches.epoch(epoch) for pair in batch.indices) for epoch in (0, 1)]
    assert [sum(count for pair, count in epoch.items() if pair < 60) for epoch in epochs] == [30, 30]
    assert all(epoch[pair] == 3 for epoch in epochs for pair in range(70, 80))
    assert all((epochs[0] + epochs[1])[pair] == 1 for pair in range(60))


def test_an_epoch_of_a_mix_can_be_entered_anywhere(mix: DataConfig) -> None:
    batches = BatchLoader(cache_of(mix), 30, 1, weights=mix.corpus_weights())
    whole = [batch.indices for batch in batches.epoch(5)]
    assert [batch.indices for batch in batches.epoch(5, 4)] == whole[4:]


def test_what_is_left_out_never_comes(mix: DataConfig) -> None:
    cache = cache_of(mix)
    batches = BatchLoader(cache, 30, 1, weights=mix.corpus_weights(), excluded=np.array([65, 3]))
    pairs = {pair for epoch in range(4) for batch in batches.epoch(epoch) for pair in batch.indices}
    assert pairs == set(cache.indices.tolist()) - {3, int(cache.indices[65])}


def test_an_epoch_without_a_pair_is_passed_over(mix: DataConfig) -> None:
    batches = BatchLoader(cache_of(mix), 30, 1, weights=(0.001, 0.001))
    assert [sum(len(batch.indices) for batch in batches.epoch(epoch)) for epoch in range(10)].count(0) > 7


def test_places_are_told_of_the_right_file(mix: DataConfig) -> None:
    corpus = mix.splits()["train"]
    assert corpus.location(61) == f"{mix.folder}/small.tsv, line 2"
    assert str(corpus) == f"{mix.folder}/large.tsv, {mix.folder}/small.tsv"


def test_an_empty_corpus_of_a_mix_is_told_by_its_name(mix: DataConfig) -> None:
    (Path(mix.folder) / "small.tsv").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match=r"small\.tsv: empty") as caught:
        cache_of(mix)
    assert "large" not in str(caught.value)


def test_a_part_of_a_mix_may_be_empty_in_one_of_its_corpora(mix: DataConfig) -> None:
    (Path(mix.folder) / "small.tsv").write_text("99\t99\n", encoding="utf-8")
    splits = DataConfig(folder=mix.folder, mix=mix.mix, validation_fraction=0.2).splits()
    assert sum(len(list(corpus.pairs())) for corpus in splits.values()) == 61


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (["data.mix=[{files: [a, b]}]"], "data.mix: names the training data, and so does data.train"),
        (["data.train=[]", "data.mix=[{files: [a, b]}, {weight: 2}]"], "data.mix.1.files: names no files"),
        (["data.train=[]", "data.mix=[{files: [a, b], weight: 0}]"], "data.mix.0.weight: should be"),
    ],
)
def test_a_wrong_mix_is_told(settings: list[str], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_recipe(load_recipe({"data": {"train": ["a", "b"]}}, settings))
    assert told in str(caught.value)
