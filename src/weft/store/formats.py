"""Layouts of folders: the newest is read as it is, an older one is changed while it is read, a newer one is refused."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

FORMAT = 1  # the newest layout that this version reads, and the one that it writes
Change: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]


class Migration(NamedTuple):
    """What the next format has otherwise, in each file that says what a model is."""

    manifest: Change
    config: Change


MIGRATIONS: Mapping[int, Migration] = {}  # from each older format to the next; the first format is 1


def migrated(
    node: dict[str, Any],
    which: Literal["manifest", "config"],
    written: int,
    migrations: Mapping[int, Migration] = MIGRATIONS,
) -> dict[str, Any]:
    """What a file of the format `written` would say in the newest one."""
    for number in sorted(older for older in migrations if older >= written):
        change = migrations[number].manifest if which == "manifest" else migrations[number].config
        node = change(node)
    return node
