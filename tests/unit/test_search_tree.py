"""The search tree rebuilt from traced tensors, as text and as a figure."""

import math
from collections import Counter
from pathlib import Path

import pytest
import torch
from torch import Tensor

from unit.test_search import LIMIT, LINES, Toy, fixed
from unit.translators import SENTENCE, untrained_translator
from weft.core.errors import UserError
from weft.core.special_tokens import EOS
from weft.core.state import Hypothesis, State, StepFunction
from weft.core.tracing import trace_tensors
from weft.decoding.beam import BeamSearch
from weft.decoding.diverse_beam import DiverseBeamSearch
from weft.decoding.greedy import GreedySearch
from weft.decoding.length_penalty import NoLengthPenalty
from weft.decoding.sampling import Sampling
from weft.decoding.search import Search
from weft.inference.translator import Translator
from weft.visualize.search_tree import (
    SearchNode,
    build_search_tree,
    draw_search,
    draw_tree,
    find_final_node,
    node_outcomes,
    render_tree,
    trace_search,
)

ROWS = ([0, 0, -9, -1, -2, -3], [0, 0, -1, -2, -4, -5])
TEXT = """\
├─3      -1.00 ●
│ ├─2    -2.00 ● ✓ -2.000
│ └─3    -3.00 …
├─4      -2.00
│ ├─2    -3.00 ✗
│ └─3    -4.00 …
├─5      -3.00 ✗
└─2      -9.00 ✗"""


class UntracedSearch:
    """A search that records no trace."""

    supports_constraints = False

    def __call__(self, step: StepFunction, state: State, limit: Tensor, lines: Tensor) -> list[list[Hypothesis]]:
        return [[Hypothesis((5,), -1.0, (-0.5, -0.5), finished=True)]]

    def ranking_score(self, hypothesis: Hypothesis) -> float:
        return hypothesis.score


@pytest.fixture(scope="module")
def translator() -> Translator:
    return untrained_translator("bahdanau", BeamSearch(size=3))


def tokens(node: SearchNode) -> tuple[int, ...]:
    return tuple(step.token for step in node.path())


def small_tree() -> list[list[SearchNode]]:
    toy, state = fixed(*ROWS)
    with trace_tensors() as trace:
        BeamSearch(size=2, length_penalty=NoLengthPenalty, stop_rule="top")(toy, state, torch.tensor([5]), LINES[:1])
    return build_search_tree(trace)


def test_tree_of_a_small_search() -> None:
    steps = small_tree()
    assert [[(tokens(node), node.score, node.status) for node in step] for step in steps] == [
        [((3,), -1, "kept"), ((4,), -2, "kept"), ((5,), -3, "dropped"), ((2,), -9, "dropped")],
        [((3, 2), -2, "finished"), ((3, 3), -3, "kept"), ((4, 2), -3, "dropped"), ((4, 3), -4, "kept")],
    ]


@pytest.mark.parametrize(
    "kind", [BeamSearch(size=3, n_best=2), DiverseBeamSearch(size=4, groups=2, n_best=4), GreedySearch(), Sampling()]
)
def test_every_output_is_in_the_tree_of_its_sentence(kind: Search) -> None:
    toy = Toy(6, end=-1.0)
    with trace_tensors() as trace:
        found = kind(toy, toy.start(6), LIMIT, LINES)
    for sentence, hypotheses in enumerate(found):
        steps = build_search_tree(trace, sentence)
        for hypothesis in hypotheses:
            end = find_final_node(steps, (*hypothesis.tokens, EOS))
            assert end is not None
            assert end.score == pytest.approx(hypothesis.score)
        alone = torch.tensor([sentence])
        with trace_tensors() as single_trace:
            kind(toy, toy.start(6).select(alone, alone), LIMIT[alone], alone)
        assert [[tokens(node) for node in step] for step in build_search_tree(single_trace)] == [
            [tokens(node) for node in step] for step in steps
        ]


