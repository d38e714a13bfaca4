"""Image files to grayscale, with bounded memory and time whatever the file contains. (A file of its own, imported
on first use, because it needs Pillow.)
"""

import warnings
from pathlib import Path

from PIL import Image, ImageOps, UnidentifiedImageError

from weft.core.errors import UserError
from weft.data.text_files import require_regular_file

IMAGE_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM")
MAX_IMAGE_BYTES = 2**26
MAX_PIXELS = 2**26  # an A4 page at 600 dpi has 35 million
MAX_COLUMNS = 4096  # after scaling
LEVELS_16_TO_8_BIT = 256


def read_grayscale(path: Path, height: int) -> Image.Image:
    """Return the image in gray, upright, scaled to `height`; transparent pixels become white."""
    require_regular_file(path)
    if path.stat().st_size > MAX_IMAGE_BYTES:
        raise UserError(f"{path}: has {path.stat().st_size:,} bytes; the limit is {MAX_IMAGE_BYTES:,}. Shrink it.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd metadata, and many pixels, which are checked here
            with Image.open(path, formats=IMAGE_FORMATS) as image:
                width, rows = image.size
                if width * rows > MAX_PIXELS:  # before decoding: a small file can claim any size
                    raise UserError(f"has {width:,} x {rows:,} pixels; the limit is {MAX_PIXELS:,}. Shrink it.")
                _check_single_frame(image)
                return _resize_to_height(_to_grayscale(ImageOps.exif_transpose(image)), height)
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    except UnidentifiedImageError as error:
        raise UserError(f"{path}: not a readable image (formats: {', '.join(IMAGE_FORMATS)})") from error
    except Image.DecompressionBombError as error:
        raise UserError(f"{path}: has far too many pixels (limit: {MAX_PIXELS:,}). Shrink it.") from error
    except Exception as error:  # Pillow raises many kinds of errors for broken files
        raise UserError(f"{path}: the image is damaged ({error}). Copy or save it again.") from error


def _check_single_frame(image: Image.Image) -> None:
    if image.format == "MPO":  # a photo with a preview
        return
    try:
        image.seek(1)
    except EOFError:
        image.seek(0)
        return
    raise UserError("contains several images (frames or pages). Save one of them as a file of its own.")


def _to_grayscale(image: Image.Image) -> Image.Image:
    if image.mode == "F":
        raise UserError("its gray levels are fractions of unknown range. Save it with 8 or 16 bits.")
    if image.mode.startswith("I"):  # Pillow would clip 16 bits at 255
        return image.convert("I").point(lambda level: level * (1 / LEVELS_16_TO_8_BIT)).convert("L")
    if image.has_transparency_data:
        paper = Image.new("RGBA", image.size, "white")
        paper.alpha_composite(image.convert("RGBA"))
        return paper.convert("L")
    return image.convert("L")


def _resize_to_height(image: Image.Image, height: int) -> Image.Image:
    width = max(1, round(image.width * height / image.height))
    if width > MAX_COLUMNS:
        raise UserError(
            f"{image.width:,} x {image.height:,} pixels become {width:,} columns at a height of {height}; the limit is "
            f"{MAX_COLUMNS:,}. Cut it into parts."
        )
    return image.resize((width, height), Image.Resampling.BILINEAR)
