"""The folder of a student: a run folder, and beside the run what it is made from.

recipe.yaml      the recipe, with its reasons
teacher.json     what was asked for: the teacher, the lines it reads, the settings
start/           a model folder: what the student begins with
distilled/       the teacher's translations, while they are made a file for each part; then train.jsonl
student.json     teacher and student, measured side by side
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from weft.core.errors import UserError
from weft.store.files import locked, write_atomically
from weft.store.model_folder import Trained, save_model, weights_of
from weft.store.new_folders import new_folder
from weft.training.folder import CONFIG, WRITTEN, RunFolder

ASKED = "teacher.json"


@dataclass(frozen=True)
class Asked:
    """What a person asked for, and what it was about: going on is for the same alone.

    teacher: the folder. model, lines: fingerprints of the teacher, and of what it translates.
    """

    teacher: str
    model: str
    source: tuple[str, ...]
    lines: str
    settings: tuple[str, ...]
    minutes: float | None


@dataclass(frozen=True)
class StudentFolder:
    path: Path

    @property
    def run(self) -> RunFolder:
        return RunFolder(self.path)

    @property
    def recipe(self) -> Path:
        return self.path / WRITTEN

    @property
    def start(self) -> Path:
        return self.path / "start"

    @property
    def distilled(self) -> Path:
        return self.path / "distilled"

    @property
    def pairs(self) -> Path:
        """What the student is trained on."""
        return self.distilled / "train.jsonl"

    @property
    def held_out(self) -> Path:
        """What it is validated on, where the teacher held out a part of its training data."""
        return self.distilled / "valid.jsonl"

    @property
    def comparison(self) -> Path:
        return self.path / "student.json"

    def has_begun(self) -> bool:
        return (self.path / ASKED).is_file()

    def has_run(self) -> bool:
        return (self.path / CONFIG).is_file()

    def create(self, asked: Asked, written: str, start: Trained) -> None:
        """Make the folder with all that was decided; what was asked last, since it makes the folder a student's."""
        with new_folder(self.path) as new:
            inside = StudentFolder(new)
            save_model(inside.start, start, weights_of(start.model))
            inside.distilled.mkdir(exist_ok=True)
            write_atomically(inside.recipe, written.encode())
            text = json.dumps(asdict(asked), indent=2, ensure_ascii=False)
            write_atomically(new / ASKED, f"{text}\n".encode())

    def asked(self) -> Asked:
        """What the student in this folder was asked for."""
        place = self.path / ASKED
        if not place.is_file():
            raise UserError(
                f"{self.path} is not the folder of a student: it has no {ASKED}. Give the --out of weft student."
            )
        try:
            return TypeAdapter(Asked).validate_json(place.read_bytes())
        except ValidationError as error:
            raise UserError(
                f"{place}: is damaged ({error.errors()[0]['msg']}); begin anew with another --out"
            ) from None

    def check_same(self, asked: Asked) -> None:
        """Going on with something else would be another student."""
        before, now = asdict(self.asked()), asdict(asked)
        for name, told in (
            ("model", "with another teacher"),
            ("source", "with another --source"),
            ("lines", "with other lines to translate: the files have changed"),
            ("settings", "with other settings"),
            ("minutes", "with other --minutes"),
        ):
            if before[name] != now[name]:
                raise UserError(
                    f"{self.path} was begun {told}. To go on with it, give the command that began it "
                    f"(it is in {self.path / ASKED}); for a new one, give another --out."
                )

    @contextmanager
    def distilling(self) -> Iterator[None]:
        """Two processes that distil into one folder would do the work twice."""
        with locked(self.distilled) as free:
            if not free:
                raise UserError(f"{self.path}: another process is making this student; stop it first, or wait.")
            yield
