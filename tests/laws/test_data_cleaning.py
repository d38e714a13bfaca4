"""`weft check` finds no fixable problem in the output of its --fix, and the change log is complete."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from weft.cli.check import read_check_inputs
from weft.core.errors import UserError
from weft.data.checks.cleaning import CHANGE_LOG, clean_training_data
from weft.data.checks.problem_kinds import FIXABLE, PROBLEM_KINDS
from weft.data.checks.problem_report import CheckReport
from weft.data.checks.quality_check import check_corpora
from weft.data.corpus import Corpus

FRAGMENTS = st.sampled_from(
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
SIDES = st.lists(FRAGMENTS, max_size=4).map(b"".join)
CORPORA = st.lists(st.tuples(SIDES, SIDES), min_size=1, max_size=40)
SETTINGS = settings(max_examples=40, deadline=None)


def ignore_progress(name: str, done: int) -> None:
    """Discard progress reports."""


def check_files(names: list[str], valid: list[str]) -> tuple[CheckReport, set[str]]:
    with TemporaryDirectory() as folder:
        report = check_corpora(
            read_check_inputs(names, [], {"valid": valid}, None), Path(folder), ignore_progress
        ).corpora[0]
    return report, {
        problem.kind for problem in report.problems if problem.count and PROBLEM_KINDS[problem.kind].bit & FIXABLE
    }


def clean_files(names: list[str], valid: list[str], out: Path) -> bool:
    """Write the cleaned copy; return False if nothing would be left."""
    inputs = read_check_inputs(names, [], {"valid": valid}, None)
    with TemporaryDirectory() as folder:
        checked = check_corpora(inputs, Path(folder), ignore_progress)
        try:
            clean_training_data(inputs, checked, 0, out, Path(folder))
        except UserError as error:
            if "would leave nothing" not in str(error):
                raise
            return False
    return True


def assert_cleaned(names: list[str], folder: Path) -> None:
    """Clean these files and check the copies and the change log."""
    valid = folder / "valid.tsv"
    valid.write_text("a man sleeps\tein Mann schläft\nthe house\tx\n", "utf-8")
    before, _ = check_files(names, [str(valid)])
    if not clean_files(names, [str(valid)], folder / "out"):
        assert not (folder / "out").exists()
        return
    copies = [str(folder / "out" / Path(name).name) for name in names]
    after, fixable = check_files(copies, [str(valid)])
    assert fixable == set()
    changes = [json.loads(line) for line in (folder / "out" / CHANGE_LOG).read_text("utf-8").split("\n")[:-1]]
    dropped = [change for change in changes if change["change"].startswith("dropped: ")]
    assert after.pairs == before.pairs - len(dropped)
    assert len(list(Corpus(copies).pairs())) == after.pairs  # training reads it
    changed_lines = {change["line"] for change in changes if not change["change"].startswith("dropped: ")}
    assert all(change["change"] and change["before"] != change["after"] for change in changes)
    remaining = [
        number for number in range(1, before.pairs + 1) if number not in {change["line"] for change in dropped}
    ]
    for name, copy in zip(names, copies, strict=True):
        old, new = (Path(path).read_bytes().split(b"\n")[:-1] for path in (name, copy))
        for number, line in zip(remaining, new, strict=True):
            assert number in changed_lines or line == old[number - 1]


@given(CORPORA)
@SETTINGS
def test_two_files_are_cleaned(pairs: list[tuple[bytes, bytes]]) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        for side, language in enumerate(("en", "de")):
            (folder / f"train.{language}").write_bytes(b"".join(pair[side] + b"\n" for pair in pairs))
        assert_cleaned([str(folder / "train.en"), str(folder / "train.de")], folder)


@given(CORPORA)
@SETTINGS
def test_tsv_file_is_cleaned(pairs: list[tuple[bytes, bytes]]) -> None:
    with TemporaryDirectory() as name:
        table = Path(name) / "train.tsv"
        table.write_bytes(b"".join(b"\t".join(pair) + b"\n" for pair in pairs))
        assert_cleaned([str(table)], Path(name))


@given(CORPORA)
@SETTINGS
def test_jsonl_file_is_cleaned(pairs: list[tuple[bytes, bytes]]) -> None:
    with TemporaryDirectory() as name:
        table = Path(name) / "train.jsonl"
        sides = [[side.decode("utf-8", "surrogateescape") for side in pair] for pair in pairs]
        rows = [json.dumps({"source": source, "target": target, "id": 1}) for source, target in sides]
        table.write_text("".join(f"{row}\n" for row in rows), "utf-8")
        assert_cleaned([str(table)], Path(name))
