"""Text in pictures: names, titles, colours and fonts."""

from collections.abc import Sequence
from textwrap import wrap

from matplotlib import font_manager
from matplotlib.text import Text

from weft.core.marks import NAMES
from weft.text.pieces import SHOWN_SPACE
from weft.text.printable import printable

INK, FAINT, LINES = "#1f2933", "#8a94a0", "#e4e8ec"
LONGEST_NAME = 28  # letters; a web address would take more room than the picture
TITLE_SIZE = 11  # points
TITLE_LINES = 4  # of the sentence, and of its translation

# Those of them that are installed draw the letters that the first lacks.
FONTS = (
    "DejaVu Sans",
    "Noto Sans",
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans Devanagari",
    "Noto Sans Thai",
    "Noto Sans Arabic",
    "Arial Unicode MS",
    "Hiragino Sans",
    "Microsoft YaHei",
    "Unifont",
)


def title_of(paragraphs: Sequence[str], remarks: Sequence[str], width: float) -> str:
    """The paragraphs wrapped to so many inches, but never narrower than a short line; then the remarks."""
    letters = max(56, int(width * 72 / (TITLE_SIZE * 0.55)))
    return "\n".join([*(line for paragraph in paragraphs for line in wrapped(paragraph, letters)), *remarks])


def wrapped(text: str, letters: int) -> list[str]:
    return wrap(printable(text), letters, max_lines=TITLE_LINES, placeholder=" …")


def widest(names: Sequence[str], font: float) -> float:
    """The width in inches of the longest of the names, in letters of so many points."""
    return max(len(short(name)) for name in names) * font * 0.62 / 72


def colour_names(labels: Sequence[Text]) -> None:
    """Marks are fainter than words; no text is mathematics."""
    for label in labels:
        label.set(color=FAINT if label.get_text() in NAMES else INK, parse_math=False)


def short(name: str) -> str:
    """A name that can stand at a row or column; a space in it is seen, but more lightly than "▁"."""
    whole = printable(name).replace(SHOWN_SPACE, "␣")
    return whole if len(whole) <= LONGEST_NAME else whole[: LONGEST_NAME - 1] + "…"


def fonts() -> Sequence[str]:
    """The families to draw with, of those that are installed here."""
    installed = set(font_manager.get_font_names())
    return [name for name in FONTS if name in installed]
