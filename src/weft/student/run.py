"""From a trained model to a fast one: begin, distil, train, compare. Each goes on where it was stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from weft.config.load import load_recipe
from weft.config.recipe import Recipe
from weft.core.numbers import clock
from weft.data.settings import Data
from weft.engine.choice import Wish, choose
from weft.engine.device import pick_device
from weft.engine.load import load_translator
from weft.engine.role import Engine
from weft.engine.shortlisting import BOTH, MOST, learn_shortlist
from weft.engine.shortlisting import render as shortlist_told
from weft.store.files import write_atomically
from weft.store.model_folder import Trained, recipe_of
from weft.store.place import find_model, identity
from weft.store.shortlist import has_shortlist
from weft.student.comparing import measure
from weft.student.distilling import distil, join, write_pairs
from weft.student.folder import Asked, StudentFolder
from weft.student.inheriting import inherit
from weft.student.material import Material, material_of, require_held_out, require_lines
from weft.student.recipe import student_recipe
from weft.student.systems import systems_of, texts
from weft.student.table import as_json, render
from weft.training.checks import check, check_files
from weft.training.loop import End
from weft.training.progress import Display
from weft.training.ranks import Alone
from weft.training.run import first_run
from weft.training.start import go_on

METRICS = ("bleu", "chrf")
TENTHS = 10  # reports of how far distilling has come


def make_student(
    teacher: Path,
    folder: StudentFolder,
    display: Display,
    *,
    source: tuple[Path, ...] = (),
    settings: Sequence[str] = (),
    minutes: float | None = None,
    device: str = "auto",
) -> End:
    """The whole; what was stopped goes on when it is asked for again."""
    if not folder.has_begun():
        folder.run.check_free()  # before anything is read
    material = material_of(teacher, recipe_of(teacher), source)
    named = tuple(str(file) for file in source)
    asked = Asked(str(teacher.absolute()), identity(teacher), named, material.fingerprint, tuple(settings), minutes)
    if folder.has_begun():
        folder.check_same(asked)
    if folder.has_run():
        return go_on(folder.path, display, device)
    if teach(asked, folder, material, display, device) == "interrupted":
        return "interrupted"
    return first_run(load_recipe(folder.recipe), folder.run, display, Alone(pick_device(device)))


def teach(asked: Asked, folder: StudentFolder, material: Material, display: Display, device: str) -> End:
    """All that the teacher is needed for: it is gone from memory when the student is trained."""
    teacher = Path(asked.teacher)
    translator = load_translator(teacher, device=device)
    if not folder.has_begun():
        begin(folder, asked, translator.trained, material, display)
    with folder.distilling():
        engine = choose(teacher, Wish("auto", None, None, (), device=device), lambda: translator)
        display.say(f"engine: {engine.told}")
        return write_down(folder, translator.trained.recipe.data, engine.engine, material, display)


def begin(folder: StudentFolder, asked: Asked, teacher: Trained, material: Material, display: Display) -> None:
    """Decide everything, and write it down; what is wrong with it is told before the work."""
    require_lines(material)
    written = student_recipe(teacher.recipe, asked.teacher, folder, asked.settings, asked.minutes, material.told)
    check(replace(written.recipe, train=replace(written.recipe.train, start=None)))
    check_files(written.recipe, (folder.pairs, folder.held_out))
    if folder.held_out in validation_files(written.recipe):
        require_held_out(asked.teacher, teacher.recipe)
    display.say(written.lines)
    inherited = inherit(written.recipe, teacher)
    display.say(f"the student begins with {inherited.taken:,} weights of its teacher, of {inherited.whole:,}")
    folder.create(asked, written.yaml, inherited.student)


def write_down(folder: StudentFolder, data: Data, engine: Engine, material: Material, display: Display) -> End:
    """What the teacher says, in one file of pairs; and what it was validated on, if no file holds that."""
    if folder.held_out in validation_files(load_recipe(folder.recipe)):
        write_pairs(folder.held_out, data.splits()["valid"].pairs(), data.fields)
    if folder.pairs.exists():
        return "done"
    count = require_lines(material)
    display.say(f"the teacher translates {material.told}: {count:,} lines")
    try:
        distil(material.lines, texts(engine), folder.distilled, data.fields, reporter(count, display))
    except KeyboardInterrupt:
        display.say("stopped; what was translated is kept. To go on, give the same command again")
        return "interrupted"
    join(folder.distilled, material.pairs, data.fields, folder.pairs)
    return "done"


def validation_files(recipe: Recipe) -> list[Path]:
    return [path for files in recipe.data.files().get("valid", []) for path in files]


def reporter(count: int, display: Display) -> Callable[[int, int], None]:
    """Tells how far distilling has come, and what is left of it by the clock. made: in this process."""
    began, told = time.monotonic(), 0

    def tell(done: int, made: int) -> None:
        nonlocal told
        rate = made / max(1e-9, time.monotonic() - began)
        left = f", left {clock((count - done) / rate)}" if rate > 0 else ""
        display.count(f"translating{left}", done)
        if TENTHS * done // count > told:
            told = TENTHS * done // count
            display.say(f"translated {done:,} of {count:,} lines{left}")

    return tell


def compare(folder: StudentFolder, display: Display, device: str) -> str | None:
    """The table of teacher and student, which is kept in the folder; None if there is nothing to compare them on.

    A student that has no shortlist learns one, from what its teacher said.
    """
    asked = folder.asked()
    corpora = recipe_of(folder.path).data.splits()
    name = next((name for name in ("test", "valid") if name in corpora), None)
    if name is None:
        display.say("there is no test set and no validation set: give data.test to compare teacher and student")
        return None
    if not has_shortlist(find_model(folder.path)):
        display.say(shortlist_told(learn_shortlist(folder.path, (), BOTH, MOST)))
    corpus = corpora[name]
    display.say(f"teacher and student translate {corpus} in turns")
    threads = torch.get_num_threads()
    measured = measure(systems_of(Path(asked.teacher), folder.path, device), list(corpus.pairs()), METRICS)
    write_atomically(folder.comparison, f"{as_json(measured, str(corpus), threads)}\n".encode())
    return render(measured, str(corpus), threads)
