"""A whole training run: new, or going on."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import torch

from weft.config.recipe import Recipe, Train
from weft.core.numbers import spoken_minutes
from weft.core.randomness import set_draws
from weft.data.batches import Batches, Noises
from weft.engine.reading import reading_of, words_of
from weft.engine.several import Beside, fuse
from weft.model.build import build, parameters
from weft.model.freezing import freeze, learning
from weft.model.model import Model
from weft.objective.role import Objective
from weft.store.checkpoint import Checkpoint, newest_checkpoint, remove_old
from weft.store.model_folder import Trained, fill, weights_of
from weft.training.board import check_board
from weft.training.budget import ENDLESS, Spent
from weft.training.checks import check, check_files, check_going_on, check_ranks
from weft.training.copies import Copies
from weft.training.diagnosis.vocabulary import misfits
from weft.training.fitting import too_long
from weft.training.folder import RunFolder
from weft.training.given import given
from weft.training.initial import kept_moments, load_start, place_of, tokenizers_of
from weft.training.interrupt import listening
from weft.training.loop import End, Loop, Parts
from weft.training.masters import Masters
from weft.training.precision import TYPES, check_precision, settled
from weft.training.prepare import PreparedData, Split, prepare
from weft.training.progress import Display
from weft.training.ranks import Alone, Ranks
from weft.training.spread import Spread, Whole
from weft.training.telling import told_recipe, told_tokenizers
from weft.training.validation import Validator
from weft.training.warmup import tell_warmup

ELSEWHERE = Checkpoint({"weights": {}, "optimiser": {}, "average": {}}, {})  # read by the first rank


def new_run(
    recipe: Recipe,
    out: Path,
    display: Display,
    ranks: Ranks,
    written: str | None = None,
    began: float | None = None,
) -> End:
    """Train a new model; `out` must be new or empty, and is made only once the data is read without error.

    written: the recipe as a file to edit, to be kept in the run folder. began: when the run's time began, by
    time.monotonic (None: now).
    """
    began = time.monotonic() if began is None else began
    folder = RunFolder(out)
    ranks.first(folder.check_free)
    ready = make_ready(recipe, display, ranks)
    ranks.first(lambda: folder.create(ready.recipe, ready.prepared, written, ranks))
    with folder.locked(ranks):
        return begin(ready, folder, display, began)


def first_run(recipe: Recipe, folder: RunFolder, display: Display, ranks: Ranks) -> End:
    """The same in a folder that holds what the run is made from, but no run."""
    began = time.monotonic()
    with folder.locked(ranks):
        ranks.first(folder.check_not_begun)
        ranks.first(folder.tidy)
        ready = make_ready(recipe, display, ranks)
        ranks.first(lambda: folder.begin(ready.recipe, ready.prepared, ranks))
        return begin(ready, folder, display, began)


class Ready(NamedTuple):
    """All that a run needs to begin. start: the model that it begins with, if there is one."""

    recipe: Recipe
    start: Trained | None
    prepared: PreparedData
    parts: Parts


def make_ready(recipe: Recipe, display: Display, ranks: Ranks) -> Ready:
    """Check the recipe, read the data, make the parts: whatever can be wrong is told before anything is written."""
    check(recipe)
    check_ranks(recipe, ranks)
    check_precision(recipe, ranks)
    check_board(recipe, ranks)
    check_files(recipe)
    tell_warmup(recipe, display)
    start = load_start(recipe)
    prepared = prepare(recipe, tokenizers_of(start), display, ranks)
    recipe = settled(recipe, ranks, display)
    parts = make_parts(recipe, prepared, ranks, display)
    reading_of(parts.trained, recipe.translate.reading, "translate.reading")  # what is wrong with it is told now
    return Ready(recipe, start, prepared, parts)


def begin(ready: Ready, folder: RunFolder, display: Display, began: float) -> End:
    """Run from the first step on."""
    loop = Loop(folder, ready.recipe, ready.parts, display, Spent(time.monotonic() - began))
    take_start(loop, ready.start)
    return go(loop)


def resume(out: Path, display: Display, ranks: Ranks) -> End:
    """Go on with the run in `out` from its newest whole checkpoint."""
    began = time.monotonic()
    folder = RunFolder(out)
    told_recipe(ranks, folder.recipe)  # a folder that is no run is told before anything is written into it
    with folder.locked(ranks):
        return resume_locked(folder, display, ranks, began)


def resume_locked(folder: RunFolder, display: Display, ranks: Ranks, began: float) -> End:
    """The same once no other process can write into the run."""
    recipe = told_recipe(ranks, folder.recipe)
    ranks.first(lambda: folder.check_same_settings(recipe))
    check_going_on(recipe)
    check_ranks(recipe, ranks)
    check_precision(recipe, ranks)
    check_board(recipe, ranks)
    ranks.first(folder.tidy)
    prepared = prepare(recipe, told_tokenizers(ranks, folder.tokenizers), display, ranks)
    ranks.first(lambda: folder.check_same_data(prepared))
    parts = make_parts(recipe, prepared, ranks, display)
    loop = Loop(folder, recipe, parts, display, Spent(time.monotonic() - began))
    if restored(loop):
        ranks.first(lambda: remove_old(folder.checkpoints, loop.position.step))
    else:
        display.say("there is no checkpoint, so the run begins anew")
        take_start(loop, load_start(recipe))
    if loop.position.step == recipe.train.steps:
        display.say(f"this run is finished: all of its {recipe.train.steps:,} steps were made")
        return "done"
    whole = recipe.train.steps if recipe.train.minutes is None else spoken_minutes(recipe.train.minutes)
    display.say(f"going on after step {loop.position.step} of {whole}")
    return go(loop)


def take_start(loop: Loop, start: Trained | None) -> None:
    """Take the weights of the model to start from, and keep them, so that going on never needs its folder again.

    The optimiser's moments too, if they are to be kept.
    """
    if start is not None:
        fill(
            loop.parts.trained.model,
            loop.parts.spread.share(weights_of(start.model)),
            place_of(str(loop.recipe.train.start)),
        )
        if loop.recipe.train.keep_moments:
            loop.parts.optimiser.restore(loop.parts.spread.share(kept_moments(loop.recipe, loop.display.say)))
        loop.write_checkpoint()


def restored(loop: Loop) -> bool:
    """Go back to the newest checkpoint, if there is one. The first rank reads it."""
    here = loop.ranks.number == 0
    checkpoint = newest_checkpoint(loop.folder.checkpoints, loop.display.say) if here else None
    if not loop.ranks.first(lambda: checkpoint is not None):
        return False
    loop.restore(checkpoint or ELSEWHERE)
    return True


def make_parts(recipe: Recipe, prepared: PreparedData, ranks: Ranks, display: Display) -> Parts:
    """Make what the recipe names, and tell which pairs the model cannot say. First weights depend on the seed alone."""
    settings = recipe.train
    set_draws(settings.seed, "weights")
    model = build(recipe.model, prepared.source.vocabulary(), prepared.target.vocabulary(), joint=recipe.text.joint).to(
        ranks.device
    )
    freeze(model, settings.freeze)
    trained = Trained(model, prepared.source, prepared.target, recipe, {})
    objective = recipe.objective(given(trained, prepared.train.cache))
    fused = fuse(trained, recipe.translate.fusion)  # what is wrong with these is told now, if they are used or not
    words = words_of(trained, recipe.translate.words)
    validator = None
    if prepared.valid is not None:
        pairs = list(islice(prepared.valid.corpus.pairs(), settings.validation.lines))
        batches = batches_of(recipe, "valid", prepared.valid, model, display, Alone(ranks.device))
        reading = reading_of(trained, settings.validation.reading, "train.validation.reading")
        validator = Validator(objective, batches, pairs, recipe, reading, words, Beside(fused=fused))
    batches = batches_of(
        recipe, "train", prepared.train, model, display, ranks, noise=prepared.noise, times=recipe.data.times()
    )
    spread = spread_over(ranks, settings, model, objective)  # from here on, weights may be but shares
    return Parts(
        trained=trained,
        spread=spread,
        optimiser=settings.optimiser(learning(model).values()),
        schedule=settings.schedule(settings.steps or ENDLESS),
        average=settings.average() if settings.average else None,
        batches=batches,
        validate=validator,
        noticed=misfits(recipe, prepared.report, prepared.train.corpus, (prepared.source, prepared.target)),
    )


def spread_over(ranks: Ranks, settings: Train, model: Model, objective: Objective) -> Spread:
    """The model and what it learns by, over the ranks that there are, in numbers of the precision that was chosen."""
    kind = TYPES[settings.precision]
    if ranks.size > 1 and settings.parallel == "fsdp":
        from weft.training.shards import Shards  # torch's own parts of it take 40 MiB, and half a second

        return Shards(ranks, model, objective, kind)
    around = Whole if ranks.size == 1 else Copies
    return around(ranks, model, objective) if kind == torch.float32 else Masters(ranks, model, objective, kind, around)


def batches_of(
    recipe: Recipe,
    name: str,
    split: Split,
    model: Model,
    display: Display,
    ranks: Ranks,
    *,
    noise: Noises | None = None,
    times: Sequence[float] = (1.0,),
) -> Batches:
    """The batches of a split, without the pairs that the model's lattice, if it has one, cannot say."""
    settings, share = recipe.train, (ranks.number, ranks.size)
    make = partial(Batches, split.cache, settings.batch_tokens, settings.seed, longest=recipe.data.max_length)
    return make(noise=noise, times=times, share=share, left_out=too_long(model, name, split, make(), display))


def tell_parameters(loop: Loop) -> None:
    model, frozen = loop.parts.trained.model, ", ".join(loop.recipe.train.freeze)
    still = parameters(model) - sum(parameter.numel() for parameter in learning(model).values())
    loop.display.say(f"{parameters(model):,} parameters" + (f", {still:,} of them frozen: {frozen}" if frozen else ""))


def go(loop: Loop) -> End:
    """Run the loop, with signals heard; tell how it ended."""
    tell_parameters(loop)
    loop.parts.trained.model.train()
    with listening() as interrupt:
        end = loop.run(interrupt)
    folder, step = loop.folder, loop.position.step
    verb = "complete" if loop.parts.trained.model.is_language_model else "translate"
    kept = f"the best model is in {folder.best}"
    if loop.parts.validate is None:
        kept = f"the last model is in {folder.last} (nothing was validated, so none is known to be the best)"
    kept += f". To use it: weft {verb} {shlex.quote(str(folder.path))}"
    told = {
        "done": f"finished after {step} steps; {kept}",
        "patience": f"ended at step {step}: validation no longer improves; {kept}",
        "interrupted": f"stopped at step {step}; everything is saved. Go on with: {folder.go_on_command()}",
    }
    loop.display.say(told[end])
    return end
