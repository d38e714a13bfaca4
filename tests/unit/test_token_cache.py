"""The token cache: filters, reuse, damage and interrupted builds."""

import errno
import fcntl
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from weft.core.errors import UserError
from weft.data import token_cache
from weft.data.corpus import Corpus
from weft.data.data_config import DataConfig
from weft.data.hashes import hash_lines
from weft.data.token_cache import TokenCache, open_token_cache
from weft.text.tokenizer import Tokenizer
from weft.text.tokenizer_training import ByteTokenizerTrainer, WhitespaceTokenizerTrainer

TOKENIZER = WhitespaceTokenizerTrainer().train([" ".join(map(str, range(100)))])

GOOD = ("1 2 3", "4 5")
PAIRS = [
    GOOD,
    ("", "1 2"),
    ("1 2", "  "),
    GOOD,
    ("3 " * 30, "4 " * 31),
    ("1 " * 29, "1 1 1"),
    ("5", "6 " * 10),
    ("4 5", "1 2 3"),
]


@pytest.fixture
def settings(tmp_path: Path) -> DataConfig:
    return DataConfig(cache=str(tmp_path / "cache"), max_length=30)


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return write_corpus(tmp_path / "pairs.tsv", PAIRS)


def write_corpus(path: Path, pairs: list[tuple[str, str]]) -> Corpus:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return Corpus([path])


def entries(settings: DataConfig) -> list[str]:
    return [path.name for path in Path(settings.cache).iterdir()]


def lines(cache: TokenCache, tokenizer: Tokenizer = TOKENIZER) -> list[tuple[str, ...]]:
    pairs = ([cache.row(number, side).tolist() for side in (0, 1)] for number in range(len(cache)))
    return [tuple(tokenizer.decode(pair)) for pair in pairs]


def test_filters_keep_the_right_pairs_and_count_the_others(corpus: Corpus, settings: DataConfig) -> None:
    cache = open_token_cache(corpus, TOKENIZER, TOKENIZER, settings)
    assert cache.corpus_indices.tolist() == [0, 6, 7]
    assert lines(cache) == [GOOD, ("5", "6 6 6 6 6 6 6 6 6 6"), ("4 5", "1 2 3")]
    assert cache.lengths(np.array([2, 0, 1])).tolist() == [[2, 3], [3, 2], [1, 10]]
    assert cache.statistics.pairs_read == 8
    assert cache.statistics.pairs_kept == len(cache) == 3
    assert cache.statistics.dropped == {"empty": 2, "duplicate": 1, "too long": 1, "bad ratio": 1}
    assert (cache.statistics.source.tokens, cache.statistics.target.tokens) == (6, 15)


def test_filters_can_be_set(corpus: Corpus, settings: DataConfig) -> None:
    loose = replace(settings, max_length=31, max_length_ratio=10.0, drop_duplicates=False)
    assert open_token_cache(corpus, TOKENIZER, TOKENIZER, loose).corpus_indices.tolist() == [0, 3, 4, 5, 6, 7]


def test_evaluation_cache_keeps_all_pairs(corpus: Corpus, settings: DataConfig) -> None:
    cache = open_token_cache(corpus, TOKENIZER, TOKENIZER, settings, filtered=False)
    assert lines(cache) == [(source.strip(), target.strip()) for source, target in PAIRS]
    assert sum(cache.statistics.dropped.values()) == 0


def test_whitespace_line_is_empty_even_if_it_has_tokens(tmp_path: Path, settings: DataConfig) -> None:
    corpus = write_corpus(tmp_path / "a.tsv", [("a", "   "), ("  ", "b"), ("c", "d")])
    assert (
        open_token_cache(
            corpus, ByteTokenizerTrainer().train([]), ByteTokenizerTrainer().train([]), settings
        ).statistics.dropped["empty"]
        == 2
    )


def test_corpus_of_empty_lines_can_be_evaluated(tmp_path: Path, settings: DataConfig) -> None:
    cache = open_token_cache(
        write_corpus(tmp_path / "a.tsv", [("", ""), ("", "")]), TOKENIZER, TOKENIZER, settings, filtered=False
    )
    assert lines(cache) == [("", ""), ("", "")]


