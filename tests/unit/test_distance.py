"""Edit distance against the textbook and against brute force; the table that is printed."""

from functools import cache
from math import inf
from random import Random

import pytest

from weft.core.errors import UserError
from weft.metric.distance import UNIT, Costs, EditTable, align, distance
from weft.metric.distance_table import draw

PAIRS = 10_000


def brute_force(source: str, target: str, costs: Costs) -> float:
    """Every way, remembered: either side loses its first letter, or both do."""

    @cache
    def rest(i: int, j: int) -> float:
        if i == len(source) and j == len(target):
            return 0.0
        both = inf
        if i < len(source) and j < len(target):
            both = rest(i + 1, j + 1) + (0.0 if source[i] == target[j] else costs.substitute)
        deleted = rest(i + 1, j) + costs.delete if i < len(source) else inf
        inserted = rest(i, j + 1) + costs.insert if j < len(target) else inf
        return min(both, deleted, inserted)

    return rest(0, 0)


def drawn(draws: Random) -> tuple[str, str, Costs]:
    source, target = ("".join(draws.choices("abc", k=draws.randrange(5))) for _ in range(2))
    return source, target, Costs(*(draws.choice([0.0, 0.5, 1.0, 1.3, 2.0, 5.0]) for _ in range(3)))


def price(kind: str, costs: Costs) -> float:
    return {"keep": 0.0, "insert": costs.insert, "delete": costs.delete, "substitute": costs.substitute}[kind]


@pytest.mark.parametrize(
    ("source", "target", "costs", "wanted"),
    [
        ("INTENTION", "EXECUTION", UNIT, 5),
        ("INTENTION", "EXECUTION", Costs(substitute=2), 8),
        ("monkey", "money", UNIT, 1),
        ("money", "monkey", Costs(insert=0.25, delete=9), 0.25),
        ("", "abc", Costs(insert=2), 6),
        ("abc", "", Costs(delete=3), 9),
        ("", "", UNIT, 0),
    ],
)
def test_known_distances(source: str, target: str, costs: Costs, wanted: float) -> None:
    assert distance(source, target, costs) == wanted


def test_brute_force_agrees() -> None:
    draws = Random(1)
    for _ in range(PAIRS):
        source, target, costs = drawn(draws)
        assert distance(source, target, costs) == pytest.approx(brute_force(source, target, costs))


def test_the_edits_make_the_target_and_cost_the_distance() -> None:
    draws = Random(2)
    for _ in range(500):
        source, target, costs = drawn(draws)
        edits = align(source, target, costs)
        assert "".join(edit.source or "" for edit in edits) == source
        assert "".join(edit.target or "" for edit in edits) == target
        assert all((edit.kind == "keep") == (edit.source == edit.target) for edit in edits)
        assert sum(price(edit.kind, costs) for edit in edits) == pytest.approx(distance(source, target, costs))


def test_of_equally_cheap_ways_one_keeps_most() -> None:
    kinds = [edit.kind[0] for edit in align("INTENTION", "EXECUTION")]
    assert "".join(kinds) == "dsskiskkkk"  # Jurafsky & Martin's figure; five substitutions would cost as much


def test_arrows_show_every_cheapest_way() -> None:
    table = EditTable("ab", "b", Costs(substitute=2))
    assert table.arrows(1, 1) == ["substitute", "delete", "insert"]
    assert table.arrows(2, 1) == ["keep"]
    assert table.path() == [(0, 0), (1, 0), (2, 1)]
    assert len(EditTable("a", "b", Costs(0.1, 0.2, 0.3)).arrows(1, 1)) == 3  # 0.1 + 0.2 is not quite 0.3


def test_the_table_of_a_textbook() -> None:
    assert draw("monkey", "money", UNIT).split("\n") == [
        "    #     m     o     n     e     y",
        "#  [0]   ←1    ←2    ←3    ←4    ←5",
        "m  ↑1   [↖0]   ←1    ←2    ←3    ←4",
        "o  ↑2    ↑1   [↖0]   ←1    ←2    ←3",
        "n  ↑3    ↑2    ↑1   [↖0]   ←1    ←2",
        "k  ↑4    ↑3    ↑2   [↑1]   ↖1   ↖←2",
        "e  ↑5    ↑4    ↑3    ↑2   [↖1]  ↖←2",
        "y  ↑6    ↑5    ↑4    ↑3    ↑2   [↖1]",
        "",
        "m  o  n  k  e  y",
        "|  |  |  |  |  |",
        "m  o  n  *  e  y",
        "         d",
        "",
        "delete k: 1",
        "distance 1 (insert 1, delete 1, substitute 1)",
    ]


def test_words_and_wide_letters_stay_in_columns() -> None:
    lines = draw(["日本", "a"], ["b", "a"], Costs(substitute=2)).split("\n")
    assert [line.index("↑") for line in lines[2:4]] == [6 - 2, 6]  # 日本 takes four places with two letters
    assert "substitute b for 日本: 2" in lines
    assert "␣" in draw("a b", "ab", UNIT)
    assert {"substitute ␣ for ␉: 1", "substitute ␊ for ␛: 1"} <= set(draw("\t\x1b", " \n", UNIT).split("\n"))
    assert "distance 1 " in draw("␣", " ", UNIT)  # a space is not its sign
    assert "(both are empty)" in draw("", "", UNIT)


@pytest.mark.parametrize("cost", [float("nan"), float("inf")])
def test_a_cost_is_a_number(cost: float) -> None:
    with pytest.raises(UserError, match=rf"--delete {cost}: what an edit costs should be a number"):
        draw("a", "b", Costs(delete=cost))


def test_a_table_that_nobody_could_read_is_refused() -> None:
    with pytest.raises(UserError, match=r"1,000 by 1,000 units is too large to be read: .*--words"):
        draw("a" * 1000, "b" * 1000, UNIT)
