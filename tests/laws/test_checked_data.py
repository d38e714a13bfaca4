"""A law of `weft check`: in what its --fix wrote it finds nothing that --fix deals with, and the log tells all."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from weft.cli.check import read_check_inputs
from weft.core.errors import UserError
from weft.data.checks.cleaning import CHANGE_LOG
from weft.data.checks.problem_kinds import FIXABLE, PROBLEM_KINDS
from weft.data.checks.problem_report import CheckReport
from weft.data.checks.quality_check import check_corpora, clean_training_data
from weft.data.corpus import Corpus

PIECES = st.sampled_from(
    [
        *(b"a man sleeps", b"the house", b"1,000", b"x", b" ", b"\t", b"<b>", b"yes " * 60, b"\0", b"\x1b[0m", b"\r"),
        *(b"\xe9", b"\xff", b"\xef\xbb\xbf", b"\xc3", b"\xc3\x83\xc2\xa9", b"\xc3\xa9", b"\xc2\x85", b"\xc2\xa0"),
        *(
            text.encode()
            for text in ("ein Mann schläft", "Größe", "Ã", "©", "â€™", "Ð¼Ð¸Ñ€", "\ufffd", "\u2028", "ï»¿")
        ),
        *(text.encode() for text in ("это другой язык", "日本語のテスト", "ß…", "ÃƒÂ©")),
    ]
)
SIDES = st.lists(PIECES, max_size=4).map(b"".join)
CORPORA = st.lists(st.tuples(SIDES, SIDES), min_size=1, max_size=40)
LAWFUL = settings(max_examples=40, deadline=None)


def unheard(name: str, done: int) -> None:
    """Progress that nobody asked for."""


def found_in(names: list[str], valid: list[str]) -> tuple[CheckReport, set[str]]:
    with TemporaryDirectory() as folder:
        findings = check_corpora(read_check_inputs(names, [], {"valid": valid}, None), Path(folder), unheard).corpora[0]
    return findings, {one.kind for one in findings.problems if one.count and PROBLEM_KINDS[one.kind].bit & FIXABLE}


def fixed(names: list[str], valid: list[str], out: Path) -> bool:
    """Write the copy; False if nothing would be left."""
    inputs = read_check_inputs(names, [], {"valid": valid}, None)
    with TemporaryDirectory() as folder:
        checked = check_corpora(inputs, Path(folder), unheard)
        try:
            clean_training_data(inputs, checked, 0, out, Path(folder))
        except UserError as error:
            if "would leave nothing" not in str(error):
                raise
            return False
    return True


def hold(names: list[str], folder: Path) -> None:
    """The law, for these files."""
    valid = folder / "valid.tsv"
    valid.write_text("a man sleeps\tein Mann schläft\nthe house\tx\n", "utf-8")
    before, _ = found_in(names, [str(valid)])
    if not fixed(names, [str(valid)], folder / "out"):
        assert not (folder / "out").exists()
        return
    copies = [str(folder / "out" / Path(name).name) for name in names]
    after, found = found_in(copies, [str(valid)])
    assert found == set()
    changes = [json.loads(line) for line in (folder / "out" / CHANGE_LOG).read_text("utf-8").split("\n")[:-1]]
    dropped = [change for change in changes if change["change"].startswith("dropped: ")]
    assert after.pairs == before.pairs - len(dropped)
    assert len(list(Corpus(copies).pairs())) == after.pairs  # training reads it
    mended = {change["line"] for change in changes if not change["change"].startswith("dropped: ")}
    assert all(change["change"] and change["before"] != change["after"] for change in changes)
    left = [number for number in range(1, before.pairs + 1) if number not in {change["line"] for change in dropped}]
    for name, copy in zip(names, copies, strict=True):
        old, new = (Path(path).read_bytes().split(b"\n")[:-1] for path in (name, copy))
        for number, line in zip(left, new, strict=True):
            assert number in mended or line == old[number - 1]


@given(CORPORA)
@LAWFUL
def test_two_files(pairs: list[tuple[bytes, bytes]]) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        for side, ending in enumerate(("en", "de")):
            (folder / f"train.{ending}").write_bytes(b"".join(pair[side] + b"\n" for pair in pairs))
        hold([str(folder / "train.en"), str(folder / "train.de")], folder)


@given(CORPORA)
@LAWFUL
def test_tables(pairs: list[tuple[bytes, bytes]]) -> None:
    with TemporaryDirectory() as name:
        table = Path(name) / "train.tsv"
        table.write_bytes(b"".join(b"\t".join(pair) + b"\n" for pair in pairs))
        hold([str(table)], Path(name))


@given(CORPORA)
@LAWFUL
def test_json(pairs: list[tuple[bytes, bytes]]) -> None:
    with TemporaryDirectory() as name:
        table = Path(name) / "train.jsonl"
        sides = [[side.decode("utf-8", "surrogateescape") for side in pair] for pair in pairs]
        rows = [json.dumps({"source": source, "target": target, "id": 1}) for source, target in sides]
        table.write_text("".join(f"{row}\n" for row in rows), "utf-8")
        hold([str(table)], Path(name))
