"""What single words become that a model does not know, from a file of rows: a word, a tab, its translation."""

from collections.abc import Mapping
from pathlib import Path

from weft.core.errors import UserError
from weft.data.lines import read_lines


def read_dictionary(path: Path) -> dict[str, str]:
    """The first translation of each word. Blank rows, and those that begin with "#", are left out."""
    words: dict[str, str] = {}
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.split("\t")]
        if len(parts) != 2 or not all(parts):
            raise UserError(f"{path}, line {number}: should be a word, one tab, and its translation, but is {line!r}")
        words.setdefault(*parts)
    if not words:
        raise UserError(f"{path}: has no words; write a word, a tab and its translation a line")
    return words


def looked_up(word: str, dictionary: Mapping[str, str]) -> str:
    """The entry of a word, of the word in small letters, or, if it has none, the word itself."""
    return dictionary.get(word) or dictionary.get(word.lower(), word)
