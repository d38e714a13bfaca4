"""The reader of pictures: what a tokenizer is to text."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray

from weft.core.bounded import read_bounded
from weft.core.errors import UserError
from weft.core.types import Vocabulary
from weft.text.reader import LineError, Reads
from weft.text.rows import Rows

HIGHEST = 512
Height = Annotated[int, Ge(1), Le(HIGHEST)]
Columns = NDArray[np.uint8]  # [T,height]
VERSION = 2  # to be raised whenever the same file becomes other columns
LEVELS = 256


@dataclass(frozen=True, kw_only=True)
class Picture:
    """Lines name pictures, which are scaled to `height`. invert: the writing is brighter than the paper."""

    reads: ClassVar[Reads] = "pictures"
    dropout: ClassVar[float] = 0.0
    height: Height = 32
    invert: bool = False

    def learn(self, lines: Iterable[str]) -> PictureReader:
        del lines  # every picture is read in the same way
        return PictureReader(self.height, self.invert)


@dataclass(frozen=True)
class PictureReader:
    """The name of a picture to its columns from left to right, each from top to bottom: 0 is paper, 255 is ink."""

    height: int
    invert: bool

    reads: ClassVar[Reads] = "pictures"
    size: ClassVar[int] = LEVELS
    unknown: ClassVar[int | None] = None
    byte_pieces: ClassVar[tuple[int, ...]] = ()
    ending: ClassVar[str] = "picture.json"

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.height,)

    @property
    def fingerprint(self) -> str:
        return blake2b(f"{VERSION} {self.describe()}".encode(), digest_size=16).hexdigest()

    def encode_rows(self, lines: Iterable[str]) -> Rows:
        """The columns of each picture; none for a line that names none."""
        rows = [self._row(number, line) for number, line in enumerate(lines)]
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        return Rows(np.concatenate([self._nothing(), *rows]), lengths)

    def vocabulary(self) -> Vocabulary:
        """The rows of a picture: a column says of each how much ink is there, as an id says of one piece that it is."""
        return [f"row {number}" for number in range(1, self.height + 1)]

    def describe(self) -> str:
        return json.dumps(asdict(self))

    def save(self, path: Path | str) -> None:
        Path(path).write_text(self.describe() + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path | str) -> PictureReader:
        """Read what `save` wrote."""
        try:
            described: dict[str, Any] = json.loads(read_bounded(Path(path)).decode("utf-8"))
            return cls(_height(described["height"]), bool(described["invert"]))
        except (ValueError, KeyError, TypeError, OSError, RecursionError) as error:
            raise UserError(f"{path}: does not say how pictures are read ({error}); train again") from error

    def _row(self, number: int, line: str) -> Columns:
        try:
            return self._columns(Path(line)) if line.strip() else self._nothing()
        except UserError as error:
            raise LineError(number, str(error)) from error

    def _columns(self, path: Path) -> Columns:
        from weft.picture.opening import read_grey

        grey = np.asarray(read_grey(path, self.height), np.uint8).T
        return grey if self.invert else 255 - grey

    def _nothing(self) -> Columns:
        return np.zeros((0, self.height), np.uint8)


def _height(value: object) -> int:
    """Within the bounds that a recipe has, too."""
    if not isinstance(value, int) or not 1 <= value <= HIGHEST:
        raise ValueError(f"height should be 1 to {HIGHEST}, not {value!r}")
    return value
