"""Image codec: an image is a sequence of columns of gray levels, as text is a sequence of token ids."""

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

from weft.core.codec import LineError, Modality, RaggedRows
from weft.core.errors import UserError
from weft.core.files import read_bounded
from weft.core.special_tokens import Vocabulary

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm", ".pbm")
MAX_HEIGHT = 512
CODEC_VERSION = 2  # to be increased whenever the same file gives other columns


def is_image_name(name: str) -> bool:
    return name.lower().endswith(IMAGE_SUFFIXES)


@dataclass(frozen=True, kw_only=True)
class ImageCodecTrainer:
    """Lines name images, which are scaled to `height`. invert: the writing is brighter than the background."""

    modality: ClassVar[Modality] = "image"
    height: Annotated[int, Ge(1), Le(MAX_HEIGHT)] = 32
    invert: bool = False

    def train(self, lines: Iterable[str]) -> ImageCodec:
        del lines  # there is nothing to train
        return ImageCodec(self.height, self.invert)


@dataclass(frozen=True)
class ImageCodec:
    """Encodes the name of an image as its columns from left to right, each from top to bottom: 0 paper, 255 ink."""

    height: int
    invert: bool

    modality: ClassVar[Modality] = "image"
    size: ClassVar[int] = 256
    file_suffix: ClassVar[str] = "image.json"

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.height,)

    @property
    def fingerprint(self) -> str:
        return blake2b(f"{CODEC_VERSION} {self.to_json()}".encode(), digest_size=16).hexdigest()

    def encode_rows(self, lines: Iterable[str]) -> RaggedRows:
        """Return the columns of each image, and none for a blank line; raise LineError for an unreadable image."""
        empty = np.zeros((0, self.height), np.uint8)
        rows = []
        for number, line in enumerate(lines):
            try:
                rows.append(self._columns(Path(line)) if line.strip() else empty)
            except UserError as error:
                raise LineError(number, str(error)) from error
        return RaggedRows(np.concatenate([empty, *rows]), np.fromiter(map(len, rows), np.int64, len(rows)))

    def vocabulary(self) -> Vocabulary:
        """Return a name for each row of pixels: the entries of a column are the ink in each."""
        return [f"row {number}" for number in range(1, self.height + 1)]

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    def save(self, path: Path | str) -> None:
        Path(path).write_text(self.to_json() + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path | str) -> ImageCodec:
        """Load a file that `save` wrote."""
        try:
            config: dict[str, Any] = json.loads(read_bounded(Path(path)).decode("utf-8"))
            height, invert = config["height"], bool(config["invert"])
            if not isinstance(height, int) or not 1 <= height <= MAX_HEIGHT:
                raise ValueError(f"height should be 1 to {MAX_HEIGHT}, not {height!r}")
        except (ValueError, KeyError, TypeError, OSError, RecursionError) as error:
            raise UserError(f"{path}: not the settings of an image codec ({error}). Train again.") from error
        return cls(height, invert)

    def _columns(self, path: Path) -> NDArray[np.uint8]:
        from weft.data.image_files import read_grayscale  # needs Pillow

        gray = np.asarray(read_grayscale(path, self.height), np.uint8).T
        return gray if self.invert else 255 - gray
