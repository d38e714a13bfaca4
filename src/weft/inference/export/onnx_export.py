"""Export to ONNX: size limits, and the exported folder."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from weft.checkpoints.model_folder import ModelFolder
from weft.core.errors import UserError
from weft.inference.capabilities import greedy_differences, unsupported_by_onnx
from weft.inference.export.bundle import export_folder, format_readme, raise_unsupported, write_bundle_files

README = """encoder.onnx maps source ids, EOS last, to the initial state of the decoder; step.onnx maps the last token
and the state to the log-probabilities of the next token and the changed parts of the state (their names start with
`after.`). Ids are those of the tokenizers after three special tokens. translate.py searches greedily."""

MAX_GRAPH_BYTES = 2**31 - 2**20  # of weights; an ONNX file of 2 GB has a little more


def export_onnx(model: ModelFolder, out: Path, verify: Callable[[Path], None] | None) -> list[str]:
    """Export a model, and return what Weft does with it and the exported program does not. Raise UserError before
    anything is written if the model is not supported.

    verify: raises an error if the new folder is wrong; then it is removed.
    """
    require_package("onnx")
    raise_unsupported(model, "ONNX", unsupported_by_onnx(model))
    from weft.inference.export.onnx_transformer import transformer_graphs

    shortlist = ["translate.shortlist is true"] if model.uses_shortlist else []
    differences = [*greedy_differences(model.config["translate"]), *shortlist]
    with export_folder(out) as new:
        graphs = transformer_graphs(model)
        sizes = {graph.name: graph.bytes for graph in graphs}  # a shared weight is in a graph once for each use
        large = [f"{name}.onnx: {size / 2**30:.2f} GB" for name, size in sizes.items() if size > MAX_GRAPH_BYTES]
        raise_unsupported(model, "ONNX", [f"{graph}, but such a file is limited to 2 GB" for graph in large])
        for graph in graphs:
            (new / f"{graph.name}.onnx").write_bytes(graph.model().SerializeToString())
        readme = format_readme("ONNX", "onnxruntime tokenizers numpy", README, differences)
        write_bundle_files(new, model, "onnx_model", {}, readme)
        if verify is not None:
            verify(new)
    return differences


def require_package(package: str) -> None:
    if not is_installed(package):
        raise UserError(f"the package {package} is not installed: pip install 'weft[onnx]'")


def is_installed(package: str) -> bool:
    return find_spec(package) is not None
