"""Every random draw is a function of (seed, purpose, numbers such as the step): runs can be repeated and resumed."""

from hashlib import blake2b

import torch


def seed_for(seed: int, purpose: str, *numbers: int) -> int:
    """A 63-bit seed: equal for equal arguments, unrelated for any others."""
    text = "/".join([str(seed), purpose, *map(str, numbers)])
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little") >> 1


def set_draws(seed: int, purpose: str, *numbers: int) -> None:
    """Set torch's generators anew, so that what follows depends on these arguments alone."""
    torch.manual_seed(seed_for(seed, purpose, *numbers))
