"""What a user may say about data."""

import os
from dataclasses import dataclass
from pathlib import Path

from weft.core.types import Count, Positive
from weft.data.corpus import Corpus


@dataclass(frozen=True, kw_only=True)
class Data:
    """Where the pairs are and which are used.

    folder: what relative paths start from. train, valid, test: two files of as many lines, or one .tsv or .jsonl; each
    may end in .gz. fields: the keys of a .jsonl. cache: where tokenized data is kept (empty: $WEFT_CACHE or
    ~/.cache/weft).

    In training, a pair is left out if a side is empty, if it came before (`drop_duplicates`), if a side has more than
    `max_length` tokens, or if the longer side has more than `max_ratio` times the tokens of the shorter one; the ratio
    is not asked where the longer side has ten tokens or fewer, since "Ja." for "Yes, I do indeed." is no error. In
    validation and test nothing is left out.
    """

    folder: str = ""
    train: tuple[str, ...] = ()
    valid: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    fields: tuple[str, str] = ("source", "target")
    max_length: Count = 256
    max_ratio: Positive = 9.0
    drop_duplicates: bool = True
    cache: str = ""

    def corpus(self, paths: tuple[str, ...]) -> Corpus:
        """The corpus of one split: `data.corpus(data.train)`."""
        folder = Path(self.folder).expanduser()
        return Corpus([folder / Path(path).expanduser() for path in paths], self.fields)

    def cache_folder(self) -> Path:
        return Path(self.cache or os.environ.get("WEFT_CACHE") or "~/.cache/weft").expanduser()
