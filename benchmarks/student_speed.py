"""Speed and quality of a student against its teacher on the test set.

From the root of the repository, after `weft distill TEACHER --out STUDENT`:

    python -m benchmarks.student_speed --student STUDENT --json student.json

Teacher and student are measured with both models' searches, the student also with its shortlist; each with CTranslate2
in int8 if its outputs are the same. `weft distill` prints the same table at its end.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer
from benchmarks.command_line import JsonFile, run_command, write_json
from benchmarks.machine import machine
from benchmarks.training_rounds import use_threads

from weft.core.errors import UserError
from weft.training.distillation import StudentFolder, compare_with_teacher
from weft.training.progress import open_display


def main(
    student: Annotated[Path, typer.Option(help="The --out of weft distill.")],
    threads: Annotated[int, typer.Option(min=1)] = 2,
    json_file: JsonFile = None,
) -> None:
    """Measure teacher and student."""
    os.environ["OMP_NUM_THREADS"] = str(threads)  # CTranslate2's workers; torch has read it already
    use_threads(threads)
    folder = StudentFolder(student)
    with open_display() as display:
        table = compare_with_teacher(folder, display, "cpu")
    if table is None:
        raise UserError(f"{student}: has no test set to translate")
    print(table)
    write_json(json_file, {"setting": machine(), "figures": json.loads(folder.scores_file.read_text("utf-8"))})


if __name__ == "__main__":
    run_command(main, "student_speed")
