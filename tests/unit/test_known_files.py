"""Hashes that are found out once: a file that was not touched is not read again, one that was touched always is."""

import os
import time
from pathlib import Path

import pytest

from weft.core.errors import UserError
from weft.data import json_cache
from weft.data.data_config import DataConfig
from weft.data.json_cache import FileHashCache, cached_count
from weft.data.text_files import hash_file


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that are read, as they are read; the clock says that all changes are long ago."""
    paths: list[Path] = []
    monkeypatch.setattr(json_cache, "hash_file", lambda path: paths.append(path) or hash_file(path))  # type: ignore[func-returns-value]
    later = time.time() + 60
    monkeypatch.setattr("weft.data.json_cache.time.time", lambda: later)
    return paths


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.write_text("one\n", encoding="utf-8")
    return path


def test_a_file_is_read_once(tmp_path: Path, file: Path, read: list[Path]) -> None:
    hashes = {FileHashCache(tmp_path / "files").hash(file) for _ in range(3)}
    assert hashes == {hash_file(file)}
    assert read == [file]


def test_a_change_is_seen_even_if_size_and_time_stay(tmp_path: Path, file: Path, read: list[Path]) -> None:
    known, before = FileHashCache(tmp_path / "files"), file.stat()
    first = known.hash(file)
    while file.stat().st_ctime_ns == before.st_ctime_ns:  # until the clock of the files ticks
        file.write_text("two\n", encoding="utf-8")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert known.hash(file) == hash_file(file) != first
    assert known.hash(file) == hash_file(file)
    assert len(read) == 2


def test_another_file_of_the_same_name_is_seen(tmp_path: Path, file: Path, read: list[Path]) -> None:
    known = FileHashCache(tmp_path / "files")
    known.hash(file)
    (tmp_path / "new").write_text("two\n", encoding="utf-8")
    (tmp_path / "new").replace(file)
    assert known.hash(file) == hash_file(file)


def test_what_changed_a_moment_ago_is_not_kept(
    tmp_path: Path, file: Path, read: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.data.json_cache.time.time", lambda: file.stat().st_mtime + 1)
    known = FileHashCache(tmp_path / "files")
    assert known.hash(file) == known.hash(file)
    assert len(read) == 2


@pytest.mark.parametrize("damage", ["", "{", "[1]", '{"signature": 1}', "null"])
def test_what_was_kept_and_is_damaged_is_found_out_anew(
    tmp_path: Path, file: Path, read: list[Path], damage: str
) -> None:
    known = FileHashCache(tmp_path / "files")
    known.hash(file)
    (kept,) = (tmp_path / "files").iterdir()
    kept.write_text(damage, encoding="utf-8")
    assert known.hash(file) == hash_file(file)
    assert len(read) == 2
    assert list((tmp_path / "files").iterdir()) == [kept]


def test_a_file_that_is_gone_is_told(tmp_path: Path, file: Path, read: list[Path]) -> None:
    known = FileHashCache(tmp_path / "files")
    known.hash(file)
    file.unlink()
    with pytest.raises(UserError, match="text: there is no such file"):
        known.hash(file)


def test_where_nothing_can_be_written_it_is_found_out_again(tmp_path: Path, file: Path, read: list[Path]) -> None:
    (tmp_path / "cache").write_text("a file", encoding="utf-8")
    settings = DataConfig(train=(str(file), str(file)), cache=str(tmp_path / "cache"))
    first, again = (settings.splits()["train"].fingerprint() for _ in range(2))
    assert first == again
    assert read == [file] * 4
    assert cached_count(tmp_path / "cache" / "count.json", lambda: 3) == 3
