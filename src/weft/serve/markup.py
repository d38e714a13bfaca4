"""A page of HTML as text and markup, cut as browsers cut it (WHATWG, "Tokenization"): in one pass, however broken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})
SHOWN = frozenset({"textarea", "title"})  # elements that hold no markup, but text to be read
HIDDEN = frozenset({"iframe", "noembed", "noframes", "script", "style", "xmp"})  # that hold no language at all
ENDS = {name: re.compile(rf"</{name}(?=[ \t\n\f\r/>])", re.IGNORECASE) for name in SHOWN | HIDDEN}
# Quantifiers that give nothing back (*+): a match that fails has read each letter once.
ATTRIBUTE = re.compile(
    r"""(?P<attribute>[^ \t\n\f\r/>][^ \t\n\f\r/>=]*+)
        (?:[ \t\n\f\r]*+=[ \t\n\f\r]*+
            (?P<value>"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^ \t\n\f\r>"'][^ \t\n\f\r>]*+|(?=>)))?+""",
    re.VERBOSE,
)
BEGINNING = re.compile(r"<(?=[A-Za-z!?]|/.)", re.DOTALL)
MARKUP = re.compile(
    rf"""<!--(?:-?>|.*?--!?>)
        |<(?P<slash>/?)(?P<name>[A-Za-z][^ \t\n\f\r/>]*+)(?P<rest>(?:[ \t\n\f\r/]++|{ATTRIBUTE.pattern})*+)>
        |<(?:\?|!(?!--)|/(?![A-Za-z]))[^>]*+>""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Run:
    """A part of a page as it is written: text to translate, or anything else."""

    raw: str
    is_text: bool


def runs_of(page: str) -> list[Run]:
    """The whole page, cut where text begins and ends."""
    parts = groupby((part for part in _parts(page) if part.raw), lambda part: part.is_text)
    return [Run("".join(part.raw for part in same), is_text) for is_text, same in parts]


def _parts(page: str) -> Iterator[Run]:
    """Texts, tags, comments. What begins and never ends goes to the end of the page."""
    place, copying = 0, _Copying()
    while beginning := BEGINNING.search(page, place):
        start = beginning.start()
        yield Run(page[place:start], not copying.depth)
        found = MARKUP.match(page, start)
        place = found.end() if found else len(page)
        yield Run(page[start:place], False)
        if found and found["name"]:
            copying.see(found)
            inside = _inside(page, found)
            yield Run(inside, not copying.depth and found["name"].lower() in SHOWN)
            place += len(inside)
    yield Run(page[place:], not copying.depth)


def _inside(page: str, tag: re.Match[str]) -> str:
    """Of an element that holds no markup, all that it holds; of others nothing, since that is read like the rest."""
    ends = None if tag["slash"] else ENDS.get(tag["name"].lower())
    if ends is None:
        return ""
    end = ends.search(page, tag.end())
    return page[tag.end() : end.start() if end else len(page)]


class _Copying:
    """Whether we are in an element that is to stay as it is. depth: how many of its name are open in one another."""

    def __init__(self) -> None:
        self.name, self.depth = "", 0

    def see(self, tag: re.Match[str]) -> None:
        name = tag["name"].lower()
        if tag["slash"]:
            self.depth -= self.depth > 0 and name == self.name
        elif name not in VOID and not tag[0].endswith("/>"):
            if self.depth:
                self.depth += name == self.name
            elif _is_to_stay(tag["rest"]):
                self.name, self.depth = name, 1


def _is_to_stay(attributes: str) -> bool:
    """Of attributes of one name, the first counts."""
    values = (one["value"] for one in ATTRIBUTE.finditer(attributes) if one["attribute"].lower() == "translate")
    return (next(values, None) or "").strip("\"'").lower() == "no"
