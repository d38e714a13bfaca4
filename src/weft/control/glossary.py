"""Terms and how they are to be translated, from a file.

A row is a source term, a tab, and its translation, or several with "|" between them, of which any one will do:

    house	Haus
    man	Mann|Herr
    house	!Gebäude
        !Scheiße

"!" forbids a translation where the term stands in the line, and, where the row has no term, in every line. Blank rows,
and those that begin with "#", are left out. A term is found as whole words; one without capital letters is found in any
case, one with them only as it is written. Where terms overlap, the longest counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from weft.control.request import Request
from weft.control.words import occurrences
from weft.core.errors import UserError
from weft.data.lines import read_lines

EVERYWHERE = ""  # in place of a term


@dataclass(frozen=True)
class Glossary:
    """wanted: the alternatives for each source term. forbidden: what must not stand for it."""

    wanted: Mapping[str, tuple[str, ...]]
    forbidden: Mapping[str, tuple[str, ...]]

    def applied(self, request: Request) -> Request:
        """The request, asking also for what the glossary says of the terms in its text."""
        wanted = [self.wanted[term] for term in found_terms(self.wanted, request.text)]
        terms = [EVERYWHERE, *found_terms(self.forbidden, request.text)]
        forbidden = [phrase for term in terms for phrase in self.forbidden.get(term, ())]
        return replace(
            request,
            include=(*request.include, *(one for one in dict.fromkeys(wanted) if one not in request.include)),
            exclude=tuple(dict.fromkeys([*request.exclude, *forbidden])),
        )


def read_glossary(path: Path) -> Glossary:
    """The glossary in a file of rows with tabs."""
    wanted: dict[str, tuple[str, ...]] = {}
    forbidden: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(read_lines(path), 1):
        if line.strip() and not line.startswith("#"):
            try:
                term, phrases, forbids = read_row(line)
            except UserError as error:
                raise UserError(f"{path}, line {number}: {error}") from error
            kept = forbidden if forbids else wanted
            kept[term] = tuple(dict.fromkeys([*kept.get(term, ()), *phrases]))
    if not wanted and not forbidden:
        raise UserError(f"{path}: has no terms; write a source term, a tab and its translation a line")
    for term, phrases in wanted.items():
        if {*phrases} <= {*forbidden.get(term, ()), *forbidden.get(EVERYWHERE, ())}:
            asked = " or ".join(f'"{phrase}"' for phrase in phrases)
            raise UserError(
                f'{path}: "{term}" is to become {asked}, which another row forbids: leave out one of the two'
            )
    return Glossary(wanted, forbidden)


def read_row(line: str) -> tuple[str, tuple[str, ...], bool]:
    """The term, its translations, and whether they are forbidden."""
    parts = [part.strip() for part in line.split("\t")]
    if len(parts) != 2:
        tabs = "no tab" if len(parts) == 1 else f"{len(parts) - 1} tabs"
        raise UserError(
            f"has {tabs}, but a row of a glossary is a source term, one tab, and its translation (several with | "
            "between them; ! before one that is forbidden)"
        )
    term, translations = parts
    phrases = tuple(part.strip() for part in translations.removeprefix("!").split("|"))
    if not all(phrases):
        raise UserError("a translation is missing after the tab, after the ! or beside a |")
    if not term and not translations.startswith("!"):
        raise UserError("has no source term: only a translation that is forbidden, with ! before it, can stand alone")
    return term, phrases, translations.startswith("!")


def found_terms(terms: Mapping[str, object], text: str) -> list[str]:
    """Those that stand in the text, in its order; the longest where they overlap."""
    lowered = text.lower()
    places = [
        (first, end, term)
        for term in terms
        if term
        for first, end in occurrences(term, lowered if term == term.lower() else text)
    ]
    taken: list[tuple[int, int, str]] = []
    for first, end, term in sorted(places, key=lambda place: (place[0] - place[1], place[0])):
        if all(end <= other[0] or other[1] <= first for other in taken):
            taken.append((first, end, term))
    return list(dict.fromkeys(term for _, _, term in sorted(taken)))
