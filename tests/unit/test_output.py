"""Where something may be written: never over what is read."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from weft.core.errors import UserError
from weft.core.files import check_output_file, check_output_files


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("a line\n", "utf-8")
    return path


@contextmanager
def standard_input(path: Path) -> Iterator[None]:
    """As after `< path` in a shell."""
    before = os.dup(0)
    with path.open("rb") as opened:
        os.dup2(opened.fileno(), 0)
    try:
        yield
    finally:
        os.dup2(before, 0)
        os.close(before)


def test_an_input_is_no_output(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(file)
    for output in (file, tmp_path / "link", Path("text.txt"), tmp_path / "." / "text.txt"):
        with pytest.raises(UserError, match=rf"^{output}: is read from, .*; name another file$"):
            check_output_file(output, [Path("another"), file])


def test_every_file_that_is_written_is_one_of_its_own(file: Path, tmp_path: Path) -> None:
    new, other = tmp_path / "new", tmp_path / "other"
    check_output_files([new, None, other], [file, None])
    with pytest.raises(UserError, match=r"text\.txt: is read from"):
        check_output_files([new, file], [file])
    with pytest.raises(UserError, match="new: is to be written twice; name another file for one of the two"):
        check_output_files([new, tmp_path / "." / "new"], [file])


def test_standard_input_is_an_input(file: Path) -> None:
    check_output_file(file, [None])
    with standard_input(file), pytest.raises(UserError, match=r"text\.txt: is read from"):
        check_output_file(file, [None])


def test_another_file_a_new_one_or_a_device_is_an_output(file: Path, tmp_path: Path) -> None:
    (tmp_path / "same").write_text("a line\n", "utf-8")
    for output in (None, tmp_path / "same", tmp_path / "new", Path("/dev/null"), tmp_path):
        check_output_file(output, [file, tmp_path, Path("/dev/null"), None])


def test_a_sentence_is_no_file(file: Path) -> None:
    check_output_file(file, [Path("a very long sentence " * 300)])
