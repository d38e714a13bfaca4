"""Batches: every pair once per epoch, within the token budget, with little padding, in a reproducible order."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch

from weft.core.padded import Padded
from weft.core.special_tokens import BOS, EOS, NUM_SPECIAL_TOKENS, PAD
from weft.data.batches import Batch, BatchLoader
from weft.data.corpus import Corpus
from weft.data.data_config import DataConfig
from weft.data.token_cache import TokenCache, open_token_cache
from weft.text.tokenizer_training import WhitespaceTokenizerTrainer

TOKENIZER = WhitespaceTokenizerTrainer().train([" ".join(map(str, range(100)))])
PAIRS = 3000


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> TokenCache:
    """Pairs with log-normal lengths, the target about as long as the source."""
    folder: Path = tmp_path_factory.mktemp("batches")
    rng = np.random.default_rng(1)
    source = np.clip(np.exp(rng.normal(3.0, 0.6, PAIRS)), 1, 250).astype(int)
    target = np.clip(source * np.exp(rng.normal(0.05, 0.25, PAIRS)), 1, 250).astype(int)
    lines = [" ".join(map(str, rng.integers(100, size=length))) for length in (*source, *target)]
    text = "".join(f"{lines[number]}\t{lines[PAIRS + number]}\n" for number in range(PAIRS))
    (folder / "pairs.tsv").write_text("1\t\n" + text)
    return open_token_cache(
        Corpus([folder / "pairs.tsv"]), TOKENIZER, TOKENIZER, DataConfig(cache=str(folder / "cache"))
    )


def equal_batches(first: Batch, second: Batch) -> bool:
    tensors = zip((*first.source, *first.target), (*second.source, *second.target), strict=True)
    return first.corpus_indices == second.corpus_indices and all(torch.equal(x, y) for x, y in tensors)


def rows(side: Padded) -> list[list[int]]:
    return [row[mask].tolist() for row, mask in zip(side.data, side.mask, strict=True)]


def source_ids(cache: TokenCache, index: int) -> list[int]:
    ids: list[int] = cache.row(int(np.searchsorted(cache.corpus_indices, index)), 0).tolist()
    return ids


def test_every_pair_occurs_once_per_epoch(cache: TokenCache) -> None:
    indices: list[int] = []
    for batch in BatchLoader(cache, 2000, seed=1, pool_size=1000).epoch(0):
        indices += batch.corpus_indices
        assert batch.source.data.dtype == batch.target.data.dtype == torch.int64
        for index, source, target in zip(batch.corpus_indices, rows(batch.source), rows(batch.target), strict=True):
            number = int(np.searchsorted(cache.corpus_indices, index))
            assert [source, target] == [[*cache.row(number, side).tolist(), EOS] for side in (0, 1)]
        for side in (batch.source, batch.target):
            assert (side.data[~side.mask] == PAD).all()
    assert sorted(indices) == cache.corpus_indices.tolist()
    assert min(indices) == 1  # the first pair of the file is empty and is dropped


@pytest.mark.parametrize("budget", [50, 300, 2000])
def test_budget_limits_each_side(cache: TokenCache, budget: int) -> None:
    oversized = 0
    for batch in BatchLoader(cache, budget, seed=1).epoch(0):
        cells = max(batch.source.data.numel(), batch.target.data.numel())
        assert cells <= budget or len(batch.corpus_indices) == 1
        oversized += cells > budget
    assert (oversized > 0) == (budget == 50)


def test_batches_are_full(cache: TokenCache) -> None:
    batches = list(BatchLoader(cache, 2000, seed=1).epoch(0))
    tokens = (cache.lengths(np.arange(len(cache))).max(1) + 1).sum()
    assert len(batches) < 1.1 * tokens / 2000 + 1


def test_batches_have_little_padding(cache: TokenCache) -> None:
    batches = list(BatchLoader(cache, 1000, seed=1).epoch(0))
    cells = sum(batch.source.mask.numel() + batch.target.mask.numel() for batch in batches)
    tokens = sum(int(batch.source.mask.sum() + batch.target.mask.sum()) for batch in batches)
    assert 1 - tokens / cells < 0.1


def test_order_depends_on_seed_and_epoch(cache: TokenCache) -> None:
    def order(seed: int, epoch: int) -> list[tuple[int, ...]]:
        return [batch.corpus_indices for batch in BatchLoader(cache, 2000, seed, pool_size=1000).epoch(epoch)]

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(1, 1)
    assert order(1, 0) != order(2, 0)
    assert {frozenset(batch) for batch in order(1, 0)} != {frozenset(batch) for batch in order(1, 1)}


def test_batches_are_not_sorted_by_length(cache: TokenCache) -> None:
    lengths = [batch.source.data.shape[1] for batch in BatchLoader(cache, 2000, seed=1).epoch(0)]
    assert abs(np.corrcoef(lengths, np.arange(len(lengths)))[0, 1]) < 0.4


def test_epoch_can_start_at_any_batch(cache: TokenCache, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = BatchLoader(cache, 2000, seed=1, noise=(reverse, shuffle), pool_size=1000)
    whole = list(batches.epoch(3))
    for start in (0, 1, 7, len(whole) - 1, len(whole)):
        rest = list(batches.epoch(3, start))
        assert len(rest) == len(whole) - start
        assert all(equal_batches(actual, expected) for actual, expected in zip(rest, whole[start:], strict=True))
    read: set[int] = set()
    monkeypatch.setattr(cache, "row", lambda number, side: read.add(number) or TokenCache.row(cache, number, side))  # type: ignore[func-returns-value]
    assert len(next(batches.epoch(3, 20)).corpus_indices) == len(read)


def reverse(ids: Sequence[int], rng: Random) -> list[int]:
    return list(reversed(ids))


def shuffle(ids: Sequence[int], rng: Random) -> list[int]:
    return rng.sample([*ids, NUM_SPECIAL_TOKENS], len(ids) + 1)


def test_noise_is_drawn_for_each_side_pair_and_epoch(cache: TokenCache) -> None:
    def targets(seed: int, epoch: int, budget: int = 2000) -> dict[int, list[int]]:
        return {
            index: target
            for batch in BatchLoader(cache, budget, seed, noise=(None, shuffle)).epoch(epoch)
            for index, target in zip(batch.corpus_indices, rows(batch.target), strict=True)
        }

    plain = {int(index): cache.row(number, 1).tolist() for number, index in enumerate(cache.corpus_indices)}
    noised = targets(1, 0)
    assert all(sorted(noised[index]) == sorted([*plain[index], NUM_SPECIAL_TOKENS, EOS]) for index in plain)
    assert noised == targets(1, 0, budget=500)  # independent of the batch
    assert noised != targets(1, 1)
    assert noised != targets(2, 0)


def test_targets_can_be_loaded_without_sources(cache: TokenCache) -> None:
    batches, numbers = BatchLoader(cache, 2000, seed=1, noise=(None, shuffle), max_length=5), np.array([3, 0, 2])
    targets, expected = batches.targets(numbers), batches.make_batch(numbers).target
    assert torch.equal(targets.data, expected.data)
    assert torch.equal(targets.mask, expected.mask)


def test_noise_can_be_on_one_side_only(cache: TokenCache) -> None:
    plain, noised = (BatchLoader(cache, 2000, seed=1, noise=noise).epoch(0) for noise in (None, (reverse, None)))
    for clean_batch, noised_batch in zip(plain, noised, strict=True):
        assert torch.equal(clean_batch.target.data, noised_batch.target.data)
        assert [row[-2::-1] for row in rows(clean_batch.source)] == [row[:-1] for row in rows(noised_batch.source)]


def test_decoder_input_is_the_target_shifted_right() -> None:
    batch = Batch(Padded.from_rows([[7, EOS], [EOS]]), Padded.from_rows([[5, 6, EOS], [EOS]]), (0, 1))
    decoder_input = batch.decoder_input()
    assert decoder_input.data.tolist() == [[BOS, 5, 6], [BOS, PAD, PAD]]
    assert torch.equal(decoder_input.mask, batch.target.mask)
    assert batch.target.data.tolist() == [[5, 6, EOS], [EOS, PAD, PAD]]


def test_batch_moves_to_device() -> None:
    batch = Batch(Padded.from_rows([[7, EOS]]), Padded.from_rows([[5, EOS]]), (3,)).to("meta")
    assert {tensor.device.type for tensor in (*batch.source, *batch.target)} == {"meta"}
    assert batch.corpus_indices == (3,)


def test_rows_are_truncated_to_max_length(cache: TokenCache) -> None:
    for batch in BatchLoader(cache, 300, 1, max_length=4).epoch(0):
        for number, row in zip(batch.corpus_indices, rows(batch.source), strict=True):
            assert row == [*source_ids(cache, number)[:4], EOS]


def test_noise_that_exceeds_max_length_is_discarded(cache: TokenCache) -> None:
    def doubled(ids: Sequence[int], rng: Random) -> list[int]:
        return [*ids, *ids]

    for batch in BatchLoader(cache, 300, 1, noise=(doubled, None), max_length=6).epoch(0):
        for number, row in zip(batch.corpus_indices, rows(batch.source), strict=True):
            plain = source_ids(cache, number)[:6]
            assert row == [*(plain if len(plain) > 3 else [*plain, *plain]), EOS]


@pytest.mark.parametrize("count", [127, 255, 256])
def test_every_pair_occurs_for_any_corpus_size(count: int, tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("".join(f"{number % 100} {number // 100}\t1\n" for number in range(count)))
    small_cache = open_token_cache(
        Corpus([tmp_path / "pairs.tsv"]), TOKENIZER, TOKENIZER, DataConfig(cache=str(tmp_path / "cache"))
    )
    indices = [index for batch in BatchLoader(small_cache, 50, seed=1).epoch(0) for index in batch.corpus_indices]
    assert sorted(indices) == list(range(count))
