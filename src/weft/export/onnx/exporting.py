"""A model for ONNX, in a folder of its own, with all that using it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from weft.core.errors import UserError
from weft.export.described import Described
from weft.export.folder import exported, readme_of, save_texts
from weft.export.onnx.refusals import refusals
from weft.export.same_search import greedy_differences

if TYPE_CHECKING:
    from weft.export.onnx.graph import Graph

TOLD = """encoder.onnx makes of a source, its ids and the end mark, the state before the first step; step.onnx makes of
the last token and the state the log-probabilities of the next token, and the new values of what has changed in the
state (`after.` stands before their names). Ids are those of the tokenizers after three marks. translate.py searches
greedily."""

LARGEST = 2**31 - 2**20  # bytes of weights in a file, which has a little more than them

Check = Callable[[Path], None]


def check_onnx(described: Described) -> None:
    """All that stands in the way, told at once."""
    refuse(described, refusals(described))


def check_sizes(described: Described, graphs: Iterable[Graph]) -> None:
    """A weight that several parts share is in a graph once for each, so this is known when they are made."""
    large = {graph.name: graph.bytes / 2**30 for graph in graphs if graph.bytes > LARGEST}
    refuse(
        described,
        [f"{name}.onnx would have {size:.2f} GB: such a file has less than 2" for name, size in large.items()],
    )


def refuse(described: Described, reasons: Sequence[str]) -> None:
    if reasons:
        listed = "\n".join(f"  {reason}" for reason in reasons)
        raise UserError(f"{described.folder}: cannot go to ONNX:\n{listed}")


def export_onnx(described: Described, out: Path, check: Check | None) -> list[str]:
    """check: what the folder must pass before it stands under its name.

    Gives back what Weft does with the model and the program does not, in words.
    """
    require("onnx")
    check_onnx(described)
    from weft.export.onnx.transformer import transformer_graphs

    listed = ["translate.shortlist is true"] if described.uses_shortlist else []
    unlike = [*greedy_differences(described.config["translate"]), *listed]
    with exported(out) as new:
        graphs = transformer_graphs(described)
        check_sizes(described, graphs)
        for graph in graphs:
            (new / f"{graph.name}.onnx").write_bytes(graph.model().SerializeToString())
        save_texts(new, described, "with_onnx", {}, readme_of("ONNX", "onnxruntime tokenizers numpy", TOLD, unlike))
        if check is not None:
            check(new)
    return unlike


def require(package: str) -> None:
    if not installed(package):
        raise UserError(f"the package {package} is not installed: pip install 'weft[onnx]'")


def installed(package: str) -> bool:
    return find_spec(package) is not None
