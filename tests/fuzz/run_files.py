"""Readers of the JSON files in run folders."""

import json
from dataclasses import asdict, replace
from pathlib import Path

from weft.checkpoints.checkpoint import STATE_FILE
from weft.checkpoints.file_formats import read_json_as
from weft.config.recipe import Recipe, load_recipe
from weft.config.recipe_catalog import RECIPES_FOLDER
from weft.config.registry import REGISTRY
from weft.config.serialization import to_dict
from weft.data.data_report import SideReport, SplitReport
from weft.training.distillation import DistillationRequest, StudentFolder
from weft.training.finetuning import FinetuningFolder, FinetuningRequest
from weft.training.finetuning_recipe import FinetuningOptions
from weft.training.run_folder import (
    DATA_FILE,
    RunData,
    RunFolder,
    check_fixed_settings,
    describe_changes,
    fixed_settings,
    reusable_state,
)
from weft.training.time_budget import TimeSpent
from weft.training.train_step import DataCursor, MeterState, UpdateStats
from weft.training.trainer import TrainerState

CONFIGS = sorted(RECIPES_FOLDER.glob("*.yaml"))
RECIPE = to_dict(Recipe(), REGISTRY)
FINETUNING = FinetuningRequest(
    "runs/old", "f", ("new.tsv",), "d", FinetuningOptions(0.5, ("encoder",), 3, True, ("train.seed=2",), None)
)
DISTILLATION = DistillationRequest("runs/teacher", "f", ("more.en",), "d", ("train.seed=2",), 1.5)


def data(folder: Path, content: bytes) -> None:
    """Read data.json."""
    (folder / DATA_FILE).write_bytes(content)
    run_data = RunFolder(folder).data()
    check_fixed_settings(run_data.fixed_settings, fixed_settings(RECIPE), folder)


def state(folder: Path, content: bytes) -> None:
    """Read state.json of a checkpoint."""
    (folder / STATE_FILE).write_bytes(content)
    trainer_state = read_json_as(folder / STATE_FILE, TrainerState)
    describe_changes(trainer_state.recipe, RECIPE, trainer_state.cursor.step)
    reusable_state(trainer_state.recipe, RECIPE)


def finetuning(folder: Path, content: bytes) -> None:
    """Read finetuning.json."""
    FinetuningFolder(folder).request_file.write_bytes(content)
    FinetuningFolder(folder).check_same(FINETUNING)


def distillation(folder: Path, content: bytes) -> None:
    """Read distillation.json."""
    StudentFolder(folder).request_file.write_bytes(content)
    StudentFolder(folder).check_same(DISTILLATION)


def as_bytes(value: object) -> bytes:
    return json.dumps(value).encode()


def data_seed() -> bytes:
    side = SideReport(12, 3.5, 0.25, None)
    split = SplitReport("train", 5, 4, {"empty": 1}, side, side, None)
    return as_bytes(asdict(RunData({"data.train": "a"}, (split,), fixed_settings(RECIPE))))


def state_seeds() -> list[bytes]:
    meter = MeterState(1.5, [UpdateStats(2.5, 3, 0.5, {"nll": 2.0})], 0.5)
    recipes = [RECIPE, *(to_dict(load_recipe(path), REGISTRY) for path in CONFIGS)]
    return [
        as_bytes(asdict(TrainerState(30.5, 1, DataCursor(3, 0, 3), meter, TimeSpent(0.5, [0.1], []), recipe)))
        for recipe in recipes
    ]


def finetuning_seed() -> bytes:
    return as_bytes(asdict(replace(FINETUNING, before={"new": [{"name": "bleu", "value": 3.5}]})))


def distillation_seed() -> bytes:
    return as_bytes(asdict(DISTILLATION))
