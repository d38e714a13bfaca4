"""`weft check`: each kind of problem is found, and valid data is not reported."""

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from weft.cli.check import read_check_inputs
from weft.core.errors import UserError
from weft.core.formatting import escape_unprintable
from weft.data.checks.cleaning import CHANGE_LOG, clean_training_data, copied_file_names
from weft.data.checks.encodings import guess_encoding, is_mojibake, repair_mojibake
from weft.data.checks.outliers import ProblemDetector
from weft.data.checks.problem_kinds import FIXABLE, PROBLEM_KINDS, Problem, parse_ignored_kinds
from weft.data.checks.problem_report import check_reports_to_json, excerpt, format_check_reports, has_serious_problems
from weft.data.checks.quality_check import CheckInputs, CheckResult, check_corpora

GOOD = [
    (f"The man saw the number {i} and went on to the house.", f"Der Mann sah die Nummer {i} und ging nach Hause, süß.")
    for i in range(50)
]

Pairs = Sequence[tuple[str | bytes, str | bytes]]
CheckPairs = Callable[..., CheckResult]


def as_bytes(line: str | bytes) -> bytes:
    return line if isinstance(line, bytes) else line.encode()


def write(folder: Path, name: str, pairs: Pairs) -> list[str]:
    """Write the pairs to two text files; return their paths."""
    paths = [folder / f"{name}.{ending}" for ending in ("en", "de")]
    for side, path in enumerate(paths):
        path.write_bytes(b"".join(as_bytes(pair[side]) + b"\n" for pair in pairs))
    return list(map(str, paths))


@pytest.fixture
def check_pairs(tmp_path: Path) -> CheckPairs:
    """Return a function that checks training pairs, optionally with validation pairs."""

    def check(pairs: Pairs, valid: Pairs = ()) -> CheckResult:
        held_out = write(tmp_path, "valid", valid) if valid else []
        inputs = read_check_inputs(write(tmp_path, "train", pairs), [], {"valid": held_out}, None)
        folder = tmp_path / "meanwhile"
        folder.mkdir()
        return check_corpora(inputs, folder, lambda name, done: None)

    return check


def problem_counts(checked: CheckResult) -> dict[str, int]:
    return {problem.kind: problem.count for problem in checked.corpora[0].problems if problem.count}


def test_good_data_has_no_problems(check_pairs: CheckPairs) -> None:
    checked = check_pairs(GOOD, [("Another line.", "Eine andere Zeile.")])
    assert problem_counts(checked) == {}
    assert not has_serious_problems(checked.corpora, 0)


@pytest.mark.parametrize(
    ("kind", "source", "target"),
    [
        ("encoding", "A line.", b"S\xfc\xdfe Zeile."),
        ("control", "A\0 line.", "Eine Zeile."),
        ("control", "A line.", "Eine\u2028Zeile."),
        ("control", "A line.", "Eine\x85 Zeile."),
        ("bom", "A line.", "Eine \ufeffZeile."),
        ("replacement", "A line.", "Eine sch\ufffdne Zeile."),
        ("mojibake", "A line.", "Eine schÃ¶ne Zeile."),
        ("mojibake", "It\u00e2\u20ac\u2122s a line.", "Eine Zeile."),
        ("empty", " ", "Eine Zeile."),
        ("empty", "A line.", "\u3000"),
        ("identical", "A line. ", "A line."),
        ("script", "A line.", "Это другой язык."),
        ("script", "Это другой язык.", "Eine Zeile."),
        ("length", "A line. " * 100, "Eine Zeile. " * 100),
        ("ratio", "A line that is rather long, and says a lot of things.", "Ja"),
        ("ratio", "Yes.", "Eine Zeile, die ziemlich lang ist und eine ganze Menge Sachen sagt, die da nicht stehen."),
        ("duplicate", *GOOD[7]),
        ("markup", "A <b>line</b>.", "Eine Zeile."),
        ("markup", "A line.", "Eine &amp; Zeile."),
        ("numbers", "A line of 1,000 letters.", "Eine Zeile mit 100 Zeichen."),
    ],
)
def test_each_problem_kind_is_found(
    kind: str, source: str | bytes, target: str | bytes, check_pairs: CheckPairs, tmp_path: Path
) -> None:
    checked = check_pairs([*GOOD, (source, target), ("One more.", "Noch eine.")])
    assert problem_counts(checked) == {kind: 1}
    found = checked.corpora[0].find(kind)
    assert found is not None
    (example,) = found.examples
    assert (example.file, example.line) == (str(tmp_path / "train.en"), len(GOOD) + 1)
    assert f"train.en, line {len(GOOD) + 1}: " in format_check_reports(checked.corpora)
    assert kind in PROBLEM_KINDS


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("In Berlin.", "In Berlin!"),
        ("Berlin", "Berlin"),  # a name
        ("42 17", "42 17"),
        ("A line with a tab\there.", "Eine Zeile\tmit Tabulator."),
        ("Yes.", "Ja, das stimmt."),
        ("A café in São Paulo…", "„Spaß“ … Spaß…"),
        ("“CAFÉ”", "«Café» — AMANHÃ…"),
        ("1,000.5 metres", "1.000,5 Meter"),
        ("Emoji 👩‍👩‍👧 and zero\u200cwidth.", "Und µ, ª und ﬁ."),
    ],
)
def test_valid_pairs_are_not_reported(source: str, target: str, check_pairs: CheckPairs) -> None:
    assert problem_counts(check_pairs([*GOOD, (source, target)])) == {}


