"""What became of a request, told from the output."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from weft.control.plan import Plan
from weft.control.request import Request
from weft.control.spelling import Speller
from weft.control.words import occurrences, stands
from weft.search.guides.outcomes import outcomes
from weft.search.guides.required import waits_for


class Checked(NamedTuple):
    """One thing that was asked for: what, the phrases of which any one will do, and whether the output has it so.

    forced: it was said only when no more tokens were left than it took, so that the output may read badly.
    """

    asked: Literal["prefix", "include", "exclude"]
    phrases: tuple[str, ...]
    met: bool
    forced: bool = False


class Output(NamedTuple):
    """What a search has found, with this limit: the tokens, without END, and the text that they became."""

    tokens: Sequence[int]
    text: str
    limit: int


def checked(request: Request, plan: Plan, output: Output, speller: Speller) -> tuple[Checked, ...]:
    """Of each thing that the request asks for.

    Whether a phrase stands in the output is read from its text, whatever tokens spell it.
    """
    text, results = output.text, []
    if request.prefix:
        begins = text.startswith(speller.shown(request.prefix.rstrip()))
        results.append(Checked("prefix", (request.prefix,), begins))
    shown = [tuple(map(speller.shown, alternatives)) for alternatives in request.include]
    met = _met(shown, request.ordered, text)
    found = outcomes(output.tokens, plan.requirements, speller.joins, output.limit, plan.ordered)
    results += [
        Checked("include", phrases, is_met, is_met and outcome.forced)
        for phrases, is_met, outcome in zip(request.include, met, found, strict=True)
    ]
    return (*results, *(_absent(phrase, text, speller) for phrase in request.exclude))


def _absent(phrase: str, text: str, speller: Speller) -> Checked:
    return Checked("exclude", (phrase,), not stands(speller.shown(phrase), text))


def _met(include: Sequence[tuple[str, ...]], ordered: int, text: str) -> list[bool]:
    """Whether each requirement is met: after the end of the one that it waits for (`waits_for`), if there is one."""
    ends = [0]
    for phrases, before in zip(include, waits_for([frozenset(one) for one in include], ordered), strict=True):
        places = [end for phrase in phrases for first, end in occurrences(phrase, text) if first >= ends[before]]
        ends.append(min(places, default=len(text) + 1))
    return [end <= len(text) for end in ends[1:]]
