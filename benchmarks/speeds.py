"""Run all speed comparisons with peers; this is `make bench`.

From the root of the repository:

    python -m benchmarks.speeds                                   # an hour on two cores
    python -m benchmarks.speeds --data FOLDER --json bench.json   # Multi30k's files in FOLDER
    python -m benchmarks.speeds --only torch,tiny --rounds 1
    python -m benchmarks.speeds --only files --data FOLDER --model RUN   # which was trained on them
    python -m benchmarks.speeds --only student --student STUDENT         # the --out of `weft distill RUN`
    python -m benchmarks.speeds --only precision --data FOLDER           # 2 x 1,000 updates, half an hour
    python -m benchmarks.speeds --data FOLDER --page docs/results.md

Without `--data`, training uses Tatoeba, which is downloaded, and decoding uses random sentences. Each peer is installed
on first use into its own environment; a peer that cannot be installed is skipped with a message. Each part is a
benchmark module, documented there; this command collects their figures in one table. The JSON file is written after
every part, so that a failure of a later part loses nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

import typer
from benchmarks.command_line import JsonFile, log, parse_names, run_command, write_json
from benchmarks.machine import machine
from benchmarks.markdown import read_page, write_page
from benchmarks.speed_rows import (
    Figures,
    Row,
    beam_search_rows,
    ctranslate2_rows,
    precision_rows,
    render,
    student_rows,
    toolkit_rows,
    torch_file_rows,
    torch_rows,
)

from weft.core.errors import UserError

COMMON = MappingProxyType({"data": "--data", "rounds": "--rounds", "threads": "--threads"})
WITH_DATA = MappingProxyType({"data": "--data", "threads": "--threads"})
WITH_STUDENT = MappingProxyType({"student": "--student", "threads": "--threads"})
WITH_MODEL = MappingProxyType({**COMMON, "model": "--model"})

IN_PARTS = ("--parts", "4")
BOTH = ("--precision", "float32,bfloat16")  # of Weft; the peers have float32


class Part(NamedTuple):
    """A benchmark module with its fixed options and the function that turns its figures into rows.

    takes: options that are passed on, by name; needs: names of required options.
    """

    name: str
    what: str
    module: str
    options: tuple[str, ...]
    rows: Callable[[str, Figures], Iterator[Row]]
    takes: Mapping[str, str] = COMMON
    needs: tuple[str, ...] = ()

    def command(self, options: Mapping[str, str]) -> list[str]:
        """Return the command line; of a repeated option the last value counts."""
        passed = [word for name, option in self.takes.items() if name in options for word in (option, options[name])]
        return [sys.executable, "-m", f"benchmarks.{self.module}", *self.options, *passed]


PARTS = (
    Part("torch", "training, the recipe of Multi30k", "training_speed", (), torch_rows),
    Part("tiny", "training, width 128", "peer_speed", ("--shape", "tiny", *BOTH, *IN_PARTS), toolkit_rows),
    Part("base", "training, width 512", "peer_speed", ("--shape", "base", "--rounds", "2", *BOTH), toolkit_rows),
    Part("beam", "beam of 5", "beam_speed", ("--rounds", "2"), beam_search_rows),
    Part("files", "file to file, CTranslate2", "file_to_file", (), ctranslate2_rows, WITH_MODEL, ("data", "model")),
    Part("torch-files", "file to file, torch", "torch_file_to_file", (), torch_file_rows, needs=("data",)),
    Part("student", "translating, in memory", "student_speed", (), student_rows, WITH_STUDENT, ("student",)),
    Part("precision", "training, 1,000 updates", "precision", (), precision_rows, WITH_DATA, ("data",)),
)
NAMES = [part.name for part in PARTS]
EVERY = ",".join(NAMES)


def runnable(parts: Sequence[Part], options: Mapping[str, str]) -> list[Part]:
    """Return the parts whose required options are present; log what the others lack."""
    for part in parts:
        if missing := [f"--{need}" for need in part.needs if need not in options]:
            log(f"{part.name} is left out: it needs {' and '.join(missing)}")
    return [part for part in parts if options.keys() >= set(part.needs)]


def run_part(part: Part, options: Mapping[str, str]) -> dict[str, Any] | None:
    """Run a part, which also prints its own tables, and return its figures; None if it failed."""
    log(f"--- {part.name}: {part.module}")
    with TemporaryDirectory() as folder:
        file = Path(folder) / "figures.json"
        if subprocess.run([*part.command(options), "--json", str(file)], check=False).returncode != 0:
            return None
        figures: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return figures


def main(
    data: Annotated[
        Path | None, typer.Option(help="Folder of Multi30k's files. Default: downloaded or random data.")
    ] = None,
    only: Annotated[str, typer.Option(help="Comma-separated parts.")] = EVERY,
    model: Annotated[Path | None, typer.Option(help="A run trained on Multi30k, for the part `files`.")] = None,
    student: Annotated[Path | None, typer.Option(help="The --out of weft distill, for the part `student`.")] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="Rounds of every part. Default: that of each part.")] = None,
    threads: Annotated[int, typer.Option(min=1)] = 2,
    page: Annotated[Path | None, typer.Option(help="Replace the table in this page.")] = None,
    json_file: JsonFile = None,
) -> None:
    """Measure the speed of Weft against its peers."""
    names = parse_names(only, NAMES, "part")
    if page is not None:
        read_page(page)  # fail before the measurements, not after them
    values = {"data": data, "model": model, "student": student, "rounds": rounds, "threads": threads}
    options = {name: str(value) for name, value in values.items() if value is not None}
    selected = runnable([part for part in PARTS if part.name in names], options)
    results: dict[str, Any] = {}
    for part in selected:
        if (figures := run_part(part, options)) is not None:
            results[part.name] = figures
            write_json(json_file, results)
    facts = machine() | {"threads": threads, "data": data.name if data else "Tatoeba"}
    done = [part for part in selected if part.name in results]
    table = render(facts, [row for part in done for row in part.rows(part.what, results[part.name]["figures"])])
    print("\n" + table)
    if failed := [part.name for part in selected if part.name not in results]:
        raise UserError(f"these parts failed, for the reasons above: {', '.join(failed)}")
    if page is not None:
        write_page(page, table)


if __name__ == "__main__":
    run_command(main, "speeds")
