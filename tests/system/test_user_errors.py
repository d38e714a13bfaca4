"""User errors: each command ends with exit code 2 and one message that names the problem, and writes nothing."""

import socket
import sys
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from system.user_errors import TRAINING_COMMANDS, UserErrorCase, case
from system.user_errors_inference import INFERENCE_COMMANDS
from weft.cli.main import main

CASES = [
    pytest.param(error, id=f"{command}: {error.name}")
    for command, errors in {**TRAINING_COMMANDS, **INFERENCE_COMMANDS}.items()
    for error in errors
]


@pytest.fixture
def check(
    paths: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[[UserErrorCase], None]:
    """Return a function that runs a case and checks exit code, message and that no file was written."""
    known_paths = {**paths, "new": tmp_path / "new"}
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"caf\xc3\xa9\ncaf\xe9\n")))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(paths["bad"]))

    def run_case(error: UserErrorCase) -> None:
        monkeypatch.setattr(sys, "argv", ["weft", *(fill(argument, known_paths) for argument in error.arguments)])
        before = files_in(paths["folder"]), files_in(paths["run"])
        with pytest.raises(SystemExit) as caught:
            main()
        out, err = capsys.readouterr()
        assert caught.value.code == 2, err
        assert "Traceback" not in err
        assert sum(line.startswith(("weft: ", "Error: ")) for line in err.split("\n")) == 1, err
        message = err[err.index("weft: " if "weft: " in err else "Error: ") :]
        assert [part for part in error.message if fill(part, known_paths) not in message] == [], message
        assert out == ""
        assert (files_in(paths["folder"]), files_in(paths["run"])) == before
        assert files_in(tmp_path) == set()

    return run_case


def fill(text: str, paths: dict[str, Path]) -> str:
    """Replace each {name} by the path of that name."""
    for name, path in paths.items():
        text = text.replace("{" + name + "}", str(path))
    return text


def files_in(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


@pytest.mark.parametrize("error", CASES)
def test_user_error_is_reported(error: UserErrorCase, check: Callable[[UserErrorCase], None]) -> None:
    check(error)


def test_port_in_use_is_reported(check: Callable[[UserErrorCase], None]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        check(case("port in use", ["serve", "{run}", "--port", port], f"--port {port}: cannot listen there"))


@pytest.mark.parametrize("steps", [1, 100])
def test_non_finite_loss_stops_training_with_advice(
    steps: int,
    paths: dict[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = [
        "train.steps=9",
        "train.schedule.learning_rate=1e30",
        "train.schedule.warmup_steps=0",
        f"train.checkpoint_steps={steps}",
    ]
    monkeypatch.setattr(sys, "argv", ["weft", "train", str(paths["recipe"]), "--out", str(tmp_path / "run"), *settings])
    with pytest.raises(SystemExit) as caught:
        main()
    message = capsys.readouterr().err.partition("weft: ")[2]
    assert caught.value.code == 2
    assert message.startswith("step 2: the loss or its gradient is no longer a finite number")
    assert "train.schedule.learning_rate" in message
    assert not list(tmp_path.glob("run/*/**/*.safetensors"))  # the weights after such a step are useless
