"""An environment of its own for each peer, with every version pinned, so that no two toolkits meet in one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from weft.core.errors import UserError
from weft.core.files import write_atomically

TORCH = "torch==2.13.0"
FOLDER = Path("~/.cache/weft-peers")
MARK = "installed.txt"  # the last thing that is written, so that half an environment is never used


class Pins(NamedTuple):
    """What is installed: pip is called for each step in turn, and `<name>.txt` beside this file holds all versions."""

    name: str
    steps: tuple[tuple[str, ...], ...]
    torch: bool = True  # does the peer need it?

    @property
    def calls(self) -> tuple[tuple[str, ...], ...]:
        """What pip is called with; torch first, so that no peer chooses another."""
        return ((TORCH,), *self.steps) if self.torch else self.steps

    @property
    def constraints(self) -> Path:
        return Path(__file__).with_name(f"{self.name}.txt")

    def text(self) -> str:
        """All that decides what is installed."""
        steps = "".join(" ".join(step) + "\n" for step in self.calls)
        return steps + self.constraints.read_text(encoding="utf-8")


class NotInstalledError(UserError):
    """A peer that cannot be had on this machine."""


def python_of(pins: Pins | None, folder: Path) -> Path:
    """This Python where nothing is pinned; else that of an environment below `folder`, made unless it is there."""
    if pins is None:
        return Path(sys.executable)
    place = folder.expanduser().absolute() / pins.name
    python = place / "bin" / "python"
    mark = place / MARK
    if not mark.exists() or mark.read_text(encoding="utf-8") != pins.text():
        install(pins, place, python)
        write_atomically(mark, pins.text().encode())
    return python


def install(pins: Pins, place: Path, python: Path) -> None:
    """A new environment in place of whatever stands there."""
    call(pins, [sys.executable, "-m", "venv", "--clear", str(place)])
    for step in pins.calls:
        options = ["--quiet", "--disable-pip-version-check", "--constraint", str(pins.constraints)]
        call(pins, [str(python), "-I", "-m", "pip", "install", *options, *step])


def call(pins: Pins, command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        told = "\n".join(f"  {line}" for line in done.stderr.strip().split("\n")[-3:])
        raise NotInstalledError(f"{pins.name} cannot be installed here ({' '.join(command[-2:])} failed):\n{told}")
