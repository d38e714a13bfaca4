"""What CTranslate2 calls the tokens: a word without white space for each, since its files are parted by that."""

from collections.abc import Iterable, Iterator

from weft.core.marks import NAMES
from weft.text.pieces import SHOWN_SPACE
from weft.text.tokenizer import Tokenizer


def token_names(tokenizer: Tokenizer) -> list[str]:
    """A name for each id, no two alike: white space is shown, and of two that would be the same one has a longer one.

    Marks give way to pieces, and pieces that are as they are shown come before those that are not.
    """
    pieces = tokenizer.raw_pieces()
    taken = {piece for piece in pieces if piece == shown(piece)}
    others = (*NAMES, *(shown(piece) for piece in pieces if piece != shown(piece)))
    distinct = apart(others, taken)
    marks = [next(distinct) for _ in NAMES]
    return [*marks, *(piece if piece == shown(piece) else next(distinct) for piece in pieces)]


def shown(piece: str) -> str:
    """The piece with a sign for each white space; of no letters, that sign too."""
    return "".join(SHOWN_SPACE if letter.isspace() else letter for letter in piece) or SHOWN_SPACE


def apart(names: Iterable[str], taken: set[str]) -> Iterator[str]:
    """The names, each made longer until it is new."""
    for name in names:
        while name in taken:
            name += "_"
        taken.add(name)
        yield name
