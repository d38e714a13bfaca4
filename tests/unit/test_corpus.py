"""Reading a corpus from files, and the errors for invalid files."""

import bz2
import gzip
import json
import lzma
import os
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from weft.core.errors import UserError
from weft.data import text_files
from weft.data.checks.encodings import read_raw_lines
from weft.data.corpus import Corpus
from weft.data.data_config import DataConfig
from weft.data.text_files import read_lines

PAIRS = [("ein Haus", "a house"), ("zwei\u2028Häuser", "two\x0bhouses\x85"), ("", "nothing")]
COMPRESS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def write(path: Path, content: str | bytes) -> Path:
    raw = content.encode() if isinstance(content, str) else content
    path.write_bytes(COMPRESS[path.suffix](raw) if path.suffix in COMPRESS else raw)
    return path


def join_lines(lines: list[str]) -> str:
    return "".join(line + "\n" for line in lines)


def jsonl(pairs: list[tuple[str, str]]) -> str:
    return join_lines([json.dumps({"source": source, "target": target}) for source, target in pairs])


@pytest.mark.parametrize("suffix", ["", *COMPRESS])
def test_all_formats_yield_the_same_pairs(tmp_path: Path, suffix: str) -> None:
    source = write(tmp_path / f"text.de{suffix}", join_lines([pair[0] for pair in PAIRS]))
    target = write(tmp_path / f"text.en{suffix}", join_lines([pair[1] for pair in PAIRS]))
    tsv = write(tmp_path / f"pairs.tsv{suffix}", join_lines(["\t".join([*pair, "a third column"]) for pair in PAIRS]))
    lines = write(tmp_path / f"pairs.jsonl{suffix}", jsonl(PAIRS))
    for paths in ([source, target], [tsv], [lines]):
        assert list(Corpus(paths).pairs()) == PAIRS


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\nb\r\r\n", ["a", "b\r"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
        ("a\x0b\x0c\x1c\x85\u2028\u2029\rb\n".encode(), ["a\x0b\x0c\x1c\x85\u2028\u2029\rb"]),
    ],
)
def test_lines_end_at_line_feeds_only(tmp_path: Path, content: bytes, lines: list[str]) -> None:
    for suffix in ("", *COMPRESS):
        assert list(read_lines(write(tmp_path / f"text{suffix}", content))) == lines


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_lines_do_not_depend_on_read_size(tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "READ_BYTES", size)
    for suffix in ("", *COMPRESS):
        content = "\ufeffä\n\r\n\nein langer Satz\r\nEnde"
        lines = list(read_lines(write(tmp_path / f"text{suffix}", content)))
        assert lines == ["ä", "", "", "ein langer Satz", "Ende"]


def test_other_fields_and_line_breaks_in_json(tmp_path: Path) -> None:
    path = write(tmp_path / "pairs.jsonl", '{"de": "eins\\nzwei", "en": "one", "id": 3}\n')
    assert list(Corpus([path], ("de", "en")).pairs()) == [("eins zwei", "one")]


def error_message(*paths: Path, fields: tuple[str, str] = ("source", "target")) -> str:
    with pytest.raises(UserError) as caught:
        list(Corpus(paths, fields).pairs())
    return str(caught.value)


def test_missing_file_suggests_similar_name(tmp_path: Path) -> None:
    existing = write(tmp_path / "train.de", "a\n")
    assert (
        error_message(existing, tmp_path / "train.ed")
        == f"{tmp_path}/train.ed: there is no such file; is it {existing}?"
    )
    assert error_message(existing, tmp_path / "zzz") == f"{tmp_path}/zzz: there is no such file"
    write(tmp_path / "broken.png", "")
    assert error_message(existing, tmp_path / "nope.png") == f"{tmp_path}/nope.png: there is no such file"
    assert (
        error_message(existing, tmp_path / "no" / "x")
        == f"{tmp_path}/no/x: there is no such file, nor a folder {tmp_path}/no"
    )


def test_folder_is_rejected(tmp_path: Path) -> None:
    assert error_message(tmp_path, tmp_path) == f"{tmp_path}: is a folder, not a file"


def test_pipe_is_rejected(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "pipe: is not a regular file" in error_message(tmp_path / "pipe", tmp_path / "pipe")


def test_invalid_utf_8_reports_line_and_byte(tmp_path: Path) -> None:
    path = write(tmp_path / "text", b"good\r\nbad \xe9t\xe9\nlast\n")
    assert "text, line 2: not UTF-8 (byte 0xE9 at position 5 of the line)" in error_message(path, path)
    before: list[str] = []
    with pytest.raises(UserError):
        before += read_lines(path)
    assert before == ["good"]  # lines before the error are kept


@pytest.mark.parametrize(("first", "second"), [(5, 3), (3, 5), (0, 2)])
def test_unequal_line_counts_are_reported(tmp_path: Path, first: int, second: int) -> None:
    paths = write(tmp_path / "a", "x\n" * first), write(tmp_path / "b", "x\n" * second)
    message = error_message(*paths)
    assert f"a has {first} lines and {tmp_path}/b has {second} lines" in message
    longer = "a" if first > second else "b"
    assert f"Line {min(first, second) + 1} of {tmp_path}/{longer} is the first without a partner: 'x'" in message
    assert "empty" not in message


def test_unequal_line_counts_point_to_an_empty_line(tmp_path: Path) -> None:
    paths = write(tmp_path / "a", "x\ny\n\nz\n"), write(tmp_path / "b", "x\n\ny\n")
    assert "line 2 is empty on one side only: look there first" in error_message(*paths)


@pytest.mark.parametrize("name", ["a.tsv", "a.jsonl", "a.tsv.gz"])
def test_empty_file_is_rejected(tmp_path: Path, name: str) -> None:
    assert f"{name}: empty" in error_message(write(tmp_path / name, ""))


def test_two_empty_files_are_rejected(tmp_path: Path) -> None:
    path = write(tmp_path / "a", "")
    assert "empty" in error_message(path, path)


def test_row_without_tab_is_rejected(tmp_path: Path) -> None:
    assert "a.tsv, line 2: expected source and target" in error_message(write(tmp_path / "a.tsv", "x\ty\nx y\n"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "a.jsonl, line 2: not JSON"),
        ("", "a.jsonl, line 2: not JSON"),
        ("[" * 100_000, "a.jsonl, line 2: not JSON"),
        ("[1]", "a.jsonl, line 2: expected an object"),
        (
            '{"source": "x", "text": "y"}',
            "a.jsonl, line 2: expected text in the field 'target', found no such field. Fields: source, text",
        ),
        ('{"source": "x", "target": 3}', "expected text in the field 'target', found a int"),
        ('{"source": "\\ud800", "target": "x"}', "the field 'source' contains half of a surrogate pair"),
    ],
)
def test_invalid_json_is_rejected(tmp_path: Path, line: str, message: str) -> None:
    assert message in error_message(write(tmp_path / "a.jsonl", jsonl(PAIRS[:1]) + line + "\n"))


