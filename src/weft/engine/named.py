"""Input that is made of names: of pictures, for a model that reads them."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from weft.data.lines import beside, read_lines
from weft.picture.names import is_picture


def picture_or_list(file: Path) -> Iterator[str]:
    """The picture itself; or the pictures that the lines of a text file name."""
    return iter([str(file)]) if is_picture(file.name) else named_in(file, read_lines(file))


def named_in(file: Path, names: Iterable[str]) -> Iterator[str]:
    """The paths of the files that a file names, a line each, from the folder that it stands in."""
    return (beside(file, name, number) for number, name in enumerate(names, start=1))
