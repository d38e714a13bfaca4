"""Law 11: the commands in README and docs run as they are written, on a toy corpus and for a few steps only."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
import typer

from system.toys import sentence
from weft.cli import app

ROOT = Path(__file__).parents[2]
FEW_STEPS = "train.steps=2 train.batch_tokens=300 train.validation.every=1 train.validation.lines=2"
CLOCK = re.compile(r"--minutes \d+|minutes=\d+, ")
DOCUMENTS = ["README.md", "docs/tutorial.md"]


def blocks(document: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / document).read_text("utf-8"), re.MULTILINE | re.DOTALL)


def shortened(line: str) -> str:
    """The same command, but training takes two steps."""
    new_run = line.startswith("weft train") and "--resume" not in line
    return f"{CLOCK.sub('', line)} {FEW_STEPS}" if new_run else line


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What the documents speak of: the configurations, and files of sentences."""
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    draws = Random(1)
    for name in ("train", "valid", "test"):
        pairs = [sentence(draws) for _ in range(40)]
        for side, language in enumerate(("en", "de")):
            (tmp_path / f"{name}.{language}").write_text("".join(pair[side] + "\n" for pair in pairs), "utf-8")
    shutil.copy(tmp_path / "test.en", tmp_path / "input.en")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_commands_run(document: str, folder: Path) -> None:
    commands = [line for block in blocks(document, "sh") for line in block.split("\n") if "weft " in line]
    assert commands
    script = "\n".join(["set -euo pipefail", *map(shortened, commands)])
    run(["bash", "-c", script], folder)
    for program in blocks(document, "python"):
        few = ", ".join(f'"{setting}"' for setting in FEW_STEPS.split())
        shutil.rmtree(folder / "runs" / "first") if "weft.train" in program else None
        run([sys.executable, "-c", CLOCK.sub("", program).replace("overrides=[", f"overrides=[{few}, ")], folder)


def run(command: list[str], folder: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_command_and_option_is_in_the_reference() -> None:
    reference = (ROOT / "docs" / "commands.md").read_text("utf-8")
    for words in commands_of(app):
        name = " ".join(words)
        assert re.search(rf"^## weft {name}\b", reference, re.MULTILINE), f"weft {name}"
        shown = subprocess.run([sys.executable, "-m", "weft", *words, "--help"], capture_output=True, text=True).stdout
        assert f"weft {name} [OPTIONS]" in shown
        for option in set(re.findall(r"--[a-z-]+", shown)) - {"--help"}:
            assert f"`{option}" in reference, f"weft {name} {option}"


def commands_of(group: typer.Typer) -> Iterator[tuple[str, ...]]:
    """The words of each command, as ("train",) or ("corpus", "get")."""
    for command in group.registered_commands:
        assert command.callback is not None
        yield (command.name or command.callback.__name__,)
    for inner in group.registered_groups:
        assert inner.typer_instance is not None
        yield from ((str(inner.typer_instance.info.name), *words) for words in commands_of(inner.typer_instance))


def test_links_lead_somewhere() -> None:
    for document in ROOT.glob("**/*.md"):
        if ".venv" in document.parts:
            continue
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text("utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"
