"""The tree of a search: every hypothesis that was kept, dropped or finished at each step, as a figure or as text.

draw_search(weft.load("runs/first"), "A man sleeps.", "search.svg")
print(render_search(weft.load("runs/first"), "A man sleeps."))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from torch import Tensor

from weft.core.errors import UserError
from weft.core.formatting import make_printable
from weft.core.tracing import trace_tensors
from weft.decoding.constraints.request import Request
from weft.inference.translator import Translator
from weft.visualize.figures import check_figure_path, save_figure, shorten_label
from weft.visualize.translation_trace import TracedTranslation, trace_translation

CandidateStatus: TypeAlias = Literal["kept", "dropped", "finished"]
NodeOutcome: TypeAlias = Literal["output", "finished", "extended", "unfinished", "dropped"]

TRACED_FIELDS = ("tokens", "scores", "parents", "sentences", "kept", "finished", "ranks")
OUTCOME_SIGNS: Mapping[NodeOutcome, str] = {
    "output": "●",
    "finished": "",
    "extended": "",
    "unfinished": "…",
    "dropped": "✗",
}
TEXT_LEGEND = (
    "Each line is a hypothesis: its last token and its score, below the hypothesis that it extends, best first.",
    "✗ dropped; ✓ finished, with the score it was ranked by; … unfinished when the search stopped; ● the output.",
)


@dataclass(frozen=True, eq=False)
class SearchNode:
    """A hypothesis, represented by its last token. Nodes are compared by identity: two may have equal values."""

    token: int
    score: float  # of the hypothesis up to this token
    status: CandidateStatus
    rank: float  # the score that finished hypotheses are compared by
    parent: SearchNode | None

    def path(self) -> list[SearchNode]:
        """Return the nodes from the first token to this one."""
        return [*([] if self.parent is None else self.parent.path()), self]


class SearchTrace(NamedTuple):
    """A translation, the nodes of each search step, and the node in which the translation ends."""

    translated: TracedTranslation
    steps: list[list[SearchNode]]
    best: SearchNode | None

    @property
    def title(self) -> tuple[str, ...]:
        return self.translated.example.title + self.translated.example.remarks


def draw_search(translator: Translator, sentence: str, output: Path | str) -> str:
    """Translate a sentence and save its search tree as .png, .svg or .pdf; return the translation."""
    check_figure_path(Path(output))
    trace = trace_search(translator, sentence)
    _save_tree(translator, trace, Path(output))
    return trace.translated.translation.text


def render_search(translator: Translator, sentence: str, output: Path | str | None = None) -> str:
    """Translate a sentence and return its search tree as text; also save the figure if `output` is given."""
    if output is not None:
        check_figure_path(Path(output))
    trace = trace_search(translator, sentence)
    if output is not None:
        _save_tree(translator, trace, Path(output))
    tree = render_tree(trace.steps, trace.best, partial(token_name, translator))
    return "\n".join([*map(make_printable, trace.title), "", tree])


def _save_tree(translator: Translator, trace: SearchTrace, output: Path) -> None:
    from weft.visualize.search_tree_figure import draw_tree

    name = partial(token_name, translator)
    save_figure(partial(draw_tree, trace.steps, trace.best, name, trace.title), output)


def trace_search(translator: Translator, sentence: str | Request) -> SearchTrace:
    """Translate a sentence and rebuild the tree of its search."""
    if not translator.trained.model.has_decoder:
        raise UserError("this model has no decoder, so nothing is searched; use weft inspect frames")
    with trace_tensors() as traced:
        translated = trace_translation(translator, sentence)
    if "search.tokens" not in traced:
        raise UserError("exhaustive search has too many hypotheses to draw: use --beam 3, or another translate.search")
    steps = build_search_tree(traced)
    return SearchTrace(translated, steps, find_final_node(steps, translated.example.target))


def token_name(translator: Translator, token: int) -> str:
    return translator.trained.target_tokenizer.tokens([token])[0]


def build_search_tree(traced: Mapping[str, Sequence[Tensor]], sentence: int | None = None) -> list[list[SearchNode]]:
    """Return the nodes of each step, best first, from the tensors that a search traces.

    sentence: position in the batch; None: all sentences. Candidates of probability 0 are left out.
    """
    steps: list[list[SearchNode]] = []
    previous: dict[int, SearchNode] = {}
    for tensors in zip(*(traced[f"search.{name}"] for name in TRACED_FIELDS), strict=True):
        nodes: dict[int, SearchNode] = {}
        rows = zip(*(tensor.tolist() for tensor in tensors), strict=True)
        for row, (token, score, parent_row, owner, kept, finished, rank) in enumerate(rows):
            if sentence in (None, owner) and score > float("-inf"):
                parent = previous.get(parent_row) if steps else None
                status: CandidateStatus = "kept" if kept else "finished" if finished else "dropped"
                total = score + (0.0 if parent is None else parent.score)
                nodes[row] = SearchNode(token, total, status, rank, parent)
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
    branches, outcomes = list(_branches(children, None, "", name)), node_outcomes(steps, best)
    width = max((len(branch) for branch, _ in branches), default=0)
    lines = []
    for branch, node in branches:
        rank = f"✓ {node.rank:.3f}" if node.status == "finished" else ""
        lines.append(
            f"{branch:<{width}} {node.score:8.2f} {f'{OUTCOME_SIGNS[outcomes[node]]} {rank}'.strip()}".rstrip()
        )
    return "\n".join([*TEXT_LEGEND, "", *lines])


def _branches(
    children: Mapping[SearchNode | None, list[SearchNode]],
    parent: SearchNode | None,
    indent: str,
    name: Callable[[int], str],
) -> Iterator[tuple[str, SearchNode]]:
    """Yield the descendants of a node, depth first, each with the tree lines and the name before its score."""
    nodes = children.get(parent, [])
    for number, node in enumerate(nodes, 1):
        branch, below = ("└─", "  ") if number == len(nodes) else ("├─", "│ ")
        yield f"{indent}{branch}{shorten_label(name(node.token))}", node
        yield from _branches(children, node, indent + below, name)
