"""The recipe of a fine-tuning run: that of the old run, but for data, length and rate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from weft.choosing.recipe import as_document, as_lines, as_yaml
from weft.choosing.rules import Choice
from weft.config.document import Plain
from weft.config.load import load_recipe
from weft.config.overrides import apply_overrides
from weft.config.reader import describe
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.core.errors import UserError
from weft.data.settings import Data
from weft.training.start import length
from weft.tuning.folder import TuningFolder
from weft.tuning.material import Member, New

PASSES = 10  # over the new data
LEAST, MOST = 50, 0.5  # updates; of those that the old run had, the share
GENTLER = 5  # times lower than the old rate at its peak
TITLE = "Chosen by weft for fine-tuning {}. Train it again with: weft train THIS_FILE --out FOLDER"
TAKEN = {
    "data.train": "the new data is named after the model",
    "data.folder": "the new data is named after the model",
    "data.mix": "--mix says how much old data is mixed in",
    "train.start": "the model is named first",
    "train.freeze": "--freeze says what stays as it is",
    "train.keep_moments": "--keep-optimiser says that",
}


class Situation(NamedTuple):
    """What the rules look at. tokens: of a pair, its longer side, in the mean. old: pairs to mix in."""

    recipe: Recipe
    name: str
    new: New
    old: Sequence[Member]
    mix: float
    tokens: float
    freeze: tuple[str, ...]
    keep_optimiser: bool


class Written(NamedTuple):
    """A recipe; why it is as it is, for a person; and as a file to edit."""

    recipe: Recipe
    lines: str
    yaml: str


def new_settings(recipe: Recipe, settings: Sequence[str]) -> Data:
    """What a person says about the new data; the rest as it was, but for files."""
    for setting in settings:
        place = setting.partition("=")[0].strip()
        if place in TAKEN:
            raise UserError(f"{place} is set, but {TAKEN[place]}: leave it out")
    node = describe(recipe.data, REGISTRY) | {"folder": "", "train": [], "mix": [], "valid": [], "test": []}
    about = [setting for setting in settings if setting.startswith("data.")]
    return load_recipe({"data": {**node, "hold_out": 0.0}}, about).data


def tuning_recipe(
    situation: Situation, folder: TuningFolder, settings: Sequence[str], minutes: float | None
) -> Written:
    """The choices, with what a person has set otherwise."""
    node = describe(situation.recipe, REGISTRY)
    places = {setting.partition("=")[0].strip() for setting in settings}
    chosen = [*data(situation, folder, node["data"]), *kept(node, "text"), *kept(node, "model")]
    chosen += [*training(situation, folder, node["train"]), *kept(node, "translate")]
    choices = [choice for choice in chosen if choice.place not in places]
    document = {**as_document(choices), "objective": node["objective"]}
    document = apply_overrides(document, [*length(minutes, settings), *settings])
    yaml = as_yaml(document, choices, TITLE.format(situation.name))
    return Written(load_recipe(document), as_lines(choices, "chosen from the model and the new data:"), yaml)


def kept(node: dict[str, Any], section: str) -> Iterator[Choice]:
    """A section as it was."""
    for name, value in node[section].items():
        yield Choice(f"{section}.{name}", value)


def data(situation: Situation, folder: TuningFolder, node: dict[str, Any]) -> Iterator[Choice]:
    """New pairs, and old ones if they are to be mixed in."""
    new, written = situation.new, bool(situation.old) and situation.new.held_out > 0
    files: list[Plain] = [str(folder.pairs("new"))] if written else list(new.files)
    yield Choice("data.folder", "")
    if situation.old:
        mixed: list[Plain] = [{"files": files, "times": 1.0}]
        mixed += [
            {"files": old_files(folder, number, old), "times": old.times} for number, old in enumerate(situation.old)
        ]
        yield Choice("data.train", [])
        yield Choice("data.mix", mixed, f"{counted_pairs(situation.mix)} for every new one, so that less is forgotten")
    else:
        yield Choice("data.train", files)
        yield Choice("data.mix", [])
    yield Choice("data.valid", [str(folder.pairs("new-valid"))] if written else [])
    yield Choice("data.test", [])
    if new.held_out:
        told = f"about {round(new.held_out * new.pairs):,} new pairs are kept for validation: no data.valid was given"
        yield Choice("data.hold_out", 0.0 if written else new.held_out, told)
    else:
        yield Choice("data.hold_out", 0.0)
    for name, value in node.items():
        if name not in ("folder", "train", "mix", "valid", "test", "hold_out"):
            yield Choice(f"data.{name}", value)


def counted_pairs(mix: float) -> str:
    return f"{mix:g} old {'pair' if mix == 1 else 'pairs'}"


def old_files(folder: TuningFolder, number: int, old: Member) -> list[Plain]:
    return [str(folder.pairs(f"home-{number}"))] if old.written else [str(path) for path in old.corpus.names[0]]


def training(situation: Situation, folder: TuningFolder, node: dict[str, Any]) -> Iterator[Choice]:
    """As before, but for a shorter run at a lower rate."""
    steps, told = updates(situation, node)
    peak = float(f"{node['schedule']['peak'] / GENTLER:.3g}")
    schedule: dict[str, Plain] = {"type": "warmup-stable-decay", "peak": peak, "warmup": steps // 10, "decay": 0.8}
    new: dict[str, Choice] = {
        "start": Choice("train.start", str(folder.start)),
        "keep_moments": Choice("train.keep_moments", situation.keep_optimiser),
        "freeze": Choice("train.freeze", list(situation.freeze)),
        "precision": Choice("train.precision", "auto"),
        "steps": Choice("train.steps", steps, told),
        "minutes": Choice("train.minutes", None),
        "schedule": Choice(
            "train.schedule",
            schedule,
            f"a peak of {peak:g}, a fifth of what it was ({node['schedule']['peak']:g}): the weights are good already",
        ),
        "average": Choice("train.average", average(node["average"], steps)),
        "validation": Choice("train.validation", node["validation"] | {"every": max(1, steps // 10)}),
    }
    for name, value in node.items():
        yield new.get(name, Choice(f"train.{name}", value))


def updates(situation: Situation, node: dict[str, Any]) -> tuple[int, str]:
    """How many, and why."""
    pairs = situation.new.pairs * (1 - situation.new.held_out) * (1 + situation.mix)
    batch = node["batch_tokens"] * node["accumulate"]
    passes = max(LEAST, round(PASSES * pairs * situation.tokens / batch))
    most = None if node["steps"] is None else max(LEAST, round(MOST * node["steps"]))
    if most is not None and most < passes:
        return most, f"{most:,} updates, half of those that the model was trained with"
    return passes, f"{passes:,} updates, about {PASSES} passes over the data" + (
        f", but {LEAST} at least" if passes == LEAST else ""
    )


def average(node: Plain, steps: int) -> Plain:
    """If weights were averaged, they are again, over about the last tenth of the run."""
    return None if node is None else {"type": "exponential", "decay": float(f"{1 - 10 / max(20, steps):.4g}")}
