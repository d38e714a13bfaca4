"""What a search kept and dropped, rebuilt from what it noted; as text and as a picture."""

import math
from collections import Counter
from pathlib import Path

import pytest
import torch
from torch import Tensor

from unit.test_search import LIMIT, LINES, Toy, fixed
from unit.untrained import SENTENCE, untrained
from weft.core.errors import UserError
from weft.core.marks import END
from weft.core.state import Hypothesis, State, Step
from weft.core.watch import watching
from weft.engine.translator import Translator
from weft.inspect.searching import draw, search, show
from weft.inspect.tree import Node, Outcomes, end_of, rebuild
from weft.inspect.tree_picture import draw_tree
from weft.inspect.tree_text import tree_text
from weft.search.beam import Beam
from weft.search.diverse import DiverseBeam
from weft.search.greedy import Greedy
from weft.search.rankings import NoPenalty
from weft.search.role import Search
from weft.search.sampling import Sampling

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


class Silent:
    """A search that notes nothing."""

    can_require = False

    def __call__(self, step: Step, state: State, limit: Tensor, lines: Tensor) -> list[list[Hypothesis]]:
        return [[Hypothesis((5,), -1.0, (-0.5, -0.5), finished=True)]]

    def rank(self, hypothesis: Hypothesis) -> float:
        return hypothesis.score


@pytest.fixture(scope="module")
def translator() -> Translator:
    return untrained("bahdanau", Beam(size=3))


def tokens(node: Node) -> tuple[int, ...]:
    return tuple(one.token for one in node.path())


def by_hand() -> list[list[Node]]:
    toy, state = fixed(*ROWS)
    with watching() as seen:
        Beam(size=2, length_penalty=NoPenalty, stop="top")(toy, state, torch.tensor([5]), LINES[:1])
    return rebuild(seen)


def test_the_tree_of_a_small_search() -> None:
    steps = by_hand()
    assert [[(tokens(node), node.score, node.fate) for node in step] for step in steps] == [
        [((3,), -1, "kept"), ((4,), -2, "kept"), ((5,), -3, "dropped"), ((2,), -9, "dropped")],
        [((3, 2), -2, "finished"), ((3, 3), -3, "kept"), ((4, 2), -3, "dropped"), ((4, 3), -4, "kept")],
    ]


@pytest.mark.parametrize("kind", [Beam(size=3, best=2), DiverseBeam(size=4, groups=2, best=4), Greedy(), Sampling()])
def test_every_output_is_in_the_tree_of_its_sentence(kind: Search) -> None:
    toy = Toy(6, end=-1.0)
    with watching() as seen:
        found = kind(toy, toy.start(6), LIMIT, LINES)
    for sentence, hypotheses in enumerate(found):
        steps = rebuild(seen, sentence)
        for one in hypotheses:
            end = end_of(steps, one.tokens)
            assert end is not None
            assert end.score == pytest.approx(one.score)
        alone = torch.tensor([sentence])
        with watching() as again:
            kind(toy, toy.start(6).select(alone, alone), LIMIT[alone], alone)
        assert [[tokens(node) for node in step] for step in rebuild(again)] == [
            [tokens(node) for node in step] for step in steps
        ]


def test_nothing_is_lost() -> None:
    toy = Toy(6, end=-1.0)
    with watching() as seen:
        Beam(size=3)(toy, toy.start(6), torch.full((6,), 4), LINES)
    for step in rebuild(seen, sentence=2):
        fates = Counter(node.fate for node in step)
        assert fates["kept"] == 3 or step[-1].token == END  # at the limit nothing goes on
        assert all(math.isfinite(node.rank) == (node.fate == "finished") for node in step)
        assert all(node.parent is None or node.parent.fate == "kept" for node in step)


def test_nothing_is_noted_where_nobody_watches() -> None:
    toy, state = fixed(*ROWS)
    Beam(size=2)(toy, state, torch.tensor([5]), LINES[:1])
    with watching() as seen:
        pass
    assert seen == {}


def test_the_tree_as_text() -> None:
    steps = by_hand()
    assert tree_text(steps, end_of(steps, (3,)), str).split("\n")[3:] == TEXT.split("\n")


def test_the_picture_has_a_box_for_each_hypothesis() -> None:
    steps = by_hand()
    axes = draw_tree(steps, end_of(steps, (3,)), lambda token: f"<{token}>", ("costs $5$",)).axes[0]
    written = [text.get_text() for text in axes.texts]
    assert sum(text.startswith("<") for text in written) == sum(map(len, steps))
    assert "-2.00 → -2.000" in written
    assert "was left when the search stopped" in written
    assert not any(text.get_parse_math() for text in axes.texts if text.get_text().startswith("<"))


def test_a_picture_of_a_model(translator: Translator, tmp_path: Path) -> None:
    text = draw(translator, SENTENCE, tmp_path / "one.svg")
    draw(translator, SENTENCE, str(tmp_path / "two.svg"))
    one, two = ((tmp_path / name).read_bytes() for name in ("one.svg", "two.svg"))
    assert one.startswith(b"<?xml")
    assert one == two
    assert text == translator.translate([SENTENCE])[0].text


def test_the_output_is_found_in_the_tree(translator: Translator) -> None:
    searched = search(translator, SENTENCE)
    assert searched.best is not None
    assert searched.best.score == pytest.approx(searched.translated.hypothesis.score)
    title, translation, _, *shown = show(translator, SENTENCE).split("\n")
    assert (title, translation) == (SENTENCE, f"→ {searched.translated.translation.text}")
    assert "\n".join(shown).count("●") - 1 == len(searched.best.path())
    assert len(shown) - 3 == sum(map(len, searched.steps))


def test_what_became_of_the_nodes() -> None:
    steps = by_hand()
    outcomes = Outcomes(steps, end_of(steps, (3,)))
    assert [[outcomes.of(node) for node in step] for step in steps] == [
        ["output", "extended", "dropped", "dropped"],
        ["output", "left", "dropped", "left"],
    ]
    assert Outcomes(steps, None).of(steps[1][0]) == "finished"
    dead_end = [[Node(5, -1.0, "kept", -math.inf, None)], [Node(END, -2.0, "finished", -1.0, steps[0][0])]]
    assert Outcomes(dead_end, None).of(dead_end[0][0]) == "dropped"


def test_a_sentence_that_was_cut_is_told_in_both_forms(translator: Translator, tmp_path: Path) -> None:
    text = show(translator, f"{SENTENCE} " * 20, tmp_path / "tree.svg")
    assert "the model reads 40 pieces at most: the rest was left out" in text
    assert (tmp_path / "tree.svg").read_bytes().startswith(b"<?xml")


def test_several_draws_are_one_tree() -> None:
    searched = search(untrained("bahdanau", Sampling(best=3)), SENTENCE)
    assert len(searched.steps[0]) == 3
    assert searched.best is not None


def test_what_cannot_be_drawn(translator: Translator, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="exhaustive search looks at more hypotheses than can be drawn"):
        search(Translator(translator.trained, Silent(), translator.settings), "a")
    with pytest.raises(UserError, match="the sentence is empty"):
        show(translator, " ")
    with pytest.raises(UserError, match=r"\.png, \.svg or \.pdf"):
        draw(translator, SENTENCE, tmp_path / "tree.txt")
    with pytest.raises(UserError, match=r"\.png, \.svg or \.pdf"):
        show(translator, SENTENCE, tmp_path / "tree.txt")
    assert list(tmp_path.iterdir()) == []
