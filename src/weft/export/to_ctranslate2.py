"""A model for CTranslate2, in a folder of its own, with all that using it needs."""

from __future__ import annotations

from pathlib import Path

from weft.export.converted import Precision, check_convertible, convert
from weft.export.described import Described
from weft.export.folder import exported, readme_of, save_texts
from weft.export.same_search import differences, nearest_search
from weft.store.shortlist import load_shortlist

TOLD = """model.bin, config.json and the vocabularies are CTranslate2's; the weights are {precision}. The names of the
tokens in the vocabularies are numbered as those of the tokenizers, after three marks; white space in a name is `▁`.
At its length limit (settings.json) an output breaks off.{listed}"""
LISTED = """ vmap.txt is the shortlist: with `use_vmap`, outputs are made of the pieces that belong to the
source's; lines that are translated together share theirs, which is why translate.py takes one after the other."""


def export_ctranslate2(described: Described, out: Path, precision: Precision, *, shortlist: bool = False) -> list[str]:
    """All that stands in the way is told before anything is written. shortlist: whether it goes along, and is used.

    Gives back what Weft does with the model and the program does not, in words.
    """
    check_convertible(described)
    translate = described.config["translate"]
    unlike, (beam, alpha) = differences(translate, translate["search"]), nearest_search(translate["search"])
    lists = load_shortlist(described.folder) if shortlist or described.uses_shortlist else None
    search = {"beam": beam, "length_penalty": alpha, "shortlist": lists is not None}
    told = TOLD.format(precision=precision, listed="" if lists is None else LISTED)
    readme = readme_of("CTranslate2", "ctranslate2 tokenizers", told, unlike)
    with exported(out) as new:
        convert(described, new, precision, lists)
        save_texts(new, described, "with_ctranslate2", search, readme)
    return unlike
