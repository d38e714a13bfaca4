"""Small pictures, drawn for tests."""

from pathlib import Path
from random import Random

from PIL import Image, ImageDraw, ImageFont


def write_digits(path: Path, text: str, seed: int = 1) -> None:
    """The text in black on white, somewhere in a picture of 44 x 24 pixels."""
    draws = Random(seed)
    image = Image.new("L", (44, 24), 255)
    place = draws.randint(0, 8), draws.randint(-2, 2)
    ImageDraw.Draw(image).text(place, text, fill=0, font=ImageFont.load_default(20))
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path)


def write_bars(path: Path, *levels: int, height: int = 8) -> Path:
    """A column of each grey level."""
    image = Image.new("L", (len(levels), height))
    for column, level in enumerate(levels):
        image.paste(level, (column, 0, column + 1, height))
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path)
    return path
