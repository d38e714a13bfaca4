"""The lines of a batch with what each asks for."""

from collections.abc import Sequence
from typing import NamedTuple

from weft.control.plan import Plan, planned
from weft.control.request import Request
from weft.control.spelling import Speller
from weft.core.errors import UserError
from weft.data.padding import Row
from weft.engine.several import OtherRows
from weft.text.reader import LineError


class Asked(NamedTuple):
    """A line that is to be translated."""

    row: Row  # its pieces, cut at the limit of the model
    other: OtherRows
    number: int  # in the whole input, counted from 0
    request: Request
    plan: Plan
    cut: bool  # it was longer than a model reads


def plans_of(requests: Sequence[Request], speller: Speller) -> list[Plan]:
    """How each request is seen to; LineError for one that cannot be."""
    return [_plan(number, request, speller) for number, request in enumerate(requests)]


def check_room(asked: Sequence[Asked], limits: Sequence[int]) -> None:
    """Does what is asked of each line fit into its output?"""
    for line, limit in zip(asked, limits, strict=True):
        if line.plan.least > limit:
            raise UserError(
                f"line {line.number + 1}: what is asked for takes {line.plan.least} pieces, but this output may have "
                f"only {limit}: ask for less, or raise translate.length_factor or translate.length_extra"
            )


def _plan(number: int, request: Request, speller: Speller) -> Plan:
    try:
        return Plan() if request.is_plain else planned(request, speller)
    except UserError as error:
        raise LineError(number, str(error)) from error
