"""A whole training run: new, or going on."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import torch

from weft.config.recipe import Recipe
from weft.core.errors import ConfigError, Problem, UserError
from weft.core.randomness import set_draws
from weft.data.batches import Batches
from weft.engine.device import pick_device
from weft.model.build import build, parameters
from weft.model.model import Model
from weft.store.checkpoint import newest_checkpoint, remove_old
from weft.store.model_folder import Trained
from weft.train.folder import RunFolder
from weft.train.interrupt import listening
from weft.train.loop import End, Loop, Parts
from weft.train.prepare import PreparedData, prepare
from weft.train.progress import Display
from weft.train.validation import Validator, check_choice


def start(recipe: Recipe, out: Path, display: Display, device: str = "auto") -> End:
    """Train a new model; `out` must be new or empty, and is made only once the data is read without error."""
    check_choice(recipe.train.validation)
    check_searches(recipe)
    folder = RunFolder(out)
    folder.check_free()
    place = pick_device(device)
    prepared = prepare(recipe, None, display)
    parts = make_parts(recipe, prepared, place)
    folder.create(recipe, prepared)
    return go(Loop(folder, recipe, parts, display))


def resume(out: Path, display: Display, device: str = "auto") -> End:
    """Go on with the run in `out` from its newest whole checkpoint."""
    folder = RunFolder(out)
    recipe = folder.recipe()
    folder.tidy()
    prepared = prepare(recipe, folder.tokenizers(), display)
    folder.check_same_data(prepared)
    loop = Loop(folder, recipe, make_parts(recipe, prepared, pick_device(device)), display)
    checkpoint = newest_checkpoint(folder.checkpoints, display.say)
    if checkpoint is not None:
        loop.restore(checkpoint)
        remove_old(folder.checkpoints, loop.position.step)
    display.say(f"going on after step {loop.position.step} of {recipe.train.steps}")
    return go(loop)


def make_parts(recipe: Recipe, prepared: PreparedData, device: torch.device) -> Parts:
    """Make what the recipe names. First weights depend on the seed alone."""
    settings, longest = recipe.train, recipe.data.max_length
    set_draws(settings.seed, "weights")
    model = build(recipe.model, prepared.source.size, prepared.target.size, joint=recipe.text.joint).to(device)
    check_positions(model, longest)
    objective = recipe.objective()
    validator = None
    if prepared.valid is not None:
        pairs = list(islice(prepared.valid.corpus.pairs(), settings.validation.lines))
        batches = Batches(prepared.valid.cache, settings.batch_tokens, settings.seed, longest=longest)
        validator = Validator(objective, batches, pairs, recipe)
    return Parts(
        trained=Trained(model, prepared.source, prepared.target, recipe, {}),
        objective=objective,
        optimiser=settings.optimiser(model.parameters()),
        schedule=settings.schedule(settings.steps),
        average=settings.average() if settings.average else None,
        batches=Batches(
            prepared.train.cache, settings.batch_tokens, settings.seed, noise=prepared.noise, longest=longest
        ),
        validate=validator,
    )


def check_searches(recipe: Recipe) -> None:
    """A search that cannot be is told now, and not at the first validation or when all is trained."""
    problems = []
    searches = {"train.validation.search": recipe.train.validation.search, "translate.search": recipe.translate.search}
    for place, search in searches.items():
        try:
            search()
        except UserError as error:
            problems.append(Problem(place, str(error)))
    if problems:
        raise ConfigError(problems)


def check_positions(model: Model, longest: int) -> None:
    """Every line that is trained on must have a place for each of its tokens and END."""
    problems = [
        Problem("data.max_length", f"is {longest}, but model.{name} has positions for {part.limit} tokens, END counted")
        for name, part in (("source", model.source), ("target", model.target))
        if part.limit is not None and part.limit < longest + 1
    ]
    if problems:
        raise ConfigError(problems)


def go(loop: Loop) -> End:
    """Run the loop, with signals heard; tell how it ended."""
    loop.display.say(f"{parameters(loop.parts.trained.model):,} parameters")
    loop.parts.trained.model.train()
    with listening() as interrupt:
        end = loop.run(interrupt)
    folder, step = loop.folder, loop.position.step
    told = {
        "done": f"finished after {step} steps; the best model is in {folder.best}",
        "patience": f"ended at step {step}: validation no longer improves; the best model is in {folder.best}",
        "interrupted": f"stopped at step {step}; everything is saved. Go on with: {folder.go_on_command()}",
    }
    loop.display.say(told[end])
    return end
