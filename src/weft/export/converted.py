"""A model in the format of CTranslate2, in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from weft.core.errors import UserError
from weft.export.described import Described
from weft.export.refusals import refusals
from weft.export.vocabulary_map import write_map
from weft.text.shortlist import Shortlist

if TYPE_CHECKING:
    from weft.export.whole_numbers import Bits

Precision: TypeAlias = Literal["float32", "int16", "int8"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)


def check_convertible(described: Described) -> None:
    """All that stands in the way, told at once."""
    if reasons := refusals(described):
        listed = "\n".join(f"  {reason}" for reason in reasons)
        raise UserError(f"{described.folder}: cannot go to CTranslate2:\n{listed}")


def convert(
    described: Described, folder: Path, precision: Precision, shortlist: Shortlist | None = None, bits: Bits = 7
) -> None:
    """Write model.bin, config.json, the vocabularies and the shortlist into an empty folder.

    bits: of the weights in int8; seven are right for every processor.
    """
    from weft.export.specification import specification
    from weft.export.whole_numbers import use_whole_numbers

    made = specification(described)
    if precision == "int8":
        use_whole_numbers(made, bits)
    made.optimize(quantization=None if precision == "int8" else precision)
    made.save(str(folder))
    if shortlist is not None:
        write_map(folder, described, shortlist)