def test_unpaired_lines_are_reported(tmp_path: Path) -> None:
    inputs = read_check_inputs(write(tmp_path, "train", GOOD), [], {}, None)
    longer = (tmp_path / "train.de").read_text("utf-8") + "Eine Zeile.\nNoch eine.\n"
    (tmp_path / "train.de").write_text(longer, "utf-8")
    (tmp_path / "meanwhile").mkdir()
    checked = check_corpora(inputs, tmp_path / "meanwhile", lambda name, done: None)
    assert problem_counts(checked) == {"unpaired": 2}
    with pytest.raises(UserError, match="one file has more lines"):
        clean_training_data(inputs, checked, 0, tmp_path / "out", tmp_path / "meanwhile")


def test_four_targets_for_a_source_are_accepted(check_pairs: CheckPairs) -> None:
    assert problem_counts(check_pairs([*GOOD, *(("Right.", f"Gut so, {word}.") for word in "abcd")])) == {}


def test_five_targets_for_a_source_are_reported(check_pairs: CheckPairs) -> None:
    pairs = [("Right.", f"Gut so, {word}.") for word in "abcde"]
    assert problem_counts(check_pairs([*GOOD, *pairs, pairs[0]])) == {"many-targets": 5, "duplicate": 1}


def test_leaked_pairs_are_reported(check_pairs: CheckPairs) -> None:
    checked = check_pairs(GOOD, [GOOD[3], (GOOD[4][0], "Etwas anderes."), ("New.", "Neu.")])
    assert problem_counts(checked) == {"leaked-source": 2, "leaked-pair": 1}
    valid = checked.corpora[1]
    assert (valid.count("leaked-source"), valid.count("leaked-pair")) == (2, 1)
    assert has_serious_problems(checked.corpora, 0)
    assert not has_serious_problems(checked.corpora, FIXABLE)


def test_a_side_may_have_several_scripts(check_pairs: CheckPairs) -> None:
    cyrillic = [(f"A line about {i} things.", f"Строка про {i} вещей.") for i in range(20)]
    assert problem_counts(check_pairs([*GOOD, *cyrillic])) == {}


def test_japanese_is_one_script(check_pairs: CheckPairs) -> None:
    lines = [(f"A line about {i} things.", f"これは{i}個のものについての文です。") for i in range(50)]
    mixed = [("Tokyo station.", "東京駅"), ("A test of it.", "テスト"), ("A line in Korean.", "한국어 문장입니다")]
    assert problem_counts(check_pairs([*lines, *mixed])) == {"script": 1}


