"""Edit distance compared with textbook examples and brute force, and the printed table."""

from functools import cache
from math import inf
from random import Random

import pytest

from weft.core.errors import UserError
from weft.metrics.edit_distance import UNIT_COSTS, EditCosts, EditTable, format_edit_table

PAIRS = 10_000


def brute_force(source: str, target: str, costs: EditCosts) -> float:
    """Memoized recursion: delete, insert or substitute the first unit."""

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


def random_case(draws: Random) -> tuple[str, str, EditCosts]:
    source, target = ("".join(draws.choices("abc", k=draws.randrange(5))) for _ in range(2))
    return source, target, EditCosts(*(draws.choice([0.0, 0.5, 1.0, 1.3, 2.0, 5.0]) for _ in range(3)))


def edit_cost(kind: str, costs: EditCosts) -> float:
    return {"keep": 0.0, "insert": costs.insert, "delete": costs.delete, "substitute": costs.substitute}[kind]


@pytest.mark.parametrize(
    ("source", "target", "costs", "expected"),
    [
        ("INTENTION", "EXECUTION", UNIT_COSTS, 5),
        ("INTENTION", "EXECUTION", EditCosts(substitute=2), 8),
        ("monkey", "money", UNIT_COSTS, 1),
        ("money", "monkey", EditCosts(insert=0.25, delete=9), 0.25),
        ("", "abc", EditCosts(insert=2), 6),
        ("abc", "", EditCosts(delete=3), 9),
        ("", "", UNIT_COSTS, 0),
    ],
)
def test_known_distances(source: str, target: str, costs: EditCosts, expected: float) -> None:
    assert EditTable(source, target, costs).distance() == expected


def test_distance_equals_brute_force() -> None:
    draws = Random(1)
    for _ in range(PAIRS):
        source, target, costs = random_case(draws)
        assert EditTable(source, target, costs).distance() == pytest.approx(brute_force(source, target, costs))


def test_edits_produce_the_target_and_cost_the_distance() -> None:
    draws = Random(2)
    for _ in range(500):
        source, target, costs = random_case(draws)
        table = EditTable(source, target, costs)
        edits = table.edits()
        assert "".join(edit.source or "" for edit in edits) == source
        assert "".join(edit.target or "" for edit in edits) == target
        assert all((edit.kind == "keep") == (edit.source == edit.target) for edit in edits)
        assert sum(edit_cost(edit.kind, costs) for edit in edits) == pytest.approx(
            EditTable(source, target, costs).distance()
        )


def test_ties_prefer_the_alignment_with_most_kept_units() -> None:
    kinds = [edit.kind[0] for edit in EditTable("INTENTION", "EXECUTION").edits()]
    assert "".join(kinds) == "dsskiskkkk"  # Jurafsky & Martin's figure; five substitutions would cost as much


def test_arrows_show_every_cheapest_edit() -> None:
    table = EditTable("ab", "b", EditCosts(substitute=2))
    assert table.arrows(1, 1) == ["substitute", "delete", "insert"]
    assert table.arrows(2, 1) == ["keep"]
    assert table.path() == [(0, 0), (1, 0), (2, 1)]
    assert len(EditTable("a", "b", EditCosts(0.1, 0.2, 0.3)).arrows(1, 1)) == 3  # 0.1 + 0.2 != 0.3 in floating point


def test_table_matches_the_textbook() -> None:
    assert format_edit_table("monkey", "money", UNIT_COSTS).split("\n") == [
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
        "distance 1 (costs: insert 1, delete 1, substitute 1)",
    ]


def test_words_and_wide_characters_stay_aligned() -> None:
    lines = format_edit_table(["日本", "a"], ["b", "a"], EditCosts(substitute=2)).split("\n")
    assert [line.index("↑") for line in lines[2:4]] == [6 - 2, 6]  # 日本 is two characters and four columns wide
    assert "substitute b for 日本: 2" in lines
    assert "␣" in format_edit_table("a b", "ab", UNIT_COSTS)
    assert {"substitute ␣ for ␉: 1", "substitute ␊ for ␛: 1"} <= set(
        format_edit_table("\t\x1b", " \n", UNIT_COSTS).split("\n")
    )
    assert "distance 1 " in format_edit_table("␣", " ", UNIT_COSTS)  # a space differs from the symbol that displays it
    assert "(both are empty)" in format_edit_table("", "", UNIT_COSTS)


@pytest.mark.parametrize("cost", [float("nan"), float("inf")])
def test_cost_must_be_finite(cost: float) -> None:
    with pytest.raises(UserError, match=rf"--delete {cost}: the cost of an edit must be a finite number"):
        format_edit_table("a", "b", EditCosts(delete=cost))


def test_table_too_large_to_read_is_refused() -> None:
    with pytest.raises(UserError, match=r"1,000 by 1,000 units is too large to read: .*--words"):
        format_edit_table("a" * 1000, "b" * 1000, UNIT_COSTS)
