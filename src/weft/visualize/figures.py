"""Matplotlib figures: style, labels, files (PNG, SVG, PDF), and SVG elements for HTML pages.

Equal figures give equal files.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from weft.core.errors import UserError
from weft.core.extras import require_extra
from weft.core.files import write_atomically
from weft.core.formatting import make_printable
from weft.core.special_tokens import SPECIAL_TOKENS
from weft.text.tokenizer import SPACE_SYMBOL

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

TEXT_COLOR, MUTED_COLOR, GRID_COLOR, ALERT_COLOR = "#1f2933", "#8a94a0", "#e4e8ec", "#a83c00"
# Distinguishable with any color vision (Okabe & Ito 2008); the yellow is darker, to be visible on white.
SERIES_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9")
# In a page a color is a CSS variable of page.css, which has values for light and dark mode.
PAGE_COLORS = {
    TEXT_COLOR: "var(--text)",
    MUTED_COLOR: "var(--muted)",
    GRID_COLOR: "var(--line)",
    ALERT_COLOR: "var(--gone-line)",
    **{color: f"var(--s{number})" for number, color in enumerate(SERIES_COLORS)},
}
MAX_LABEL_LENGTH = 28  # characters; a URL would need more space than the figure
TITLE_FONT_SIZE = 11  # points
MAX_TITLE_LINES = 4  # for the source, and for its translation
MAX_PIXELS = 8000  # in each direction

# Fallbacks for characters that the first font lacks; those that are not installed are skipped.
FONT_FAMILIES = (
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
FILE_METADATA: dict[str, dict[str, str | None]] = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}

SVG_NAMESPACE, LINK_ATTRIBUTE = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
OMITTED_IN_PAGES = {f"{SVG_NAMESPACE}metadata", f"{SVG_NAMESPACE}defs"}
HOVER_ID, SOURCE_ID = "hover", "source-pixels"  # ids that become classes of page.css


def format_title(paragraphs: Sequence[str], remarks: Sequence[str], width: float) -> str:
    """Wrap each paragraph to `width` inches, but to no fewer than 56 characters; remarks follow, one per line."""
    columns = max(56, int(width * 72 / (TITLE_FONT_SIZE * 0.55)))
    wrapped = (
        wrap(make_printable(paragraph), columns, max_lines=MAX_TITLE_LINES, placeholder=" …")
        for paragraph in paragraphs
    )
    return "\n".join([*(line for lines in wrapped for line in lines), *remarks])


def set_title(axes: Axes, paragraphs: Sequence[str], remarks: Sequence[str], width: float) -> None:
    title = axes.set_title(format_title(paragraphs, remarks, width), loc="left", fontsize=TITLE_FONT_SIZE, pad=12)
    title.set(color=TEXT_COLOR, linespacing=1.4, parse_math=False)


def max_label_width(labels: Sequence[str], font_size: float) -> float:
    """Estimate the width of the longest label in inches."""
    return max(len(shorten_label(label)) for label in labels) * font_size * 0.62 / 72


def shorten_label(label: str) -> str:
    """Return a label for a row or column: printable, of limited length, and with visible spaces."""
    printable = make_printable(label).replace(SPACE_SYMBOL, "␣")
    return printable if len(printable) <= MAX_LABEL_LENGTH else printable[: MAX_LABEL_LENGTH - 1] + "…"


def color_labels(labels: Sequence[Text]) -> None:
    """Mute special tokens, and turn off math mode: a label may contain `$`."""
    for label in labels:
        label.set(color=MUTED_COLOR if label.get_text() in SPECIAL_TOKENS else TEXT_COLOR, parse_math=False)


def resolution(width: float, height: float) -> float:
    """Return dots per inch: 200, or fewer for figures of many rows or columns."""
    return min(200.0, MAX_PIXELS / max(width, height))


def check_figure_path(path: Path) -> None:
    """Raise UserError if a figure cannot be written under this name, or if Matplotlib is not installed."""
    require_extra("plots", "drawing a figure")
    if path.suffix.lower() not in FILE_METADATA:
        raise UserError(f"{path}: unknown figure format; use a name that ends with .png, .svg or .pdf")


def save_figure(draw: Callable[[], Figure], path: Path) -> None:
    """Draw a figure and write it atomically; the suffix of the path selects the format."""
    suffix, file = path.suffix.lower(), io.BytesIO()
    with default_style():
        draw().savefig(file, format=suffix[1:], bbox_inches="tight", pad_inches=0.15, metadata=FILE_METADATA[suffix])
    write_atomically(path, file.getvalue())


def page_svg(draw: Callable[[], Figure], description: str, *, crop: bool = True) -> Markup:
    """Draw a figure as an SVG element for an HTML page.

    Text stays text, and colors become variables of the page's style sheet. There are no namespaces, fonts and ids, so
    that several figures fit into one page.

    description: what screen readers read. crop: fit the size to the content; otherwise figures of one size stay equal.
    """
    from markupsafe import Markup

    file = io.BytesIO()
    with default_style({"svg.fonttype": "none"}):
        box = "tight" if crop else None
        draw().savefig(file, format="svg", transparent=True, bbox_inches=box, metadata={"Date": None})
    root = ElementTree.fromstring(file.getvalue())  # noqa: S314 (Matplotlib's own output)
    shapes = {path.get("id"): path for path in root.iter(f"{SVG_NAMESPACE}path")}
    for use in root.iter(f"{SVG_NAMESPACE}use"):  # a marker; as a path of its own it needs no id
        attributes, shape = use.attrib, shapes[use.attrib.pop(LINK_ATTRIBUTE).removeprefix("#")]
        use.tag = shape.tag
        use.set("d", shape.attrib["d"])
        use.set("transform", f"translate({attributes.pop('x')} {attributes.pop('y')})")
        use.set("style", f"{attributes.get('style', '')}; {shape.get('style', '')}")
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag in OMITTED_IN_PAGES]:
            parent.remove(child)
    width, height = (float(root.attrib[name].removesuffix("pt")) for name in ("width", "height"))
    for element in root.iter():
        _adapt_to_page(element)
    root.attrib = {"viewBox": f"0 0 {width:.6g} {height:.6g}", "role": "img", "aria-label": make_printable(description)}
    if crop:  # in a narrow window it shrinks to 80 %, then it scrolls
        root.set("style", f"width: {width * 4 / 3:.0f}px; min-width: {0.8 * width * 4 / 3:.0f}px")
    return Markup(ElementTree.tostring(root, encoding="unicode"))  # noqa: S704 (ElementTree has escaped every text)


def _adapt_to_page(element: ElementTree.Element) -> None:
    attributes = element.attrib
    element.tag = element.tag.removeprefix(SVG_NAMESPACE)
    element.text = element.text if element.tag in ("text", "title") else None
    element.tail = None
    attributes.pop("clip-path", None)
    if LINK_ATTRIBUTE in attributes:
        attributes["href"] = "".join(attributes.pop(LINK_ATTRIBUTE).split())
    if "d" in attributes:
        path = " ".join(attributes["d"].split())
        attributes["d"] = re.sub(r"-?\d+\.\d+", lambda number: f"{float(number[0]):.1f}", path)
    if "style" in attributes:
        style = re.sub(r"font-family: [^;]*; ", "", attributes["style"])
        attributes["style"] = re.sub(r"#[0-9a-f]{6}", lambda color: PAGE_COLORS.get(color[0], color[0]), style)
    kind, _, hover_text = attributes.pop("id", "").partition(":")
    if kind in (HOVER_ID, SOURCE_ID):
        attributes["class"] = kind
    if hover_text:
        title = ElementTree.Element("title")
        title.text = hover_text
        element.insert(0, title)


def add_hover_text(axes: Axes, left: float, right: float, bottom: float, top: float, text: str) -> None:
    """Add an invisible rectangle, in data coordinates, that shows a text while the pointer is on it in a page."""
    from matplotlib.patches import Rectangle

    area = Rectangle((left, bottom), right - left, top - bottom, fill=False, linewidth=0)
    area.set_gid(f"{HOVER_ID}:{make_printable(text)}")
    axes.add_patch(area)


@contextmanager
def default_style(settings: Mapping[str, str] | None = None) -> Iterator[None]:
    """Use Matplotlib's defaults, whatever the user's configuration is, and every installed font family.

    A character that no font has is drawn as a box, without a warning.
    """
    import matplotlib.style
    from matplotlib import font_manager

    installed = set(font_manager.get_font_names())
    ours = {"font.family": [name for name in FONT_FAMILIES if name in installed], "svg.hashsalt": "weft"}
    with matplotlib.style.context(["default", ours | dict(settings or {})]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font", UserWarning)
        yield
