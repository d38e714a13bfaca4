"""Small images for tests."""

from pathlib import Path
from random import Random

from PIL import Image, ImageDraw, ImageFont


def write_digits(path: Path, text: str, seed: int = 1) -> None:
    """Write an image of 44 x 24 pixels with the text, black on white, at a random position."""
    random = Random(seed)
    image = Image.new("L", (44, 24), 255)
    position = random.randint(0, 8), random.randint(-2, 2)
    ImageDraw.Draw(image).text(position, text, fill=0, font=ImageFont.load_default(20))
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path)


def write_bars(path: Path, *levels: int, height: int = 8) -> Path:
    """Write an image with one column per gray level."""
    image = Image.new("L", (len(levels), height))
    for column, level in enumerate(levels):
        image.paste(level, (column, 0, column + 1, height))
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path)
    return path