def test_chunk_size_does_not_change_the_cache(
    corpus: Corpus, settings: DataConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = open_token_cache(corpus, TOKENIZER, TOKENIZER, settings)
    monkeypatch.setattr(token_cache, "CHUNK_PAIRS", 3)
    progress: list[int] = []
    other_settings = replace(settings, cache=settings.cache + "-2")
    chunked = open_token_cache(corpus, TOKENIZER, TOKENIZER, other_settings, progress.append)
    assert progress == [3, 6, 8]
    assert lines(chunked) == lines(whole)
    assert chunked.source_hashes.tolist() == whole.source_hashes.tolist()
    assert chunked.statistics == whole.statistics
    assert chunked.corpus_indices.tolist() == whole.corpus_indices.tolist()


def test_chunk_may_be_dropped_entirely(tmp_path: Path, settings: DataConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_cache, "CHUNK_PAIRS", 2)
    corpus = write_corpus(tmp_path / "a.tsv", [("", ""), ("", ""), ("1", "2"), ("", ""), ("", "")])
    cache = open_token_cache(corpus, TOKENIZER, TOKENIZER, settings)
    assert (cache.corpus_indices.tolist(), lines(cache)) == ([2], [("1", "2")])
    assert cache.source_hashes.tolist() == hash_lines(["1"]).tolist()


def test_cache_folder_contains_only_the_cache_files(corpus: Corpus, settings: DataConfig) -> None:
    open_token_cache(corpus, TOKENIZER, TOKENIZER, settings)
    (folder,) = Path(settings.cache).iterdir()
    sides = [f"{side}.{kind}" for side in ("source", "target") for kind in ("ids", "offsets", "counts")]
    assert sorted(path.name for path in folder.iterdir()) == sorted([*sides, "hashes", "indices", "statistics.json"])


def test_existing_cache_is_reused(corpus: Corpus, settings: DataConfig) -> None:
    progress: list[int] = []
    first = open_token_cache(corpus, TOKENIZER, TOKENIZER, settings, progress.append)
    again = open_token_cache(corpus, TOKENIZER, TOKENIZER, settings, progress.append)
    assert progress == [8]
    assert lines(first) == lines(again)


def test_every_relevant_setting_gives_another_cache(tmp_path: Path, corpus: Corpus, settings: DataConfig) -> None:
    other_tokenizer = WhitespaceTokenizerTrainer().train(["1 2"])
    open_token_cache(corpus, TOKENIZER, TOKENIZER, settings)
    open_token_cache(corpus, TOKENIZER, other_tokenizer, settings)
    open_token_cache(corpus, other_tokenizer, TOKENIZER, settings)
    open_token_cache(corpus, TOKENIZER, TOKENIZER, replace(settings, max_length=29))
    open_token_cache(corpus, TOKENIZER, TOKENIZER, replace(settings, max_length_ratio=2.0))
    open_token_cache(corpus, TOKENIZER, TOKENIZER, replace(settings, drop_duplicates=False))
    open_token_cache(corpus, TOKENIZER, TOKENIZER, settings, filtered=False)
    open_token_cache(write_corpus(tmp_path / "other.tsv", PAIRS[:-1]), TOKENIZER, TOKENIZER, settings)
    assert len(entries(settings)) == 8


def test_unknown_and_byte_tokens_are_counted(tmp_path: Path, settings: DataConfig) -> None:
    corpus = write_corpus(tmp_path / "a.tsv", [("1 never seen", "ab"), ("2", "é")])
    statistics = open_token_cache(corpus, TOKENIZER, ByteTokenizerTrainer().train([]), settings).statistics
    assert (statistics.source.tokens, statistics.source.unknown_tokens, statistics.source.has_byte_fallback) == (
        4,
        2,
        False,
    )
    assert (
        statistics.target.tokens,
        statistics.target.unknown_tokens,
        statistics.target.byte_tokens,
        statistics.target.has_byte_fallback,
    ) == (4, 0, 4, True)


def test_large_vocabulary_uses_wider_ids(tmp_path: Path, settings: DataConfig) -> None:
    large = WhitespaceTokenizerTrainer().train([" ".join(map(str, range(70_000)))])
    corpus = write_corpus(tmp_path / "a.tsv", [("1 69999", "2 3")])
    cache = open_token_cache(corpus, large, TOKENIZER, settings)
    assert lines(cache, large)[0][0] == "1 69999"
    assert [cache.row(0, side).dtype.itemsize for side in (0, 1)] == [4, 1]


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("", "1"), ("1", "")], r"no pair is left of 2 \(2 empty\)\. Check that the right files"),
        ([("1 " * 40, "1 " * 40)], r"no pair is left of 1 \(1 too long\)\. Raise data.max_length"),
        ([("1 " * 40, "1")] * 3, r"no pair is left of 3 \(2 duplicate, 1 too long\)\. Raise data.max_length"),
        ([("1 " * 20, "1"), ("2 " * 20, "1"), ("", "")], r"\(1 empty, 2 bad ratio\)\. .* raise data.max_length_ratio"),
    ],
)
def test_empty_result_is_rejected(
    tmp_path: Path, settings: DataConfig, pairs: list[tuple[str, str]], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        open_token_cache(write_corpus(tmp_path / "a.tsv", pairs), TOKENIZER, TOKENIZER, settings)
    assert entries(settings) == []


def test_interrupted_build_leaves_no_files(corpus: Corpus, settings: DataConfig) -> None:
    def stop(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_token_cache(corpus, TOKENIZER, TOKENIZER, settings, stop)
    assert entries(settings) == []
    assert len(open_token_cache(corpus, TOKENIZER, TOKENIZER, settings)) == 3


def test_slower_of_two_builds_uses_the_other_cache(corpus: Corpus, settings: DataConfig) -> None:
    def build_concurrently(done: int) -> None:
        open_token_cache(corpus, TOKENIZER, TOKENIZER, settings)

    cache = open_token_cache(corpus, TOKENIZER, TOKENIZER, settings, build_concurrently)
    assert len(cache) == 3
    assert len(entries(settings)) == 1


def test_old_leftovers_of_killed_builds_are_removed(corpus: Corpus, settings: DataConfig) -> None:
    old, recent, foreign = (
        Path(settings.cache) / name for name in ("tokens-1.a.building", "tokens-2.b.building", "mine")
    )
    two_days_ago = time.time() - 48 * 3600
    for folder in (old, recent, foreign):
        folder.mkdir(parents=True)
        (folder / "source.ids").touch()
    for path in (old / "source.ids", old, recent, foreign / "source.ids", foreign):
        os.utime(path, (two_days_ago, two_days_ago))
    open_token_cache(corpus, TOKENIZER, TOKENIZER, settings)
    assert not old.exists()
    assert recent.exists()
    assert foreign.exists()


@pytest.mark.parametrize("name", ["source.ids", "target.offsets", "indices", "hashes", "statistics.json"])
def test_damaged_cache_is_rejected(corpus: Corpus, settings: DataConfig, name: str) -> None:
    open_token_cache(corpus, TOKENIZER, TOKENIZER, settings)
    (folder,) = Path(settings.cache).iterdir()
    (folder / name).write_bytes((folder / name).read_bytes()[:5])
    with pytest.raises(UserError, match=r"this cache is damaged .* Delete the folder"):
        open_token_cache(corpus, TOKENIZER, TOKENIZER, settings)


def test_unwritable_cache_folder_is_rejected(corpus: Corpus, settings: DataConfig) -> None:
    Path(settings.cache).write_text("a file")
    with pytest.raises(UserError, match=r"the cache cannot be written .* data\.cache"):
        open_token_cache(corpus, TOKENIZER, TOKENIZER, settings)


@pytest.mark.parametrize("changed", [PAIRS[:-1], [*PAIRS, GOOD]])
def test_corpus_changed_during_build_is_rejected(
    tmp_path: Path, settings: DataConfig, changed: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = write_corpus(tmp_path / "pairs.tsv", PAIRS)
    readings = iter([PAIRS, changed])
    monkeypatch.setattr(corpus, "chunks", lambda size: iter([(0, next(readings))]))
    with pytest.raises(UserError, match="changed while it was read"):
        open_token_cache(corpus, TOKENIZER, TOKENIZER, settings)


def fsync_writable_only(descriptor: int) -> None:
    """Fail for read-only descriptors, as on Windows."""
    if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


def test_cache_is_built_if_fsync_needs_writable_files(
    corpus: Corpus, settings: DataConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(os, "fsync", fsync_writable_only)
    assert len(open_token_cache(corpus, TOKENIZER, TOKENIZER, settings)) == 3


def test_files_are_synced_before_the_rename_and_the_parent_after(
    corpus: Corpus, settings: DataConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[int | str] = []
    rename = Path.rename

    def log_rename(path: Path, new: Path) -> Path:
        events.append("renamed")
        return rename(path, new)

    monkeypatch.setattr(os, "fsync", lambda descriptor: events.append(os.fstat(descriptor).st_ino))
    monkeypatch.setattr(Path, "rename", log_rename)
    folder = open_token_cache(corpus, TOKENIZER, TOKENIZER, settings).folder
    content = {path.stat().st_ino for path in folder.iterdir()}
    assert {*events[: len(content)]} == content
    assert events[len(content) :] == [folder.stat().st_ino, "renamed", folder.parent.stat().st_ino]
