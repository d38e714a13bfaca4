"""Export to CTranslate2: conversion of a model, and the exported folder.

Must not import torch or ctranslate2 at module level.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from weft.checkpoints.model_folder import ModelFolder, load_shortlist
from weft.inference.capabilities import (
    closest_ctranslate2_search,
    ctranslate2_differences,
    unsupported_by_ctranslate2,
)
from weft.inference.export.bundle import export_folder, format_readme, raise_unsupported, write_bundle_files
from weft.inference.export.ctranslate2_vocabulary import write_vmap
from weft.text.lexical_shortlist import Shortlist

if TYPE_CHECKING:
    from weft.inference.export.ctranslate2_spec import WeightBits

CTranslate2Precision: TypeAlias = Literal["float32", "int16", "int8"]
CTRANSLATE2_PRECISIONS: tuple[CTranslate2Precision, ...] = get_args(CTranslate2Precision)

README = """model.bin, config.json and the vocabularies are CTranslate2's; the weights are {precision}. The tokens in
the vocabularies have the ids of the tokenizers, after three special tokens; white space in a token is `▁`. An output
ends at its length limit (settings.json).{shortlist}"""
SHORTLIST_README = """ vmap.txt is the lexical shortlist: with `use_vmap`, outputs consist of the tokens listed for the
source tokens; lines of one batch share their lists, so that translate.py translates one line at a time."""


def convert_to_ctranslate2(
    model: ModelFolder,
    folder: Path,
    precision: CTranslate2Precision,
    shortlist: Shortlist | None = None,
    bits: WeightBits = 7,
) -> None:
    """Write model.bin, config.json, the vocabularies and the shortlist into an empty folder.

    bits: of int8 weights; 7 are safe on every processor.
    """
    from weft.inference.export.ctranslate2_spec import quantize_spec, transformer_spec

    spec = transformer_spec(model)
    if precision == "int8":
        quantize_spec(spec, bits)
    spec.optimize(quantization=None if precision == "int8" else precision)
    spec.save(str(folder))
    if shortlist is not None:
        write_vmap(folder, model, shortlist)


def export_ctranslate2(
    model: ModelFolder, out: Path, precision: CTranslate2Precision, *, shortlist: bool = False
) -> list[str]:
    """Export a model, with its shortlist if requested or configured, and return what Weft does with the model and the
    exported program does not. Raise UserError before anything is written if the model is not supported.
    """
    check_ctranslate2_support(model)
    translate = model.config["translate"]
    differences, search = ctranslate2_differences(translate), closest_ctranslate2_search(translate)
    loaded = load_shortlist(model.path) if shortlist or model.uses_shortlist else None
    details = README.format(precision=precision, shortlist="" if loaded is None else SHORTLIST_README)
    readme = format_readme("CTranslate2", "ctranslate2 tokenizers", details, differences)
    settings = {"beam": search.beam, "length_penalty": search.alpha, "shortlist": loaded is not None}
    with export_folder(out) as new:
        convert_to_ctranslate2(model, new, precision, loaded)
        write_bundle_files(new, model, "ctranslate2_model", settings, readme)
    return differences


def check_ctranslate2_support(model: ModelFolder) -> None:
    raise_unsupported(model, "CTranslate2", unsupported_by_ctranslate2(model))
