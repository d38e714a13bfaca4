"""The picture of a search tree: a column for each step, in it the candidates, the best above."""

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from types import MappingProxyType
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path as Curve
from matplotlib.textpath import TextPath

from weft.inspect.lettering import INK, TITLE_SIZE, short, title_of, widest
from weft.inspect.tree import Node, Outcome, Outcomes

FONT, SMALL = 9.5, 7.0  # points: of a piece, of a score
BOX, ROW, GAP = 0.36, 0.47, 0.5  # inches: the height of a box, from box to box, between columns
MARGIN = 0.03  # inches: around all boxes
BELOW = 0.72  # inches: the legend
LEGEND_FONT = 8.0  # points
PALE = "#69737e"  # for small letters that matter less, but should be readable
EXPLAINED = "A column is a step: its candidates, with the score of the hypothesis so far, the best above."


class Look(NamedTuple):
    """How a node is drawn."""

    name: str
    fill: str
    edge: str
    ink: str
    thick: float  # points: of the line that leads to it


LOOKS: Mapping[Outcome, Look] = MappingProxyType(
    {
        "output": Look("the output", "#cfe3f7", "#1f6fb2", INK, 2.2),
        "finished": Look("has finished: its score → what it was compared by", "#e6f4ea", "#4f9d69", INK, 1.0),
        "extended": Look("went on", "#eef3f8", "#7b93ab", INK, 1.0),
        "left": Look("was left when the search stopped", "#ffffff", "#7b93ab", INK, 1.0),
        "dropped": Look("was dropped", "#ffffff", "#cdd4db", PALE, 0.7),
    }
)


class Text(NamedTuple):
    """What is written in a box."""

    piece: str
    numbers: str


class Layout(NamedTuple):
    """Where the columns stand, in inches."""

    lefts: list[float]
    widths: list[float]
    height: float

    @property
    def width(self) -> float:
        return self.lefts[-1] + self.widths[-1]

    @classmethod
    def of(cls, texts: Sequence[Sequence["Text"]]) -> "Layout":
        """texts: of the nodes of each step."""
        widths = [
            0.14 + max(widest([text.piece for text in step], FONT), widest([text.numbers for text in step], SMALL))
            for step in texts
        ]
        lefts = list(accumulate((width + GAP for width in widths[:-1]), initial=0.0))
        return cls(lefts, widths, ROW * max(map(len, texts)))


def draw_tree(
    steps: Sequence[Sequence[Node]], best: Node | None, name: Callable[[int], str], title: Sequence[str]
) -> Figure:
    """The whole picture; the title may lie outside, so save it with bbox_inches="tight"."""
    texts = [[Text(short(name(node.token)), numbers_of(node)) for node in step] for step in steps]
    layout = Layout.of(texts)
    dots = min(200.0, 8000 / max(layout.width, layout.height))
    whole = Figure(figsize=(layout.width + 2 * MARGIN, layout.height + BELOW), dpi=dots)
    axes = whole.add_axes((0, 0, 1, 1))
    axes.set(xlim=(-MARGIN, layout.width + MARGIN), ylim=(layout.height + BELOW, 0))  # in inches, downwards
    axes.set_axis_off()
    draw_nodes(axes, steps, texts, layout, Outcomes(steps, best))
    draw_legend(axes, layout.height)
    told = title_of(title, (), max(layout.width, 8))
    axes.set_title(told, loc="left", fontsize=TITLE_SIZE, color=INK, pad=12, linespacing=1.4, parse_math=False)
    return whole


def draw_nodes(
    axes: Axes, steps: Sequence[Sequence[Node]], texts: Sequence[Sequence[Text]], layout: Layout, outcomes: Outcomes
) -> None:
    """Boxes, and lines from each to what extends it; what matters more lies above."""
    rows = {node: row for step in steps for row, node in enumerate(step)}
    for column, step in enumerate(steps):
        for row, node in enumerate(step):
            look = LOOKS[outcomes.of(node)]
            left, middle = layout.lefts[column], row * ROW + ROW / 2
            draw_box(axes, (left, middle), layout.widths[column], texts[column][row], look)
            if node.parent is not None:
                start = (left - GAP, rows[node.parent] * ROW + ROW / 2)
                draw_line(axes, start, (left, middle), look)


def numbers_of(node: Node) -> str:
    return f"{node.score:.2f} → {node.rank:.3f}" if node.fate == "finished" else f"{node.score:.2f}"


def draw_box(axes: Axes, place: tuple[float, float], width: float, text: Text, look: Look) -> None:
    """A box with the middle of its left side at this place."""
    left, middle = place
    corner = (left + 0.03, middle - BOX / 2 + 0.03)
    box = FancyBboxPatch(
        corner, width - 0.06, BOX - 0.06, "round,pad=0.03", fc=look.fill, ec=look.edge, lw=0.9, zorder=3
    )
    axes.add_patch(box)
    for line, size, below in ((text.piece, FONT, -0.065), (text.numbers, SMALL, 0.085)):
        written = axes.text(left + width / 2, middle + below, line, fontsize=size, color=look.ink, zorder=4)
        written.set(ha="center", va="center_baseline", parse_math=False)


def draw_line(axes: Axes, start: tuple[float, float], end: tuple[float, float], look: Look) -> None:
    """From the right side of one box to the left side of another."""
    bend = (end[0] - start[0]) / 2
    points = [start, (start[0] + bend, start[1]), (end[0] - bend, end[1]), end]
    curve = Curve(points, [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4])
    axes.add_patch(PathPatch(curve, fc="none", ec=look.edge, lw=look.thick, zorder=1 + look.thick / 10))


def draw_legend(axes: Axes, top: float) -> None:
    """Below the columns, what the boxes are. A short search is narrower than its legend, which may lie outside."""
    left, middle = 0.0, top + 0.2
    for look in LOOKS.values():
        box = FancyBboxPatch(
            (left + 0.03, middle - 0.05), 0.16, 0.1, "round,pad=0.03", fc=look.fill, ec=look.edge, lw=0.9, clip_on=False
        )
        axes.add_patch(box)
        axes.text(left + 0.3, middle, look.name, fontsize=LEGEND_FONT, color=INK, va="center")
        left += 0.55 + TextPath((0, 0), look.name, size=LEGEND_FONT).get_extents().width / 72
    axes.text(0, top + 0.5, EXPLAINED, fontsize=LEGEND_FONT, color=PALE, va="center")
