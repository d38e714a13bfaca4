"""A picture file to grey levels: whatever the file holds, the work and the memory that it takes are bounded."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image, ImageOps, UnidentifiedImageError

from weft.core.errors import UserError
from weft.data.lines import require_plain_file

FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM")
LARGEST_FILE = 2**26  # bytes
MOST_PIXELS = 2**26  # a page of A4 at 600 dots an inch has 35 million
MOST_COLUMNS = 4096  # after scaling
DEEP = 256  # levels of a picture of 16 bits that become one


def read_grey(path: Path, height: int) -> Image.Image:
    """The picture in grey, `height` high and as much wider; what is transparent is white, and photos stand upright."""
    require_plain_file(path)
    if path.stat().st_size > LARGEST_FILE:
        raise UserError(f"{path}: has {path.stat().st_size:,} bytes, and at most {LARGEST_FILE:,} are read; shrink it")
    with _telling_of(path), Image.open(path, formats=FORMATS) as image:
        _check_pixels(image)
        _check_single(image)
        upright = ImageOps.exif_transpose(image)
        return _scaled(_on_white(upright), height)


@contextmanager
def _telling_of(path: Path) -> Iterator[None]:
    """What is wrong inside, told with the name of the file. Pillow raises errors of many kinds for broken files."""
    known = ", ".join(FORMATS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd metadata; and of many pixels, which are checked here
            yield
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    except UnidentifiedImageError as error:
        raise UserError(f"{path}: is no picture that can be read; these can: {known}") from error
    except Image.DecompressionBombError as error:
        raise UserError(f"{path}: has far too many pixels (at most {MOST_PIXELS:,}); shrink it") from error
    except Exception as error:
        raise UserError(f"{path}: the picture is damaged ({error}); copy or save it again") from error


def _check_pixels(image: Image.Image) -> None:
    """Before anything is decoded: a small file can say that it is as large as a city."""
    width, height = image.size
    if width * height > MOST_PIXELS:
        raise UserError(f"has {width:,} x {height:,} pixels, and at most {MOST_PIXELS:,} are read; shrink it")


def _check_single(image: Image.Image) -> None:
    if image.format == "MPO":  # a photo with a preview behind it
        return
    try:
        image.seek(1)
    except EOFError:
        image.seek(0)
        return
    raise UserError("holds several pictures (frames or pages); save the one that is meant by itself")


def _on_white(image: Image.Image) -> Image.Image:
    """In grey, on white paper."""
    if image.mode == "F":
        raise UserError("its grey levels are fractions, and nobody knows which is white; save it with 8 or 16 bits")
    if image.mode.startswith("I"):  # which Pillow would cut off at 255
        return image.convert("I").point(lambda level: level * (1 / DEEP)).convert("L")
    if image.has_transparency_data:
        paper = Image.new("RGBA", image.size, "white")
        paper.alpha_composite(image.convert("RGBA"))
        return paper.convert("L")
    return image.convert("L")


def _scaled(image: Image.Image, height: int) -> Image.Image:
    width = max(1, round(image.width * height / image.height))
    if width > MOST_COLUMNS:
        told = f"{image.width:,} x {image.height:,} pixels become {width:,} columns at a height of {height}"
        raise UserError(f"{told}, and at most {MOST_COLUMNS:,} are read; cut it into parts")
    return image.resize((width, height), Image.Resampling.BILINEAR)
