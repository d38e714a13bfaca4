"""The files of a model's tokenizers, or of what reads its pictures."""

from pathlib import Path

from weft.picture.reader import PictureReader
from weft.text.reader import Reader
from weft.text.tokenizer import ENDINGS, Tokenizer

SOURCE, TARGET = "source", "target"


def save_tokenizers(folder: Path, source: Reader, target: Tokenizer) -> None:
    source.save(folder / f"{SOURCE}.{source.ending}")
    if target is not source:
        target.save(folder / f"{TARGET}.{target.ending}")


def load_tokenizers(folder: Path) -> tuple[Reader, Tokenizer]:
    pictures, target = folder / f"{SOURCE}.{PictureReader.ending}", load_target(folder)
    if pictures.exists():
        return PictureReader.load(pictures), target or Tokenizer.load(folder / f"{TARGET}.{ENDINGS['forward']}")
    source = Tokenizer.load(folder / f"{SOURCE}.{ENDINGS['forward']}")
    return source, target or source


def load_target(folder: Path) -> Tokenizer | None:
    """The tokenizer of the target; None if it has none of its own."""
    files = {order: folder / f"{TARGET}.{ending}" for order, ending in ENDINGS.items()}
    return next((Tokenizer.load(path, order) for order, path in files.items() if path.exists()), None)