def test_malformed_rows_are_reported(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("a b\tc d\nno tab\n", "utf-8")
    (tmp_path / "b.jsonl").write_text(
        '{"source": "a", "target": "b"}\n[]\n{"source": "\\ud800", "target": ""}\n', "utf-8"
    )
    for name, count in (("a.tsv", 1), ("b.jsonl", 2)):
        folder = tmp_path / f"meanwhile {name}"
        folder.mkdir()
        checked = check_corpora(
            read_check_inputs([str(tmp_path / name)], [], {}, None), folder, lambda name, done: None
        )
        assert problem_counts(checked) == {"malformed": count}


def test_utf_16_is_read(tmp_path: Path) -> None:
    names = write(tmp_path, "train", GOOD)
    Path(names[1]).write_bytes("".join(f"{target}\n" for _, target in GOOD).encode("utf-16"))
    (tmp_path / "meanwhile").mkdir()
    inputs = read_check_inputs(names, [], {}, None)
    checked = check_corpora(inputs, tmp_path / "meanwhile", lambda name, done: None)
    assert problem_counts(checked) == {"encoding": len(GOOD)}
    assert clean_training_data(inputs, checked, 0, tmp_path / "out", tmp_path / "meanwhile").kept == len(GOOD)
    assert (tmp_path / "out" / "train.de").read_text("utf-8").split("\n")[:-1] == [target for _, target in GOOD]
    assert json.loads((tmp_path / "out" / CHANGE_LOG).read_text("utf-8"))["before"] == "UTF-16"


def test_clean_training_data(tmp_path: Path) -> None:
    latin = "Eine süße Zeile."
    pairs: list[tuple[str | bytes, str | bytes]] = [
        ("\ufeffA line.", "Eine Zeile.\r"),
        ("A sweet line.", latin.encode("cp1252")),
        ("A\0 li\vne.", "SchÃ¶n."),
        ("A mix.", b"\xe9 \xc3\xa9"),
        ("A copy of it.", "A copy of it."),
    ]
    inputs = read_check_inputs(write(tmp_path, "train", [*pairs, *GOOD]), [], {}, None)
    folder = tmp_path / "meanwhile"
    folder.mkdir()
    checked = check_corpora(inputs, folder, lambda name, done: None)
    done = clean_training_data(inputs, checked, parse_ignored_kinds(["identical"]), tmp_path / "out", folder)
    assert done == (4 + len(GOOD), 3, 1)
    first = [(tmp_path / "out" / f"train.{side}").read_bytes().split(b"\n")[:4] for side in ("en", "de")]
    assert first[0] == [b"A line.", b"A sweet line.", b"A li ne.", b"A copy of it."]
    assert first[1] == [b"Eine Zeile.\r", latin.encode(), "Schön.".encode(), b"A copy of it."]
    changes = [json.loads(line) for line in (tmp_path / "out" / CHANGE_LOG).read_text("utf-8").split("\n")[:-1]]
    assert [(Path(change["file"]).name, change["line"], change["change"]) for change in changes] == [
        ("train.en", 1, "bom"),
        ("train.de", 2, "encoding"),
        ("train.en", 3, "control"),
        ("train.de", 3, "mojibake"),
        ("train.en", 4, "dropped: encoding"),
    ]
    assert changes[1]["before"].encode("utf-8", "surrogateescape") == latin.encode("cp1252")


@pytest.mark.parametrize(
    ("source", "target", "changes"),
    [
        ("A\0 line.", "Eine schÃ¶ne Zeile.", [("train.en", "control"), ("train.de", "mojibake")]),
        (
            "A\0 \ufeffline.",
            "S\xfc\xdfe Zeile.".encode("cp1252"),
            [("train.en", "control, bom"), ("train.de", "encoding")],
        ),
        ("A\0 line.\r", "Eine \ufeffZeile.\r", [("train.en", "control"), ("train.de", "bom")]),
        ("A line.", "Eine\0 \ufeffZeile.", [("train.de", "control, bom")]),
    ],
)
def test_change_log_names_the_problems_of_each_line(
    source: str | bytes, target: str | bytes, changes: list[tuple[str, str]], tmp_path: Path
) -> None:
    inputs = read_check_inputs(write(tmp_path, "train", [*GOOD, (source, target)]), [], {}, None)
    assert logged_changes(inputs, tmp_path) == changes


def test_change_log_names_the_problems_of_both_sides_of_a_table(tmp_path: Path) -> None:
    rows = ["\ufeffA\0 line.\tEine schÃ¶ne Zeile.", *map("\t".join, GOOD)]
    (tmp_path / "train.tsv").write_text("".join(f"{row}\n" for row in rows), "utf-8")
    inputs = read_check_inputs([str(tmp_path / "train.tsv")], [], {}, None)
    assert logged_changes(inputs, tmp_path) == [("train.tsv", "control, bom, mojibake")]


def logged_changes(inputs: CheckInputs, folder: Path) -> list[tuple[str, str]]:
    """Clean the training data; return file and problems of each entry of the log."""
    temporary = folder / "meanwhile"
    temporary.mkdir()
    checked = check_corpora(inputs, temporary, lambda name, done: None)
    clean_training_data(inputs, checked, 0, folder / "out", temporary)
    entries = map(json.loads, (folder / "out" / CHANGE_LOG).read_text("utf-8").split("\n")[:-1])
    return [(Path(entry["file"]).name, entry["change"]) for entry in entries]


def test_an_ignored_byte_order_mark_stays(tmp_path: Path) -> None:
    inputs = read_check_inputs(write(tmp_path, "train", [("\ufeffA\0 line.", "Eine Zeile."), *GOOD]), [], {}, None)
    checked = check_corpora(inputs, tmp_path, lambda *_: None)
    clean_training_data(inputs, checked, Problem.BYTE_ORDER_MARK, tmp_path / "clean", tmp_path)
    assert (tmp_path / "clean" / "train.en").read_text("utf-8").startswith("\ufeffA line.\n")


def test_cleaning_keeps_other_columns_fields_and_compression(tmp_path: Path) -> None:
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress(b"a\0 b\tc d\tnote\te\ne f\tg h\tmore\n"))
    (tmp_path / "b.jsonl").write_text('{"id": 7, "source": "a\\u0007 b", "target": "c d", "odd": "\\ud800"}\n', "utf-8")
    for name in ("a.tsv.gz", "b.jsonl"):
        folder = tmp_path / f"meanwhile {name}"
        folder.mkdir()
        inputs = read_check_inputs([str(tmp_path / name)], [], {}, None)
        clean_training_data(
            inputs, check_corpora(inputs, folder, lambda name, done: None), 0, tmp_path / f"out {name}", folder
        )
    assert gzip.decompress((tmp_path / "out a.tsv.gz" / "a.tsv.gz").read_bytes()) == (
        b"a b\tc d\tnote\te\ne f\tg h\tmore\n"
    )
    (row,) = (tmp_path / "out b.jsonl" / "b.jsonl").read_text("utf-8").splitlines()
    assert json.loads(row) == {"id": 7, "source": "a b", "target": "c d", "odd": "\ud800"}


