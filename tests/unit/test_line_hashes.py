"""Line hashes: repeated and known lines are found block by block."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.data import hashes
from weft.data.hashes import hash_lines, hash_pairs, known_mask, repeated_mask

NUMBERS = st.lists(st.integers(0, 30), max_size=60)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashes, "HASH_BLOCK", 7)


def test_hashes_do_not_depend_on_the_process() -> None:
    assert hash_lines(["a", ""]).tolist() == [0x2F42665B399EF840, 0xB4B2797457A0A6E4]


def test_pair_hash_depends_on_the_split() -> None:
    assert len(set(hash_pairs([("a b", "c"), ("a", "b c"), ("a b", "c "), ("c", "a b")]).tolist())) == 4
    assert hash_pairs([("a", "b")]).tolist() == hash_pairs([("a", "b")]).tolist()


@given(NUMBERS)
def test_repeated_mask(numbers: list[int]) -> None:
    expected = [number in numbers[:index] for index, number in enumerate(numbers)]
    assert repeated_mask(np.array(numbers, np.uint64)).tolist() == expected


@given(NUMBERS, NUMBERS)
def test_known_mask(numbers: list[int], known: list[int]) -> None:
    expected = [number in known for number in numbers]
    assert known_mask(np.array(numbers, np.uint64), np.array(known, np.uint64)).tolist() == expected
