"""Training data in CSV, Parquet and documents, and glossaries in CSV and TBX."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from weft.core.errors import UserError
from weft.data.corpus import Corpus, HoldoutSplit
from weft.decoding.constraints.glossary import read_glossary

PAIRS = [("one, two", 'ein "Wort"'), ("three four", "fünf sechs"), ("a b", "c d")]
CSV = 'source,target\r\n"one, two","ein ""Wort"""\r\n"three\nfour","fünf\r\nsechs"\r\n\r\na b,c d\r\n'
PO = (
    'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    'msgid "one, two"\nmsgstr "ein \\"Wort\\""\n\nmsgid "left out"\nmsgstr ""\n\n'
    'msgid "three four"\nmsgstr "fünf sechs"\n\nmsgid "a b"\nmsgstr "c d"\n'
)
TMX = (
    '<?xml version="1.0"?><tmx version="1.4"><header srclang="en"/><body>'
    + "".join(
        f'<tu><tuv xml:lang="en"><seg>{source}</seg></tuv><tuv xml:lang="de"><seg>{target}</seg></tuv></tu>'
        for source, target in PAIRS
    )
    + "</body></tmx>"
)
XLIFF = (
    '<?xml version="1.0"?><xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">'
    '<file original="a" source-language="en" target-language="de" datatype="plaintext"><body>'
    + "".join(
        f'<trans-unit id="{number}"><source>{source}</source><target>{target}</target></trans-unit>'
        for number, (source, target) in enumerate(PAIRS)
    )
    + "</body></file></xliff>"
)


def write(path: Path, content: str) -> Path:
    path.write_text(content, "utf-8", newline="")
    return path


def write_parquet(path: Path, columns: Mapping[str, object]) -> Path:
    pyarrow.parquet.write_table(pyarrow.table(dict(columns)), path)
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("train.csv", CSV),
        ("train.csv", CSV.partition("\n")[2]),
        ("train.csv", 'id;Target;Source\n1;"ein ""Wort""";one, two\n2;fünf sechs;three four\n3;c d;a b'),
        ("train.po", PO),
        ("train.tmx", TMX),
        ("train.xlf", XLIFF),
    ],
)
def test_pairs_of_text_formats(tmp_path: Path, name: str, content: str) -> None:
    assert list(Corpus([write(tmp_path / name, content)]).pairs()) == PAIRS


def test_pairs_of_parquet(tmp_path: Path) -> None:
    sources, targets = [source for source, _ in PAIRS], [target for _, target in PAIRS]
    struct = [{"de": target, "en": source} for source, target in PAIRS]
    files: dict[str, dict[str, object]] = {
        "named": {"target": targets, "id": [1, 2, 3], "source": sources},
        "first": {"id": [1, 2, 3], "english": sources, "german": targets},
        "struct": {"id": ["a", "b", "c"], "translation": struct},
    }
    for name, columns in files.items():
        path = write_parquet(tmp_path / f"{name}.parquet", columns)
        fields = ("en", "de") if name == "struct" else ("source", "target")
        assert list(Corpus([path], fields).pairs()) == PAIRS


def test_holdout_patterns_and_fingerprints_work_as_for_lines(tmp_path: Path) -> None:
    write(tmp_path / "part1.csv", CSV)
    write(tmp_path / "part2.csv", "source,target\nx y,z\n")
    corpus = Corpus([tmp_path / "part*.csv"])
    assert list(corpus.pairs()) == [*PAIRS, ("x y", "z")]
    parts = [Corpus([tmp_path / "part*.csv"], holdout=HoldoutSplit(0.5, side)) for side in (True, False)]
    assert sorted(pair for part in parts for pair in part.pairs()) == sorted(corpus.pairs())
    before = corpus.fingerprint()
    write(tmp_path / "part2.csv", "source,target\nx y,zz\n")
    assert Corpus([tmp_path / "part*.csv"]).fingerprint() != before
    assert corpus.location(3).endswith("part2.csv, record 1")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "source,target\na,b\nonly one\n", "record 2 .line 3.: has 1 column,"),
        ("a.csv", 'source,target\na,"b\n', "record 1"),
        ("a.csv", "", "empty"),
        ("a.po", "msgid x\n", "a.po"),
        ("a.tmx", '<!DOCTYPE x [<!ENTITY a "b">]><tmx/>', "a.tmx"),
        ("a.xlf", "<xliff", "a.xlf"),
        ("a.parquet", "no parquet", "a.parquet: cannot be read as Parquet"),
    ],
)
def test_damaged_files_are_named(tmp_path: Path, name: str, content: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        list(Corpus([write(tmp_path / name, content)]).pairs())


def test_damaged_parquet(tmp_path: Path) -> None:
    three = write_parquet(tmp_path / "three.parquet", {"a": ["x"], "b": ["y"], "c": ["z"]})
    empty = write_parquet(tmp_path / "empty.parquet", {"source": ["x", None], "target": ["y", "z"]})
    with pytest.raises(UserError, match="3 columns of text"):
        list(Corpus([three]).pairs())
    with pytest.raises(UserError, match="record 2: a text is missing"):
        list(Corpus([empty]).pairs())


OLD_TBX = """<?xml version="1.0"?><martif type="TBX" xml:lang="en"><text><body>
<termEntry><langSet xml:lang="de"><tig><term>Haus</term></tig><tig><term>Gebäude</term></tig></langSet>
<langSet xml:lang="en"><ntig><termGrp><term>house</term></termGrp></ntig></langSet></termEntry>
<termEntry><langSet xml:lang="en"><tig><term>only
 English</term></tig></langSet></termEntry></body></text></martif>"""
HEADED_CSV = "source,target\nhouse,Haus|Gebäude\n"
NEW_TBX = """<tbx type="TBX-Basic" style="dca" xml:lang="en" xmlns="urn:iso:std:iso:30042:ed-2"><text><body>
<conceptEntry><langSec xml:lang="en"><termSec><term>house</term></termSec></langSec>
<langSec xml:lang="de"><termSec><term>Haus</term></termSec><termSec><term>Gebäude</term></termSec></langSec>
</conceptEntry></body></text></tbx>"""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tbx", OLD_TBX),
        ("a.tbx", NEW_TBX),
        ("a.csv", "source,target\nhouse,Haus|Gebäude\n"),
        ("a.csv", "house;Haus|Gebäude"),
    ],
)
def test_glossaries(tmp_path: Path, name: str, content: str) -> None:
    glossary = read_glossary(write(tmp_path / name, content))
    assert (dict(glossary.required), dict(glossary.forbidden)) == ({"house": ("Haus", "Gebäude")}, {})


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tbx", "<tbx>"),
        ("a.tbx", '<!DOCTYPE x [<!ENTITY a "b">]><tbx/>'),
        ("a.tbx", "<html/>"),
        ("a.tbx", NEW_TBX.replace('xml:lang="de"', 'xml:lang="en"')),
        ("a.csv", "house\n"),
    ],
)
def test_damaged_glossaries(tmp_path: Path, name: str, content: str) -> None:
    with pytest.raises(UserError, match=name):
        read_glossary(write(tmp_path / name, content))
