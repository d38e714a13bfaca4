"""What a user may say about data."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from weft.core.types import Count, Positive, Rate
from weft.data.corpus import Corpus
from weft.data.known_files import KnownFiles
from weft.data.part import Part
from weft.text.reader import Reads


@dataclass(frozen=True, kw_only=True)
class Mixed:
    """One corpus of a mix. files: as those of `train`. times: how often its pairs are used in an epoch; with 0.5, half
    of them, in the next epoch the other half.
    """

    files: tuple[str, ...] = ()
    times: Positive = 1.0


@dataclass(frozen=True, kw_only=True)
class Data:
    """Where the pairs are and which are used.

    folder: what relative paths start from. train, valid, test: two files of as many lines, or one .tsv or .jsonl; each
    may end in .gz, .bz2 or .xz. A name with * or ? in it is a pattern, and stands for all files that it matches, in the
    order of their names. fields: the keys of a .jsonl. cache: where tokenized data is kept (empty: $WEFT_CACHE or
    ~/.cache/weft).

    In training, a pair is left out if a side is empty, if it came before (`drop_duplicates`), if a side has more than
    `max_length` tokens, or if the longer side has more than `max_ratio` times the tokens of the shorter one; the ratio
    is not asked where the longer side has ten tokens or fewer, since "Ja." for "Yes, I do indeed." is no error, nor of
    pictures, of which a token is a column. In validation and test nothing is left out.

    A source that names pictures (text.source) names them from the folder of the file in which the names stand.

    mix: several corpora instead of `train`, each with how often it is used. A pair that is in two of them counts as one
    of the first.

    hold_out: the share (0 to 1) of the training pairs that are kept for validation where `valid` names no files.

    one_sided: there is a text and no translation of it, for a language model: train, valid and test are one text file
    each, and each line is the target of an empty source, which is no reason to leave it out.
    """

    folder: str = ""
    train: tuple[str, ...] = ()
    mix: tuple[Mixed, ...] = ()
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
        files = self.files()
        corpora = {name: self._corpus(names, None, source) for name, names in files.items()}
        if self.hold_out and not self.valid:
            corpora["train"] = self._corpus(files["train"], Part(self.hold_out, held_out=False), source)
            corpora["valid"] = self._corpus(files["train"], Part(self.hold_out, held_out=True), source)
        return corpora

    def files(self) -> dict[str, list[list[Path]]]:
        """The files that are named, by train, valid and test: those of each corpus."""
        train = [corpus.files for corpus in self.mix] or [self.train]
        named = {"train": train, "valid": [self.valid], "test": [self.test]}
        return {name: [self._paths(files) for files in corpora] for name, corpora in named.items() if any(corpora)}

    def times(self) -> tuple[float, ...]:
        """How often each corpus of the training data is used in an epoch."""
        return tuple(corpus.times for corpus in self.mix) or (1.0,)

    def _paths(self, names: Sequence[str]) -> list[Path]:
        folder = Path(self.folder).expanduser()
        return [folder / Path(name).expanduser() for name in names]

    def _corpus(self, names: list[list[Path]], part: Part | None, source: Reads) -> Corpus:
        first, *more = names
        known = KnownFiles(self.cache_folder() / "files")
        return Corpus(first, self.fields, part, more=more, one_sided=self.one_sided, source=source, hash_of=known.hash)

    def cache_folder(self) -> Path:
        return Path(self.cache or os.environ.get("WEFT_CACHE") or "~/.cache/weft").expanduser()
