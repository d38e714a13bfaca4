"""A shortlist as CTranslate2 reads it: a line for each source piece, with a tab before its targets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from weft.export.described import Described
from weft.export.names import token_names
from weft.text.shortlist import Shortlist

MAP = "vmap.txt"  # as the library looks for it in the folder of a model


def write_map(folder: Path, described: Described, shortlist: Shortlist) -> None:
    lines = map_lines(shortlist, token_names(described.source_tokenizer), token_names(described.target))
    (folder / MAP).write_text("".join(f"{line}\n" for line in lines), "utf-8", newline="\n")


def map_lines(shortlist: Shortlist, source: list[str], target: list[str]) -> Iterator[str]:
    """What stands behind no name belongs to every source."""

    def named(ids: Iterable[int]) -> str:
        return " ".join(target[number] for number in ids)

    yield f"\t{named(shortlist.always)}"
    for number, name in enumerate(source):
        if len(few := shortlist.of_piece(number)):
            yield f"{name}\t{named(few)}"
