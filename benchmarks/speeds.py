"""Every comparison of speed with peers, one after the other: what `make bench` runs.

From the root of the repository:

    python -m benchmarks.speeds                                   # an hour on two cores
    python -m benchmarks.speeds --data FOLDER --json bench.json   # Multi30k's files in FOLDER
    python -m benchmarks.speeds --only torch,tiny --rounds 1
    python -m benchmarks.speeds --only files --data FOLDER --model RUN   # which was trained on them
    python -m benchmarks.speeds --only student --student STUDENT         # the --out of `weft distill RUN`
    python -m benchmarks.speeds --only precision --data FOLDER           # 2 x 1,000 updates, half an hour
    python -m benchmarks.speeds --data FOLDER --page docs/results.md

Without `--data` training is on Tatoeba, which is fetched, and decoding on made sentences. Peers are installed on first
use, each into an environment of its own; one that cannot be installed is left out with a message. Each part is a
benchmark of its own, whose heading says what it measures and how; here its figures join one table. The JSON file is
written after every part, so that nothing is lost if a later one fails or is stopped.
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
from benchmarks.choosing import chosen
from benchmarks.ending import JsonFile, run_command, write_json
from benchmarks.machine import machine
from benchmarks.page import read_page, write_page
from benchmarks.telling import tell
from benchmarks.together.rows import (
    Figures,
    Row,
    beside_engines,
    beside_float32,
    beside_generators,
    beside_hand,
    beside_teacher,
    beside_toolkits,
    beside_torch,
    render,
)

from weft.core.errors import UserError

COMMON = MappingProxyType({"data": "--data", "rounds": "--rounds", "threads": "--threads"})
WITH_DATA = MappingProxyType({"data": "--data", "threads": "--threads"})
WITH_STUDENT = MappingProxyType({"student": "--student", "threads": "--threads"})
WITH_MODEL = MappingProxyType({**COMMON, "model": "--model"})

IN_PARTS = ("--parts", "4")
BOTH = ("--precision", "float32,bfloat16")  # of Weft; the peers have float32


class Part(NamedTuple):
    """A benchmark: its name here, what it does, its module, what it is always told, and the rows in its figures.

    takes: the options under which it is told what a person asks for; needs: what must have been asked for.
    """

    name: str
    what: str
    module: str
    options: tuple[str, ...]
    rows: Callable[[str, Figures], Iterator[Row]]
    takes: Mapping[str, str] = COMMON
    needs: tuple[str, ...] = ()

    def command(self, asked: Mapping[str, str]) -> list[str]:
        """How it is started; of an option that is said twice, the last holds."""
        told = [word for name, option in self.takes.items() if name in asked for word in (option, asked[name])]
        return [sys.executable, "-m", f"benchmarks.{self.module}", *self.options, *told]


PARTS = (
    Part("torch", "training, the recipe of Multi30k", "training_speed", (), beside_torch),
    Part("tiny", "training, width 128", "peer_speed", ("--shape", "tiny", *BOTH, *IN_PARTS), beside_toolkits),
    Part("base", "training, width 512", "peer_speed", ("--shape", "base", "--rounds", "2", *BOTH), beside_toolkits),
    Part("beam", "beam of 5", "beam_speed", ("--rounds", "2"), beside_engines),
    Part("files", "file to file, CTranslate2", "file_to_file", (), beside_hand, WITH_MODEL, ("data", "model")),
    Part("torch-files", "file to file, torch", "torch_file_to_file", (), beside_generators, needs=("data",)),
    Part("student", "translating, in memory", "student_speed", (), beside_teacher, WITH_STUDENT, ("student",)),
    Part("precision", "training, 1,000 updates", "precision", (), beside_float32, WITH_DATA, ("data",)),
)
NAMES = [part.name for part in PARTS]
EVERY = ",".join(NAMES)


def ready(parts: Sequence[Part], asked: Mapping[str, str]) -> list[Part]:
    """Those that have what they need; of the others it is told what they lack."""
    for part in parts:
        if missing := [f"--{need}" for need in part.needs if need not in asked]:
            tell(f"{part.name} is left out: it needs {' and '.join(missing)}")
    return [part for part in parts if asked.keys() >= set(part.needs)]


def take(part: Part, asked: Mapping[str, str]) -> dict[str, Any] | None:
    """The figures of a part, which prints its own tables as well; None if it failed."""
    tell(f"--- {part.name}: {part.module}")
    with TemporaryDirectory() as folder:
        file = Path(folder) / "figures.json"
        if subprocess.run([*part.command(asked), "--json", str(file)], check=False).returncode != 0:
            return None
        figures: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return figures


def main(
    data: Annotated[Path | None, typer.Option(help="Folder of Multi30k's files. Default: what can be fetched.")] = None,
    only: Annotated[str, typer.Option(help="The parts, with commas between them.")] = EVERY,
    model: Annotated[Path | None, typer.Option(help="A run of Multi30k, for parts that translate with one.")] = None,
    student: Annotated[Path | None, typer.Option(help="What weft distill made, for the part that compares it.")] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="Of every part. Default: as each part has them.")] = None,
    threads: Annotated[int, typer.Option(min=1)] = 2,
    page: Annotated[Path | None, typer.Option(help="Put the table into this page, in place of the one there.")] = None,
    json_file: JsonFile = None,
) -> None:
    """Measure the speed of Weft beside its peers."""
    names = chosen(only, NAMES, "part")
    if page is not None:
        read_page(page)  # what is wrong with it is told before the work, not after it
    given = {"data": data, "model": model, "student": student, "rounds": rounds, "threads": threads}
    asked = {name: str(value) for name, value in given.items() if value is not None}
    wanted = ready([part for part in PARTS if part.name in names], asked)
    told: dict[str, Any] = {}
    for part in wanted:
        if (figures := take(part, asked)) is not None:
            told[part.name] = figures
            write_json(json_file, told)
    facts = machine() | {"threads": threads, "data": data.name if data else "Tatoeba"}
    done = [part for part in wanted if part.name in told]
    table = render(facts, [row for part in done for row in part.rows(part.what, told[part.name]["figures"])])
    print("\n" + table)
    if failed := [part.name for part in wanted if part.name not in told]:
        raise UserError(f"these parts failed, for the reasons above: {', '.join(failed)}")
    if page is not None:
        write_page(page, table)


if __name__ == "__main__":
    run_command(main, "speeds")
