"""The token cache: what is kept, what is dropped, and that no half cache is ever used."""

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
from weft.data.line_hashes import hash_lines
from weft.data.token_cache import TokenCache, open_evaluation_cache, open_training_cache
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
    return corpus_of(tmp_path / "pairs.tsv", PAIRS)


def corpus_of(path: Path, pairs: list[tuple[str, str]]) -> Corpus:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return Corpus([path])


def entries(settings: DataConfig) -> list[str]:
    return [path.name for path in Path(settings.cache).iterdir()]


def lines(cache: TokenCache, tokenizer: Tokenizer = TOKENIZER) -> list[tuple[str, ...]]:
    return [tuple(tokenizer.decode(side.tolist() for side in cache.pair(number))) for number in range(len(cache))]


def test_filters_keep_the_right_pairs_and_count_the_others(corpus: Corpus, settings: DataConfig) -> None:
    cache = open_training_cache(corpus, TOKENIZER, TOKENIZER, settings)
    assert cache.indices.tolist() == [0, 6, 7]
    assert lines(cache) == [GOOD, ("5", "6 6 6 6 6 6 6 6 6 6"), ("4 5", "1 2 3")]
    assert cache.lengths(np.array([2, 0, 1])).tolist() == [[2, 3], [3, 2], [1, 10]]
    assert cache.statistics.pairs_read == 8
    assert cache.statistics.pairs_kept == len(cache) == 3
    assert cache.statistics.dropped == {"empty": 2, "duplicate": 1, "too long": 1, "bad ratio": 1}
    assert (cache.statistics.source.tokens, cache.statistics.target.tokens) == (6, 15)


def test_filters_can_be_set(corpus: Corpus, settings: DataConfig) -> None:
    loose = replace(settings, max_length=31, max_length_ratio=10.0, drop_duplicates=False)
    assert open_training_cache(corpus, TOKENIZER, TOKENIZER, loose).indices.tolist() == [0, 3, 4, 5, 6, 7]


def test_the_whole_corpus_drops_nothing(corpus: Corpus, settings: DataConfig) -> None:
    cache = open_evaluation_cache(corpus, TOKENIZER, TOKENIZER, settings)
    assert lines(cache) == [(source.strip(), target.strip()) for source, target in PAIRS]
    assert sum(cache.statistics.dropped.values()) == 0


def test_a_line_of_spaces_is_empty_even_if_it_has_pieces(tmp_path: Path, settings: DataConfig) -> None:
    corpus = corpus_of(tmp_path / "a.tsv", [("a", "   "), ("  ", "b"), ("c", "d")])
    assert (
        open_training_cache(
            corpus, ByteTokenizerTrainer().train([]), ByteTokenizerTrainer().train([]), settings
        ).statistics.dropped["empty"]
        == 2
    )


def test_empty_lines_alone_can_be_evaluated(tmp_path: Path, settings: DataConfig) -> None:
    cache = open_evaluation_cache(corpus_of(tmp_path / "a.tsv", [("", ""), ("", "")]), TOKENIZER, TOKENIZER, settings)
    assert lines(cache) == [("", ""), ("", "")]


