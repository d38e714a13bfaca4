"""Where a new run begins: with a recipe, or with files for which one is chosen."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from weft.config.document import Plain
from weft.config.load import load_recipe
from weft.config.names import names_recipe
from weft.config.reader import read
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.training.budget import LENGTHS
from weft.training.folder import RunFolder
from weft.training.loop import End
from weft.training.meeting import joined
from weft.training.progress import Display
from weft.training.run import new_run, resume
from weft.training.telling import told_recipe


def start(
    what: Sequence[str] | dict[str, Plain],
    out: Path,
    display: Display,
    *,
    settings: Sequence[str] = (),
    minutes: float | None = None,
    device: str = "auto",
) -> End:
    """Train on `what`: a recipe as plain data, the name of one, or the names of data files."""
    began = time.monotonic()
    with joined(device) as ranks:
        if RunFolder(out).began(ranks):  # before a process died, and torchrun started all of them again
            return resume(out, display, ranks)
        if isinstance(what, dict) or names_recipe(what):
            written = what if isinstance(what, dict) else Path(what[0])
            recipe = told_recipe(ranks, lambda: load_recipe(written, [*length(minutes, settings), *settings]))
            return new_run(recipe, out, display, ranks, began=began)
        from weft.choosing.choose import choose_recipe

        ranks.first(RunFolder(out).check_free)  # before anything is read
        chosen = ranks.first(lambda: choose_recipe(what, settings, minutes, device).to_json())
        display.say(chosen["lines"])
        recipe = read(chosen["recipe"], Recipe, REGISTRY)
        return new_run(recipe, out, display, ranks, chosen["yaml"], began)


def go_on(out: Path, display: Display, device: str = "auto") -> End:
    """Go on with the run in `out`."""
    with joined(device) as ranks:
        return resume(out, display, ranks)


def length(minutes: float | None, settings: Sequence[str]) -> list[str]:
    """Settings for a run of so many minutes; or where one of steps and minutes is set, the other no longer counts."""
    if minutes is not None:
        return ["train.steps=null", f"train.minutes={minutes}"]
    named = {place.strip(): value.strip() for place, _, value in (setting.partition("=") for setting in settings)}
    given = any(named.get(place, "null") != "null" for place in LENGTHS)
    return [f"{place}=null" for place in LENGTHS if place not in named] if given else []
