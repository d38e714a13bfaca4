"""`weft shortlist` and `weft export` on a trained toy model."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from system.commands import weft
from unit.models import TRANSFORMER, save_model_folder, untrained_model
from weft.cli.deployment import export


@pytest.fixture(scope="module")
def model(runs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the model with a shortlist from the training data."""
    folder = tmp_path_factory.mktemp("shortlist") / "model"
    shutil.copytree(runs["transformer"] / "best", folder)
    result = weft("shortlist", folder, "--per-token", "3", "--frequent", "5")
    assert result.code == 0, result.err
    assert b"learned from" in result.out
    return folder


def test_shortlist_nearly_agrees_with_full_vocabulary(model: Path, runs: dict[str, Path], corpus: Path) -> None:
    arguments: list[str | Path] = [corpus / "test.src", "--beam", "1"]
    plain = weft("translate", runs["transformer"], *arguments).lines
    shortlisted = [
        weft("translate", model, *arguments, "--shortlist", "-v", "--backend", name) for name in ("auto", "torch")
    ]
    assert "with a shortlist" in shortlisted[0].err
    assert shortlisted[0].lines == shortlisted[1].lines
    assert sum(a == b for a, b in zip(plain, shortlisted[0].lines, strict=True)) > len(plain) / 2


@pytest.mark.parametrize(
    ("export_format", "options"), [("ctranslate2", []), ("ctranslate2", ["--shortlist"]), ("onnx", [])]
)
def test_exported_model_translates(
    export_format: str, options: list[str], model: Path, corpus: Path, tmp_path: Path
) -> None:
    out = tmp_path / "exported"
    result = weft("export", model, "--format", export_format, *options, "--out", out)
    assert (result.code, result.err) == (0, "")
    assert (b"verified: 8 outputs" in result.out) == (export_format == "onnx")
    program = [sys.executable, str(out / "translate.py")]
    with (corpus / "test.src").open("rb") as source:
        process = subprocess.run(program, stdin=source, capture_output=True, text=True, check=True)
    assert process.stdout.split("\n")[:-1] == weft("translate", model, corpus / "test.src", *options).lines


def test_unsupported_settings_are_reported(tmp_path: Path) -> None:
    folder = save_model_folder(
        tmp_path / "model", untrained_model(TRANSFORMER, translate={"search": {"type": "beam", "stop_rule": "top"}})
    )
    result = weft("export", folder, "--format", "ctranslate2", "--out", tmp_path / "out")
    assert result.code == 0
    assert result.err.endswith(":\n  translate.search.stop_rule is top\n")


def test_onnxruntime_is_needed_only_to_verify(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = save_model_folder(tmp_path / "model", untrained_model(TRANSFORMER))
    for module in ("verification", "standalone.onnx_model"):
        monkeypatch.delitem(sys.modules, f"weft.inference.export.{module}", raising=False)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    export(folder, "onnx", tmp_path / "default")
    export(folder, "onnx", tmp_path / "unverified", verify=False)
    assert "verified" not in capsys.readouterr().out.replace("unverified", "")
    with pytest.raises(ModuleNotFoundError, match="onnxruntime"):
        export(folder, "onnx", tmp_path / "verified", verify=True)
    assert not (tmp_path / "verified").exists()
