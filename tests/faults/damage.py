"""Files of a model folder with a byte changed or cut short: each is told in one message, or does no harm."""

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple, TypeAlias

from weft.core.errors import UserError
from weft.inference.backends import BackendOptions, select_backend
from weft.inference.loader import load_translator

Ended: TypeAlias = Literal["told", "same", "other output", "crash"]
LINES = ("the red cat sees a dog", "this house has a tree")


class Damage(NamedTuple):
    """What is done to a file: a byte at `place` becomes another, or everything from there on is gone."""

    kind: Literal["flip", "cut"]
    place: int
    change: int = 0

    def done(self, content: bytes) -> bytes:
        if self.kind == "cut":
            return content[: self.place]
        return content[: self.place] + bytes([content[self.place] ^ self.change]) + content[self.place + 1 :]


class Trial(NamedTuple):
    """What came of it."""

    name: str
    damage: Damage
    ended: Ended
    told: str


def damages(size: int, count: int, draws: Random) -> Iterator[Damage]:
    """So many flips, and so many cuts."""
    for _ in range(count):
        yield Damage("flip", draws.randrange(size), draws.randrange(1, 256))
    for _ in range(count):
        yield Damage("cut", draws.randrange(size))


def translated(folder: Path, engine: Literal["torch", "ctranslate2"]) -> list[str]:
    """What the model says of a few lines."""
    wish = BackendOptions(engine, None, None, ())
    chosen = select_backend(folder, wish, lambda: load_translator(folder))
    return [translation.text for translation in chosen.backend.stream(LINES)]


def trials(
    model: Path, folder: Path, count: int, draws: Random, engine: Literal["torch", "ctranslate2"]
) -> Iterator[Trial]:
    """Every file of a model folder, damaged so often in each way, in a copy that is whole again after each time."""
    copy = folder / "damaged"
    shutil.copytree(model, copy)
    wanted = translated(copy, engine)
    for path in sorted(path for path in copy.rglob("*") if path.is_file()):
        content = path.read_bytes()
        for damage in damages(len(content), count, draws):
            path.write_bytes(damage.done(content))
            yield Trial(path.name, damage, *outcome(copy, wanted, engine))
        path.write_bytes(content)
    assert translated(copy, engine) == wanted


def outcome(folder: Path, wanted: Sequence[str], engine: Literal["torch", "ctranslate2"]) -> tuple[Ended, str]:
    try:
        found = translated(folder, engine)
    except UserError as error:
        return "told", str(error)
    except BaseException as error:  # whatever else leaves a reader is what is looked for
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        return "crash", f"{type(error).__name__}: {error}"
    return ("same", "") if found == wanted else ("other output", "\n".join(found))


def table(done: Sequence[Trial]) -> list[str]:
    """A line a file: how its trials ended."""
    counts = {name: Counter(trial.ended for trial in done if trial.name == name) for name in {row.name for row in done}}
    ways: tuple[Ended, ...] = ("told", "same", "other output", "crash")
    head = f"{'file':<28}" + "".join(f"{way:>14}" for way in ways)
    return [head, *(f"{name:<28}" + "".join(f"{counts[name][way]:>14,}" for way in ways) for name in sorted(counts))]
