"""The serving benchmark, run for a second."""

import json
from pathlib import Path

import pytest
from benchmarks.serving import main


@pytest.mark.slow
def test_every_response_is_correct(runs: dict[str, Path], corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "figures.json"
    main(runs["transformer"], corpus / "test.src", [1, 4], [1, 5], 1.0, 1, 2, "en:de", output)
    figures = json.loads(output.read_text("utf-8"))["figures"]
    assert [(figure["clients"], figure["texts"]) for figure in figures] == [(1, 1), (1, 5), (4, 1), (4, 5)]
    for figure in figures:
        assert figure["answers"].keys() == {"200"}
        assert figure["lines_per_second"] > 0
        assert figure["share"] > 0
