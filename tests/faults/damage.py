"""Damage the files of a model folder: each must give one error message, or the same translations."""

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple, TypeAlias

from weft.core.errors import UserError
from weft.inference.backends import BackendOptions, select_backend
from weft.inference.loader import load_translator

Outcome: TypeAlias = Literal["error message", "same", "other output", "crash"]
LINES = ("the red cat sees a dog", "this house has a tree")


class Damage(NamedTuple):
    """Damage to a file: XOR the byte at `position` with `change`, or truncate the file there."""

    kind: Literal["flip", "cut"]
    position: int
    change: int = 0

    def apply(self, content: bytes) -> bytes:
        if self.kind == "cut":
            return content[: self.position]
        return content[: self.position] + bytes([content[self.position] ^ self.change]) + content[self.position + 1 :]


class Trial(NamedTuple):
    """The result of damaging a file."""

    name: str
    damage: Damage
    outcome: Outcome
    message: str


def damages(size: int, count: int, rng: Random) -> Iterator[Damage]:
    """Draw `count` flips and `count` cuts."""
    for _ in range(count):
        yield Damage("flip", rng.randrange(size), rng.randrange(1, 256))
    for _ in range(count):
        yield Damage("cut", rng.randrange(size))


def translate(folder: Path, backend: Literal["torch", "ctranslate2"]) -> list[str]:
    """Translate a few lines with the model."""
    options = BackendOptions(backend, None, None, ())
    selection = select_backend(folder, options, lambda: load_translator(folder))
    return [translation.text for translation in selection.backend.stream(LINES)]


def trials(
    model: Path, folder: Path, count: int, rng: Random, backend: Literal["torch", "ctranslate2"]
) -> Iterator[Trial]:
    """Damage every file of a copy of the model folder `count` times in each way, restoring it each time."""
    copy = folder / "damaged"
    shutil.copytree(model, copy)
    expected = translate(copy, backend)
    for path in sorted(path for path in copy.rglob("*") if path.is_file()):
        content = path.read_bytes()
        for damage in damages(len(content), count, rng):
            path.write_bytes(damage.apply(content))
            yield Trial(path.name, damage, *outcome(copy, expected, backend))
        path.write_bytes(content)
    assert translate(copy, backend) == expected


def outcome(folder: Path, expected: Sequence[str], backend: Literal["torch", "ctranslate2"]) -> tuple[Outcome, str]:
    try:
        outputs = translate(folder, backend)
    except UserError as error:
        return "error message", str(error)
    except BaseException as error:  # any other exception is a failure
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        return "crash", f"{type(error).__name__}: {error}"
    return ("same", "") if outputs == expected else ("other output", "\n".join(outputs))


def table(results: Sequence[Trial]) -> list[str]:
    """Format the number of outcomes of each file as a table."""
    counts = {
        name: Counter(trial.outcome for trial in results if trial.name == name)
        for name in {row.name for row in results}
    }
    outcomes: tuple[Outcome, ...] = ("error message", "same", "other output", "crash")
    head = f"{'file':<28}" + "".join(f"{kind:>15}" for kind in outcomes)
    return [
        head,
        *(f"{name:<28}" + "".join(f"{counts[name][kind]:>15,}" for kind in outcomes) for name in sorted(counts)),
    ]
