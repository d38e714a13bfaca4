"""The resolved configuration: what was chosen, and everything, folded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from weft.config.departures import departures
from weft.config.document import inline
from weft.config.reader import describe
from weft.config.registry import REGISTRY
from weft.markup.elements import Html, element, join, text
from weft.report.document import Section
from weft.report.run.gathering import Gathered
from weft.report.run.opening import note


def settings(gathered: Gathered) -> Section:
    """A part of the recipe after the other; what is not as it is by default is marked."""
    recipe = gathered.known.recipe
    chosen, node = departures(recipe, REGISTRY), describe(recipe, REGISTRY)
    told = note(
        "The resolved configuration, with every default written out;", "what differs from the defaults is bold."
    )
    parts = [_part(name, below, chosen) for name, below in node.items()]
    return Section("Settings", "Settings", [told, *parts, *_written(gathered)])


def _part(name: str, node: Mapping[str, Any], chosen: set[str]) -> Html:
    lines = list(_lines(node, name, 0, chosen))
    set_here = ", ".join(_gist(node, name, chosen))
    summary = element("summary", join([text(name), text(" "), element("small", set_here or "as by default")]))
    return element("details", join([summary, element("pre", join(lines, "\n"))]), "part")


def _gist(node: Mapping[str, Any], place: str, chosen: set[str], before: str = "") -> Iterator[str]:
    """What differs from the defaults, on one line."""
    for name, value in node.items():
        here = f"{place}.{name}"
        if isinstance(value, dict):
            yield from _gist(value, here, chosen, f"{before}{name}.")
        elif here in chosen:
            yield f"{before}{name} {inline(value)}".replace(".type ", " ")


def _lines(node: Mapping[str, Any], place: str, depth: int, chosen: set[str]) -> Iterator[Html]:
    """As YAML has it."""
    for name, value in node.items():
        here = f"{place}.{name}"
        key = text("  " * depth + f"{name}:")
        if isinstance(value, dict):
            yield key
            yield from _lines(value, here, depth + 1, chosen)
        else:
            said = element("b" if here in chosen else "span", inline(value))
            yield join([key, said], " ")


def _written(gathered: Gathered) -> list[Html]:
    """The recipe that was chosen, with its reasons."""
    if gathered.known.written is None:
        return []
    lines = join(map(text, gathered.known.written.rstrip("\n").split("\n")), "\n")
    return [element("details", join([element("summary", "recipe.yaml, with the reasons"), element("pre", lines)]))]
