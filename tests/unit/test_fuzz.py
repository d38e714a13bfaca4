"""Fuzzing: whatever the bytes, a reader raises nothing but UserError."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fuzz.readers import Reader, read_safely, readers

READERS = readers()
MUTANTS, MIN_PER_SEED = 60, 5  # per reader, and per seed


@pytest.fixture(params=READERS)
def reader(request: pytest.FixtureRequest) -> Reader:
    return READERS[request.param]


def test_good_input_is_read(reader: Reader, tmp_path: Path) -> None:
    """Seeds are valid, except for a shortlist (more than tensors) and a JSON body (valid for one kind of request)."""
    read = [read_safely(reader, tmp_path, seed) for seed in reader.seeds(tmp_path)]
    assert any(read) or reader in (READERS["shortlist"], READERS["json-body"])


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(content=st.binary(max_size=200))
@example(b"")
@example(b"[" * 20_000)
@example(b'{"a": ' * 20_000)
def test_random_bytes(reader: Reader, tmp_path: Path, content: bytes) -> None:
    read_safely(reader, tmp_path, content)


def test_mutated_seeds(reader: Reader, tmp_path: Path) -> None:
    draws, seeds = Random(1), reader.seeds(tmp_path)
    for seed in seeds:
        for _ in range(max(MIN_PER_SEED, MUTANTS // len(seeds))):
            read_safely(reader, tmp_path, mutate(seed, reader.words, draws))


def mutate(seed: bytes, words: tuple[bytes, ...], draws: Random) -> bytes:
    """Apply one to three changes: replace a byte, cut, repeat, or insert a word."""
    for _ in range(draws.randint(1, 3)):
        first, second = sorted(draws.randrange(len(seed) + 1) for _ in range(2))
        new = draws.choice([bytes([draws.randrange(256)]), b"", seed[first:second] * 2, *words])
        seed = seed[:first] + new + seed[draws.choice([first, first + 1, second]) :]
    return seed


def test_decompression_bombs_are_refused(reader: Reader, tmp_path: Path) -> None:
    assert not any(read_safely(reader, tmp_path, bomb) for bomb in reader.bombs())


NO_UNKNOWN = b"""{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
    "pre_tokenizer": null, "post_processor": null, "decoder": null,
    "model": {"type": "BPE", "unk_token": "<unk>", "vocab": {"a": 0}, "merges": []}}"""
KNOWN_FAILURES = [("tokenizer", NO_UNKNOWN)]


@pytest.mark.parametrize(("name", "content"), KNOWN_FAILURES)
def test_known_failures_stay_fixed(name: str, content: bytes, tmp_path: Path) -> None:
    READERS[name].seeds(tmp_path)
    read_safely(READERS[name], tmp_path, content)
