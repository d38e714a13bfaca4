"""The tree of a search: every hypothesis that was kept, dropped or finished at each step, as a figure or as text.

draw_search(weft.load("runs/first"), "A man sleeps.", "search.svg")
print(trace_search(weft.load("runs/first"), "A man sleeps.").render())
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from torch import Tensor

from weft.core.errors import UserError
from weft.core.formatting import make_printable
from weft.core.tracing import trace_tensors
from weft.decoding.constraints.request import Request
from weft.inference.translation import Translation
from weft.inference.translator import Translator
from weft.visualize.figures import (
    TEXT_COLOR,
    check_figure_path,
    max_label_width,
    resolution,
    save_figure,
    set_title,
    shorten_label,
)
from weft.visualize.translation_trace import trace_translation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CandidateStatus: TypeAlias = Literal["kept", "dropped", "finished"]
NodeOutcome: TypeAlias = Literal["output", "finished", "extended", "unfinished", "dropped"]

TRACED_FIELDS = ("tokens", "scores", "parents", "sentences", "kept", "finished", "ranking_scores")
TEXT_LEGEND = (
    "Each line is a hypothesis: its last token and its score, below the hypothesis that it extends, best first.",
    "✗ dropped; ✓ finished, with the score it was ranked by; … unfinished when the search stopped; ● the output.",
)

TOKEN_FONT_SIZE, SCORE_FONT_SIZE, LEGEND_FONT_SIZE = 9.5, 7.0, 8.0  # points
BOX_HEIGHT, ROW_HEIGHT, COLUMN_GAP, MARGIN = 0.36, 0.47, 0.5, 0.03  # inches
SMALL_TEXT_COLOR = "#69737e"
FIGURE_CAPTION = "Each column is a step: its candidates with the scores of their hypotheses, best first."


class NodeStyle(NamedTuple):
    """How a node is shown. sign: in a text; line_width: of the line from its parent, in points."""

    label: str
    sign: str
    fill: str
    edge: str
    text: str
    line_width: float


NODE_STYLES: Mapping[NodeOutcome, NodeStyle] = {
    "output": NodeStyle("output", "●", "#cfe3f7", "#1f6fb2", TEXT_COLOR, 2.2),
    "finished": NodeStyle("finished: score → ranking score", "", "#e6f4ea", "#4f9d69", TEXT_COLOR, 1.0),
    "extended": NodeStyle("extended", "", "#eef3f8", "#7b93ab", TEXT_COLOR, 1.0),
    "unfinished": NodeStyle("unfinished when the search stopped", "…", "#ffffff", "#7b93ab", TEXT_COLOR, 1.0),
    "dropped": NodeStyle("dropped", "✗", "#ffffff", "#cdd4db", SMALL_TEXT_COLOR, 0.7),
}


@dataclass(frozen=True, eq=False)
class SearchNode:
    """A hypothesis, represented by its last token. Nodes are compared by identity: two may have equal values."""

    token: int
    score: float  # of the hypothesis up to this token
    status: CandidateStatus
    ranking_score: float  # finished hypotheses are compared by it
    parent: SearchNode | None

    def path(self) -> list[SearchNode]:
        """Return the nodes from the first token to this one."""
        return [*([] if self.parent is None else self.parent.path()), self]


class SearchTrace(NamedTuple):
    """A translation, the nodes of each search step, and the node in which the translation ends.

    name: maps a token to its label.
    """

    translation: Translation
    title: tuple[str, ...]
    steps: list[list[SearchNode]]
    best: SearchNode | None
    name: Callable[[int], str]

    def figure(self) -> Figure:
        return draw_tree(self.steps, self.best, self.name, self.title)

    def render(self) -> str:
        """Return the tree as text."""
        return "\n".join([*map(make_printable, self.title), "", render_tree(self.steps, self.best, self.name)])


def draw_search(translator: Translator, sentence: str, output: Path | str) -> SearchTrace:
    """Translate a sentence and save its search tree as .png, .svg or .pdf."""
    check_figure_path(Path(output))
    trace = trace_search(translator, sentence)
    save_figure(trace.figure, Path(output))
    return trace


def trace_search(translator: Translator, sentence: str | Request) -> SearchTrace:
    """Translate a sentence and rebuild the tree of its search."""
    if not translator.trained.model.has_decoder:
        raise UserError("this model has no decoder, so nothing is searched; use weft inspect frames")
    with trace_tensors() as traced:
        translation, example = trace_translation(translator, sentence)
    if "search.tokens" not in traced:
        raise UserError("exhaustive search has too many hypotheses to draw: use --beam 3, or another translate.search")
    steps = build_search_tree(traced)
    best, tokenizer = find_final_node(steps, example.target), translator.trained.target_tokenizer
    title = example.title + example.remarks
    return SearchTrace(translation, title, steps, best, lambda token: tokenizer.tokens([token])[0])


def build_search_tree(traced: Mapping[str, Sequence[Tensor]], sentence: int | None = None) -> list[list[SearchNode]]:
    """Return the nodes of each step, best first, from the tensors that a search traces.

    sentence: position in the batch; None: all sentences. Candidates of probability 0 are left out.
    """
    steps: list[list[SearchNode]] = []
    previous: dict[int, SearchNode] = {}
    for tensors in zip(*(traced[f"search.{name}"] for name in TRACED_FIELDS), strict=True):
        nodes: dict[int, SearchNode] = {}
        rows = zip(*(tensor.tolist() for tensor in tensors), strict=True)
        for row, (token, score, parent_row, owner, kept, finished, ranking_score) in enumerate(rows):
            if sentence in (None, owner) and score > float("-inf"):
                parent = previous.get(parent_row) if steps else None
                status: CandidateStatus = "kept" if kept else "finished" if finished else "dropped"
                total = score + (0.0 if parent is None else parent.score)
                nodes[row] = SearchNode(token, total, status, ranking_score, parent)
        steps.append(sorted(nodes.values(), key=lambda node: -node.score))
        previous = nodes
    return [nodes for nodes in steps if nodes]


def find_final_node(steps: Sequence[Sequence[SearchNode]], tokens: Sequence[int]) -> SearchNode | None:
    """Return the finished hypothesis with these tokens, of which the last is the end token."""
    finished = (node for step in steps for node in step if node.status == "finished")
    return next((node for node in finished if [ancestor.token for ancestor in node.path()] == [*tokens]), None)


def node_outcomes(steps: Sequence[Sequence[SearchNode]], best: SearchNode | None) -> dict[SearchNode, NodeOutcome]:
    """Return what became of each node.

    "unfinished" nodes could have been extended when the search stopped. A node that was kept but whose extensions all
    fell out of the beam counts as dropped.
    """
    output = set() if best is None else set(best.path())
    extended = {node.parent for step in steps for node in step}
    outcomes: dict[SearchNode, NodeOutcome] = {}
    for number, step in enumerate(steps, 1):
        for node in step:
            if node in output:
                outcomes[node] = "output"
            elif node.status == "finished":
                outcomes[node] = "finished"
            elif node in extended:
                outcomes[node] = "extended"
            else:
                outcomes[node] = "unfinished" if node.status == "kept" and number == len(steps) else "dropped"
    return outcomes


def render_tree(steps: Sequence[Sequence[SearchNode]], best: SearchNode | None, name: Callable[[int], str]) -> str:
    """Return the tree as text, with a line for each node."""
    children: dict[SearchNode | None, list[SearchNode]] = {}
    for step in steps:
        for node in step:
            children.setdefault(node.parent, []).append(node)

    def branches(parent: SearchNode | None, indent: str) -> Iterator[tuple[str, SearchNode]]:
        """Yield the descendants of a node, depth first, each with the tree lines and the name before its score."""
        nodes = children.get(parent, [])
        for number, node in enumerate(nodes, 1):
            branch, below = ("└─", "  ") if number == len(nodes) else ("├─", "│ ")
            yield f"{indent}{branch}{shorten_label(name(node.token))}", node
            yield from branches(node, indent + below)

    rows, outcomes = list(branches(None, "")), node_outcomes(steps, best)
    width = max((len(branch) for branch, _ in rows), default=0)
    lines = []
    for branch, node in rows:
        score = f"✓ {node.ranking_score:.3f}" if node.status == "finished" else ""
        notes = " ".join(filter(None, (NODE_STYLES[outcomes[node]].sign, score)))
        lines.append(f"{branch:<{width}} {node.score:8.2f} {notes}".rstrip())
    return "\n".join([*TEXT_LEGEND, "", *lines])


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
    """Draw a column for each step with its candidates, the best at the top; `name` maps a token to its label.

    Title and legend may exceed the figure: save it with bbox_inches="tight".
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    boxes = _layout_boxes(steps, name)
    width = max(box.left + box.width for box in boxes.values())
    height = ROW_HEIGHT * max(map(len, steps))
    figure = Figure(figsize=(width + 2 * MARGIN, height), dpi=resolution(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(-MARGIN, width + MARGIN), ylim=(height, 0))  # inches, downward
    axes.set_axis_off()
    outcomes = node_outcomes(steps, best)
    for node, box in boxes.items():
        style = NODE_STYLES[outcomes[node]]
        _draw_box(axes, box, style)
        if node.parent is not None:
            _draw_edge(axes, (box.left - COLUMN_GAP, boxes[node.parent].middle), (box.left, box.middle), style)
    handles = [Patch(fc=style.fill, ec=style.edge, label=style.label) for style in NODE_STYLES.values()]
    axes.legend(
        handles=handles,
        ncols=len(handles),
        title=FIGURE_CAPTION,
        alignment="left",
        loc="upper left",
        bbox_to_anchor=(0, 0),
        frameon=False,
        fontsize=LEGEND_FONT_SIZE,
        title_fontsize=LEGEND_FONT_SIZE,
        labelcolor=TEXT_COLOR,
        borderpad=0,
    )
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
    return f"{node.score:.2f} → {node.ranking_score:.3f}" if node.status == "finished" else f"{node.score:.2f}"


def _draw_box(axes: Axes, box: NodeBox, style: NodeStyle) -> None:
    from matplotlib.patches import FancyBboxPatch

    corner, size = (box.left + 0.03, box.middle - BOX_HEIGHT / 2 + 0.03), (box.width - 0.06, BOX_HEIGHT - 0.06)
    frame = FancyBboxPatch(corner, *size, "round,pad=0.03", fc=style.fill, ec=style.edge, lw=0.9, zorder=3)
    axes.add_patch(frame)
    middle = box.left + box.width / 2
    for text, points, offset in ((box.token, TOKEN_FONT_SIZE, -0.065), (box.scores, SCORE_FONT_SIZE, 0.085)):
        label = axes.text(middle, box.middle + offset, text, fontsize=points, color=style.text, zorder=4)
        label.set(ha="center", va="center_baseline", parse_math=False)


def _draw_edge(axes: Axes, start: tuple[float, float], end: tuple[float, float], style: NodeStyle) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Curve

    bend = (end[0] - start[0]) / 2
    points = [start, (start[0] + bend, start[1]), (end[0] - bend, end[1]), end]
    curve = Curve(points, [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4])
    zorder = 1 + style.line_width / 10  # the output above the others
    axes.add_patch(PathPatch(curve, fc="none", ec=style.edge, lw=style.line_width, zorder=zorder))
