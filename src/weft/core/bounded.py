"""Files that are small if they are what they should be: how large one is, is looked at before it is read."""

from pathlib import Path

from weft.core.errors import UserError

LARGEST = 2**28  # bytes: a tokenizer of a million pieces has 2**26


def read_bounded(path: Path, largest: int = LARGEST) -> bytes:
    """What a file holds; a UserError if that is more than any good one has."""
    size = path.stat().st_size if path.is_file() else 0  # of a pipe, nobody knows
    with path.open("rb") as file:
        content = file.read(largest + 1) if size <= largest else b""
    if max(size, len(content)) > largest:
        raise UserError(f"{path}: is too large (more than {largest:,} bytes); is it the right file?")
    return content
