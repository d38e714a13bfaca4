"""The layout of --help, and shell completion."""

import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from weft.cli.help_layout import TOPICS
from weft.cli.main import app


def help_of(*words: str) -> str:
    result = CliRunner().invoke(app, [*words, "-h"], prog_name="weft", env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("group", [(), ("inspect",), ("datasets",)])
def test_summaries_are_complete(group: tuple[str, ...]) -> None:
    text = help_of(*group)
    assert "..." not in text.replace("[ARGS]...", "")
    assert max(map(len, text.splitlines())) <= 80


def test_every_command_has_a_topic() -> None:
    text = help_of()
    assert [topic for topic in TOPICS if f"\n{topic}:\n" not in text] == []
    assert "\nCommands:\n" not in text


def test_options_are_in_panels() -> None:
    panels = [line for line in help_of("compare").splitlines() if line.endswith(":") and line[0] != " "]
    assert panels == ["Arguments:", "Metric options:", "Output options:", "Search options:", "Options:"]
    assert "Usage: weft inspect attention" in help_of("inspect", "attention")


@pytest.mark.parametrize(
    ("words", "completions"),
    [("weft tra", ["train", "translate"]), ("weft train --min", ["--minutes"]), ("weft translate run", [])],
)
def test_completion_of_commands_and_options(words: str, completions: list[str]) -> None:
    """Where nothing is completed, bash completes names of files."""
    environment = {**os.environ, "_WEFT_COMPLETE": "complete_bash", "COMP_WORDS": words}
    environment["COMP_CWORD"] = str(words.count(" "))
    program = "import sys; sys.argv = ['weft']; from weft.cli.main import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == completions
