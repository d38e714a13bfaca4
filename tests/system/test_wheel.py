"""The wheel works when installed into a new environment, without the repository."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from system import toys

ROOT = Path(__file__).parents[2]
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")
TIMEOUT = 600


class Environment:
    """A virtual environment with the wheel, and a data folder outside the repository."""

    def __init__(self, folder: Path):
        self.folder, self.bin = folder, folder / "environment" / "bin"

    def run(self, *command: str | Path, code: int = 0) -> str:
        """Run a program of the environment and return what it printed."""
        environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        result = subprocess.run(
            [self.bin / command[0], *command[1:]],
            cwd=self.folder,
            env={**environment, "WEFT_CACHE": str(self.folder / "cache"), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
        assert result.returncode == code, result.stderr
        return result.stdout + result.stderr

    def install(self, *requirements: str) -> None:
        self.run("python", *PIP, "install", "--constraint", str(ROOT / "constraints.txt"), *requirements)

    @contextmanager
    def serve(self, *arguments: str) -> Iterator[str]:
        """Serve a model at a free port; yield the address."""
        command = [str(self.bin / "weft"), "serve", *arguments, "--port", "0"]
        with subprocess.Popen(command, cwd=self.folder, stderr=subprocess.PIPE, text=True) as process:
            try:
                assert process.stderr is not None
                lines = iter(process.stderr.readline, "")
                yield next(found[1] for line in lines if (found := re.search(r"serving at (\S+)", line)))
            finally:
                process.send_signal(signal.SIGTERM)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.split(b"\0")
    for name in filter(None, map(os.fsdecode, names)):
        if name.startswith("src/") or name in ("pyproject.toml", "README.md", "LICENSE"):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    wheels = folder / "wheels"
    subprocess.run([sys.executable, *PIP, "wheel", "--no-deps", "--wheel-dir", wheels, source], check=True)
    subprocess.run([sys.executable, "-m", "venv", folder / "environment"], check=True)
    environment = Environment(folder)
    environment.install(*map(str, wheels.glob("*.whl")))
    toys.write_corpus(folder)
    return environment


@pytest.mark.slow
def test_base_install_trains_translates_and_evaluates(installed: Environment) -> None:
    assert "multi30k-en-de" in installed.run("weft", "recipes")
    installed.run(
        "weft",
        "train",
        "transformer-small",
        "data.train=[train.src, train.tgt]",
        "data.valid=[valid.src, valid.tgt]",
        *("model.source.dim=16", "model.target.dim=16", "train.steps=3"),
        *("--out", "run"),
    )
    installed.run("weft", "translate", "run", "test.src", "--output", "output.tgt")
    assert (installed.folder / "output.tgt").read_text("utf-8").count("\n") == 20
    assert "bleu" in installed.run("weft", "evaluate", "run", "test.src", "test.tgt")
    for command, extra in ((["serve", "run"], "serve"), (["report", "run"], "plots")):
        assert f"pip install 'weft[{extra}]'" in installed.run("weft", *command, code=2)
    installed.install("weft[serve,plots,fast]")
    with installed.serve("run", "--languages", "en:eo") as address:
        assert "<html" in httpx2.get(address, timeout=TIMEOUT).text
        body = {"q": "the red cat", "source": "en", "target": "eo"}
        assert httpx2.post(f"{address}/translate", json=body, timeout=TIMEOUT).status_code == 200
    installed.run("weft", "report", "run")
    assert "<html" in (installed.folder / "report.html").read_text("utf-8")
