"""Entry points to training: start a run, from a recipe or from data files for which one is chosen, or resume one.

New, resumed and warm-started runs differ only in their initial state: `run_training` serves all of them.
"""

import shlex
import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from weft.checkpoints.checkpoint import Checkpoint, load_newest_checkpoint, remove_old_checkpoints
from weft.checkpoints.model_folder import load_tokenizers
from weft.checkpoints.trained_model import TrainedModel, copy_weights, model_weights
from weft.config.recipe import Recipe, load_recipe
from weft.config.recipe_catalog import is_recipe_argument
from weft.config.serialization import from_dict
from weft.config.yaml_files import PlainData
from weft.core.formatting import format_minutes
from weft.core.hardware import select_device
from weft.models.model import count_parameters, trainable_parameters
from weft.training.data_preparation import prepare_data
from weft.training.distributed import RankGroup, broadcast_recipe, broadcast_tokenizers, join_process_group
from weft.training.language_choice import add_languages
from weft.training.mixed_precision import resolve_precision
from weft.training.progress import ProgressDisplay
from weft.training.recipe_checks import check_data_files, check_recipe
from weft.training.run_components import build_components
from weft.training.run_folder import PreparedRunFolder, RunFolder
from weft.training.time_budget import TimeSpent, length_overrides, warn_about_warmup
from weft.training.trainer import RunOutcome, Trainer, handle_interrupts
from weft.training.warm_start import expand_path, load_initial_model, load_optimizer_state

EMPTY_CHECKPOINT = Checkpoint({"weights": {}, "optimizer": {}, "average": {}}, {})  # for ranks other than 0


def start_training(
    recipe_or_files: Sequence[str] | dict[str, PlainData],
    out: Path,
    display: ProgressDisplay,
    *,
    settings: Sequence[str] = (),
    minutes: float | None = None,
    device: str = "auto",
) -> RunOutcome:
    """Train a recipe, given as plain data or by name, or one that is chosen for data files."""
    start_time = time.monotonic()
    folder = RunFolder(out)
    with join_process_group(device) as ranks:
        if folder.was_restarted(ranks):
            return run_training(folder, None, display, ranks)
        if isinstance(recipe_or_files, dict) or is_recipe_argument(recipe_or_files):
            source = recipe_or_files if isinstance(recipe_or_files, dict) else Path(recipe_or_files[0])
            overrides = [*length_overrides(minutes, settings), *settings]
            recipe = broadcast_recipe(ranks, lambda: add_languages(load_recipe(source, overrides), display.print))
            return run_training(folder, recipe, display, ranks, start_time=start_time)
        from weft.training.autoconfig import choose_recipe

        ranks.on_main(folder.check_can_start)  # before any file is read
        chosen = ranks.on_main(lambda: choose_recipe(recipe_or_files, settings, minutes, device).to_json())
        display.print(chosen["reasons"])
        recipe = from_dict(chosen["recipe"], Recipe)
        return run_training(folder, recipe, display, ranks, recipe_yaml=chosen["yaml"], start_time=start_time)


def resume_training(out: Path, display: ProgressDisplay, device: str = "auto") -> RunOutcome:
    """Resume the run in `out`."""
    with join_process_group(device) as ranks:
        return run_training(RunFolder(out), None, display, ranks)


def run_prepared_training(folder: PreparedRunFolder[Any], display: ProgressDisplay, device: str) -> RunOutcome:
    """Start the run of a prepared folder, or resume it."""
    if folder.has_run():
        return resume_training(folder.path, display, device)
    return run_training(folder, load_recipe(folder.recipe_file), display, RankGroup(select_device(device)))


