"""What a user may say about data."""

import os
from dataclasses import dataclass
from pathlib import Path

from weft.core.types import Count, Positive, Rate
from weft.data.corpus import Corpus
from weft.data.part import Part
from weft.text.reader import Reads


@dataclass(frozen=True, kw_only=True)
class Data:
    """Where the pairs are and which are used.

    folder: what relative paths start from. train, valid, test: two files of as many lines, or one .tsv or .jsonl; each
    may end in .gz. fields: the keys of a .jsonl. cache: where tokenized data is kept (empty: $WEFT_CACHE or
    ~/.cache/weft).

    In training, a pair is left out if a side is empty, if it came before (`drop_duplicates`), if a side has more than
    `max_length` tokens, or if the longer side has more than `max_ratio` times the tokens of the shorter one; the ratio
    is not asked where the longer side has ten tokens or fewer, since "Ja." for "Yes, I do indeed." is no error, nor of
    pictures, of which a token is a column. In validation and test nothing is left out.

    A source that names pictures (text.source) names them from the folder of the file in which the names stand.

    hold_out: the share (0 to 1) of the training pairs that are kept for validation where `valid` names no files.

    one_sided: there is a text and no translation of it, for a language model: train, valid and test are one text file
    each, and each line is the target of an empty source, which is no reason to leave it out.
    """

    folder: str = ""
    train: tuple[str, ...] = ()
    valid: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    fields: tuple[str, str] = ("source", "target")
    max_length: Count = 256
    max_ratio: Positive = 9.0
    drop_duplicates: bool = True
    hold_out: Rate = 0.0
    one_sided: bool = False
    cache: str = ""

    def splits(self, source: Reads = "text") -> dict[str, Corpus]:
        """The corpora that are named, by train, valid and test. source: what its lines are."""
        named = {"train": self.train, "valid": self.valid, "test": self.test}
        corpora = {name: self._corpus(paths, None, source) for name, paths in named.items() if paths}
        if self.hold_out and not self.valid:
            corpora["train"] = self._corpus(self.train, Part(self.hold_out, held_out=False), source)
            corpora["valid"] = self._corpus(self.train, Part(self.hold_out, held_out=True), source)
        return corpora

    def _corpus(self, paths: tuple[str, ...], part: Part | None, source: Reads) -> Corpus:
        folder = Path(self.folder).expanduser()
        found = [folder / Path(path).expanduser() for path in paths]
        return Corpus(found, self.fields, part, one_sided=self.one_sided, source=source)

    def cache_folder(self) -> Path:
        return Path(self.cache or os.environ.get("WEFT_CACHE") or "~/.cache/weft").expanduser()
