"""weft compare and weft distance, as a person would use them."""

import json
from pathlib import Path

from system.commands import weft


def test_systems_side_by_side(corpus: Path, tmp_path: Path) -> None:
    wanted, other = corpus / "test.tgt", corpus / "test.src"
    first = tmp_path / "perfect"
    first.write_bytes(wanted.read_bytes())
    result = weft(
        "compare", wanted, first, other, "--metric", "wer", "--html", tmp_path / "page.html", "--sentence-metric", "cer"
    )
    assert (result.code, result.err) == (0, "")
    assert result.lines[0].startswith("20 lines; ± holds 95 % of 1,000 bootstrap samples; p: approximate randomization")
    rows = {words[0]: words[1:] for words in map(str.split, result.lines[2:5]) if words}
    assert rows["perfect"] == ["0.00", "±", "0.00"]
    assert rows["test.src"][-3:] == ["p", "=", "0.0001"]
    assert (tmp_path / "page.html").read_text("utf-8").endswith("</html>\n")
    told = json.loads(weft("compare", wanted, other, "--metric", "exact", "--test", "bootstrap", "--json").out)
    assert (told["systems"], told["metrics"]["exact"][0]["value"]) == (["test.src"], 0.0)


def test_the_distance_of_two_strings() -> None:
    assert weft("distance", "intention", "execution").lines[-1] == "distance 5 (insert 1, delete 1, substitute 1)"
    twice = weft("distance", "intention", "execution", "--substitute", "2").lines
    assert twice[-1] == "distance 8 (insert 1, delete 1, substitute 2)"
    assert weft("distance", "a red cat", "a cat", "--words", "--delete", "0.5").lines[-2] == "delete red: 0.5"
