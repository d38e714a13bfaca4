"""The benchmark of numbers: a tiny run tells of both the speed and the loss."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from benchmarks import precision
from benchmarks.precision import main
from benchmarks.wide_products import PRODUCTS, WideProducts
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


def test_a_tiny_run_compares_the_losses(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(folder, folder / "with.yaml", updates=12, json_file=folder / "figures.json")
    figures = json.loads((folder / "figures.json").read_text("utf-8"))["figures"]
    assert figures["float32"]["times_loss"] == 1.0
    assert figures["bfloat16"]["times_loss"] == pytest.approx(1.0, abs=0.05)
    assert figures["bfloat16"]["valid_loss"] != figures["float32"]["valid_loss"]
    assert "| bfloat16 |" in capsys.readouterr().out


@pytest.mark.parametrize("has", [True, False])
def test_where_the_speed_counts_nothing_the_report_says_so(
    has: bool, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(precision, "supports_bfloat16", lambda _: has)
    main(folder, folder / "with.yaml", updates=11)
    assert ("read the loss alone" in capsys.readouterr().out) is not has


class Kinds(TorchDispatchMode):
    """The kinds of numbers that products are made of."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.kinds = list[torch.dtype]()

    def __torch_dispatch__(self, operation: Any, types: Any, given: Any = (), named: Any = None) -> Any:
        if operation.overloadpacket in PRODUCTS:
            self.kinds.append(given[-1].dtype)
        return operation(*given, **(named or {}))


def test_wide_products_are_those_of_float32_rounded() -> None:
    weights, inputs = (torch.randint(-3, 4, (9, 300)).bfloat16().requires_grad_() for _ in range(2))
    there = torch.empty(9, 9).bfloat16()
    with Kinds() as made, WideProducts():
        outputs = linear(inputs, weights)
        torch.autograd.backward(outputs.sum())
        torch.mm(inputs.detach(), weights.detach().T, out=there)
    assert made.kinds == [torch.float32] * 4
    assert outputs.dtype == torch.bfloat16
    assert torch.equal(outputs, linear(inputs.float(), weights.float()).bfloat16())
    assert torch.equal(outputs, there)
    assert weights.grad is not None
    assert torch.equal(weights.grad, inputs.float().sum(0).bfloat16().expand(9, 300))


def test_without_validation_there_is_nothing_to_compare(folder: Path) -> None:
    with pytest.raises(UserError, match="names no validation files"):
        main(folder, folder / "without.yaml", updates=11)
