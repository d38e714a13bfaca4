"""A virtual environment for each peer, with all versions pinned."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from weft.core.errors import UserError
from weft.core.files import write_atomically

TORCH = "torch==2.13.0"
FOLDER = Path("~/.cache/weft-peers")
MARKER = "installed.txt"  # written last, so that an incomplete environment is never used


class Pins(NamedTuple):
    """Packages of an environment: one pip call per step; `<name>.txt` next to this file constrains all versions."""

    name: str
    steps: tuple[tuple[str, ...], ...]
    torch: bool = True  # whether the peer needs torch

    @property
    def calls(self) -> tuple[tuple[str, ...], ...]:
        """Return the arguments of each pip call; torch first, so that no peer selects another version."""
        return ((TORCH,), *self.steps) if self.torch else self.steps

    @property
    def constraints(self) -> Path:
        return Path(__file__).with_name(f"{self.name}.txt")

    def text(self) -> str:
        """Return everything that determines the installed packages."""
        steps = "".join(" ".join(step) + "\n" for step in self.calls)
        return steps + self.constraints.read_text(encoding="utf-8")


class NotInstalledError(UserError):
    """A peer cannot be installed on this machine."""


def python_of(pins: Pins | None, folder: Path) -> Path:
    """Return the Python of the environment in `folder`, created if necessary; the current Python if `pins` is None."""
    if pins is None:
        return Path(sys.executable)
    environment = folder.expanduser().absolute() / pins.name
    python = environment / "bin" / "python"
    marker = environment / MARKER
    if not marker.exists() or marker.read_text(encoding="utf-8") != pins.text():
        install(pins, environment, python)
        write_atomically(marker, pins.text().encode())
    return python


def install(pins: Pins, environment: Path, python: Path) -> None:
    """Create the environment, replacing any existing one."""
    call(pins, [sys.executable, "-m", "venv", "--clear", str(environment)])
    for step in pins.calls:
        options = ["--quiet", "--disable-pip-version-check", "--constraint", str(pins.constraints)]
        call(pins, [str(python), "-I", "-m", "pip", "install", *options, *step])


def call(pins: Pins, command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        errors = "\n".join(f"  {line}" for line in done.stderr.strip().split("\n")[-3:])
        raise NotInstalledError(f"{pins.name} cannot be installed here ({' '.join(command[-2:])} failed):\n{errors}")
