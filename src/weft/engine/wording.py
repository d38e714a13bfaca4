"""Counts as a person says them."""

from collections.abc import Sequence


def counted(number: int, what: str) -> str:
    """1 line, 2 lines."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def some(numbers: Sequence[int]) -> str:
    """The first of them."""
    return ", ".join(map(str, numbers[:10])) + (" ..." if len(numbers) > 10 else "")
