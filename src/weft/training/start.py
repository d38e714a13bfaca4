"""Where a new run begins: with a recipe, or with files for which one is chosen."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from weft.config.document import Plain
from weft.config.load import load_recipe
from weft.core.errors import UserError
from weft.training.folder import RunFolder
from weft.training.loop import End
from weft.training.progress import Display
from weft.training.run import new_run

YAML = (".yaml", ".yml")
TABLES = (".tsv", ".jsonl")
LENGTHS = ("train.steps", "train.minutes")


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
    if isinstance(what, dict) or is_recipe(what):
        written = what if isinstance(what, dict) else Path(what[0])
        return new_run(load_recipe(written, [*length(minutes, settings), *settings]), out, display, device, began=began)
    from weft.choosing.choose import choose_recipe

    RunFolder(out).check_free()  # before anything is read
    chosen = choose_recipe(what, settings, minutes, device)
    display.say(chosen.lines)
    return new_run(chosen.recipe, out, display, device, chosen.yaml, began)


def length(minutes: float | None, settings: Sequence[str]) -> list[str]:
    """Settings for a run of so many minutes; or where one of steps and minutes is set, the other no longer counts."""
    if minutes is not None:
        return ["train.steps=null", f"train.minutes={minutes}"]
    named = {place.strip(): value.strip() for place, _, value in (setting.partition("=") for setting in settings)}
    given = any(named.get(place, "null") != "null" for place in LENGTHS)
    return [f"{place}=null" for place in LENGTHS if place not in named] if given else []


def is_recipe(names: Sequence[str]) -> bool:
    """A recipe, or data files? What is neither is told here, where both are known."""
    recipes = [name for name in names if name.endswith(YAML)]
    if recipes and len(names) > 1:
        others = ", ".join(name for name in names if name != recipes[0]) or recipes[0]
        raise UserError(
            f"{recipes[0]} is a recipe, and names its data itself: leave out {others}. "
            "A setting would look like train.seed=2."
        )
    if not recipes and len(names) != 2 and not (len(names) == 1 and names[0].removesuffix(".gz").endswith(TABLES)):
        raise UserError(
            f"got {', '.join(names)}, but wanted data, which is two text files, one .tsv or one .jsonl (each may end "
            "in .gz), or a recipe, which ends in .yaml. A setting would look like train.seed=2."
        )
    return bool(recipes)
