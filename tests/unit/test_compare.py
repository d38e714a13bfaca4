"""Comparing systems: tables, JSON and input files."""

import json
import re
from pathlib import Path

import pytest

from weft.cli.evaluate import compare as compare_files
from weft.cli.options import refuse_options
from weft.core.errors import UserError
from weft.inference.system_scores import MetricArguments
from weft.metrics.comparison import (
    DEFAULT_COMPARISON,
    Comparison,
    ComparisonSettings,
    bucket_labels,
    compare_systems,
    find_confusions,
    scores_by_frequency,
    scores_by_length,
    word_frequencies,
)
from weft.metrics.corpus_metrics import metric_statistics
from weft.metrics.references import ComparisonData, EvaluationSet, SystemOutput, read_comparison_data, system_names
from weft.metrics.score_report import comparison_to_json, format_comparison
from weft.metrics.scores import MetricOptions, Segments
from weft.visualize.comparison_page import SENTENCE_METRIC, SENTENCES_PER_KIND, write_comparison_page

REFERENCES = ["the cat sat on the mat", "a dog <script>alert(1)</script> ran", "it rains", "she said no"]
GOOD = ["the cat sat on a mat", "a dog <script>alert(1)</script> ran", "it rains", "she said so"]
BAD = ["cat", "a & b", "it snows & rains", "she said no"]
SOURCES = [
    "die Katze",
    "ein <b>Hund</b>",
    "es regnet",
    'sie sagte "nein" und noch mehr als nur elf Wörter in einer Zeile',
]
FAST_SETTINGS = ComparisonSettings(samples=100, trials=100)


def comparison_data(*systems: list[str]) -> ComparisonData:
    named = [SystemOutput(f"system-{number}", lines) for number, lines in enumerate(systems, start=1)]
    return ComparisonData(named, [[line] for line in REFERENCES], SOURCES)


def example_comparison() -> Comparison:
    return compare_systems(comparison_data(GOOD, BAD), FAST_SETTINGS, ["the cat the cat the dog", "a"])


def test_each_system_is_compared_with_the_first() -> None:
    found = example_comparison().results["bleu"]
    assert [(result.system, result.p is None) for result in found] == [("system-1", True), ("system-2", False)]
    (alone,) = [
        counts.score()
        for counts in metric_statistics(Segments(BAD, [[line] for line in REFERENCES]), ["bleu"]).values()
    ]
    assert found[1].score.value == alone
    assert all(result.score.interval is not None for result in found)


def test_single_line_has_no_interval() -> None:
    data = ComparisonData([SystemOutput("a", ["x"]), SystemOutput("b", ["y"])], [["x"]])
    found = compare_systems(data, ComparisonSettings(metrics=["wer"], samples=100, trials=100))
    assert [result.score.interval for result in found.results["wer"]] == [None, None]
    assert "a    0.00" in format_comparison(found)
    assert format_comparison(found).startswith("1 line; ")


def test_method_description_mentions_p_value_if_computed() -> None:
    assert (
        "; p: approximate randomization, 100 trials, against the first system; seed 12345"
        in example_comparison().describe_method()
    )
    assert (
        compare_systems(comparison_data(GOOD), FAST_SETTINGS).describe_method()
        == "± holds 95 % of 100 bootstrap samples; seed 12345"
    )


def test_scores_by_length() -> None:
    lines = Segments(GOOD, [[line] for line in REFERENCES])
    statistics = metric_statistics(lines, ["exact"])["exact"]
    found = scores_by_length([statistics], [0, 10, 2, 11])
    assert found == [("0-10", 3, (pytest.approx(200 / 3),)), ("11-20", 1, (0.0,))]
    assert bucket_labels((0, 1, 2, 5)) == ["0", "1", "2-4", "5+"]


def test_scores_by_word_frequency() -> None:
    lines = Segments(["a b z", "a x"], [["a b c"], ["a d"]])
    frequencies = word_frequencies(["a a b c"], MetricOptions())
    assert scores_by_frequency([lines], frequencies, MetricOptions(), (0, 1, 2)) == [
        ("0", 1, (0.0,)),  # d; outputs: z and x
        ("1", 2, (pytest.approx(200 / 3),)),  # b and c; output: b
        ("2+", 2, (100.0,)),
    ]
    assert word_frequencies(["A a"], MetricOptions(lowercase=True)) == {"a": 2}


