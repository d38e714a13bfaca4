"""What run folders hold beside models, as readers of bytes."""

import json
from dataclasses import asdict
from pathlib import Path

from weft.config.load import load_recipe
from weft.config.reader import describe
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.data.report import SideReport, SplitReport
from weft.store.checkpoint import STATE
from weft.store.json_files import read_object
from weft.student import folder as student
from weft.student.folder import StudentFolder
from weft.training.budget import Spent
from weft.training.changes import check_fixed, fixed, kept, told_changes
from weft.training.folder import DATA, Facts, RunFolder
from weft.training.meter import Counted
from weft.training.position import Position
from weft.training.state import State, as_state
from weft.training.update import Sums
from weft.tuning import folder as tuning
from weft.tuning.folder import Begun, TuningFolder

CONFIGS = sorted((Path(__file__).parents[2] / "configs").glob("*.yaml"))
RECIPE = describe(Recipe(), REGISTRY)
TUNED = tuning.Asked("runs/old", "f", ("new.tsv",), "d", 0.5, ("encoder",), 3, True, ("train.seed=2",), None)
TAUGHT = student.Asked("runs/teacher", "f", ("more.en",), "d", ("train.seed=2",), 1.5)


def facts(folder: Path, content: bytes) -> None:
    """data.json"""
    (folder / DATA).write_bytes(content)
    found = RunFolder(folder).facts()
    check_fixed(found.fixed or {}, fixed(RECIPE), folder)


def state(folder: Path, content: bytes) -> None:
    """state.json of a checkpoint"""
    (folder / STATE).write_bytes(content)
    found = as_state(read_object(folder / STATE), folder)
    told_changes(found.recipe, RECIPE, found.position.step)
    kept(found.recipe, RECIPE)


def tuned(folder: Path, content: bytes) -> None:
    """finetune.json"""
    (folder / tuning.ASKED).write_bytes(content)
    TuningFolder(folder).check_same(TUNED)


def taught(folder: Path, content: bytes) -> None:
    """teacher.json"""
    (folder / student.ASKED).write_bytes(content)
    StudentFolder(folder).check_same(TAUGHT)


def as_bytes(value: object) -> bytes:
    return json.dumps(value).encode()


def facts_seed() -> bytes:
    side = SideReport(12, 3.5, 0.25, None)
    split = SplitReport("train", 5, 4, {"empty": 1}, side, side, None)
    return as_bytes(asdict(Facts({"data.train": "a"}, (split,), fixed(RECIPE))))


def state_seeds() -> list[bytes]:
    counted = Counted(1.5, [Sums(2.5, 3, 0.5, {"nll": 2.0})], 0.5)
    recipes = [RECIPE, *(describe(load_recipe(path), REGISTRY) for path in CONFIGS)]
    return [
        as_bytes(State(30.5, 1, Position(3, 0, 3), counted, Spent(0.5, [0.1], []), recipe).to_json())
        for recipe in recipes
    ]


def tuned_seed() -> bytes:
    return as_bytes(asdict(Begun(TUNED, {"new": [{"name": "bleu", "value": 3.5}]})))


def taught_seed() -> bytes:
    return as_bytes(asdict(TAUGHT))
