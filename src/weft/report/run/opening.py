"""The top of the page: what the run is, how far it came, and its figures at a glance."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

from weft.config.reader import describe
from weft.config.registry import REGISTRY
from weft.core.errors import UserError
from weft.core.numbers import clock
from weft.markup.elements import Html, element, join, text
from weft.model.build import parameters
from weft.report.run.gathering import Gathered
from weft.report.run.outcome import Outcome
from weft.serve.languages import name_of, pair_of
from weft.store.run_log import points


def opening(gathered: Gathered) -> list[Html]:
    about = [kind_of(gathered), gathered.outcome.told(), gathered.origin.told]
    return [
        element("p", "Training run", "kind"),
        element("h1", gathered.known.name),
        element("p", "; ".join(filter(None, about)) + ".", "about"),
        element("dl", join(_tile(*tile) for tile in tiles(gathered)), "tiles"),
    ]


def kind_of(gathered: Gathered) -> str:
    """What the model is made of, as the recipe names it."""
    node = describe(gathered.known.recipe, REGISTRY)
    types = {slot: (node["model"][slot] or {"type": "none"})["type"] for slot in ("encoder", "decoder", "lattice")}
    parts = ", ".join(f"{kind} {slot}" for slot, kind in types.items() if kind != "none")
    if types["encoder"] == "none":
        return f"A language model: {parts}"
    return "; ".join(filter(None, [languages(node), f"{parts[:1].upper()}{parts[1:]}"]))


def languages(node: dict[str, Any]) -> str:
    """English to German, where the names of the files tell it."""
    try:
        return " to ".join(map(name_of, pair_of(node, "")))
    except UserError:
        return ""


def tiles(gathered: Gathered) -> Iterator[tuple[str, str, str]]:
    """Name, figure, and what is to be known of it."""
    known, outcome = gathered.known, gathered.outcome
    if outcome.best is not None:
        yield f"Best {outcome.best.name}", f"{outcome.best.value:.2f}", f"in validation, at step {outcome.best.step:,}"
    yield "Steps", f"{outcome.step:,}", _of(outcome)
    if outcome.seconds:
        yield "Time", clock(outcome.seconds), "of training and validation"
    speeds = [value for _, value in points(known.history.reports, "tokens_per_second")]
    if speeds:
        yield "Speed", f"{median(speeds):,.0f}", "target tokens a second, median"
    if gathered.trained is not None:
        yield "Parameters", counted(parameters(gathered.trained.model)), "weights of the model"
    unit = "lines" if known.table.one_sided else "pairs"
    train = known.table.splits[0]
    yield f"Training {unit}", counted(train.kept), f"of {train.read:,} that were read"


def counted(number: int) -> str:
    """1.5 M or 28,953."""
    return f"{number / 1e6:.1f} M" if number >= 1e6 else f"{number:,}"


def _of(outcome: Outcome) -> str:
    return "all that were wanted" if outcome.end == "finished" else f"of {outcome.wanted}"


def _tile(name: str, figure: str, told: str) -> Html:
    inner = join([element("dt", name), element("dd", join([element("b", figure), element("small", told)]))])
    return element("div", inner)


def note(*sentences: str) -> Html:
    """A remark in small letters."""
    return element("p", text(" ".join(sentences)), "note")
