"""Law 4: IBM's model 1 is what a sum over all alignments says."""

import tracemalloc
from itertools import product

import numpy as np
import pytest

from weft.core.codec import RaggedRows
from weft.text.ibm1 import NULL, RaggedPairs, TranslationTable, make_links, split_by_links, train_ibm1

SIZE = 9
PAIRS = [([3, 4], [5, 6]), ([3], [5]), ([4, 3, 4], [6, 6]), ([7], [5, 8, 8])]


def rows(lists: list[list[int]]) -> RaggedRows:
    return RaggedRows(
        np.concatenate([np.array(one, np.uint32) for one in lists]), np.array([len(one) for one in lists])
    )


def portions(*cuts: int) -> list[RaggedPairs]:
    edges = zip((0, *cuts), (*cuts, len(PAIRS)), strict=True)
    return [(rows([one for one, _ in PAIRS[a:b]]), rows([other for _, other in PAIRS[a:b]])) for a, b in edges]


def by_hand(iterations: int) -> dict[tuple[int, int], float]:
    """t(f | e): each alignment of each pair by itself, with its probability (Brown et al. 1993, equation 10)."""
    together = {(e, f) for source, target in PAIRS for e in [NULL, *source] for f in target}
    table = {(e, f): 1 / sum(one == e for one, _ in together) for e, f in together}
    for _ in range(iterations):
        counts = dict.fromkeys(table, 0.0)
        for source, target in PAIRS:
            ways = list(product([NULL, *source], repeat=len(target)))
            chances = [np.prod([table[e, f] for e, f in zip(way, target, strict=True)]) for way in ways]
            for way, chance in zip(ways, chances, strict=True):
                for link in zip(way, target, strict=True):
                    counts[link] += float(chance / sum(chances))
        table = {(e, f): c / sum(v for (one, _), v in counts.items() if one == e) for (e, f), c in counts.items()}
    return table


def as_table(lexicon: TranslationTable) -> dict[tuple[int, int], float]:
    return {(int(e), int(f)): float(t) for e, f, t in zip(*lexicon, strict=True)}


@pytest.mark.parametrize("iterations", [0, 1, 4])
@pytest.mark.parametrize("cuts", [(), (1, 3)])
def test_model_1_is_the_sum_over_all_alignments(iterations: int, cuts: tuple[int, ...]) -> None:
    found = as_table(train_ibm1(portions(*cuts), SIZE, iterations))
    assert found == pytest.approx(by_hand(iterations))


def test_what_belongs_together_is_found() -> None:
    """6 stands wherever 4 does, 8 wherever 7 does."""
    table = as_table(train_ibm1(portions(), SIZE, 20))
    assert table[4, 6] > 0.9 > table[3, 6]
    assert table[7, 8] > table[7, 5]


def test_portions_hold_so_many_links_and_the_rest_of_a_pair() -> None:
    whole = portions()[0]
    few = list(split_by_links(whole, 5))
    assert [len(make_links(one).targets) for one in few] == [3 * 2, 2 * 1 + 4 * 2, 2 * 3]
    for side in range(2):
        assert np.concatenate([one[side].ids for one in few]).tolist() == whole[side].ids.tolist()
        assert np.concatenate([one[side].lengths for one in few]).tolist() == whole[side].lengths.tolist()


def peak(pairs: list[RaggedPairs]) -> int:
    """Bytes that are in use at once while a lexicon is learned."""
    tracemalloc.start()
    train_ibm1(pairs, 1000, 1)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def test_more_portions_of_the_same_kinds_need_no_more_memory() -> None:
    draws = np.random.default_rng(1)
    one, other = (RaggedRows(draws.integers(3, 300, 10_000), np.full(1000, 10)) for _ in range(2))
    assert peak([(one, other)] * 40) < 1.5 * peak([(one, other)] * 4)
