"""`weft translate` with each backend."""

import os
import subprocess
import sys
from pathlib import Path

from ctranslate2 import get_supported_compute_types

from system.commands import weft

TRANSLATE_SCRIPT = """
import sys
from weft.cli.main import main
try:
    main()
finally:
    print("torch" in sys.modules, file=sys.stderr)
"""


def test_translation_does_not_import_torch(runs: dict[str, Path], tmp_path: Path) -> None:
    source, output = tmp_path / "in", tmp_path / "out"
    source.write_text("the red cat sees a dog\n", "utf-8")
    command = [
        sys.executable,
        "-c",
        TRANSLATE_SCRIPT,
        "translate",
        str(runs["transformer"]),
        str(source),
        "--output",
        str(output),
    ]
    process = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=False)
    assert (process.returncode, process.stderr) == (0, "False\n")
    with_torch = weft("translate", runs["transformer"], source, "--backend", "torch")
    assert output.read_text("utf-8").split("\n")[:-1] == with_torch.lines


def test_backends_agree(runs: dict[str, Path], corpus: Path) -> None:
    for beam in ("1", "5"):
        command: list[str | Path] = ["translate", runs["transformer"], corpus / "train.src", "--beam", beam]
        with_auto, with_torch = (weft(*command, "-v", "--backend", backend) for backend in ("auto", "torch"))
        assert (with_auto.code, with_torch.code) == (0, 0)
        assert with_auto.err.startswith("weft: backend ctranslate2, float32")
        assert with_torch.err.startswith("weft: backend torch")
        assert with_auto.lines == with_torch.lines


def test_backends_agree_on_several_sentences_and_long_lines(runs: dict[str, Path], tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.write_text("- the cat sees a dog. a dog has the cat.\n\n" + "the red cat " * 40 + "\n", "utf-8")
    for options in ([], ["--no-split"]):
        with_auto, with_torch = (
            weft("translate", runs["transformer"], source, *options, "--backend", backend)
            for backend in ("auto", "torch")
        )
        assert with_auto == with_torch
        assert "longer than" in with_auto.err


def test_verbose_explains_the_torch_backend(runs: dict[str, Path], corpus: Path) -> None:
    message = weft("translate", runs["bahdanau"], corpus / "test.src", "--verbose", "--beam", "2", "--json").err
    assert "torch" in message.split("\n")[0]
    assert [
        word for word in ("--json", "model.encoder is recurrent", "model.decoder is bahdanau") if word not in message
    ] == []


def test_integer_precision_nearly_agrees(runs: dict[str, Path], corpus: Path) -> None:
    command: list[str | Path] = ["translate", runs["transformer"], corpus / "test.src"]
    float_lines = weft(*command).lines
    for precision in ("int8", "int16"):
        result = weft(*command, "--precision", precision)
        if precision in get_supported_compute_types("cpu"):
            assert sum(a == b for a, b in zip(float_lines, result.lines, strict=True)) >= 0.8 * len(float_lines)
        else:
            assert result.code == 2
            assert f"this processor does not compute in {precision}" in result.err
