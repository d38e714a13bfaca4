"""Which letters stand side by side on a keyboard."""

from collections.abc import Mapping
from math import dist
from types import MappingProxyType
from typing import Literal

Layout = Literal["qwerty", "qwertz", "azerty"]

ROWS: Mapping[Layout, tuple[str, str, str]] = MappingProxyType(
    {
        "qwerty": ("qwertyuiop", "asdfghjkl", "zxcvbnm"),
        "qwertz": ("qwertzuiopü", "asdfghjklöä", "yxcvbnm"),
        "azerty": ("azertyuiop", "qsdfghjklm", "wxcvbn"),
    }
)
SHIFTS = (0.0, 0.25, 0.75)  # how far to the right each row begins, in widths of a key
NEAR = 1.3  # keys that touch are no further apart than this


def neighbours(layout: Layout) -> dict[str, str]:
    """For each letter of the keyboard, the letters whose keys touch its own."""
    places = {
        letter: (column + shift, row)
        for row, (letters, shift) in enumerate(zip(ROWS[layout], SHIFTS, strict=True))
        for column, letter in enumerate(letters)
    }
    return {
        letter: "".join(other for other, there in places.items() if 0 < dist(here, there) < NEAR)
        for letter, here in places.items()
    }
