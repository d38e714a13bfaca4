"""What a run folder says of its run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from weft.config.recipe import Recipe
from weft.core.errors import UserError
from weft.data.report import Report
from weft.store.manifest import MANIFEST
from weft.store.place import WEIGHTS, find_model
from weft.store.run_log import History, read_history
from weft.student.folder import StudentFolder
from weft.training.folder import CONFIG, WRITTEN, Facts, RunFolder
from weft.tuning.folder import TuningFolder


@dataclass(frozen=True)
class Known:
    """A run, read once. written: the recipe with its reasons, where one was chosen. model: there is one already."""

    folder: RunFolder
    recipe: Recipe
    facts: Facts
    history: History
    written: str | None
    model: Path | None

    @property
    def name(self) -> str:
        return self.folder.path.resolve().name

    @property
    def table(self) -> Report:
        """The data table."""
        return Report(self.facts.splits)


def read_run(path: Path) -> Known:
    """Read the folder as it is at this moment; a run that is training goes on undisturbed."""
    folder = RunFolder(path)
    check_run(path)
    recipe = folder.recipe()
    written = path / WRITTEN
    return Known(
        folder=folder,
        recipe=recipe,
        facts=folder.facts(),
        history=read_history(folder.log),
        written=written.read_text("utf-8") if written.is_file() else None,
        model=model_in(folder),
    )


def check_run(path: Path) -> None:
    """Is there a run? What else may be there is told for what it is."""
    if not path.exists():
        raise UserError(f"{path}: there is no such folder. Give a run folder, the --out of weft train.")
    if (path / CONFIG).is_file():
        return
    if (path / MANIFEST).is_file() and (path / WEIGHTS).is_file():
        raise UserError(
            f"{path} is a model folder: of the run that made it, it knows nothing. Give the run folder (the --out of "
            f"weft train). What the model is: weft show {path}"
        )
    if TuningFolder(path).has_begun() or StudentFolder(path).has_begun():
        raise UserError(f"{path}: its training has not begun yet, so there is nothing to report")


def model_in(folder: RunFolder) -> Path | None:
    """The best model; None before the first one is written."""
    return find_model(folder.path) if folder.best.exists() or folder.last.exists() else None


def files_read(known: Known) -> Iterator[Path]:
    """All that the page is made from, of which nothing may be written over."""
    here = known.folder.path
    yield from (file for file in here.iterdir() if file.is_file() and file.suffix in (".json", ".jsonl", ".yaml"))
    for model in (known.folder.best, known.folder.last):
        yield from (file for file in model.rglob("*") if file.is_file())
    for corpora in known.recipe.data.files().values():
        yield from (file for files in corpora for file in files)
