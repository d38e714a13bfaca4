"""A page: a single file that needs nothing else, not even a network."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import NamedTuple

from weft.markup.elements import Html, element, join, text


class Section(NamedTuple):
    """A part of the page: its name in the table of contents, its heading, and what stands below it."""

    name: str
    heading: str
    content: list[Html]


def document(
    title: str,
    styles: Sequence[str],
    opening: Sequence[Html],
    sections: Sequence[Section],
    closing: Sequence[Html] = (),
) -> str:
    """The opening, the table of contents, the sections. styles: style sheets of this room, by their names."""
    style = "".join(files("weft.report").joinpath(name).read_text("utf-8") for name in styles)
    head = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(title).source}</title><style>{style}</style></head><body>"
    )
    written = element("main", join(element("section", _written(section)) for section in sections))
    header = element("header", join([*opening, _contents(sections)]))
    return head + join([header, written, *closing]).source + "</body></html>\n"


def _contents(sections: Sequence[Section]) -> Html:
    links = (element("a", section.name, attributes={"href": f"#{_place(section)}"}) for section in sections)
    return element("nav", join(links, " "), attributes={"aria-label": "Contents"})


def _written(section: Section) -> Html:
    return join([element("h2", section.heading, attributes={"id": _place(section)}), *section.content])


def _place(section: Section) -> str:
    return section.name.lower().replace(" ", "-")
