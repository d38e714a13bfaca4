"""Corpora of several files given by patterns: matching, pairing and error messages."""

from pathlib import Path

import pytest

from weft.core.errors import UserError
from weft.data.corpus import Corpus


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(**files: str) -> None:
    """Write a file with one letter per line for each name; `_` in a name stands for a dot."""
    for name, letters in files.items():
        Path(name.replace("_", ".")).write_text("".join(f"{letter}\n" for letter in letters), encoding="utf-8")


def corpus_error(*names: str, monolingual: bool = False) -> str:
    with pytest.raises(UserError) as caught:
        list(Corpus(names, monolingual=monolingual).pairs())
    return str(caught.value)


def test_shards_are_read_in_the_order_of_their_names() -> None:
    write(part2_en="cd", part1_en="ab", part1_de="AB", part2_de="CD", part10_en="x", part10_de="X")
    pairs = list(Corpus(["part*.en", "part*.de"]).pairs())
    assert pairs == [("a", "A"), ("b", "B"), ("x", "X"), ("c", "C"), ("d", "D")]
    assert Corpus(["part*.en", "part*.de"]).location(3) == "part2.en, line 1"


def test_pattern_may_match_tables_and_monolingual_files() -> None:
    Path("a.tsv").write_text("x\ty\n", encoding="utf-8")
    Path("b.tsv").write_text("v\tw\n", encoding="utf-8")
    assert list(Corpus(["?.tsv"]).pairs()) == [("x", "y"), ("v", "w")]
    write(a_txt="x", b_txt="yz")
    assert [line for _, line in Corpus(["[ab].txt"], monolingual=True).pairs()] == ["x", "y", "z"]


def test_recursive_pattern_skips_folders() -> None:
    Path("deep/er.txt").mkdir(parents=True)
    Path("deep/er.txt/a.txt").write_text("x\n", encoding="utf-8")
    assert [line for _, line in Corpus(["**/*.txt"], monolingual=True).pairs()] == ["x"]


def test_existing_file_takes_precedence_over_a_pattern() -> None:
    Path("a[1].txt").write_text("x\n", encoding="utf-8")
    Path("a1.txt").write_text("y\n", encoding="utf-8")
    assert [line for _, line in Corpus(["a[1].txt"], monolingual=True).pairs()] == ["x"]


def test_empty_shard_is_allowed_but_empty_corpus_is_reported() -> None:
    write(a_en="x", a_de="X", b_en="", b_de="")
    assert list(Corpus(["*.en", "*.de"]).pairs()) == [("x", "X")]
    assert corpus_error("b.*", monolingual=True) == "b.*: empty, there is no line in it"


def test_pattern_without_matches_is_reported(folder: Path) -> None:
    assert corpus_error("*.en", "*.de") == f"*.en: no file matches this pattern (relative to {folder})"


def test_shard_without_partner_is_reported() -> None:
    write(a_en="x", b_en="y", a_de="X")
    message = "*.en matches 2 files and *.de 1, but each source file needs its target file; b.en has no partner"
    assert corpus_error("*.en", "*.de") == message
    write(c_de="Y")
    assert corpus_error("*.en", "*.de").endswith(
        "match the same number of files, but with different names; b.en has no partner"
    )


def test_shards_with_unrelated_names_are_paired_by_order() -> None:
    for name, letter in (("en/one.en", "x"), ("en/two.en", "y"), ("de/eins.de", "X"), ("de/zwei.de", "Y")):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(letter + "\n", encoding="utf-8")
    assert list(Corpus(["en/*", "de/*"]).pairs()) == [("x", "X"), ("y", "Y")]


def test_unequal_shards_are_reported_by_name() -> None:
    write(a_en="x", a_de="X", b_en="xy", b_de="X")
    assert corpus_error("*.en", "*.de").startswith("b.en has 2 lines and b.de has 1 lines, but line n of one must be")


def test_patterns_expanded_by_the_shell_are_reported() -> None:
    assert "use one quoted pattern for each side: 'shards/*.en'" in corpus_error("a.en", "b.en", "a.de", "b.de")


def test_fingerprint_depends_on_shards_and_their_order() -> None:
    write(a_en="x", b_en="y", a_de="X", b_de="Y", whole_e="xy", whole_d="XY", c_en="x", c_de="X")
    names = (["[ab].en", "[ab].de"], ["[bc].en", "[bc].de"], ["whole.e", "whole.d"])
    assert len({Corpus(each).fingerprint() for each in names}) == 3
    assert Corpus(["[a].en", "a.de"]).fingerprint() == Corpus(["c.en", "c.de"]).fingerprint()
