"""Runs that are killed again and again, at random times and at random writes, end as ones that were left alone."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from random import Random
from signal import SIGKILL
from typing import Any, NamedTuple, TypeAlias

from system import toys
from system.commands import NEVER, PATIENCE, Running, running
from system.following import left_behind
from system.together import Launch

STEPS = 12
MOMENT = 5.0  # seconds
WRITES = 60  # about as many as such a run makes
KINDS = [(family, ranks) for ranks in (1, 2) for family in toys.FAMILIES]
Start: TypeAlias = Callable[[tuple[str | Path, ...], int], AbstractContextManager[list[Running]]]


class Killed(NamedTuple):
    """What came of one run. wrong: what it says or left that an undisturbed run does not."""

    family: str
    ranks: int
    kills: int
    wrong: list[str]


class Undisturbed(NamedTuple):
    """A run that was left alone: its recipe, what it left behind, and how long it took."""

    recipe: Path
    left: dict[str, Any]
    seconds: float


def undisturbed(folder: Path, corpus: Path, family: str, ranks: int) -> Undisturbed:
    """Such a run."""
    recipe = toys.write_recipe(folder / f"{family}-{ranks}.yaml", recipe_of(corpus, family))
    run, began = folder / f"{family}-{ranks}", time.monotonic()
    with starting(ranks)(("train", recipe, "--out", run), NEVER) as commands:
        told = [command.wait() for command in commands]
    assert {result.code for result in told} == {0}, told[0].err
    return Undisturbed(recipe, left_behind(run), time.monotonic() - began)


def recipe_of(corpus: Path, family: str) -> dict[str, Any]:
    """A run of a second or two with many checkpoints and validations."""
    node = toys.recipe(corpus, family, steps=STEPS)
    node["train"] |= {"checkpoint_steps": 3, "validation": {"every": 4, "lines": 4, "search": "greedy"}, "log_every": 2}
    return node


def killed(folder: Path, like: Undisturbed, family: str, ranks: int, kills: int, draws: Random) -> Killed:
    """The same run, killed so often; a run that ended before its last kill is begun anew in another folder."""
    start, done, attempt, wrong = starting(ranks), 0, 0, list[str]()
    while True:
        run = folder / str(attempt)
        command = ("train", "--resume", run) if run.exists() else ("train", like.recipe, "--out", run)
        codes, err = once(start, command, draws, like.seconds) if done < kills else once(start, command, None, 0)
        if any("Traceback" in text for text in err):
            wrong.append(f"a traceback: {err}")
        if -SIGKILL in codes:
            done += 1
        elif codes == {0}:
            wrong += differences(left_behind(run), like.left)
            attempt += 1
            if done >= kills:
                return Killed(family, ranks, done, wrong)
        else:
            return Killed(family, ranks, done, [*wrong, f"ended with {codes}: {err}"])


def once(
    start: Start, command: tuple[str | Path, ...], draws: Random | None, seconds: float
) -> tuple[set[int], list[str]]:
    """Run a command, killed as is drawn (None: never): the exit codes, and what was said."""
    by_write = draws is not None and draws.random() < 0.5
    with start(command, draws.randrange(1, WRITES) if draws and by_write else NEVER) as commands:
        if draws and not by_write:
            wait(commands, draws.random() * seconds)
            for victim in draws.sample(commands, draws.randint(1, len(commands))):
                victim.process.kill()
        end_as_torchrun_does(commands)
        results = [command.wait() for command in commands]
    return {result.code for result in results}, [result.err for result in results]


def end_as_torchrun_does(commands: list[Running]) -> None:
    """Once one of them was killed, the others have a moment to end by themselves: they may wait to meet it."""
    end = time.monotonic() + PATIENCE
    while any(command.process.is_alive() for command in commands) and time.monotonic() < end:
        if -SIGKILL in {command.process.exitcode for command in commands}:
            end = min(end, time.monotonic() + MOMENT)
        time.sleep(0.01)
    if -SIGKILL in {command.process.exitcode for command in commands}:
        for command in commands:
            command.process.kill()


def wait(commands: list[Running], seconds: float) -> None:
    """So long, unless they have all ended."""
    end = time.monotonic() + min(seconds, PATIENCE)
    while time.monotonic() < end and any(command.process.is_alive() for command in commands):
        time.sleep(0.001)


def differences(found: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    """The files in which two runs differ."""
    return [f"{name} is another" for name in sorted({*found, *wanted}) if found.get(name) != wanted.get(name)]


def starting(ranks: int) -> Start:
    """How a command is started on so many ranks; the write that kills is the first rank's, which does the writing."""

    @contextmanager
    def alone(command: tuple[str | Path, ...], dies_at: int) -> Iterator[list[Running]]:
        with running(*command, dies_at=dies_at) as one:
            yield [one]

    def together(command: tuple[str | Path, ...], dies_at: int) -> AbstractContextManager[list[Running]]:
        return Launch().ranks(ranks, *command, dies_at=dies_at)

    return alone if ranks == 1 else together
