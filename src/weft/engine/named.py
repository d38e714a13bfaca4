"""Input that is made of names: of pictures, for a model that reads them."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from weft.core.errors import UserError
from weft.data.lines import beside


def named_in(file: Path, names: Iterable[str]) -> Iterator[str]:
    """The paths of the files that a file names, a line each, from the folder that it stands in."""
    return (path_of(file, name, number) for number, name in enumerate(names, start=1))


def path_of(file: Path, name: str, line: int) -> str:
    """The same of one line; one of a table is told for what it is."""
    try:
        return beside(file, name, line)
    except UserError as error:
        picture, tab, _ = name.partition("\t")
        if not tab:
            raise
        raise UserError(
            f"{file}, line {line}: wanted the name of a picture and nothing else, but there is a tab after {picture}. "
            "To score a table of pictures and texts: weft evaluate MODEL TEST.tsv"
        ) from error