def test_many_chunks_are_as_one(corpus: Corpus, settings: DataConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = open_training_cache(corpus, TOKENIZER, TOKENIZER, settings)
    monkeypatch.setattr(token_cache, "CHUNK_PAIRS", 3)
    heard: list[int] = []
    elsewhere = replace(settings, cache=settings.cache + "-2")
    pieces = open_training_cache(corpus, TOKENIZER, TOKENIZER, elsewhere, heard.append)
    assert heard == [3, 6, 8]
    assert lines(pieces) == lines(whole)
    assert pieces.source_hashes.tolist() == whole.source_hashes.tolist()
    assert pieces.statistics == whole.statistics
    assert pieces.indices.tolist() == whole.indices.tolist()


def test_a_chunk_of_which_nothing_is_kept(
    tmp_path: Path, settings: DataConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_cache, "CHUNK_PAIRS", 2)
    corpus = corpus_of(tmp_path / "a.tsv", [("", ""), ("", ""), ("1", "2"), ("", ""), ("", "")])
    cache = open_training_cache(corpus, TOKENIZER, TOKENIZER, settings)
    assert (cache.indices.tolist(), lines(cache)) == ([2], [("1", "2")])
    assert cache.source_hashes.tolist() == hash_lines(["1"]).tolist()


def test_the_folder_holds_what_is_needed_and_no_more(corpus: Corpus, settings: DataConfig) -> None:
    open_training_cache(corpus, TOKENIZER, TOKENIZER, settings)
    (folder,) = Path(settings.cache).iterdir()
    sides = [f"{side}.{what}" for side in ("source", "target") for what in ("ids", "offsets", "counts")]
    assert sorted(path.name for path in folder.iterdir()) == sorted([*sides, "hashes", "indices", "statistics.json"])


def test_the_second_time_it_is_only_opened(corpus: Corpus, settings: DataConfig) -> None:
    heard: list[int] = []
    first = open_training_cache(corpus, TOKENIZER, TOKENIZER, settings, heard.append)
    again = open_training_cache(corpus, TOKENIZER, TOKENIZER, settings, heard.append)
    assert heard == [8]
    assert lines(first) == lines(again)


def test_whatever_shapes_a_cache_gives_another(tmp_path: Path, corpus: Corpus, settings: DataConfig) -> None:
    other_tokenizer = WhitespaceTokenizerTrainer().train(["1 2"])
    open_training_cache(corpus, TOKENIZER, TOKENIZER, settings)
    open_training_cache(corpus, TOKENIZER, other_tokenizer, settings)
    open_training_cache(corpus, other_tokenizer, TOKENIZER, settings)
    open_training_cache(corpus, TOKENIZER, TOKENIZER, replace(settings, max_length=29))
    open_training_cache(corpus, TOKENIZER, TOKENIZER, replace(settings, max_length_ratio=2.0))
    open_training_cache(corpus, TOKENIZER, TOKENIZER, replace(settings, drop_duplicates=False))
    open_evaluation_cache(corpus, TOKENIZER, TOKENIZER, settings)
    open_training_cache(corpus_of(tmp_path / "other.tsv", PAIRS[:-1]), TOKENIZER, TOKENIZER, settings)
    assert len(entries(settings)) == 8


def test_unknown_and_bytes_are_counted(tmp_path: Path, settings: DataConfig) -> None:
    corpus = corpus_of(tmp_path / "a.tsv", [("1 never seen", "ab"), ("2", "é")])
    tally = open_training_cache(corpus, TOKENIZER, ByteTokenizerTrainer().train([]), settings).statistics
    assert (tally.source.tokens, tally.source.unknown_tokens, tally.source.has_byte_fallback) == (4, 2, False)
    assert (
        tally.target.tokens,
        tally.target.unknown_tokens,
        tally.target.byte_tokens,
        tally.target.has_byte_fallback,
    ) == (4, 0, 4, True)


def test_a_large_vocabulary_takes_wider_ids(tmp_path: Path, settings: DataConfig) -> None:
    large = WhitespaceTokenizerTrainer().train([" ".join(map(str, range(70_000)))])
    corpus = corpus_of(tmp_path / "a.tsv", [("1 69999", "2 3")])
    cache = open_training_cache(corpus, large, TOKENIZER, settings)
    assert lines(cache, large)[0][0] == "1 69999"
    assert [side.dtype.itemsize for side in cache.pair(0)] == [4, 1]


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("", "1"), ("1", "")], r"no pair is left of 2 \(2 empty\)\. Check that the right files"),
        ([("1 " * 40, "1 " * 40)], r"no pair is left of 1 \(1 too long\)\. Raise data.max_length"),
        ([("1 " * 40, "1")] * 3, r"no pair is left of 3 \(2 duplicate, 1 too long\)\. Raise data.max_length"),
        ([("1 " * 20, "1"), ("2 " * 20, "1"), ("", "")], r"\(1 empty, 2 bad ratio\)\. .* raise data.max_length_ratio"),
    ],
)
def test_nothing_left_is_refused(
    tmp_path: Path, settings: DataConfig, pairs: list[tuple[str, str]], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        open_training_cache(corpus_of(tmp_path / "a.tsv", pairs), TOKENIZER, TOKENIZER, settings)
    assert entries(settings) == []


def test_a_stopped_build_leaves_nothing(corpus: Corpus, settings: DataConfig) -> None:
    def stop(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_training_cache(corpus, TOKENIZER, TOKENIZER, settings, stop)
    assert entries(settings) == []
    assert len(open_training_cache(corpus, TOKENIZER, TOKENIZER, settings)) == 3


def test_the_slower_of_two_runs_uses_the_other_cache(corpus: Corpus, settings: DataConfig) -> None:
    def meanwhile(done: int) -> None:
        open_training_cache(corpus, TOKENIZER, TOKENIZER, settings)

    cache = open_training_cache(corpus, TOKENIZER, TOKENIZER, settings, meanwhile)
    assert len(cache) == 3
    assert len(entries(settings)) == 1


def test_what_killed_builds_left_is_cleaned_when_old(corpus: Corpus, settings: DataConfig) -> None:
    old, young, foreign = (
        Path(settings.cache) / name for name in ("tokens-1.a.building", "tokens-2.b.building", "mine")
    )
    long_ago = time.time() - 48 * 3600
    for folder in (old, young, foreign):
        folder.mkdir(parents=True)
        (folder / "source.ids").touch()
    for path in (old / "source.ids", old, young, foreign / "source.ids", foreign):
        os.utime(path, (long_ago, long_ago))
    open_training_cache(corpus, TOKENIZER, TOKENIZER, settings)
    assert not old.exists()
    assert young.exists()
    assert foreign.exists()


@pytest.mark.parametrize("name", ["source.ids", "target.offsets", "indices", "hashes", "statistics.json"])
def test_a_damaged_cache_is_refused(corpus: Corpus, settings: DataConfig, name: str) -> None:
    open_training_cache(corpus, TOKENIZER, TOKENIZER, settings)
    (folder,) = Path(settings.cache).iterdir()
    (folder / name).write_bytes((folder / name).read_bytes()[:5])
    with pytest.raises(UserError, match=r"this cache is damaged .* Delete the folder"):
        open_training_cache(corpus, TOKENIZER, TOKENIZER, settings)


def test_a_cache_folder_that_cannot_be_written(corpus: Corpus, settings: DataConfig) -> None:
    Path(settings.cache).write_text("a file")
    with pytest.raises(UserError, match=r"the cache cannot be written .* data\.cache"):
        open_training_cache(corpus, TOKENIZER, TOKENIZER, settings)


@pytest.mark.parametrize("later", [PAIRS[:-1], [*PAIRS, GOOD]])
def test_a_corpus_that_changes_meanwhile(
    tmp_path: Path, settings: DataConfig, later: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = corpus_of(tmp_path / "pairs.tsv", PAIRS)
    readings = iter([PAIRS, later])
    monkeypatch.setattr(corpus, "chunks", lambda size: iter([(0, next(readings))]))
    with pytest.raises(UserError, match="changed while it was read"):
        open_training_cache(corpus, TOKENIZER, TOKENIZER, settings)


def only_what_is_open_for_writing(descriptor: int) -> None:
    """As Windows has it."""
    if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


def test_a_cache_is_built_where_nothing_opened_for_reading_can_be_flushed(
    corpus: Corpus, settings: DataConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(os, "fsync", only_what_is_open_for_writing)
    assert len(open_training_cache(corpus, TOKENIZER, TOKENIZER, settings)) == 3


def test_a_cache_is_on_the_disk_before_its_name_and_then_so_is_the_name(
    corpus: Corpus, settings: DataConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[int | str] = []
    rename = Path.rename

    def renamed(path: Path, new: Path) -> Path:
        done.append("renamed")
        return rename(path, new)

    monkeypatch.setattr(os, "fsync", lambda descriptor: done.append(os.fstat(descriptor).st_ino))
    monkeypatch.setattr(Path, "rename", renamed)
    folder = open_training_cache(corpus, TOKENIZER, TOKENIZER, settings).folder
    content = {path.stat().st_ino for path in folder.iterdir()}
    assert {*done[: len(content)]} == content
    assert done[len(content) :] == [folder.stat().st_ino, "renamed", folder.parent.stat().st_ino]
