"""The command with each engine."""

import os
import subprocess
import sys
from pathlib import Path

from ctranslate2 import get_supported_compute_types

from system.commands import weft

ALONE = """
import sys
from weft.cli.main import main
try:
    main()
finally:
    print("torch" in sys.modules, file=sys.stderr)
"""


def test_a_sentence_is_translated_without_torch(runs: dict[str, Path], tmp_path: Path) -> None:
    source, output = tmp_path / "in", tmp_path / "out"
    source.write_text("the red cat sees a dog\n", "utf-8")
    command = [sys.executable, "-c", ALONE, "translate", str(runs["transformer"]), str(source), "--output", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=False)
    assert (done.returncode, done.stderr) == (0, "False\n")
    torchs = weft("translate", runs["transformer"], source, "--backend", "torch")
    assert output.read_text("utf-8").split("\n")[:-1] == torchs.lines


def test_engines_say_the_same(runs: dict[str, Path], corpus: Path) -> None:
    for beam in ("1", "5"):
        asked: list[str | Path] = ["translate", runs["transformer"], corpus / "train.src", "--beam", beam]
        one, other = (weft(*asked, "-v", "--backend", engine) for engine in ("auto", "torch"))
        assert (one.code, other.code) == (0, 0)
        assert one.err.startswith("weft: backend ctranslate2, float32")
        assert other.err.startswith("weft: backend torch")
        assert one.lines == other.lines


def test_paragraphs_and_long_lines_go_the_same_way(runs: dict[str, Path], tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.write_text("- the cat sees a dog. a dog has the cat.\n\n" + "the red cat " * 40 + "\n", "utf-8")
    for more in ([], ["--paragraphs"]):
        one, other = (weft("translate", runs["transformer"], source, *more, "--backend", e) for e in ("auto", "torch"))
        assert one == other
        assert "longer than" in one.err


def test_the_engine_of_torch_tells_why(runs: dict[str, Path], corpus: Path) -> None:
    told = weft("translate", runs["bahdanau"], corpus / "test.src", "--verbose", "--beam", "2", "--json").err
    assert "torch" in told.split("\n")[0]
    assert [
        word for word in ("--json", "model.encoder is recurrent", "model.decoder is bahdanau") if word not in told
    ] == []


def test_whole_numbers_say_nearly_the_same(runs: dict[str, Path], corpus: Path) -> None:
    asked: list[str | Path] = ["translate", runs["transformer"], corpus / "test.src"]
    exact = weft(*asked).lines
    for precision in ("int8", "int16"):
        said = weft(*asked, "--precision", precision)
        if precision in get_supported_compute_types("cpu"):
            assert sum(one == other for one, other in zip(exact, said.lines, strict=True)) >= 0.8 * len(exact)
        else:
            assert said.code == 2
            assert f"this processor does not compute in {precision}" in said.err