def run_training(
    folder: RunFolder,
    recipe: Recipe | None,
    display: ProgressDisplay,
    ranks: RankGroup,
    *,
    recipe_yaml: str | None = None,
    start_time: float | None = None,
) -> RunOutcome:
    """Train a new run with this recipe, or resume the run in the folder if it is None.

    The initial state is the newest checkpoint of a resumed run, else the weights of train.initial_model, else random
    weights. Everything that can be wrong is reported before anything is written. recipe_yaml: the recipe as a file to
    edit, for the run folder. start_time: when the time budget started, by time.monotonic (None: now).
    """
    start_time = time.monotonic() if start_time is None else start_time
    resumes = recipe is None
    with ExitStack() as locks:
        if resumes:
            ranks.on_main(folder.check_has_run)  # before the folder is locked, which writes into it
        exists = resumes or ranks.on_main(folder.is_prepared)
        if exists:
            locks.enter_context(folder.locked(ranks))
        if recipe is None:
            recipe = broadcast_recipe(ranks, folder.recipe)
            ranks.on_main(partial(folder.check_same_settings, recipe))
        else:
            ranks.on_main(folder.check_can_start)
        check_recipe(recipe, ranks, resumes=resumes)
        if not resumes:
            check_data_files(recipe)
            warn_about_warmup(recipe, display)
        if exists:
            ranks.on_main(folder.clean_up)
        initial = None if resumes else load_initial_model(recipe)
        tokenizers = None if initial is None else (initial.source_tokenizer, initial.target_tokenizer)
        if resumes:
            tokenizers = broadcast_tokenizers(ranks, lambda: load_tokenizers(folder.path))
        located = broadcast_recipe(ranks, folder.located_recipe) if resumes else recipe
        data = prepare_data(located, tokenizers, display, ranks)
        if resumes:
            ranks.on_main(partial(folder.check_same_data, data))
        if not resumes or recipe.train.precision == "auto":
            recipe = resolve_precision(recipe, ranks, display)
        components = build_components(recipe, data, ranks, display)
        if not resumes:
            ranks.on_main(partial(folder.create, recipe, data, recipe_yaml, ranks))
        if not exists:
            locks.enter_context(folder.locked(ranks))
        trainer = Trainer(folder, recipe, components, display, TimeSpent(time.monotonic() - start_time))
        if resumes and restore_newest_checkpoint(trainer):
            ranks.on_main(partial(remove_old_checkpoints, folder.checkpoints, trainer.cursor.step))
        else:
            apply_warm_start(trainer, load_initial_model(recipe) if resumes else initial)
        if trainer.cursor.step == recipe.train.steps:
            display.print(f"this run is finished: all of its {recipe.train.steps:,} steps are done")
            return "done"
        if resumes:
            steps = recipe.train.steps if recipe.train.minutes is None else format_minutes(recipe.train.minutes)
            display.print(f"resuming after step {trainer.cursor.step} of {steps}")
        return run_trainer(trainer)


def apply_warm_start(trainer: Trainer, initial: TrainedModel | None) -> None:
    """Copy the weights of the initial model, and its optimizer state with train.keep_optimizer.

    Writes a checkpoint, so that resuming does not need the folder of the initial model.
    """
    if initial is None:
        return
    components, settings = trainer.components, trainer.recipe.train
    distribute = components.strategy.distribute
    weights = distribute(model_weights(initial.model))
    copy_weights(components.trained.model, weights, expand_path(str(settings.initial_model)))
    if settings.keep_optimizer:
        components.optimizer.restore(distribute(load_optimizer_state(trainer.recipe, trainer.display.print)))
    trainer.write_checkpoint()


def restore_newest_checkpoint(trainer: Trainer) -> bool:
    """Restore the newest checkpoint, which rank 0 reads; return whether there is one."""
    checkpoint = None
    if trainer.ranks.rank == 0:
        checkpoint = load_newest_checkpoint(trainer.folder.checkpoints, trainer.display.print)
    if not trainer.ranks.on_main(lambda: checkpoint is not None):
        trainer.display.print("there is no checkpoint, so the run starts again from step 0")
        return False
    trainer.restore(checkpoint or EMPTY_CHECKPOINT)
    return True


def run_trainer(trainer: Trainer) -> RunOutcome:
    """Run the trainer with signal handling, and print how it ended."""
    model, folder, freeze = trainer.components.trained.model, trainer.folder, trainer.recipe.train.freeze
    total = count_parameters(model)
    frozen = total - sum(parameter.numel() for parameter in trainable_parameters(model).values())
    frozen_slots = f", {frozen:,} of them frozen: {', '.join(freeze)}" if freeze else ""
    trainer.display.print(f"{total:,} parameters{frozen_slots}")
    model.train()
    with handle_interrupts() as interrupt:
        outcome = trainer.run(interrupt)
    step = trainer.cursor.step
    saved = f"the best model is in {folder.best}"
    if trainer.components.validator is None:
        saved = f"the last model is in {folder.last} (there was no validation to choose the best)"
    if trainer.initial_model_is_best():
        metric = trainer.recipe.train.validation.best_metric
        saved = f"no validation was better than that at the start by {metric}, so {folder.best} holds the initial model"
    command = "complete" if model.is_language_model else "translate"
    saved += f". To use it: weft {command} {shlex.quote(str(folder.path))}"
    messages = {
        "done": f"finished after {step} steps; {saved}",
        "patience": f"ended at step {step}: validation no longer improves; {saved}",
        "interrupted": f"stopped at step {step}; everything is saved. Resume with: {folder.resume_command()}",
    }
    trainer.display.print(messages[outcome])
    return outcome
