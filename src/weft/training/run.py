"""A whole training run: new, or going on."""

from __future__ import annotations

import shlex
import time
from itertools import islice
from pathlib import Path

import torch

from weft.config.recipe import Recipe
from weft.core.numbers import spoken_minutes
from weft.core.randomness import set_draws
from weft.data.batches import Batches, Noises
from weft.engine.device import pick_device
from weft.engine.reading import reading_of
from weft.model.build import build, parameters
from weft.model.model import Model
from weft.store.checkpoint import newest_checkpoint, remove_old
from weft.store.model_folder import Trained
from weft.training.budget import ENDLESS, Spent
from weft.training.checks import check
from weft.training.fitting import too_long
from weft.training.folder import RunFolder
from weft.training.given import given
from weft.training.initial import load_start, take_weights, tokenizers_of
from weft.training.interrupt import listening
from weft.training.loop import End, Loop, Parts
from weft.training.prepare import PreparedData, Split, prepare
from weft.training.progress import Display
from weft.training.validation import Validator


def new_run(
    recipe: Recipe,
    out: Path,
    display: Display,
    device: str = "auto",
    written: str | None = None,
    began: float | None = None,
) -> End:
    """Train a new model; `out` must be new or empty, and is made only once the data is read without error.

    written: the recipe as a file to edit, to be kept in the run folder. began: when the run's time began, by
    time.monotonic (None: now).
    """
    began = time.monotonic() if began is None else began
    check(recipe)
    folder = RunFolder(out)
    folder.check_free()
    place = pick_device(device)
    start = load_start(recipe)
    prepared = prepare(recipe, tokenizers_of(start), display)
    parts = make_parts(recipe, prepared, place, display)
    reading_of(parts.trained, recipe.translate.reading, "translate.reading")  # what is wrong with it is told now
    folder.create(recipe, prepared, written)
    loop = Loop(folder, recipe, parts, display, Spent(time.monotonic() - began))
    with folder.locked():
        begin(loop, start)
        return go(loop)


def resume(out: Path, display: Display, device: str = "auto") -> End:
    """Go on with the run in `out` from its newest whole checkpoint."""
    began = time.monotonic()
    folder = RunFolder(out)
    folder.recipe()  # a folder that is no run is told before anything is written into it
    with folder.locked():
        return resume_locked(folder, display, device, began)


def resume_locked(folder: RunFolder, display: Display, device: str, began: float) -> End:
    """The same once no other process can write into the run."""
    recipe = folder.recipe()
    folder.tidy()
    prepared = prepare(recipe, folder.tokenizers(), display)
    folder.check_same_data(prepared)
    parts = make_parts(recipe, prepared, pick_device(device), display)
    loop = Loop(folder, recipe, parts, display, Spent(time.monotonic() - began))
    checkpoint = newest_checkpoint(folder.checkpoints, display.say)
    if checkpoint is not None:
        loop.restore(checkpoint)
        remove_old(folder.checkpoints, loop.position.step)
    else:
        begin(loop, load_start(recipe))
    if loop.position.step == recipe.train.steps:
        display.say(f"this run is finished: all of its {recipe.train.steps:,} steps were made")
        return "done"
    whole = recipe.train.steps if recipe.train.minutes is None else spoken_minutes(recipe.train.minutes)
    display.say(f"going on after step {loop.position.step} of {whole}")
    return go(loop)


def begin(loop: Loop, start: Trained | None) -> None:
    """Take the weights of the model to start from, and keep them, so that going on never needs its folder again."""
    if start is not None:
        take_weights(loop.parts.trained, start)
        loop.write_checkpoint()


def make_parts(recipe: Recipe, prepared: PreparedData, device: torch.device, display: Display) -> Parts:
    """Make what the recipe names, and tell which pairs the model cannot say. First weights depend on the seed alone."""
    settings = recipe.train
    set_draws(settings.seed, "weights")
    model = build(recipe.model, prepared.source.vocabulary(), prepared.target.vocabulary(), joint=recipe.text.joint).to(
        device
    )
    trained = Trained(model, prepared.source, prepared.target, recipe, {})
    objective = recipe.objective(given(trained, prepared.train.cache))
    validator = None
    if prepared.valid is not None:
        pairs = list(islice(prepared.valid.corpus.pairs(), settings.validation.lines))
        batches = batches_of(recipe, "valid", prepared.valid, model, display)
        reading = reading_of(trained, settings.validation.reading, "train.validation.reading")
        validator = Validator(objective, batches, pairs, recipe, reading)
    return Parts(
        trained=trained,
        objective=objective,
        optimiser=settings.optimiser(model.parameters()),
        schedule=settings.schedule(settings.steps or ENDLESS),
        average=settings.average() if settings.average else None,
        batches=batches_of(recipe, "train", prepared.train, model, display, noise=prepared.noise),
        validate=validator,
    )


def batches_of(
    recipe: Recipe, name: str, split: Split, model: Model, display: Display, *, noise: Noises | None = None
) -> Batches:
    """The batches of a split, without the pairs that the model's lattice, if it has one, cannot say."""
    settings, longest = recipe.train, recipe.data.max_length
    as_they_are = Batches(split.cache, settings.batch_tokens, settings.seed, longest=longest)
    left_out = too_long(model, name, split, as_they_are, display)
    return Batches(split.cache, settings.batch_tokens, settings.seed, noise=noise, longest=longest, left_out=left_out)


def go(loop: Loop) -> End:
    """Run the loop, with signals heard; tell how it ended."""
    loop.display.say(f"{parameters(loop.parts.trained.model):,} parameters")
    loop.parts.trained.model.train()
    with listening() as interrupt:
        end = loop.run(interrupt)
    folder, step = loop.folder, loop.position.step
    verb = "complete" if loop.parts.trained.model.is_language_model else "translate"
    best = f"the best model is in {folder.best}. To use it: weft {verb} {shlex.quote(str(folder.path))}"
    told = {
        "done": f"finished after {step} steps; {best}",
        "patience": f"ended at step {step}: validation no longer improves; {best}",
        "interrupted": f"stopped at step {step}; everything is saved. Go on with: {folder.go_on_command()}",
    }
    loop.display.say(told[end])
    return end
