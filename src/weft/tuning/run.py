"""From a trained model and new data to a fine-tuned one: begin, train, measure. Each goes on where it was stopped."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from weft.config.load import load_recipe
from weft.config.recipe import Recipe
from weft.core.errors import UserError
from weft.data.corpus import Corpus
from weft.data.part import Part
from weft.engine.device import pick_device
from weft.metric.render import as_record
from weft.model.freezing import Slot
from weft.store.checkpoint import newest_checkpoint
from weft.store.files import write_atomically
from weft.store.model_folder import Trained, load_model
from weft.store.place import identity
from weft.text.settings import reads
from weft.training.checks import check
from weft.training.initial import CHECKPOINTS
from weft.training.loop import End
from weft.training.progress import Display
from weft.training.ranks import Alone
from weft.training.run import first_run
from weft.training.start import go_on
from weft.tuning.folder import Asked, Begun, TuningFolder
from weft.tuning.growing import Sides, as_they_are, grown_model, grown_moments, grown_sides, unable
from weft.tuning.material import Home, Member, New, home_of, mean_length, members, new_data
from weft.tuning.measuring import measure
from weft.tuning.recipe import Situation, Written, new_settings, tuning_recipe
from weft.tuning.table import render

ROOM, SHARE = 100, 0.1  # new pieces at most where nobody says how many: so many, or this share of the old ones


@dataclass(frozen=True)
class Wish:
    """What is wanted beside the new data. extend: new pieces at most (None: letters and words that were unknown)."""

    mix: float = 0.0
    freeze: tuple[Slot, ...] = ()
    extend: int | None = None
    keep_optimiser: bool = False
    settings: tuple[str, ...] = ()
    minutes: float | None = None
    device: str = "auto"


def finetune(model: Path, files: Sequence[str], folder: TuningFolder, display: Display, wish: Wish) -> End:
    """The whole but for measuring; what was stopped goes on when it is asked for again."""
    if not folder.has_begun():
        folder.run.check_free()  # before anything is read
    trained = load_model(model)
    settings = new_settings(trained.recipe, wish.settings)
    new = new_data(files, trained.recipe, settings, model)
    asked = Asked(
        model=str(model),
        fingerprint=identity(model),
        files=new.files,
        data=new.corpus.fingerprint(),
        mix=wish.mix,
        freeze=wish.freeze,
        extend=wish.extend,
        keep_optimiser=wish.keep_optimiser,
        settings=wish.settings,
        minutes=wish.minutes,
    )
    if folder.has_begun():
        folder.check_same(asked)
    else:
        begin(folder, asked, trained, new, settings.fields, wish, display)
    if folder.has_run():
        return go_on(folder.path, display, wish.device)
    return first_run(load_recipe(folder.recipe), folder.run, display, Alone(pick_device(wish.device)))


def begin(
    folder: TuningFolder,
    asked: Asked,
    trained: Trained,
    new: New,
    fields: tuple[str, str],
    wish: Wish,
    display: Display,
) -> None:
    """Decide everything, and write it down; what is wrong with it is told before the work."""
    model = Path(asked.model)
    moments = moments_of(model, display) if wish.keep_optimiser else {}
    home = home_of(model, trained.recipe)
    old = members(home, trained.recipe, new, wish.mix, fields) if wish.mix else []
    sides = sides_of(trained, new, wish)
    tokens = mean_length(new.corpus.pairs(), (sides.source.reader, sides.target))
    situation = Situation(trained.recipe, asked.model, new, old, wish.mix, tokens, wish.freeze, wish.keep_optimiser)
    written = tuning_recipe(situation, folder, wish.settings, wish.minutes)
    check(replace(written.recipe, train=replace(written.recipe.train, start=asked.model)))
    apart = written_out(new, old, fields, trained.recipe)
    tell(written, sides, home, display)
    before = scored(model, corpora_of(new.valid, home), wish.device, display, "before")
    start = grown_model(trained, sides)
    grown = grown_moments(moments, trained, start, sides)
    folder.create(Begun(asked, before), written.yaml, start, grown, apart, fields)


def moments_of(model: Path, display: Display) -> Mapping[str, Tensor]:
    """Of the run's optimiser."""
    checkpoint = newest_checkpoint(model / CHECKPOINTS, display.say)
    if checkpoint is None:
        raise UserError(
            f"{model} has no checkpoints, where the optimiser's moments are: give the run folder (the --out of weft "
            "train), or leave out --keep-optimiser"
        )
    return checkpoint.groups["optimiser"]


def sides_of(trained: Trained, new: New, wish: Wish) -> Sides:
    """The tokenizers, with the new pieces that are wanted."""
    reason = unable(trained.recipe)
    if wish.extend and reason is not None:
        raise UserError(f"--extend {wish.extend}: this model can have no new pieces, since {reason}: leave it out")
    if wish.extend == 0 or reason is not None:
        return as_they_are(trained)
    room = wish.extend or max(ROOM, round(SHARE * trained.target_tokenizer.size))
    return grown_sides(trained, new.corpus.pairs(), room, merges=wish.extend is not None)


def written_out(new: New, old: Sequence[Member], fields: tuple[str, str], recipe: Recipe) -> dict[str, Corpus]:
    """Pairs that no files hold by themselves: those left when some are held out, where others are mixed in."""
    apart = {f"home-{number}": one.corpus for number, one in enumerate(old) if one.written}
    if old and new.held_out:
        left = Corpus(new.files, fields, Part(new.held_out, held_out=False), source=new.corpus.source)
        apart |= {"new": left, **({"new-valid": new.valid} if new.valid is not None else {})}
    if apart and (recipe.data.one_sided or reads(recipe.text) == "pictures"):
        raise UserError("--mix: name what to validate on, since only pairs of text can be parted: data.valid=[FILE]")
    return apart


def tell(written: Written, sides: Sides, home: Home, display: Display) -> None:
    display.say(written.lines)
    for line in sides.told():
        display.say(f"{line}; the row of each begins as the mean of those that spelled it before")
    if home.told is not None:
        display.say(home.told + ("" if home.train else ", so what is lost at home will not be measured"))


def corpora_of(valid: Corpus | None, home: Home) -> dict[str, Corpus]:
    """What models are measured on."""
    found = {"new": valid, "home": home.valid}
    return {name: corpus for name, corpus in found.items() if corpus is not None}


def scored(
    folder: Path, corpora: Mapping[str, Corpus], device: str, display: Display, when: str
) -> dict[str, list[dict[str, Any]]]:
    display.say(f"measuring the model {when}: {', '.join(f'{name} ({corpus})' for name, corpus in corpora.items())}")
    measured = measure(folder, corpora, device)
    return {name: [as_record(score) for score in scores] for name, scores in measured.items()}


def compare(folder: TuningFolder, display: Display, device: str) -> str | None:
    """The table of before and after, which is kept in the folder; None if there was nothing to measure on."""
    begun, recipe = folder.begun(), folder.run.recipe()
    old = load_model(folder.start).recipe
    corpora = corpora_of(recipe.data.splits(reads(recipe.text)).get("valid"), home_of(Path(begun.asked.model), old))
    there = {name: corpus for name, corpus in corpora.items() if name in begun.before}
    if not there:
        display.say("there is nothing to measure on: give data.valid to see what is gained")
        return None
    after = scored(folder.path, there, device, display, "after")
    node = {"mix": begun.asked.mix, "before": begun.before, "after": after}
    write_atomically(folder.table, f"{json.dumps(node, indent=2, ensure_ascii=False)}\n".encode())
    return render(begun.before, after, {name: str(corpus) for name, corpus in there.items()}, begun.asked.mix)
