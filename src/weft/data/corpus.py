"""Pairs of lines, or lines alone, read from files as they are needed."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

from weft.core.errors import UserError
from weft.data.lines import beside, hash_file, require_plain_file
from weft.data.pairs import Pair, read_pairs
from weft.data.part import Part
from weft.data.shards import Shard, shards_of
from weft.text.reader import Reads
from weft.text.rereading import Rereadable

Item = TypeVar("Item")


class Corpus:
    """Two text files of as many lines, or one .tsv (the first two columns) or .jsonl (the fields named); maybe packed.

    names: of these files; each may be a pattern, and then stands for its shards, one after the other.
    more: the names of further corpora, which follow; all together are mixed in training.
    part: if given, only its pairs are read.
    one_sided: one text file, each line of which is the target of an empty source.
    source: what its lines are. Those that name pictures, from the folder of the file they stand in, become paths; the
    pictures are part of the corpus, and what they hold is what counts, not their names.
    hash_of: how the bytes of a file are known again.
    A line break inside a JSON string becomes a space, since everywhere else an example is a line.
    """

    def __init__(
        self,
        names: Sequence[Path | str],
        fields: tuple[str, str] = ("source", "target"),
        part: Part | None = None,
        *,
        more: Sequence[Sequence[Path | str]] = (),
        one_sided: bool = False,
        source: Reads = "text",
        hash_of: Callable[[Path], bytes] = hash_file,
    ):
        self.names = tuple(tuple(map(Path, each)) for each in (names, *more))
        self.fields = fields
        self.part = part
        self.one_sided = one_sided
        self.source = source
        self._hash_of = hash_of
        self.unit = "line" if one_sided else "pair"  # what an example is called
        self._members = tuple(shards_of(each, one_sided=one_sided) for each in self.names)

    def __str__(self) -> str:
        return ", ".join(map(self._told, self.names))

    def pairs(self) -> Iterable[Pair]:
        """Each source line with its target line, read from the files anew in each loop over them."""
        return Rereadable(lambda: self._any(chain.from_iterable(map(self._read, range(len(self.names))))))

    def chunks(self, size: int) -> Iterator[tuple[int, list[Pair]]]:
        """The same, so many at once, each time with the number of the corpus that they are from."""
        return self._any(self._chunks(size))

    def telling(self, pairs: Iterable[Pair]) -> Iterator[str]:
        """The line of each pair by which it is known again: the source, if there is one; of a picture, a hash."""
        if self.source == "pictures":
            return (hash_file(Path(source)).hex() if source.strip() else "" for source, _ in pairs)
        return (target if self.one_sided else source for source, target in pairs)

    def place(self, number: int) -> str:
        """Where the pair with this number, from 0, stands."""
        places = ((shard, line) for shard in self._shards() for line, _ in self._numbered(shard))
        shard, line = next(islice(places, number, None))
        return f"{shard.paths[0]}, line {line}"

    def fingerprint(self) -> str:
        """Equal for equal bytes read in the same way, wherever the files are."""
        self._require_files()
        kinds = [[shard.kind for shard in member] for member in self._members]
        how = [kinds, self.fields, None if self.part is None else asdict(self.part)]
        whole = blake2b(json.dumps(how).encode(), digest_size=16)
        for shard in self._shards():
            for path in shard.paths:
                whole.update(self._hash_of(path))
        if self.source == "pictures":
            for telling in self.telling(self.pairs()):
                whole.update(telling.encode())
        return whole.hexdigest()

    def _shards(self) -> Iterator[Shard]:
        return chain.from_iterable(self._members)

    def _require_files(self) -> None:
        for shard in self._shards():
            for path in shard.paths:
                require_plain_file(path)

    def _chunks(self, size: int) -> Iterator[tuple[int, list[Pair]]]:
        for number in range(len(self.names)):
            pairs = self._read(number)
            while chunk := list(islice(pairs, size)):
                yield number, chunk

    def _read(self, number: int) -> Iterator[Pair]:
        """The pairs of the corpus with this number; no part of it, but a whole one, must hold some."""
        self._require_files()
        pairs = (pair for shard in self._members[number] for _, pair in self._numbered(shard))
        if self.part is not None:
            return pairs
        return _some(pairs, f"{self._told(self.names[number])}: empty, there is no {self.unit} in it")

    def _any(self, items: Iterator[Item]) -> Iterator[Item]:
        advice = f"no {self.unit} is in this part: change data.hold_out, or name files in data.valid"
        return _some(items, f"{self}: {advice}")

    def _numbered(self, shard: Shard) -> Iterator[tuple[int, Pair]]:
        """The pairs of this part, each with the number of its line, from 1."""
        numbered: Iterator[tuple[int, Pair]] = enumerate(read_pairs(shard, self.fields), start=1)
        if self.source == "pictures":
            file = shard.paths[0]
            numbered = ((number, (beside(file, source, number), target)) for number, (source, target) in numbered)
        if self.part is None:
            return numbered
        has = self.part.has
        return ((number, pair) for number, pair in numbered if has(*self.telling([pair])))

    def _told(self, names: Sequence[Path]) -> str:
        held_out = " (held out)" if self.part is not None and self.part.held_out else ""
        return " + ".join(map(str, names)) + held_out


def _some(items: Iterator[Item], otherwise: str) -> Iterator[Item]:
    """The items; if there are none, that is told."""
    for first in items:
        yield first
        yield from items
        return
    raise UserError(otherwise)
