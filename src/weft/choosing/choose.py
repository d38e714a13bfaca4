"""From data files, and the time that there is, to a recipe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from weft.choosing.look import look
from weft.choosing.machine import matrix_rate
from weft.choosing.pictures import choose_for_pictures, name_pictures, widest
from weft.choosing.recipe import as_document, as_lines, as_yaml
from weft.choosing.rules import Situation, choose
from weft.config.load import load_recipe
from weft.config.overrides import apply_overrides
from weft.config.reader import describe
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.core.errors import UserError
from weft.data.corpus import Corpus
from weft.engine.device import pick_device

MINUTES = 60.0  # where none are given
SEED = 1


@dataclass(frozen=True)
class Chosen:
    """A recipe, and why it is as it is: for a person, and as a file to edit."""

    recipe: Recipe
    lines: str
    yaml: str

    def to_json(self) -> dict[str, Any]:
        return {"recipe": describe(self.recipe, REGISTRY), "lines": self.lines, "yaml": self.yaml}


def choose_recipe(files: Sequence[str], overrides: Sequence[str], minutes: float | None, device: str) -> Chosen:
    """Look at the files, measure the machine, and choose; what `overrides` set is as they set it."""
    place = pick_device(device)
    given = load_recipe({}, ["train.steps=null", *overrides])
    places = {override.partition("=")[0].strip() for override in overrides}
    if twice := places & {"data.train", "data.folder"}:
        raise UserError(f"{min(twice)} is set, but {' and '.join(files)} should be trained on: leave one of them out")
    pictures = name_pictures(Corpus(files, given.data.fields))
    corpus = Corpus(files, given.data.fields, source="pictures" if pictures else "text")
    situation = Situation(
        facts=look(corpus.pairs(), SEED),
        minutes=minutes or given.train.minutes or MINUTES,
        rate=matrix_rate(place),
        files=tuple(files),
        has_validation=bool(given.data.valid),
        steps=given.train.steps if minutes is None else None,
        joint=given.text.joint if "text.joint" in places else None,
    )
    chosen = choose_for_pictures(situation, widest(corpus, SEED)) if pictures else choose(situation)
    choices = [choice for choice in chosen if choice.place not in places]
    document = apply_overrides(as_document(choices), overrides)
    title = "Chosen by weft for these files. Edit it, and train with: weft train THIS_FILE --out FOLDER"
    return Chosen(load_recipe(document), as_lines(choices), as_yaml(document, choices, title))
