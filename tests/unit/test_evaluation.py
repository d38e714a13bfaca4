"""Evaluation inputs: sources and references from a .tsv or from parallel files."""

import gzip
from pathlib import Path

import pytest

from weft.core.errors import UserError
from weft.inference.evaluation import evaluate_file, read_examples
from weft.metrics.references import read_references
from weft.metrics.scores import MetricOptions


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def test_tsv_lines_may_differ_in_their_number_of_references(tmp_path: Path) -> None:
    table = write(tmp_path / "test.tsv", "go\tve\tvete\nrun\tcorre\n\tnada\n")
    assert read_examples([table])[:2] == (["go", "run", ""], [("ve", "vete"), ("corre",), ("nada",)])


def test_tsv_may_be_compressed(tmp_path: Path) -> None:
    compressed = tmp_path / "test.tsv.gz"
    compressed.write_bytes(gzip.compress(b"go\tve\n"))
    assert read_examples([compressed])[:2] == (["go"], [("ve",)])


def test_empty_tsv_columns_are_ignored(tmp_path: Path) -> None:
    table = write(tmp_path / "test.tsv", "go\tve\t\t\nrun\t\tcorre\nhm\t\t\n")
    assert read_examples([table]).references == [("ve",), ("corre",), ("",)]


def test_parallel_files_are_read_line_by_line(tmp_path: Path) -> None:
    files = [
        write(tmp_path / name, text) for name, text in (("a", "go\nrun\n"), ("b", "ve\ncorre\n"), ("c", "vete\n\n"))
    ]
    assert read_examples(files)[:2] == (["go", "run"], [("ve", "vete"), ("corre", "")])


def test_tsv_references_can_score_a_file_of_translations(tmp_path: Path) -> None:
    outputs = write(tmp_path / "outputs", "vete\nanda\n")
    table = write(tmp_path / "test.tsv", "go\tve\tvete\nrun\tcorre\n")
    (score,) = evaluate_file(outputs, [table], ["exact"], MetricOptions())
    assert score.value == 50.0
    assert read_references([table, outputs], 2, outputs) == [("ve", "vete", "vete"), ("corre", "anda")]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"test.tsv": "go\tve\nrun\n"},
            "test.tsv, line 2: expected a source and its references separated by tabs, got no tab",
        ),
        ({"test.tsv": ""}, "test.tsv: is empty, so there are no lines to evaluate"),
        ({"test.tsv": "go\tve\n", "more": "vete\n"}, "test.tsv has its own references, in its columns: omit "),
        ({"test.en": "go\n"}, "test.en is a source without references. Add reference files, or give one .tsv"),
    ],
)
def test_invalid_inputs_are_reported(files: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        read_examples([write(tmp_path / name, text) for name, text in files.items()])
    assert str(caught.value).startswith(f"{tmp_path}/{message}")
