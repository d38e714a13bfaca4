"""Corpora: what is read from files, and what is said of files that are wrong."""

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


PACK: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def write(path: Path, content: str | bytes) -> Path:
    raw = content.encode() if isinstance(content, str) else content
    path.write_bytes(PACK[path.suffix](raw) if path.suffix in PACK else raw)
    return path


def text(lines: list[str]) -> str:
    return "".join(line + "\n" for line in lines)


def jsonl(pairs: list[tuple[str, str]]) -> str:
    return text([json.dumps({"source": source, "target": target}) for source, target in pairs])


@pytest.mark.parametrize("packed", ["", *PACK])
def test_all_formats_give_the_same_pairs(tmp_path: Path, packed: str) -> None:
    source = write(tmp_path / f"text.de{packed}", text([pair[0] for pair in PAIRS]))
    target = write(tmp_path / f"text.en{packed}", text([pair[1] for pair in PAIRS]))
    tsv = write(tmp_path / f"pairs.tsv{packed}", text(["\t".join([*pair, "a third column"]) for pair in PAIRS]))
    lines = write(tmp_path / f"pairs.jsonl{packed}", jsonl(PAIRS))
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
    for ending in ("", *PACK):
        assert list(read_lines(write(tmp_path / f"text{ending}", content))) == lines


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_lines_are_the_same_however_they_are_read(tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "READ_BYTES", size)
    for ending in ("", *PACK):
        content = "\ufeffä\n\r\n\nein langer Satz\r\nEnde"
        lines = list(read_lines(write(tmp_path / f"text{ending}", content)))
        assert lines == ["ä", "", "", "ein langer Satz", "Ende"]


def test_other_fields_and_line_breaks_in_json(tmp_path: Path) -> None:
    path = write(tmp_path / "pairs.jsonl", '{"de": "eins\\nzwei", "en": "one", "id": 3}\n')
    assert list(Corpus([path], ("de", "en")).pairs()) == [("eins zwei", "one")]


def complaint(*paths: Path, fields: tuple[str, str] = ("source", "target")) -> str:
    with pytest.raises(UserError) as caught:
        list(Corpus(paths, fields).pairs())
    return str(caught.value)


def test_a_missing_file_names_the_nearest(tmp_path: Path) -> None:
    there = write(tmp_path / "train.de", "a\n")
    assert complaint(there, tmp_path / "train.ed") == f"{tmp_path}/train.ed: there is no such file; is it {there}?"
    assert complaint(there, tmp_path / "zzz") == f"{tmp_path}/zzz: there is no such file"
    write(tmp_path / "broken.png", "")
    assert complaint(there, tmp_path / "nope.png") == f"{tmp_path}/nope.png: there is no such file"
    assert (
        complaint(there, tmp_path / "no" / "x") == f"{tmp_path}/no/x: there is no such file, nor a folder {tmp_path}/no"
    )


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert complaint(tmp_path, tmp_path) == f"{tmp_path}: is a folder, not a file"


