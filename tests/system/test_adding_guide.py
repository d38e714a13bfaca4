"""The code of docs/adding.md, applied to a copy of the package, passes the law tests and trains."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from system.toys import sentence

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "adding.md").read_text("utf-8")
FEW_STEPS = ["train.steps=2", "train.batch_tokens=300", "train.validation.every=1", "train.validation.lines=2"]


def code_blocks() -> dict[str, str]:
    """Return the code blocks of the page by file name, which their first line gives."""
    matches = re.findall(r"^```python\n# (\S+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return dict(matches)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project with the page's code: new files, additions to files, and registry entries."""
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name, code in code_blocks().items():
        path = tmp_path / name
        if name.endswith("registry.py"):
            path.write_text(add_entries(path.read_text("utf-8"), code), "utf-8")
        else:
            old = path.read_text("utf-8") + "\n\n" if path.exists() else ""
            path.write_text(old + code, "utf-8")
    return tmp_path


def add_entries(registry: str, code: str) -> str:
    """Return the registry with the imports at its top and each entry in its role."""
    lines = code.rstrip("\n").split("\n")
    imports = [line for line in lines if line.startswith("from ")]
    for role, entry in re.findall(r'^    ([\w.]+): \{("[\w-]+": [\w.]+), \.\.\.$', code, re.MULTILINE):
        assert f"    {role}: {{" in registry
        registry = registry.replace(f"    {role}: {{", f"    {role}: {{{entry}, ", 1)
        lines.remove(f"    {role}: {{{entry}, ...")
    assert lines == imports
    return registry.replace("\nfrom weft", "\n" + "\n".join(imports) + "\nfrom weft", 1)


def run(folder: Path, command: list[str]) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    process = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


@pytest.mark.slow
def test_added_code_passes_laws_and_trains(project: Path) -> None:
    output = run(project, ["pytest", "-q", "-p", "no:cacheprovider", "tests/laws", "-k", "minimal or distance"])
    passed = re.search(r"(\d+) passed", output)
    assert passed is not None
    assert int(passed[1]) > 40
    draws = Random(1)
    for name in ("train", "val", "test_2016_flickr"):
        pairs = [sentence(draws) for _ in range(40)]
        for side, language in enumerate(("en", "de")):
            (project / f"{name}.{language}").write_text("".join(pair[side] + "\n" for pair in pairs), "utf-8")
    (command,) = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    words = command.replace("\\\n", " ").replace("PATH", ".").split()
    run(project, [*words, *FEW_STEPS])
    assert (project / "runs" / "minimal" / "best" / "manifest.json").is_file()


def test_code_of_the_page_is_short() -> None:
    """A cell and an attention score take fewer than forty lines of code."""
    code = "\n".join(code_blocks().values())
    assert 10 < sum(bool(line.strip()) for line in code.split("\n")) < 40
