"""What can be read more than once: a list can, a file that is opened anew each time can, an iterator cannot."""

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Rereadable(Generic[Item]):
    """Calls `read` for each reading, so that nothing has to be kept in memory between two."""

    def __init__(self, read: Callable[[], Iterator[Item]]):
        self._read = read

    def __iter__(self) -> Iterator[Item]:
        return self._read()


def readable_again(items: Iterable[Item]) -> Iterable[Item]:
    """The items themselves, or a list of them if they could be read only once."""
    return list(items) if iter(items) is items else items
