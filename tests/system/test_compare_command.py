"""`weft compare` and `weft edit-distance`."""

import json
from pathlib import Path

from system.commands import weft


def test_compare_two_systems(corpus: Path, tmp_path: Path) -> None:
    reference, other = corpus / "test.tgt", corpus / "test.src"
    perfect = tmp_path / "perfect"
    perfect.write_bytes(reference.read_bytes())
    result = weft(
        "compare",
        reference,
        perfect,
        other,
        "--metric",
        "wer",
        "--html",
        tmp_path / "page.html",
        "--sentence-metric",
        "cer",
    )
    assert (result.code, result.err) == (0, "")
    assert result.lines[0].startswith("20 lines; ± holds 95 % of 1,000 bootstrap samples; p: approximate randomization")
    rows = {words[0]: words[1:] for words in map(str.split, result.lines[2:5]) if words}
    assert rows["perfect"] == ["0.00", "±", "0.00"]
    assert rows["test.src"][-3:] == ["p", "=", "0.0001"]
    assert (tmp_path / "page.html").read_text("utf-8").endswith("</html>\n")
    comparison = json.loads(weft("compare", reference, other, "--metric", "exact", "--test", "bootstrap", "--json").out)
    assert (comparison["systems"], comparison["metrics"]["exact"][0]["value"]) == (["test.src"], 0.0)


def test_distance_of_two_strings() -> None:
    assert (
        weft("edit-distance", "intention", "execution").lines[-1]
        == "distance 5 (costs: insert 1, delete 1, substitute 1)"
    )
    costly = weft("edit-distance", "intention", "execution", "--substitute", "2").lines
    assert costly[-1] == "distance 8 (costs: insert 1, delete 1, substitute 2)"
    assert weft("edit-distance", "a red cat", "a cat", "--words", "--delete", "0.5").lines[-2] == "delete red: 0.5"
