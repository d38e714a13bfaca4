"""Exports a model to a folder in which it runs with CTranslate2 or ONNX, without Weft: the converted model, tokenizers,
settings.json, model.py, translate.py and README.md. Must not import torch, ctranslate2 or onnx at module level.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from weft.checkpoints.model_folder import ModelFolder, load_shortlist
from weft.core.errors import UserError
from weft.core.files import check_new_folder, new_folder
from weft.inference.capabilities import (
    CTranslate2Precision,
    closest_ctranslate2_search,
    ctranslate2_differences,
    greedy_differences,
    unsupported_by_ctranslate2,
    unsupported_by_onnx,
)

STANDALONE_PROGRAMS = Path(__file__).parent / "standalone"
MAX_GRAPH_BYTES = 2**31 - 2**20  # of weights; an ONNX file of 2 GB has a little more

README = """# A translation model for {library}

Made by `weft export`. It needs neither Weft nor torch:

    pip install {packages}
    python translate.py < input.txt > output.txt

From Python, in this folder:

```python
from model import Model

print(Model().translate(["A line.", "Another line."]))
```

{details}
{differences}"""
DIFFERENCES_README = """
`weft translate` does more with this model, so that its outputs may differ. translate.py does not support:

{listed}
"""
CTRANSLATE2_README = """model.bin, config.json and the vocabularies are CTranslate2's; the weights are {precision}. The
tokens in the vocabularies have the ids of the tokenizers, after three special tokens; white space in a token is `▁`. An
output ends at its length limit (settings.json).{shortlist}"""
SHORTLIST_README = """ vmap.txt is the lexical shortlist: with `use_vmap`, outputs consist of the tokens listed for the
source tokens; lines of one batch share their lists, so that translate.py translates one line at a time."""
ONNX_README = """encoder.onnx maps source ids, EOS last, to the initial state of the decoder; step.onnx maps the last
token and the state to the log-probabilities of the next token and the changed parts of the state (their names start
with `after.`). Ids are those of the tokenizers after three special tokens. translate.py searches greedily."""


def export_ctranslate2(
    model: ModelFolder, out: Path, precision: CTranslate2Precision, *, shortlist: bool = False
) -> list[str]:
    """Export a model, with its shortlist if requested or configured, and return what Weft does with the model and the
    exported program does not. Raise UserError before anything is written if the model is not supported.
    """
    _raise_unsupported(model, "CTranslate2", unsupported_by_ctranslate2(model))
    from weft.inference.export.ctranslate2_converter import convert_to_ctranslate2

    translate = model.config["translate"]
    differences, search = ctranslate2_differences(translate), closest_ctranslate2_search(translate)
    loaded = load_shortlist(model.path) if shortlist or model.uses_shortlist else None
    details = CTRANSLATE2_README.format(precision=precision, shortlist="" if loaded is None else SHORTLIST_README)
    readme = _format_readme("CTranslate2", "ctranslate2 tokenizers", details, differences)
    settings = {"beam": search.beam, "length_penalty": search.alpha, "shortlist": loaded is not None}
    with _exported_folder(out, model, "ctranslate2_model.py", settings, readme) as new:
        convert_to_ctranslate2(model, new, precision, loaded)
    return differences


def export_onnx(model: ModelFolder, out: Path, verify: Callable[[Path], None] | None) -> list[str]:
    """Export a model, and return what Weft does with it and the exported program does not. Raise UserError before
    anything is written if the model is not supported.

    verify: raises an error if the new folder is wrong; then it is removed.
    """
    _raise_unsupported(model, "ONNX", unsupported_by_onnx(model))
    from weft.inference.export.onnx_converter import transformer_graphs

    shortlist = ["translate.shortlist is true"] if model.uses_shortlist else []
    differences = [*greedy_differences(model.config["translate"]), *shortlist]
    readme = _format_readme("ONNX", "onnxruntime tokenizers numpy", ONNX_README, differences)
    with _exported_folder(out, model, "onnx_model.py", {}, readme) as new:
        graphs = transformer_graphs(model)
        sizes = {graph.name: graph.bytes for graph in graphs}  # a shared weight is in a graph once for each use
        large = [f"{name}.onnx: {size / 2**30:.2f} GB" for name, size in sizes.items() if size > MAX_GRAPH_BYTES]
        _raise_unsupported(model, "ONNX", [f"{graph}, but such a file is limited to 2 GB" for graph in large])
        for graph in graphs:
            (new / f"{graph.name}.onnx").write_bytes(graph.model().SerializeToString())
        if verify is not None:
            verify(new)
    return differences


def _raise_unsupported(model: ModelFolder, library: str, reasons: Sequence[str]) -> None:
    if reasons:
        listed = "\n".join(f"  {reason}" for reason in reasons)
        raise UserError(f"{model.path}: cannot be exported to {library}:\n{listed}")


def _format_readme(library: str, packages: str, details: str, differences: Sequence[str]) -> str:
    listed = "\n".join(f"- {difference}" for difference in differences)
    section = DIFFERENCES_README.format(listed=listed) if differences else ""
    return README.format(library=library, packages=packages, details=details, differences=section)


@contextmanager
def _exported_folder(
    out: Path, model: ModelFolder, program: str, search: Mapping[str, Any], readme: str
) -> Iterator[Path]:
    """Yield a folder with all but the converted model. program: runs the model. search: settings of its search."""
    check_new_folder(out, ", and is not empty: give another --out, or remove it.", "--out")
    translate = model.config["translate"]
    settings = {
        "languages": list(model.languages or ()),
        "max_source_length": model.max_source_length,
        "max_target_length": model.max_target_length,
        "max_length_factor": translate["max_length_factor"],
        "max_length_extra": translate["max_length_extra"],
        "backward": model.target.order == "backward",
        **search,
    }
    with new_folder(out) as new:
        model.source.save(new / "source.json")
        model.target.save(new / "target.json")
        (new / "settings.json").write_text(json.dumps(settings, indent=2) + "\n", "utf-8")
        (new / "README.md").write_text(readme, "utf-8")
        shutil.copyfile(STANDALONE_PROGRAMS / program, new / "model.py")
        shutil.copyfile(STANDALONE_PROGRAMS / "translate_lines.py", new / "translate.py")
        yield new
