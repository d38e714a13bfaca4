"""Law 11: the commands in README and docs run as written, on a toy corpus and for a few steps."""

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
from typer.main import get_command_name
from typer.testing import CliRunner

from system.toys import sentence
from weft.cli.main import app

ROOT = Path(__file__).parents[2]
FEW_STEPS = "train.steps=2 train.batch_tokens=300 train.validation.every=1 train.validation.lines=2"
CLOCK = re.compile(r"--minutes \d+|minutes=\d+, ")
NOT_RUN = ("make ", ". .venv/", "weft serve ")  # installation; a server never ends
DOCUMENTS = ["README.md", "docs/tutorial.md", "docs/search.md", "docs/scale.md"]


def code_blocks(document: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / document).read_text("utf-8"), re.MULTILINE | re.DOTALL)


def shorten(line: str) -> str:
    """Return the command with two training steps."""
    new_run = re.search("weft (train|finetune)", line) is not None and "--resume" not in line
    is_language_model = "language-model" in line  # it has no lines to translate
    settings = FEW_STEPS.replace("lines=2", "lines=0") if is_language_model else FEW_STEPS
    return f"{CLOCK.sub('', line)} {settings}" if new_run else line


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the text files that the documents name."""
    draws = Random(1)
    for name in ("train", "valid", "test", "new"):
        pairs = [sentence(draws) for _ in range(40)]
        for side, language in enumerate(("en", "de")):
            (tmp_path / f"{name}.{language}").write_text("".join(pair[side] + "\n" for pair in pairs), "utf-8")
    shutil.copy(tmp_path / "test.en", tmp_path / "input.en")
    shutil.copy(tmp_path / "test.de", tmp_path / "other-system.de")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("document", DOCUMENTS)
def test_documented_commands_run(document: str, folder: Path) -> None:
    lines = [line for block in code_blocks(document, "sh") for line in block.replace("\\\n", "").split("\n")]
    commands = [line for line in lines if not line.startswith(NOT_RUN)]
    assert any(line.startswith("weft ") for line in commands)
    script = "\n".join(["set -euo pipefail", *map(shorten, commands)])
    run(["bash", "-c", script], folder)
    for program in code_blocks(document, "python"):
        settings = ", ".join(f'"{setting}"' for setting in FEW_STEPS.split())
        shutil.rmtree(folder / "runs" / "first") if "weft.train" in program else None
        run([sys.executable, "-c", CLOCK.sub("", program).replace("overrides=[", f"overrides=[{settings}, ")], folder)


def test_cluster_script_starts_and_resumes(tmp_path: Path) -> None:
    """Stand-ins for the programs of the cluster record their arguments."""
    (script,) = code_blocks("docs/scale.md", "bash")
    programs = {"scontrol": "echo one; echo two", "srun": 'SLURM_NODEID=1 "$@"', "torchrun": 'echo "$@" > called'}
    for name, text in programs.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{text}\n", "utf-8")
        (tmp_path / name).chmod(0o755)
    cluster = {
        "SLURM_JOB_NODELIST": "one,two",
        "SLURM_NNODES": "2",
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
    }
    for command in ("train recipe.yaml --out runs/big", "train --resume runs/big"):
        subprocess.run(["bash", "-euc", script], cwd=tmp_path, env={**os.environ, **cluster}, check=True)
        options = "--nnodes 2 --node-rank 1 --nproc-per-node 8 --master-addr one --master-port 29500"
        assert (tmp_path / "called").read_text("utf-8") == f"{options} --max-restarts 3 -m weft {command}\n"
        (tmp_path / "runs" / "big").mkdir(parents=True, exist_ok=True)
        (tmp_path / "runs" / "big" / "config.yaml").touch()


def run(command: list[str], folder: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    process = subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr


def test_every_command_and_option_is_in_the_reference() -> None:
    reference = (ROOT / "docs" / "commands.md").read_text("utf-8")
    for words in commands_of(app):
        name = " ".join(words)
        assert re.search(rf"^## weft {name}\b", reference, re.MULTILINE), f"weft {name}"
        help_text = CliRunner().invoke(app, [*words, "--help"], prog_name="weft").output
        assert f"weft {name} [OPTIONS]" in help_text
        for option in set(re.findall(r"--[a-z-]+", help_text)) - {"--help"}:
            assert f"`{option}" in reference, f"weft {name} {option}"


def commands_of(group: typer.Typer) -> Iterator[tuple[str, ...]]:
    """Yield the words of each command, such as ("train",) or ("datasets", "download")."""
    for command in group.registered_commands:
        assert command.callback is not None
        yield (command.name or get_command_name(command.callback.__name__),)
    for subgroup in group.registered_groups:
        assert subgroup.typer_instance is not None
        yield from ((str(subgroup.typer_instance.info.name), *words) for words in commands_of(subgroup.typer_instance))


def test_links_have_targets() -> None:
    for document in ROOT.glob("**/*.md"):
        if ".venv" in document.parts:
            continue
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text("utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"
