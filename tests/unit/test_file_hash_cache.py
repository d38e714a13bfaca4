"""The file hash cache: unchanged files are not read again, changed files always are."""

import os
import time
from functools import partial
from pathlib import Path

import pytest

from weft.core.errors import UserError
from weft.data import hashes
from weft.data.data_config import DataConfig
from weft.data.hashes import cached_file_hash, hash_file


@pytest.fixture
def read_files(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Collect the files that are read; the clock is set so that all changes are old."""
    paths: list[Path] = []
    monkeypatch.setattr(hashes, "hash_file", lambda path: paths.append(path) or hash_file(path))  # type: ignore[func-returns-value]
    later = time.time() + 60
    monkeypatch.setattr("weft.data.hashes.time.time", lambda: later)
    return paths


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.write_text("one\n", encoding="utf-8")
    return path


def test_file_is_read_once(tmp_path: Path, file: Path, read_files: list[Path]) -> None:
    hashes = {cached_file_hash(tmp_path / "files", file) for _ in range(3)}
    assert hashes == {hash_file(file)}
    assert read_files == [file]


def test_change_is_detected_even_if_size_and_mtime_are_equal(
    tmp_path: Path, file: Path, read_files: list[Path]
) -> None:
    cached_hash, before = partial(cached_file_hash, tmp_path / "files"), file.stat()
    first = cached_hash(file)
    while file.stat().st_ctime_ns == before.st_ctime_ns:  # until the file system clock ticks
        file.write_text("two\n", encoding="utf-8")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert cached_hash(file) == hash_file(file) != first
    assert cached_hash(file) == hash_file(file)
    assert len(read_files) == 2


def test_replaced_file_is_detected(tmp_path: Path, file: Path, read_files: list[Path]) -> None:
    cached_hash = partial(cached_file_hash, tmp_path / "files")
    cached_hash(file)
    (tmp_path / "new").write_text("two\n", encoding="utf-8")
    (tmp_path / "new").replace(file)
    assert cached_hash(file) == hash_file(file)


def test_recently_changed_file_is_not_cached(
    tmp_path: Path, file: Path, read_files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.data.hashes.time.time", lambda: file.stat().st_mtime + 1)
    cached_hash = partial(cached_file_hash, tmp_path / "files")
    assert cached_hash(file) == cached_hash(file)
    assert len(read_files) == 2


@pytest.mark.parametrize("damage", ["", "{", "[1]", '{"signature": 1}', "null"])
def test_damaged_cache_entry_is_recomputed(tmp_path: Path, file: Path, read_files: list[Path], damage: str) -> None:
    cached_hash = partial(cached_file_hash, tmp_path / "files")
    cached_hash(file)
    (entry,) = (tmp_path / "files").iterdir()
    entry.write_text(damage, encoding="utf-8")
    assert cached_hash(file) == hash_file(file)
    assert len(read_files) == 2
    assert list((tmp_path / "files").iterdir()) == [entry]


def test_missing_file_is_reported(tmp_path: Path, file: Path, read_files: list[Path]) -> None:
    cached_hash = partial(cached_file_hash, tmp_path / "files")
    cached_hash(file)
    file.unlink()
    with pytest.raises(UserError, match="text: there is no such file"):
        cached_hash(file)


def test_unwritable_cache_is_ignored(tmp_path: Path, file: Path, read_files: list[Path]) -> None:
    (tmp_path / "cache").write_text("a file", encoding="utf-8")
    settings = DataConfig(train=(str(file), str(file)), cache=str(tmp_path / "cache"))
    first, again = (settings.splits()["train"].fingerprint() for _ in range(2))
    assert first == again
    assert read_files == [file] * 4
