"""Several systems side by side: the tables, and the files they come from."""

import json
import re
from pathlib import Path

import pytest

from weft.cli.compare import compare as compare_files
from weft.cli.comparing import Comparing
from weft.cli.options import refuse
from weft.core.errors import UserError
from weft.metric.breakdown import by_frequency, by_length, frequencies, labels
from weft.metric.compare import Comparison, Settings, compare
from weft.metric.confusions import confusions
from weft.metric.evaluate import count
from weft.metric.lines import Lines, Options
from weft.metric.material import Material, System, names_of, read_material
from weft.metric.render_comparison import as_json, render
from weft.report.page import compare_on_page

REFERENCES = ["the cat sat on the mat", "a dog <script>alert(1)</script> ran", "it rains", "she said no"]
GOOD = ["the cat sat on a mat", "a dog <script>alert(1)</script> ran", "it rains", "she said so"]
BAD = ["cat", "a & b", "it snows & rains", "she said no"]
SOURCES = [
    "die Katze",
    "ein <b>Hund</b>",
    "es regnet",
    'sie sagte "nein" und noch mehr als nur elf Wörter in einer Zeile',
]
FEW = Settings(samples=100, trials=100)


def material(*systems: list[str]) -> Material:
    named = [System(f"system-{number}", lines) for number, lines in enumerate(systems, start=1)]
    return Material(named, [[line] for line in REFERENCES], SOURCES)


def compared() -> Comparison:
    return compare(material(GOOD, BAD), FEW, ["the cat the cat the dog", "a"])


def test_each_system_is_compared_with_the_first() -> None:
    found = compared().results["bleu"]
    assert [(result.system, result.p is None) for result in found] == [("system-1", True), ("system-2", False)]
    (alone,) = [counts.score() for counts in count(Lines(BAD, [[line] for line in REFERENCES]), ["bleu"]).values()]
    assert found[1].score.value == alone
    assert all(result.score.interval is not None for result in found)


def test_one_line_has_no_interval_here_either() -> None:
    one = Material([System("a", ["x"]), System("b", ["y"])], [["x"]])
    found = compare(one, Settings(metrics=["wer"], samples=100, trials=100))
    assert [result.score.interval for result in found.results["wer"]] == [None, None]
    assert "a    0.00" in render(found)
    assert render(found).startswith("1 line; ")


def test_p_is_told_where_there_is_one() -> None:
    assert "; p: approximate randomisation, 100 trials, against the first system; seed 12345" in compared().told()
    assert compare(material(GOOD), FEW).told() == "± holds 95 % of 100 bootstrap samples; seed 12345"


def test_scores_by_length() -> None:
    lines = Lines(GOOD, [[line] for line in REFERENCES])
    counted = count(lines, ["exact"])["exact"]
    found = by_length([counted], [0, 10, 2, 11])
    assert found == [("0-10", 3, (pytest.approx(200 / 3),)), ("11-20", 1, (0.0,))]
    assert labels((0, 1, 2, 5)) == ["0", "1", "2-4", "5+"]


def test_words_by_frequency() -> None:
    lines = Lines(["a b z", "a x"], [["a b c"], ["a d"]])
    counted = frequencies(["a a b c"], Options())
    assert by_frequency([lines], counted, Options(), (0, 1, 2)) == [
        ("0", 1, (0.0,)),  # d, where z and x were written
        ("1", 2, (pytest.approx(200 / 3),)),  # b and c, where b was written
        ("2+", 2, (100.0,)),
    ]
    assert frequencies(["A a"], Options(lowercase=True)) == {"a": 2}


def test_confusions() -> None:
    lines = Lines(["a x", "a x", "b"], [["a y"], ["a y"], ["b c", "b d e"]])
    assert confusions(lines, Options(), 5) == [("y", "x", 2), ("c", "", 1)]


def test_the_table_of_a_terminal() -> None:
    lines = render(compared()).split("\n")
    assert lines[0].startswith(
        "4 lines; ± holds 95 % of 100 bootstrap samples; p: approximate randomisation, 100 trials"
    )
    assert any(re.fullmatch(r"bleu  higher is better  nrefs:1\|.*version:.*", line) for line in lines)
    assert any(re.fullmatch(r"  system-2 +\d+\.\d\d ± \d+\.\d\d  -\d+\.\d\d  p = \d\.\d+", line) for line in lines)
    assert "bleu by the length of the source, in words" in lines
    assert "Words found, by how often they stand in the training text (F-score)" in lines


