"""Random draws. Every draw is a function of (seed, purpose, numbers such as the step), so that runs can be repeated
and resumed exactly.
"""

from collections.abc import Iterable
from hashlib import blake2b
from random import Random
from typing import TypeVar

Item = TypeVar("Item")


def derive_seed(seed: int, purpose: str, *numbers: int) -> int:
    """Return a 63-bit seed: equal for equal arguments, unrelated for any others."""
    text = "/".join([str(seed), purpose, *map(str, numbers)])
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little") >> 1


def seed_all(seed: int, purpose: str, *numbers: int) -> None:
    """Seed torch's generators, so that the draws that follow depend on these arguments only."""
    import torch  # not above: most users of this module do without it

    torch.manual_seed(derive_seed(seed, purpose, *numbers))


def reservoir_sample(items: Iterable[Item], size: int, seed: int) -> list[Item]:
    """Return at most `size` items, each equally likely (algorithm R of Vitter 1985)."""
    draws = Random(derive_seed(seed, "sample of text"))  # noqa: S311 (not for secrets)
    sample: list[Item] = []
    for number, item in enumerate(items):
        if number < size:
            sample.append(item)
        elif (slot := int(draws.random() * (number + 1))) < size:
            sample[slot] = item
    return sample