def test_a_pipe_cannot_be_read_twice(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "pipe: is not a regular file" in complaint(tmp_path / "pipe", tmp_path / "pipe")


def test_not_utf_8_tells_line_and_byte(tmp_path: Path) -> None:
    path = write(tmp_path / "text", b"good\r\nbad \xe9t\xe9\nlast\n")
    assert "text, line 2: not UTF-8 (byte 0xE9 at position 5 of the line)" in complaint(path, path)
    before: list[str] = []
    with pytest.raises(UserError):
        before += read_lines(path)
    assert before == ["good"]  # what stands before it is not lost


@pytest.mark.parametrize(("first", "second"), [(5, 3), (3, 5), (0, 2)])
def test_unequal_line_counts_tell_both(tmp_path: Path, first: int, second: int) -> None:
    paths = write(tmp_path / "a", "x\n" * first), write(tmp_path / "b", "x\n" * second)
    told = complaint(*paths)
    assert f"a has {first} lines and {tmp_path}/b has {second} lines" in told
    longer = "a" if first > second else "b"
    assert f"Line {min(first, second) + 1} of {tmp_path}/{longer} is the first without a partner: 'x'" in told
    assert "empty" not in told


def test_unequal_line_counts_tell_where_a_line_may_have_been_lost(tmp_path: Path) -> None:
    paths = write(tmp_path / "a", "x\ny\n\nz\n"), write(tmp_path / "b", "x\n\ny\n")
    assert "line 2 is empty on one side only: look there first" in complaint(*paths)


@pytest.mark.parametrize("name", ["a.tsv", "a.jsonl", "a.tsv.gz"])
def test_an_empty_file_is_refused(tmp_path: Path, name: str) -> None:
    assert f"{name}: empty" in complaint(write(tmp_path / name, ""))


def test_two_empty_files_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a", "")
    assert "empty" in complaint(path, path)


def test_a_row_without_a_tab_is_refused(tmp_path: Path) -> None:
    assert "a.tsv, line 2: expected source and target" in complaint(write(tmp_path / "a.tsv", "x\ty\nx y\n"))


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
def test_wrong_json_is_refused(tmp_path: Path, line: str, message: str) -> None:
    assert message in complaint(write(tmp_path / "a.jsonl", jsonl(PAIRS[:1]) + line + "\n"))


@pytest.mark.parametrize("ending", PACK)
def test_members_are_read_one_after_the_other(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"text{ending}"
    path.write_bytes(PACK[ending](b"a\nb") + PACK[ending](b"c\n") + bytes(8) + PACK[ending](b"d\n") + bytes(4))
    assert list(read_lines(path)) == ["a", "bc", "d"]


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("damage", ["cut", "nothing", "not packed", "garbage after it", "second member", "a block"])
def test_a_broken_archive_is_refused(tmp_path: Path, ending: str, damage: str) -> None:
    whole = PACK[ending](b"".join(b"%d\t%d\n" % (number, number**3) for number in range(1000)))
    damaged = {
        "cut": whole[:-10],
        "nothing": b"",
        "not packed": b"x\ty\n",
        "garbage after it": whole + b"x",
        "second member": whole + whole[:-1],
        "a block": whole[:100] + bytes([whole[100] ^ 0xFF]) + whole[101:],
    }
    path = tmp_path / f"a.tsv{ending}"
    path.write_bytes(damaged[damage])
    assert f"a.tsv{ending}: this {ending} file is broken" in complaint(path)


@pytest.mark.parametrize("ending", PACK)
def test_what_is_packed_tightly_is_unpacked_a_little_at_a_time(tmp_path: Path, ending: str) -> None:
    content = (b"a" * 999 + b"\n") * 6000
    path = write(tmp_path / f"text{ending}", content + b"end")
    parts = list(text_files.decompressed_blocks(path))
    assert b"".join(parts) == content + b"end"
    assert max(map(len, parts)) == 2**20
    assert sum(1 for line in read_lines(path) if line == "a" * 999) == 6000


@pytest.mark.parametrize("ending", ["", *PACK])
def test_a_line_without_end_is_refused(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path / f"a.tsv{ending}", b"one\ttwo\nthree\tfour\n" + bytes(2**25))
    assert f"a.tsv{ending}, line 3: more than 16 MiB without a line end" in complaint(path)
    with pytest.raises(UserError, match="line 3: more than 16 MiB without a line end"):
        list(read_raw_lines(path))


def test_an_archive_cannot_ask_for_much_memory(tmp_path: Path) -> None:
    """The header of an .xz names the size of its dictionary: here almost 4 GiB."""
    content = bytearray(lzma.compress(b"one\n"))
    end = 12 + 4 * (content[12] + 1)  # of the header of the block
    assert content[14:16] == b"\x21\x01"  # LZMA2, with one byte of settings
    content[16] = 40
    content[end - 4 : end] = zlib.crc32(content[12 : end - 4]).to_bytes(4, "little")
    (tmp_path / "a.tsv.xz").write_bytes(content)
    assert "a.tsv.xz: this .xz file is broken (Memory usage limit exceeded)" in complaint(tmp_path / "a.tsv.xz")


@pytest.mark.parametrize("names", [[], ["a"], ["a.txt"], ["a", "b", "c"], ["a.json"]])
def test_a_wrong_number_of_files_is_refused(names: list[str]) -> None:
    with pytest.raises(UserError, match="pairs are read from two text files, or from one"):
        Corpus(names)


def test_fingerprint_follows_the_content(tmp_path: Path) -> None:
    one, two, other = (write(tmp_path / name, text) for name, text in [("a", "x\n"), ("b", "x\n"), ("c", "y\n")])
    assert Corpus([one, other]).fingerprint() == Corpus([two, other]).fingerprint()
    assert Corpus([one, other]).fingerprint() != Corpus([other, one]).fingerprint()
    assert Corpus([one, one]).fingerprint() != Corpus([one, other]).fingerprint()


def test_settings_put_the_folder_before_relative_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = DataConfig(folder="/data", train=("a", "/else/b"))
    assert settings.splits()["train"].names == ((Path("/data/a"), Path("/else/b")),)
    assert DataConfig(cache=str(tmp_path)).cache_folder() == tmp_path
    monkeypatch.setenv("WEFT_CACHE", str(tmp_path / "there"))
    assert DataConfig().cache_folder() == tmp_path / "there"
    monkeypatch.delenv("WEFT_CACHE")
    assert DataConfig().cache_folder() == Path.home() / ".cache" / "weft"