def test_cleaning_that_drops_all_pairs_is_rejected(tmp_path: Path) -> None:
    inputs = read_check_inputs(write(tmp_path, "train", [("", "x"), ("A b.", "A b.")]), [], {}, None)
    folder = tmp_path / "meanwhile"
    folder.mkdir()
    with pytest.raises(UserError, match="would leave nothing"):
        clean_training_data(inputs, check_corpora(inputs, folder, lambda name, done: None), 0, tmp_path / "out", folder)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("change", [1, -1])
def test_files_changed_during_cleaning_are_reported(
    change: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line is added or removed after the check."""
    names, detect = write(tmp_path, "train", GOOD), ProblemDetector.detect

    def change_and_detect(detector: ProblemDetector, folder: Path, dropped: int) -> Any:
        write(tmp_path, "train", [*GOOD, ("New.", "Neu.")] if change > 0 else GOOD[:change])
        return detect(detector, folder, dropped)

    inputs, folder = read_check_inputs(names, [], {}, None), tmp_path / "meanwhile"
    folder.mkdir()
    checked = check_corpora(inputs, folder, lambda name, done: None)
    monkeypatch.setattr(ProblemDetector, "detect", change_and_detect)
    with pytest.raises(UserError, match="changed while it was read"):
        clean_training_data(inputs, checked, 0, tmp_path / "out", folder)
    assert not (tmp_path / "out").exists()


def test_pairs_that_become_outliers_after_cleaning_are_dropped(tmp_path: Path) -> None:
    uneven = [(f"A line about {i} things.", "Это слишком длинная строка. " * 7 + str(i)) for i in range(10)]
    few = [(f"A line about {i} things.", f"Строка про {i} вещей.") for i in range(2)]
    inputs = read_check_inputs(write(tmp_path, "train", [*GOOD, *uneven, *few]), [], {}, None)
    folder = tmp_path / "meanwhile"
    folder.mkdir()
    checked = check_corpora(inputs, folder, lambda name, done: None)
    assert problem_counts(checked) == {"ratio": len(uneven)}  # enough pairs for their script to be accepted
    assert clean_training_data(inputs, checked, 0, tmp_path / "out", folder) == (len(GOOD), 0, len(uneven) + len(few))


def test_encoding_guess_uses_letters_of_other_lines() -> None:
    def lines(text: str, encoding: str) -> list[str]:
        return [text.encode(encoding).decode("utf-8", "surrogateescape")]

    assert guess_encoding(lines("Größe und süß", "cp1252"), set("öüß")) == "cp1252"
    assert guess_encoding(lines("Привет, мир", "cp1251"), set("Приветмрдлуя")) == "cp1251"
    assert guess_encoding(lines("Привет, мир", "koi8-r"), set("Приветмрдлуя")) == "koi8-r"
    assert guess_encoding(lines("zażółć", "cp1250"), set("ążółćźńęś")) == "cp1250"
    assert guess_encoding(lines("Größe und süß", "cp1252"), set("日本語")) is None
    assert guess_encoding(lines("Größe und süß, aber Strümpfe", "cp1252"), set()) == "cp1252"
    assert guess_encoding(lines("Привет, мир", "cp1251"), set()) is None


def test_copied_file_names_are_unique(tmp_path: Path) -> None:
    first, second = tmp_path / "a" / "x.tsv", tmp_path / "b" / "x.tsv"
    assert copied_file_names([first]) == {first: "x.tsv"}
    assert copied_file_names([first, second]) == {first: "a/x.tsv", second: "b/x.tsv"}


def test_copied_files_stay_in_their_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    names = copied_file_names([Path("../corpus/a.de"), Path("data/a.en")])
    assert list(names.values()) == ["corpus/a.de", "project/data/a.en"]


def test_invisible_characters_are_escaped() -> None:
    assert escape_unprintable("a\0b\u2028\udce9\U000e0001") == "a\\x00b\\u2028\\xe9\\U000e0001"
    assert excerpt("x" * 100 + "\0" + "y" * 100, "control") == "..." + "x" * 12 + "\\x00" + "y" * 35 + "..."
    assert excerpt("caf\udce9", "encoding") == "caf\\xe9 (byte 0xE9 at position 4)"


def test_json_report(check_pairs: CheckPairs) -> None:
    value = json.loads(json.dumps(check_reports_to_json(check_pairs([*GOOD, ("A\0 b.", "C d.")]).corpora)))
    found = {problem["kind"]: problem for problem in value["corpora"][0]["problems"]}
    assert value["serious"] is True
    assert found["control"]["count"] == 1
    assert found["control"]["examples"][0]["source"] == "A\\x00 b."
    assert "unknown" not in found  # no tokenizer, so no unknown tokens


def test_every_problem_kind_has_fix_or_advice() -> None:
    assert len({kind.bit for kind in PROBLEM_KINDS.values()}) == len(PROBLEM_KINDS)
    assert all(kind.fix or kind.advice for kind in PROBLEM_KINDS.values())


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
@pytest.mark.parametrize(
    "text",
    ["Größe", "über SÃO PAULO", "Это язык", "これは文です", "Zażółć gęślą jaźń", "It’s 5 €", "Hi 👩", "10\u00a0km"],
)
def test_mojibake_is_found_and_repaired(text: str, encoding: str) -> None:
    garbled = "".join(bytes([byte]).decode(encoding, "ignore") or chr(byte) for byte in text.encode())
    assert is_mojibake(garbled)
    assert repair_mojibake(garbled) == text
    assert not is_mojibake(text)


def test_mojibake_mixed_with_other_scripts_is_not_repaired() -> None:
    assert is_mojibake("schÃ¶n, 日本")
    assert repair_mojibake("schÃ¶n, 日本") == "schÃ¶n, 日本"
