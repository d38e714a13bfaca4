"""The benchmark of serving, for a second."""

import json
from pathlib import Path

import pytest
from benchmarks.serving import main


@pytest.mark.slow
def test_every_answer_is_that_of_the_file(runs: dict[str, Path], corpus: Path, tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    main(runs["transformer"], corpus / "test.src", [1, 4], [1, 5], 1.0, 1, 2, "en:de", figures)
    found = json.loads(figures.read_text("utf-8"))["figures"]
    assert [(one["clients"], one["texts"]) for one in found] == [(1, 1), (1, 5), (4, 1), (4, 5)]
    for one in found:
        assert one["answers"].keys() == {"200"}
        assert one["lines_per_second"] > 0
        assert one["share"] > 0