def test_json_holds_it_all() -> None:
    found = json.loads(as_json(compared()))
    assert found["systems"] == ["system-1", "system-2"]
    assert found["metrics"]["chrf"][1]["p"] > 0
    assert found["metrics"]["chrf"][1]["signature"].startswith("nrefs:1|")
    assert {"bleu_by_source_length", "words_by_frequency", "confusions"} <= found.keys()


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def test_files(tmp_path: Path) -> None:
    table = write(tmp_path / "test.tsv", "go\tve\tvete\nrun\tcorre\n")
    one, other = write(tmp_path / "a" / "out", "ve\ncorre\n"), write(tmp_path / "b" / "out", "va\ncorre\n")
    found = read_material([table], [one, other], None)
    assert found.sources == ["go", "run"]
    assert found.references == [("ve", "vete"), ("corre",)]
    assert [system.name for system in found.systems] == [str(one), str(other)]
    assert names_of([Path("x/a"), Path("x/b")]) == ["a", "b"]
    assert read_material([one, other], [other], one).references == [("ve", "va"), ("corre", "corre")]
    compare_on_page(lambda: compare(found, FEW), tmp_path / "page.html", "chrf", 3)
    assert (tmp_path / "page.html").read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("systems", "source", "message"),
    [
        (["short"], None, "short has 1 lines, {at}/two has 2: they must be equal, line by line."),
        (["empty"], None, "empty has 0 lines, {at}/two has 2: they must be equal, line by line."),
        (["two"], "short", "short has 1 lines, {at}/two has 2: they must be equal, line by line."),
        (["two", "two"], None, "two is given twice: a system can only be compared with another one"),
        (["none"], None, "none: there is no such file"),
    ],
)
def test_files_that_do_not_fit(systems: list[str], source: str | None, message: str, tmp_path: Path) -> None:
    for name, content in {"two": "a\nb\n", "short": "a\n", "empty": ""}.items():
        write(tmp_path / name, content)
    files = [tmp_path / name for name in systems]
    with pytest.raises(UserError) as caught:
        read_material([tmp_path / "two"], files, None if source is None else tmp_path / source)
    assert str(caught.value).startswith(f"{tmp_path}/{message.format(at=tmp_path)}")


def test_no_references_and_two_sources(tmp_path: Path) -> None:
    empty, table = write(tmp_path / "empty", ""), write(tmp_path / "test.tsv", "go\tve\n")
    with pytest.raises(UserError, match="empty: is empty, so there are no lines to evaluate"):
        read_material([empty], [empty], None)
    output = write(tmp_path / "out", "ve\n")
    with pytest.raises(UserError, match=r"test\.tsv holds the source too, in its first column: leave out --source"):
        read_material([table], [output], output)


def test_options_need_a_metric_that_reads_them(tmp_path: Path) -> None:
    synonyms = write(tmp_path / "synonyms", "big large\n")
    options = Comparing(lowercase=True, tokenize="char", stem="german", synonyms=synonyms).options(["bleu", "meteor"])
    assert (options.lowercase, options.tokenize, options.stem, options.synonyms.name) == (
        True,
        "char",
        "german",
        "synonyms",
    )
    with pytest.raises(UserError, match="--stem is for METEOR: add --metric meteor, or leave --stem out"):
        Comparing(False, None, "german", None).options(["bleu"])
    with pytest.raises(UserError, match="--synonyms is for METEOR: add --metric meteor"):
        Comparing(False, None, None, synonyms).options(["bleu"])
    Comparing(False, "char", None, None).check_words(["wer", "repetition"])
    with pytest.raises(UserError, match="words for bleu, meteor, repetition, copy: add one of them by --metric"):
        Comparing(False, "char", None, None).check_words(["wer", "chrf"])


def test_only_what_was_given_is_refused() -> None:
    refuse("it", {"--a": None, "--b": False, "--c": []}, "for a model")
    with pytest.raises(UserError, match=r"^it: leave out --b, --c, which are for a model\.$"):
        refuse("it", {"--a": None, "--b": True, "--c": ["x"]}, "for a model")


def test_what_is_for_a_page_needs_one(tmp_path: Path) -> None:
    lines = write(tmp_path / "lines", "a\n")
    with pytest.raises(UserError, match="--sentences is about the page that --html writes: add --html FILE"):
        compare_files(lines, [lines], sentences=3)
    with pytest.raises(UserError, match="--by is about the page that --html writes: add --html FILE"):
        compare_files(lines, [lines], by="wer")
    with pytest.raises(UserError, match="there is no metric 'were'"):
        compare_files(lines, [lines], by="were", html=tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_a_training_text_that_is_not_there_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.metric.compare.resample", None)  # nothing is drawn before
    lines = write(tmp_path / "lines", "a\n")
    with pytest.raises(UserError, match="none: there is no such file"):
        compare_files(lines, [lines], train=tmp_path / "none")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    references, output = write(tmp_path / "wanted", "a b\nc d\n"), write(tmp_path / "out", "a b\nc e\n")
    compare_files(references, [output], metric=["wer"], train=references, html=tmp_path / "page.html", samples=100)
    told = capsys.readouterr().out
    assert "out   25.00 ± 25.00" in told
    assert "stand in the training text" in told
    compare_files(references, [output], metric=["wer"], json=True, samples=100)
    assert json.loads(capsys.readouterr().out)["confusions"] == {"out": [{"wanted": "d", "written": "e", "times": 1}]}
    assert "Worst sentences" in (tmp_path / "page.html").read_text("utf-8")


def test_a_metric_that_does_not_exist() -> None:
    with pytest.raises(UserError, match="there is no metric 'blue'; did you mean 'bleu'"):
        compare(material(GOOD), Settings(metrics=["blue"]))
