"""Corpora: sentence pairs, or lines alone, read from files as they are needed; a hash of the source decides which
pairs are held out for validation.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

from weft.core.codec import Modality
from weft.core.errors import UserError
from weft.core.lazy import Reiterable
from weft.data.hashes import hash_file, hash_lines
from weft.data.pair_files import LinePair, Shard, find_shards, read_pairs
from weft.data.text_files import require_regular_file, resolve_listed_file

Item = TypeVar("Item")


@dataclass(frozen=True)
class HoldoutSplit:
    """The held-out pairs of a corpus (about `fraction` of all), or all others.

    A hash of the words of the source decides, so that no sentence is in both.
    """

    fraction: float
    is_held_out: bool

    def contains(self, source: str) -> bool:
        (number,) = hash_lines([normalize_words(source)])
        return (int(number) < self.fraction * 2**64) == self.is_held_out


def normalize_words(sentence: str) -> str:
    """Remove case, punctuation and extra spaces: "is it you"."""
    composed = unicodedata.normalize("NFC", sentence).casefold()
    return " ".join("".join(char if char.isalnum() else " " for char in composed).split())


class Corpus:
    """Pairs of two parallel text files, of one .tsv (the first two columns) or of one .jsonl; may be compressed.

    names: the files; each may be a glob pattern for several shards.
    mixed_with: the names of further corpora, which follow.
    holdout: which pairs to read; all if None.
    monolingual: one text file, whose lines are targets of an empty source.
    modality: `image` if each source line is the path of an image, relative to the folder of its file. Such pairs are
    identified by the content of the image, not by its name.
    hash_function: identifies the content of a file.
    """

    def __init__(
        self,
        names: Sequence[Path | str],
        fields: tuple[str, str] = ("source", "target"),
        holdout: HoldoutSplit | None = None,
        *,
        mixed_with: Sequence[Sequence[Path | str]] = (),
        monolingual: bool = False,
        modality: Modality = "text",
        hash_function: Callable[[Path], bytes] = hash_file,
    ):
        self.names = tuple(tuple(map(Path, each)) for each in (names, *mixed_with))
        self.fields = fields
        self.holdout = holdout
        self.monolingual = monolingual
        self.modality = modality
        self._hash_function = hash_function
        self.unit = "line" if monolingual else "pair"
        self._members = tuple(find_shards(each, monolingual=monolingual) for each in self.names)
        self._paths = tuple(path for member in self._members for shard in member for path in shard.paths)

    def __str__(self) -> str:
        return ", ".join(map(self._display_name, self.names))

    def pairs(self) -> Iterable[LinePair]:
        """Return the pairs, read from the files again in each iteration."""
        return Reiterable(lambda: self._require_any(chain.from_iterable(map(self._read, range(len(self.names))))))

    def chunks(self, size: int) -> Iterator[tuple[int, list[LinePair]]]:
        """Yield up to `size` pairs at a time, with the index of the corpus that they belong to."""
        return self._require_any(self._chunks(size))

    def pair_keys(self, pairs: Iterable[LinePair]) -> Iterator[str]:
        """Yield the text that identifies each pair: the source, or the target if monolingual, or the image's hash."""
        if self.modality == "image":
            return (hash_file(Path(source)).hex() if source.strip() else "" for source, _ in pairs)
        return (target if self.monolingual else source for source, target in pairs)

    def location(self, index: int) -> str:
        """Return the file and line of the pair with this index, from 0."""
        shards = chain.from_iterable(self._members)
        locations = ((shard, line) for shard in shards for line, _ in self._numbered(shard))
        shard, line = next(islice(locations, index, None))
        return f"{shard.paths[0]}, {shard.unit} {line}"

    def fingerprint(self) -> str:
        """Return a hash of the content and of how it is read; equal wherever the files are."""
        self._require_files()
        formats = [[shard.format for shard in member] for member in self._members]
        how = [formats, self.fields, None if self.holdout is None else asdict(self.holdout)]
        digest = blake2b(json.dumps(how).encode(), digest_size=16)
        for path in self._paths:
            digest.update(self._hash_function(path))
        if self.modality == "image":
            for key in self.pair_keys(self.pairs()):
                digest.update(key.encode())
        return digest.hexdigest()

    def _require_files(self) -> None:
        for path in self._paths:
            require_regular_file(path)

    def _chunks(self, size: int) -> Iterator[tuple[int, list[LinePair]]]:
        for index in range(len(self.names)):
            pairs = self._read(index)
            while chunk := list(islice(pairs, size)):
                yield index, chunk

    def _read(self, index: int) -> Iterator[LinePair]:
        """Yield the pairs of one corpus, which must not be empty (but its holdout may be)."""
        self._require_files()
        pairs = (pair for shard in self._members[index] for _, pair in self._numbered(shard))
        if self.holdout is not None:
            return pairs
        return _require_items(pairs, f"{self._display_name(self.names[index])}: empty, there is no {self.unit} in it")

    def _require_any(self, items: Iterator[Item]) -> Iterator[Item]:
        advice = "Change data.validation_fraction, or name files in data.valid."
        return _require_items(items, f"{self}: no {self.unit} is in this part. {advice}")

    def _numbered(self, shard: Shard) -> Iterator[tuple[int, LinePair]]:
        """Yield the pairs of the holdout with their line numbers, from 1."""
        numbered: Iterator[tuple[int, LinePair]] = enumerate(read_pairs(shard, self.fields), start=1)
        if self.modality == "image":
            file = shard.paths[0]
            numbered = (
                (number, (resolve_listed_file(file, source, number), target)) for number, (source, target) in numbered
            )
        if self.holdout is None:
            return numbered
        contains = self.holdout.contains
        return ((number, pair) for number, pair in numbered if contains(*self.pair_keys([pair])))

    def _display_name(self, names: Sequence[Path]) -> str:
        suffix = " (held out)" if self.holdout is not None and self.holdout.is_held_out else ""
        return " + ".join(map(str, names)) + suffix


def _require_items(items: Iterator[Item], message: str) -> Iterator[Item]:
    """Yield the items; raise UserError if there are none."""
    for first in items:
        yield first
        yield from items
        return
    raise UserError(message)
