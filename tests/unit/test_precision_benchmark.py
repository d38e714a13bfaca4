"""The precision benchmark: a tiny run reports speed and loss."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from benchmarks import precision
from benchmarks.precision import MATMULS, EmulatedBfloat16, main
from torch.nn.functional import linear
from torch.utils._python_dispatch import TorchDispatchMode

from weft.core.errors import UserError

TINY = """
data: {train: [a.txt, b.txt], valid: %s}
text: {source: {type: character}, joint: true}
model: {source: {dim: 8}, encoder: {layers: 1, heads: 2}, target: {dim: 8}, decoder: {layers: 1, heads: 2}}
train: {steps: 1, batch_tokens: 100, validation: {best_metric: loss}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.txt", "b.txt"):
        lines = (f"line {number % 90} and {number % 91}\n" for number in range(300))
        (tmp_path / name).write_text("".join(lines), "utf-8")
    for name, valid in (("with", "[a.txt, b.txt]"), ("without", "[]")):
        (tmp_path / f"{name}.yaml").write_text(TINY % valid, "utf-8")
    return tmp_path


def test_losses_are_compared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(folder, folder / "with.yaml", updates=12, json_file=folder / "figures.json")
    figures = json.loads((folder / "figures.json").read_text("utf-8"))["figures"]
    assert figures["float32"]["times_loss"] == 1.0
    assert figures["bfloat16"]["times_loss"] == pytest.approx(1.0, abs=0.05)
    assert figures["bfloat16"]["valid_loss"] != figures["float32"]["valid_loss"]
    assert "| bfloat16 |" in capsys.readouterr().out


@pytest.mark.parametrize("supported", [True, False])
def test_report_notes_missing_bfloat16_support(
    supported: bool, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(precision, "supports_bfloat16", lambda _: supported)
    main(folder, folder / "with.yaml", updates=11)
    assert ("read the loss alone" in capsys.readouterr().out) is not supported


class DtypeRecorder(TorchDispatchMode):
    """Records the dtypes of matrix products."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.dtypes = list[torch.dtype]()

    def __torch_dispatch__(self, operation: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
        if operation.overloadpacket in MATMULS:
            self.dtypes.append(arguments[-1].dtype)
        return operation(*arguments, **(keywords or {}))


def test_wide_products_are_rounded_float32_products() -> None:
    weights, inputs = (torch.randint(-3, 4, (9, 300)).bfloat16().requires_grad_() for _ in range(2))
    out = torch.empty(9, 9).bfloat16()
    with DtypeRecorder() as recorder, EmulatedBfloat16():
        outputs = linear(inputs, weights)
        torch.autograd.backward(outputs.sum())
        torch.mm(inputs.detach(), weights.detach().T, out=out)
    assert recorder.dtypes == [torch.float32] * 4
    assert outputs.dtype == torch.bfloat16
    assert torch.equal(outputs, linear(inputs.float(), weights.float()).bfloat16())
    assert torch.equal(outputs, out)
    assert weights.grad is not None
    assert torch.equal(weights.grad, inputs.float().sum(0).bfloat16().expand(9, 300))


def test_missing_validation_files_are_reported(folder: Path) -> None:
    with pytest.raises(UserError, match="names no validation files"):
        main(folder, folder / "without.yaml", updates=11)
