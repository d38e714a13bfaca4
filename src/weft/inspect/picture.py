"""A picture as a file: PNG, SVG or PDF, by the end of its name."""

import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib.style
from matplotlib.figure import Figure

from weft.core.errors import UserError
from weft.inspect.lettering import fonts
from weft.store.files import write_atomically

UNDATED: dict[str, dict[str, str | None]] = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}


def check_suffix(path: Path) -> None:
    """Can a picture be written under this name?"""
    if path.suffix.lower() not in UNDATED:
        raise UserError(f"{path}: a picture is written as .png, .svg or .pdf; give a name that ends so")


def write_picture(draw: Callable[[], Figure], path: Path) -> None:
    """Draw and write; equal figures give equal files."""
    with drawing():
        write_atomically(path, content(draw(), path.suffix.lower()))


def content(whole: Figure, suffix: str) -> bytes:
    file = io.BytesIO()
    whole.savefig(
        file,
        format=suffix.removeprefix("."),
        dpi=whole.dpi,
        bbox_inches="tight",
        pad_inches=0.15,
        metadata=UNDATED[suffix],
    )
    return file.getvalue()


@contextmanager
def drawing() -> Iterator[None]:
    """matplotlib as it comes, whatever a person has set for other pictures, with all fonts that can help.

    A letter that is in none of them is drawn as an empty box, of which no more need be said.
    """
    settings = {"font.family": fonts(), "svg.hashsalt": "weft"}  # else the names in an SVG are drawn by chance
    with matplotlib.style.context(["default", settings]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font", UserWarning)
        yield
