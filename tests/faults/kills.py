"""Kill runs repeatedly at random times and writes: they must end like undisturbed runs."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from random import Random
from signal import SIGKILL
from typing import Any, NamedTuple, TypeAlias

from system import toys
from system.commands import NEVER, TIMEOUT, Running, running
from system.rank_launcher import Launch
from system.training_runs import run_contents

STEPS = 12
GRACE_SECONDS = 5.0
WRITES = 60  # about the number of such a run
KINDS = [(family, ranks) for ranks in (1, 2) for family in toys.FAMILIES]
Start: TypeAlias = Callable[[tuple[str | Path, ...], int], AbstractContextManager[list[Running]]]


class KilledRun(NamedTuple):
    """The result of a killed run. problems: tracebacks and differences from the undisturbed run."""

    family: str
    ranks: int
    kills: int
    problems: list[str]


class ReferenceRun(NamedTuple):
    """An undisturbed run: its recipe, its files and its duration."""

    recipe: Path
    contents: dict[str, Any]
    seconds: float


def reference_run(folder: Path, corpus: Path, family: str, ranks: int) -> ReferenceRun:
    """Train without disturbance."""
    recipe = toys.write_recipe(folder / f"{family}-{ranks}.yaml", short_recipe(corpus, family))
    run, start = folder / f"{family}-{ranks}", time.monotonic()
    with starter(ranks)(("train", recipe, "--out", run), NEVER) as commands:
        results = [command.wait() for command in commands]
    assert {result.code for result in results} == {0}, results[0].err
    return ReferenceRun(recipe, run_contents(run), time.monotonic() - start)


def short_recipe(corpus: Path, family: str) -> dict[str, Any]:
    """A run of a second or two with many checkpoints and validations."""
    node = toys.recipe(corpus, family, steps=STEPS)
    node["train"] |= {"checkpoint_steps": 3, "validation": {"every": 4, "lines": 4, "search": "greedy"}, "log_every": 2}
    return node


def killed_run(folder: Path, reference: ReferenceRun, family: str, ranks: int, kills: int, rng: Random) -> KilledRun:
    """Repeat the run and kill it `kills` times; a run that ends before its last kill is started again elsewhere."""
    start, done, attempt, problems = starter(ranks), 0, 0, list[str]()
    while True:
        run = folder / str(attempt)
        command = ("train", "--resume", run) if run.exists() else ("train", reference.recipe, "--out", run)
        codes, err = (
            run_once(start, command, rng, reference.seconds) if done < kills else run_once(start, command, None, 0)
        )
        if any("Traceback" in text for text in err):
            problems.append(f"a traceback: {err}")
        if -SIGKILL in codes:
            done += 1
        elif codes == {0}:
            problems += differences(run_contents(run), reference.contents)
            attempt += 1
            if done >= kills:
                return KilledRun(family, ranks, done, problems)
        else:
            return KilledRun(family, ranks, done, [*problems, f"ended with {codes}: {err}"])


def run_once(
    start: Start, command: tuple[str | Path, ...], rng: Random | None, seconds: float
) -> tuple[set[int], list[str]]:
    """Run a command, killed at a random time or write (rng None: never); return the exit codes and messages."""
    by_write = rng is not None and rng.random() < 0.5
    with start(command, rng.randrange(1, WRITES) if rng and by_write else NEVER) as commands:
        if rng and not by_write:
            wait(commands, rng.random() * seconds)
            for victim in rng.sample(commands, rng.randint(1, len(commands))):
                victim.process.kill()
        stop_like_torchrun(commands)
        results = [command.wait() for command in commands]
    return {result.code for result in results}, [result.err for result in results]


def stop_like_torchrun(commands: list[Running]) -> None:
    """After a rank was killed, give the others GRACE_SECONDS to end, then kill them: they may wait for it."""
    end = time.monotonic() + TIMEOUT
    while any(command.process.is_alive() for command in commands) and time.monotonic() < end:
        if -SIGKILL in {command.process.exitcode for command in commands}:
            end = min(end, time.monotonic() + GRACE_SECONDS)
        time.sleep(0.01)
    if -SIGKILL in {command.process.exitcode for command in commands}:
        for command in commands:
            command.process.kill()


def wait(commands: list[Running], seconds: float) -> None:
    """Sleep, unless all commands have ended."""
    end = time.monotonic() + min(seconds, TIMEOUT)
    while time.monotonic() < end and any(command.process.is_alive() for command in commands):
        time.sleep(0.001)


def differences(found: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """Name the files in which two runs differ."""
    return [f"{name} is another" for name in sorted({*found, *expected}) if found.get(name) != expected.get(name)]


def starter(ranks: int) -> Start:
    """Return a function that starts a command on `ranks` ranks; rank 0, which writes the files, is killed."""

    @contextmanager
    def single(command: tuple[str | Path, ...], kill_at_write: int) -> Iterator[list[Running]]:
        with running(*command, kill_at_write=kill_at_write) as process:
            yield [process]

    def several(command: tuple[str | Path, ...], kill_at_write: int) -> AbstractContextManager[list[Running]]:
        return Launch().ranks(ranks, *command, kill_at_write=kill_at_write)

    return single if ranks == 1 else several
