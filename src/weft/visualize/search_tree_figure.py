"""The figure of a search tree: a column for each step with its candidates, the best at the top."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path as Curve
from matplotlib.textpath import TextPath

from weft.visualize.figures import TEXT_COLOR, max_label_width, resolution, set_title, shorten_label
from weft.visualize.search_tree import NodeOutcome, SearchNode, node_outcomes

TOKEN_FONT_SIZE, SCORE_FONT_SIZE, LEGEND_FONT_SIZE = 9.5, 7.0, 8.0  # points
BOX_HEIGHT, ROW_HEIGHT, COLUMN_GAP, MARGIN, LEGEND_HEIGHT = 0.36, 0.47, 0.5, 0.03, 0.72  # inches
SMALL_TEXT_COLOR = "#69737e"
CAPTION = "Each column is a step: its candidates with the scores of their hypotheses, best first."


class NodeStyle(NamedTuple):
    """How a node is drawn; line_width: of the line from its parent, in points."""

    name: str
    fill: str
    edge: str
    text: str
    line_width: float


NODE_STYLES: Mapping[NodeOutcome, NodeStyle] = {
    "output": NodeStyle("output", "#cfe3f7", "#1f6fb2", TEXT_COLOR, 2.2),
    "finished": NodeStyle("finished: score → rank", "#e6f4ea", "#4f9d69", TEXT_COLOR, 1.0),
    "extended": NodeStyle("extended", "#eef3f8", "#7b93ab", TEXT_COLOR, 1.0),
    "unfinished": NodeStyle("unfinished when the search stopped", "#ffffff", "#7b93ab", TEXT_COLOR, 1.0),
    "dropped": NodeStyle("dropped", "#ffffff", "#cdd4db", SMALL_TEXT_COLOR, 0.7),
}


class NodeBox(NamedTuple):
    """A node with its text; left and middle: where its left edge is, in inches from the top left corner."""

    token: str
    scores: str
    left: float
    middle: float
    width: float


def draw_tree(
    steps: Sequence[Sequence[SearchNode]], best: SearchNode | None, name: Callable[[int], str], title: Sequence[str]
) -> Figure:
    """Draw the tree; `name` maps a token to its label. The title may exceed the figure: save with a tight box."""
    boxes = _layout_boxes(steps, name)
    width = max(box.left + box.width for box in boxes.values())
    height = ROW_HEIGHT * max(map(len, steps))
    figure = Figure(figsize=(width + 2 * MARGIN, height + LEGEND_HEIGHT), dpi=resolution(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(-MARGIN, width + MARGIN), ylim=(height + LEGEND_HEIGHT, 0))  # inches, downward
    axes.set_axis_off()
    outcomes = node_outcomes(steps, best)
    for node, box in boxes.items():
        style = NODE_STYLES[outcomes[node]]
        _draw_box(axes, box, style)
        if node.parent is not None:
            _draw_edge(axes, (box.left - COLUMN_GAP, boxes[node.parent].middle), (box.left, box.middle), style)
    _draw_legend(axes, height)
    set_title(axes, title, (), max(width, 8))
    return figure


def _layout_boxes(steps: Sequence[Sequence[SearchNode]], name: Callable[[int], str]) -> dict[SearchNode, NodeBox]:
    """Place the boxes of each step in a column as wide as its longest text."""
    tokens = [[shorten_label(name(node.token)) for node in step] for step in steps]
    scores = [[_format_scores(node) for node in step] for step in steps]
    widths = [
        0.14 + max(max_label_width(labels, TOKEN_FONT_SIZE), max_label_width(numbers, SCORE_FONT_SIZE))
        for labels, numbers in zip(tokens, scores, strict=True)
    ]
    lefts = accumulate((width + COLUMN_GAP for width in widths[:-1]), initial=0.0)
    return {
        node: NodeBox(token, score, left, (row + 0.5) * ROW_HEIGHT, width)
        for step, labels, numbers, left, width in zip(steps, tokens, scores, lefts, widths, strict=True)
        for row, (node, token, score) in enumerate(zip(step, labels, numbers, strict=True))
    }


def _format_scores(node: SearchNode) -> str:
    return f"{node.score:.2f} → {node.rank:.3f}" if node.status == "finished" else f"{node.score:.2f}"


def _draw_box(axes: Axes, box: NodeBox, style: NodeStyle) -> None:
    _draw_frame(axes, box.left, box.middle, box.width, BOX_HEIGHT, style)
    for text, size, offset in ((box.token, TOKEN_FONT_SIZE, -0.065), (box.scores, SCORE_FONT_SIZE, 0.085)):
        label = axes.text(
            box.left + box.width / 2, box.middle + offset, text, fontsize=size, color=style.text, zorder=4
        )
        label.set(ha="center", va="center_baseline", parse_math=False)


def _draw_frame(axes: Axes, left: float, middle: float, width: float, height: float, style: NodeStyle) -> None:
    corner = (left + 0.03, middle - height / 2 + 0.03)
    shape = FancyBboxPatch(corner, width - 0.06, height - 0.06, "round,pad=0.03", fc=style.fill, ec=style.edge, lw=0.9)
    shape.set(zorder=3, clip_on=False)
    axes.add_patch(shape)


def _draw_edge(axes: Axes, start: tuple[float, float], end: tuple[float, float], style: NodeStyle) -> None:
    bend = (end[0] - start[0]) / 2
    points = [start, (start[0] + bend, start[1]), (end[0] - bend, end[1]), end]
    curve = Curve(points, [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4])
    zorder = 1 + style.line_width / 10  # the output above the others
    axes.add_patch(PathPatch(curve, fc="none", ec=style.edge, lw=style.line_width, zorder=zorder))


def _draw_legend(axes: Axes, top: float) -> None:
    """Draw the legend below the columns; it may be wider than the figure of a short search."""
    left, middle = 0.0, top + 0.2
    for style in NODE_STYLES.values():
        _draw_frame(axes, left, middle, 0.22, 0.16, style)
        axes.text(left + 0.3, middle, style.name, fontsize=LEGEND_FONT_SIZE, color=TEXT_COLOR, va="center")
        left += 0.55 + TextPath((0, 0), style.name, size=LEGEND_FONT_SIZE).get_extents().width / 72
    axes.text(0, top + 0.5, CAPTION, fontsize=LEGEND_FONT_SIZE, color=SMALL_TEXT_COLOR, va="center")