@pytest.mark.parametrize("suffix", COMPRESS)
def test_concatenated_archive_members_are_read_in_order(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"text{suffix}"
    path.write_bytes(
        COMPRESS[suffix](b"a\nb") + COMPRESS[suffix](b"c\n") + bytes(8) + COMPRESS[suffix](b"d\n") + bytes(2**17)
    )
    assert list(read_lines(path)) == ["a", "bc", "d"]


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("damage", ["cut", "nothing", "not packed", "garbage after it", "second member", "a block"])
def test_broken_archive_is_rejected(tmp_path: Path, suffix: str, damage: str) -> None:
    intact = COMPRESS[suffix](b"".join(b"%d\t%d\n" % (number, number**3) for number in range(1000)))
    damaged = {
        "cut": intact[:-10],
        "nothing": b"",
        "not packed": b"x\ty\n",
        "garbage after it": intact + b"x",
        "second member": intact + intact[:-1],
        "a block": intact[:100] + bytes([intact[100] ^ 0xFF]) + intact[101:],
    }
    path = tmp_path / f"a.tsv{suffix}"
    path.write_bytes(damaged[damage])
    assert f"a.tsv{suffix}: this {suffix} file is broken" in error_message(path)


@pytest.mark.parametrize("suffix", COMPRESS)
def test_highly_compressed_file_is_decompressed_in_blocks(tmp_path: Path, suffix: str) -> None:
    content = (b"a" * 999 + b"\n") * 6000
    path = write(tmp_path / f"text{suffix}", content + b"end")
    blocks = list(text_files.read_blocks(path))
    assert b"".join(blocks) == content + b"end"
    assert max(map(len, blocks)) == 2**20
    assert sum(1 for line in read_lines(path) if line == "a" * 999) == 6000


@pytest.mark.parametrize("suffix", ["", *COMPRESS])
def test_overlong_line_is_rejected(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"a.tsv{suffix}", b"one\ttwo\nthree\tfour\n" + bytes(2**24 + 2**20))
    assert f"a.tsv{suffix}, line 3: more than 16 MiB without a line end" in error_message(path)
    with pytest.raises(UserError, match="line 3: more than 16 MiB without a line end"):
        list(read_raw_lines(path))


def test_archive_memory_is_limited(tmp_path: Path) -> None:
    """The .xz header declares a dictionary of almost 4 GiB."""
    content = bytearray(lzma.compress(b"one\n"))
    end = 12 + 4 * (content[12] + 1)  # end of the block header
    assert content[14:16] == b"\x21\x01"  # LZMA2, with one byte of properties
    content[16] = 40
    content[end - 4 : end] = zlib.crc32(content[12 : end - 4]).to_bytes(4, "little")
    (tmp_path / "a.tsv.xz").write_bytes(content)
    assert "a.tsv.xz: this .xz file is broken (Memory usage limit exceeded)" in error_message(tmp_path / "a.tsv.xz")


@pytest.mark.parametrize("names", [[], ["a"], ["a.txt"], ["a", "b", "c"], ["a.json"]])
def test_wrong_number_of_files_is_rejected(names: list[str]) -> None:
    with pytest.raises(UserError, match="pairs are read from two text files, or from one"):
        Corpus(names)


def test_fingerprint_depends_on_content(tmp_path: Path) -> None:
    first, same, other = (
        write(tmp_path / name, content) for name, content in [("a", "x\n"), ("b", "x\n"), ("c", "y\n")]
    )
    assert Corpus([first, other]).fingerprint() == Corpus([same, other]).fingerprint()
    assert Corpus([first, other]).fingerprint() != Corpus([other, first]).fingerprint()
    assert Corpus([first, first]).fingerprint() != Corpus([first, other]).fingerprint()


def test_relative_paths_are_resolved_against_the_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = DataConfig(folder="/data", train=("a", "/else/b"))
    assert settings.splits()["train"].names == ((Path("/data/a"), Path("/else/b")),)
    assert DataConfig(cache=str(tmp_path)).cache_folder() == tmp_path
    monkeypatch.setenv("WEFT_CACHE", str(tmp_path / "there"))
    assert DataConfig().cache_folder() == tmp_path / "there"
    monkeypatch.delenv("WEFT_CACHE")
    assert DataConfig().cache_folder() == Path.home() / ".cache" / "weft"
