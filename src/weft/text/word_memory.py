"""Words whose pieces are known already: text repeats its words, so most of a line needs no library.

It is right where no piece reaches over a space: then the pieces of a line are those of its words, one after the other.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, filterfalse
from threading import Lock

import numpy as np

from weft.text.rows import Rows

MOST = 2**17  # words that are remembered: some ten megabytes
LONGEST = 32  # letters of a word that is remembered; longer ones, such as lines without a space, hardly come again
ID = np.dtype(np.uint32)


class WordMemory:
    """Encodes lines word by word. encode: gives the ids of each of some lines, before each of which a space is put.

    Several threads may ask at once, as those of a server do.
    """

    def __init__(self, encode: Callable[[list[str]], list[list[int]]]):
        self._encode = encode
        self._known: dict[str, bytes] = {}  # word -> its ids
        self._lock = Lock()

    def encode_rows(self, lines: Iterable[str]) -> Rows:
        """A row of ids for each line."""
        words = [line.split(" ") if line else () for line in lines]
        with self._lock:
            new = set(filterfalse(self._known.__contains__, chain.from_iterable(words)))
            self._learn(list(new))
            rows = [b"".join(map(self._known.__getitem__, row)) for row in words]
            self._forget(new)
        lengths = np.fromiter(map(len, rows), np.int64, len(rows)) // ID.itemsize
        return Rows(np.frombuffer(b"".join(rows), ID), lengths)

    def _learn(self, new: Sequence[str]) -> None:
        rows = self._encode([word or " " for word in new])
        for word, row in zip(new, rows, strict=True):
            ids = (
                row if word else row[: len(row) // 2]
            )  # nothing between two spaces: one of them, not the one put there
            self._known[word] = array(ID.char, ids).tobytes()  # for a few numbers faster than numpy

    def _forget(self, new: Iterable[str]) -> None:
        """Keep memory small; frequent words are back with the next lines."""
        if len(self._known) > MOST:
            self._known.clear()
            return
        for word in new:
            if len(word) > LONGEST:
                del self._known[word]
