"""The picture of an alignment: a square for each pair of a target and a source label, the darker the more."""

from collections.abc import Sequence
from textwrap import wrap
from typing import NamedTuple
from unicodedata import category

from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from weft.core.marks import END, NAMES
from weft.inspect.alignment import Alignment
from weft.text.pieces import SHOWN_SPACE

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


class Layout(NamedTuple):
    """Sizes that follow from the number of rows and columns: in inches, but `font` in points and `angle` in degrees."""

    square: float
    width: float
    height: float
    font: float
    angle: int  # of the source labels

    @classmethod
    def of(cls, alignment: Alignment) -> "Layout":
        rows, columns = alignment.weights.shape
        square = min(0.4, max(0.17, 12 / max(rows, columns)))
        font = min(10.5, square * 72 * 0.62)
        widest = max(len(short(name)) for name in alignment.source) * font * 0.62 / 72
        angle = 0 if widest < square else 45 if square > 0.22 else 90
        return cls(square, columns * square, rows * square, font, angle)

    @property
    def dots(self) -> float:
        """Dots an inch: fine, but with hundreds of rows or columns no more than screens and memory hold."""
        return min(200.0, 8000 / max(self.width, self.height))


def figure(alignment: Alignment) -> Figure:
    """The whole picture; what stands around the squares may lie outside, so save it with bbox_inches="tight"."""
    layout = Layout.of(alignment)
    whole = Figure(figsize=(layout.width, layout.height), dpi=layout.dots)
    axes = whole.add_axes((0, 0, 1, 1))
    image = axes.imshow(alignment.weights, cmap="Blues", vmin=0, interpolation="nearest", aspect="auto")
    draw_grid(axes, alignment)
    name_rows_and_columns(axes, alignment, layout)
    write_title(axes, alignment, layout)
    add_scale(whole, image, layout)
    return whole


def draw_grid(axes: Axes, alignment: Alignment) -> None:
    rows, columns = alignment.weights.shape
    axes.vlines([place - 0.5 for place in range(columns + 1)], -0.5, rows - 0.5, color=LINES, linewidth=0.6)
    axes.hlines([place - 0.5 for place in range(rows + 1)], -0.5, columns - 0.5, color=LINES, linewidth=0.6)
    axes.spines[:].set_visible(False)


def name_rows_and_columns(axes: Axes, alignment: Alignment, layout: Layout) -> None:
    """Source names above, target names on the left; the end mark is fainter than words."""
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(alignment.source)), [short(name) for name in alignment.source])
    axes.set_yticks(range(len(alignment.target)), [short(name) for name in alignment.target])
    axes.tick_params(length=0, labelsize=layout.font, pad=4)
    for label in axes.get_xticklabels():
        label.set(rotation=layout.angle, rotation_mode="anchor", va="center" if layout.angle == 90 else "baseline")
        label.set_horizontalalignment("left" if layout.angle else "center")
    for label in [*axes.get_xticklabels(), *axes.get_yticklabels()]:
        label.set(color=FAINT if label.get_text() == NAMES[END] else INK, parse_math=False)


def write_title(axes: Axes, alignment: Alignment, layout: Layout) -> None:
    """The sentence and its translation, wrapped to the width of the squares, but never narrower than a short line."""
    letters = max(56, int((layout.width + 0.7) * 72 / (TITLE_SIZE * 0.55)))
    lines = [*wrapped(alignment.sentence, letters), *wrapped(f"→ {alignment.translation}", letters)]
    title = "\n".join([*lines, *alignment.remarks])
    axes.set_title(title, loc="left", fontsize=TITLE_SIZE, color=INK, pad=12, linespacing=1.4, parse_math=False)


def wrapped(text: str, letters: int) -> list[str]:
    return wrap(printable(text), letters, max_lines=TITLE_LINES, placeholder=" …")


def add_scale(whole: Figure, image: AxesImage, layout: Layout) -> None:
    """A small colour bar on the right, at the top, where the reader of a tall picture begins."""
    height = min(layout.height, 1.5)
    share = height / layout.height
    place = whole.add_axes((1 + 0.25 / layout.width, 1 - share, 0.12 / layout.width, share))
    bar = whole.colorbar(image, cax=place)
    bar.outline.set_visible(False)
    bar.set_label("attention weight", fontsize=9, color=INK)
    bar.ax.tick_params(labelsize=8, length=2, color=FAINT, labelcolor=INK)


def short(name: str) -> str:
    """A name that can stand at a row or column; a space in it is seen, but more lightly than "▁"."""
    whole = printable(name).replace(SHOWN_SPACE, "␣")
    return whole if len(whole) <= LONGEST_NAME else whole[: LONGEST_NAME - 1] + "…"


def printable(text: str) -> str:
    """Without control characters and halves of letters, for which no font has a picture and SVG no place."""
    return "".join("\ufffd" if category(letter) in ("Cc", "Cs") else letter for letter in text)


def fonts() -> Sequence[str]:
    """The families to draw with, of those that are installed here."""
    installed = set(font_manager.get_font_names())
    return [name for name in FONTS if name in installed]