def test_every_step_keeps_the_whole_beam() -> None:
    toy = Toy(6, end=-1.0)
    with trace_tensors() as trace:
        BeamSearch(size=3)(toy, toy.start(6), torch.full((6,), 4), LINES)
    for step in build_search_tree(trace, sentence=2):
        statuses = Counter(node.status for node in step)
        assert statuses["kept"] == 3 or step[-1].token == EOS  # at the limit nothing is extended
        assert all(math.isfinite(node.ranking_score) == (node.status == "finished") for node in step)
        assert all(node.parent is None or node.parent.status == "kept" for node in step)


def test_nothing_is_recorded_without_tracing() -> None:
    toy, state = fixed(*ROWS)
    BeamSearch(size=2)(toy, state, torch.tensor([5]), LINES[:1])
    with trace_tensors() as trace:
        pass
    assert trace == {}


def test_tree_as_text() -> None:
    steps = small_tree()
    assert render_tree(steps, find_final_node(steps, (3, EOS)), str).split("\n")[3:] == TEXT.split("\n")


def test_figure_has_one_box_per_hypothesis() -> None:
    steps = small_tree()
    axes = draw_tree(steps, find_final_node(steps, (3, EOS)), lambda token: f"<{token}>", ("costs $5$",)).axes[0]
    texts = [text.get_text() for text in axes.texts]
    assert sum(text.startswith("<") for text in texts) == sum(map(len, steps))
    assert "-2.00 → -2.000" in texts
    legend = axes.get_legend()
    assert legend is not None
    assert "unfinished when the search stopped" in [text.get_text() for text in legend.get_texts()]
    assert not any(text.get_parse_math() for text in axes.texts if text.get_text().startswith("<"))


def test_figure_file_is_reproducible(translator: Translator, tmp_path: Path) -> None:
    drawn = draw_search(translator, SENTENCE, tmp_path / "one.svg")
    draw_search(translator, SENTENCE, str(tmp_path / "two.svg"))
    first, second = ((tmp_path / name).read_bytes() for name in ("one.svg", "two.svg"))
    assert first.startswith(b"<?xml")
    assert first == second
    assert drawn.translation == translator.translate([SENTENCE])[0]


def test_output_is_in_the_tree(translator: Translator) -> None:
    traced = trace_search(translator, SENTENCE)
    assert traced.best is not None
    assert traced.best.score == pytest.approx(traced.translation.score)
    title, translation, _, *tree_lines = traced.render().split("\n")
    assert (title, translation) == (SENTENCE, f"→ {traced.translation.text}")
    assert "\n".join(tree_lines).count("●") - 1 == len(traced.best.path())
    assert len(tree_lines) - 3 == sum(map(len, traced.steps))


def test_node_outcomes() -> None:
    steps = small_tree()
    outcomes = node_outcomes(steps, find_final_node(steps, (3, EOS)))
    assert [[outcomes[node] for node in step] for step in steps] == [
        ["output", "extended", "dropped", "dropped"],
        ["output", "unfinished", "dropped", "unfinished"],
    ]
    assert node_outcomes(steps, None)[steps[1][0]] == "finished"
    dead_end = [[SearchNode(5, -1.0, "kept", -math.inf, None)], [SearchNode(EOS, -2.0, "finished", -1.0, steps[0][0])]]
    assert node_outcomes(dead_end, None)[dead_end[0][0]] == "dropped"


def test_truncated_sentence_is_reported(translator: Translator, tmp_path: Path) -> None:
    text = draw_search(translator, f"{SENTENCE} " * 20, tmp_path / "tree.svg").render()
    assert "truncated: the model reads at most 40 tokens" in text
    assert (tmp_path / "tree.svg").read_bytes().startswith(b"<?xml")


def test_several_samples_form_one_tree() -> None:
    traced = trace_search(untrained_translator("bahdanau", Sampling(n_best=3)), SENTENCE)
    assert len(traced.steps[0]) == 3
    assert traced.best is not None


def test_undrawable_requests_are_reported(translator: Translator, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="exhaustive search has too many hypotheses to draw"):
        trace_search(Translator(translator.trained, UntracedSearch(), translator.settings), "a")
    with pytest.raises(UserError, match="the sentence is empty"):
        trace_search(translator, " ")
    with pytest.raises(UserError, match=r"\.png, \.svg or \.pdf"):
        draw_search(translator, SENTENCE, tmp_path / "tree.txt")
    assert list(tmp_path.iterdir()) == []