def test_confusions() -> None:
    lines = Segments(["a x", "a x", "b"], [["a y"], ["a y"], ["b c", "b d e"]])
    assert find_confusions(lines, MetricOptions(), 5) == [("y", "x", 2), ("c", "", 1)]


def test_terminal_table() -> None:
    lines = format_comparison(example_comparison()).split("\n")
    assert lines[0].startswith(
        "4 lines; ± holds 95 % of 100 bootstrap samples; p: approximate randomization, 100 trials"
    )
    assert any(re.fullmatch(r"bleu  higher is better  nrefs:1\|.*version:.*", line) for line in lines)
    assert any(re.fullmatch(r"  system-2 +\d+\.\d\d ± \d+\.\d\d  -\d+\.\d\d  p = \d\.\d+", line) for line in lines)
    assert "bleu by the length of the source, in words" in lines
    assert "Words found, by frequency in the training text (F-score)" in lines


def test_json_contains_all_results() -> None:
    found = json.loads(comparison_to_json(example_comparison()))
    assert found["systems"] == ["system-1", "system-2"]
    assert found["metrics"]["chrf"][1]["p"] > 0
    assert found["metrics"]["chrf"][1]["signature"].startswith("nrefs:1|")
    assert {"bleu_by_source_length", "words_by_frequency", "confusions"} <= found.keys()


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def read_files(references: list[Path], systems: list[Path], source: Path | None) -> ComparisonData:
    def translate(model: Path, examples: EvaluationSet) -> list[str]:
        return [f"{model.name} {source}" for source in examples.sources]

    return read_comparison_data(references, systems, source, translate)()


def test_models_translate_the_source(tmp_path: Path) -> None:
    source, reference = write(tmp_path / "source", "go\nrun\n"), write(tmp_path / "reference", "ve\ncorre\n")
    (tmp_path / "model").mkdir()
    found = read_files([reference], [tmp_path / "model", reference], source)
    assert [system.outputs for system in found.systems] == [["model go", "model run"], ["ve", "corre"]]
    with pytest.raises(UserError, match="there is no source for it to translate: add --source FILE"):
        read_files([reference], [tmp_path / "model", reference], None)


def test_comparison_data_is_read_from_files(tmp_path: Path) -> None:
    table = write(tmp_path / "test.tsv", "go\tve\tvete\nrun\tcorre\n")
    first, other = write(tmp_path / "a" / "out", "ve\ncorre\n"), write(tmp_path / "b" / "out", "va\ncorre\n")
    found = read_files([table], [first, other], None)
    assert found.sources == ["go", "run"]
    assert found.references == [("ve", "vete"), ("corre",)]
    assert [system.name for system in found.systems] == [str(first), str(other)]
    assert system_names([Path("x/a"), Path("x/b")]) == ["a", "b"]
    assert read_files([first, other], [other], first).references == [("ve", "va"), ("corre", "corre")]
    write_comparison_page(lambda: compare_systems(found, FAST_SETTINGS), tmp_path / "page.html", "chrf", 3)
    assert (tmp_path / "page.html").read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("systems", "source", "message"),
    [
        (["short"], None, "short has 1 lines, {at}/two has 2: the files must correspond line by line."),
        (["empty"], None, "empty has 0 lines, {at}/two has 2: the files must correspond line by line."),
        (["two"], "short", "short has 1 lines, {at}/two has 2: the files must correspond line by line."),
        (["two", "two"], None, "two is given twice"),
        (["none"], None, "none: there is no such file"),
    ],
)
def test_mismatched_files_are_rejected(systems: list[str], source: str | None, message: str, tmp_path: Path) -> None:
    for name, content in {"two": "a\nb\n", "short": "a\n", "empty": ""}.items():
        write(tmp_path / name, content)
    files = [tmp_path / name for name in systems]
    with pytest.raises(UserError) as caught:
        read_files([tmp_path / "two"], files, None if source is None else tmp_path / source)
    assert str(caught.value).startswith(f"{tmp_path}/{message.format(at=tmp_path)}")


