"""Law 4: IBM model 1 equals a sum over all alignments."""

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
        np.concatenate([np.array(row, np.uint32) for row in lists]), np.array([len(row) for row in lists])
    )


def portions(*cuts: int) -> list[RaggedPairs]:
    edges = zip((0, *cuts), (*cuts, len(PAIRS)), strict=True)
    return [(rows([source for source, _ in PAIRS[a:b]]), rows([target for _, target in PAIRS[a:b]])) for a, b in edges]


def enumerated_table(iterations: int) -> dict[tuple[int, int], float]:
    """Return t(f | e) by enumerating the alignments of each pair (Brown et al. 1993, equation 10)."""
    cooccurring = {(e, f) for source, target in PAIRS for e in [NULL, *source] for f in target}
    table = {(e, f): 1 / sum(source == e for source, _ in cooccurring) for e, f in cooccurring}
    for _ in range(iterations):
        counts = dict.fromkeys(table, 0.0)
        for source, target in PAIRS:
            alignments = list(product([NULL, *source], repeat=len(target)))
            probabilities = [
                np.prod([table[e, f] for e, f in zip(alignment, target, strict=True)]) for alignment in alignments
            ]
            for alignment, probability in zip(alignments, probabilities, strict=True):
                for link in zip(alignment, target, strict=True):
                    counts[link] += float(probability / sum(probabilities))
        table = {(e, f): c / sum(v for (source, _), v in counts.items() if source == e) for (e, f), c in counts.items()}
    return table


def as_table(translation_table: TranslationTable) -> dict[tuple[int, int], float]:
    return {(int(e), int(f)): float(t) for e, f, t in zip(*translation_table, strict=True)}


@pytest.mark.parametrize("iterations", [0, 1, 4])
@pytest.mark.parametrize("cuts", [(), (1, 3)])
def test_ibm1_equals_sum_over_all_alignments(iterations: int, cuts: tuple[int, ...]) -> None:
    actual = as_table(train_ibm1(portions(*cuts), SIZE, iterations))
    assert actual == pytest.approx(enumerated_table(iterations))


def test_cooccurring_tokens_are_translations() -> None:
    """6 occurs wherever 4 does, 8 wherever 7 does."""
    table = as_table(train_ibm1(portions(), SIZE, 20))
    assert table[4, 6] > 0.9 > table[3, 6]
    assert table[7, 8] > table[7, 5]


def test_portions_are_split_by_number_of_links() -> None:
    whole = portions()[0]
    split = list(split_by_links(whole, 5))
    assert [len(make_links(portion).targets) for portion in split] == [3 * 2, 2 * 1 + 4 * 2, 2 * 3]
    for side in range(2):
        assert np.concatenate([portion[side].values for portion in split]).tolist() == whole[side].values.tolist()
        assert np.concatenate([portion[side].lengths for portion in split]).tolist() == whole[side].lengths.tolist()


def peak_memory(pairs: list[RaggedPairs]) -> int:
    """Return the peak memory in bytes while training."""
    tracemalloc.start()
    train_ibm1(pairs, 1000, 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_memory_does_not_grow_with_number_of_portions() -> None:
    random = np.random.default_rng(1)
    source, target = (RaggedRows(random.integers(3, 300, 10_000), np.full(1000, 10)) for _ in range(2))
    assert peak_memory([(source, target)] * 40) < 1.5 * peak_memory([(source, target)] * 4)