def test_empty_references_and_duplicate_sources_are_rejected(tmp_path: Path) -> None:
    empty, table = write(tmp_path / "empty", ""), write(tmp_path / "test.tsv", "go\tve\n")
    with pytest.raises(UserError, match="empty: is empty, so there are no lines to evaluate"):
        read_files([empty], [empty], None)
    output = write(tmp_path / "out", "ve\n")
    with pytest.raises(UserError, match=r"test\.tsv has the source in its first column: omit --source"):
        read_files([table], [output], output)


def test_options_need_a_metric_that_uses_them(tmp_path: Path) -> None:
    synonyms = write(tmp_path / "synonyms", "big large\n")
    options = MetricArguments(None, True, "char", "german", synonyms).parse(["bleu", "meteor"])
    assert (options.lowercase, options.tokenize, options.stem, options.synonyms.name) == (
        True,
        "char",
        "german",
        "synonyms",
    )
    with pytest.raises(UserError, match="--stem needs --metric meteor: add it, or omit --stem"):
        MetricArguments(stem="german").parse(["bleu"])
    with pytest.raises(UserError, match="--synonyms needs --metric meteor: add it"):
        MetricArguments(synonyms=synonyms).parse(["bleu"])
    MetricArguments(["wer", "repetition"], tokenize="char").for_evaluation()
    with pytest.raises(UserError, match="only affects bleu, meteor, repetition, copy: add one of them with --metric"):
        MetricArguments(["wer", "chrf"], tokenize="char").for_evaluation()


def test_only_options_that_were_set_are_rejected() -> None:
    refuse_options("it", {"--a": None, "--b": False, "--c": []}, "for a model")
    with pytest.raises(UserError, match=r"^it: omit --b, --c, which are for a model\.$"):
        refuse_options("it", {"--a": None, "--b": True, "--c": ["x"]}, "for a model")


def test_help_of_compare_names_the_defaults() -> None:
    defaults = {"seed": DEFAULT_COMPARISON.seed, "sentence_metric": SENTENCE_METRIC, "sentences": SENTENCES_PER_KIND}
    samples = f"{DEFAULT_COMPARISON.samples}, and {DEFAULT_COMPARISON.trials} for randomization"
    for name, default in {**defaults, "samples": samples}.items():
        (option,) = compare_files.__annotations__[name].__metadata__
        assert option.help.endswith(f"Default: {default}.")


def test_page_options_require_html(tmp_path: Path) -> None:
    lines = write(tmp_path / "lines", "a\n")
    with pytest.raises(UserError, match="--sentences needs --html FILE: add it"):
        compare_files(lines, [lines], sentences=3)
    with pytest.raises(UserError, match="--sentence-metric needs --html FILE: add it"):
        compare_files(lines, [lines], sentence_metric="wer")
    with pytest.raises(UserError, match='unknown metric "were"'):
        compare_files(lines, [lines], sentence_metric="were", html=tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_missing_training_file_is_reported_before_scoring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.metrics.comparison.bootstrap", None)  # fails if scoring starts
    lines = write(tmp_path / "lines", "a\n")
    with pytest.raises(UserError, match="none: there is no such file"):
        compare_files(lines, [lines], train=tmp_path / "none")


def test_compare_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    references, output = write(tmp_path / "wanted", "a b\nc d\n"), write(tmp_path / "out", "a b\nc e\n")
    compare_files(references, [output], metric=["wer"], train=references, html=tmp_path / "page.html", samples=100)
    output_text = capsys.readouterr().out
    assert "out   25.00 ± 25.00" in output_text
    assert "by frequency in the training text" in output_text
    compare_files(references, [output], metric=["wer"], json=True, samples=100)
    assert json.loads(capsys.readouterr().out)["confusions"] == {
        "out": [{"reference": "d", "output": "e", "frequency": 1}]
    }
    assert "Worst sentences" in (tmp_path / "page.html").read_text("utf-8")


def test_unknown_metric_is_rejected() -> None:
    with pytest.raises(UserError, match='unknown metric "blue"; did you mean "bleu"'):
        compare_systems(comparison_data(GOOD), ComparisonSettings(metrics=["blue"]))
