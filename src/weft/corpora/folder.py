"""The folder of a fetched corpus: train.tsv, valid.tsv, test.tsv and SOURCE.txt."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from weft.corpora.catalogue import Entry
from weft.corpora.splits import Splits
from weft.store.files import write_atomically
from weft.store.new_folders import check_free, new_folder


@dataclass(frozen=True)
class CorpusFolder:
    """A corpus and where it is, or will be."""

    entry: Entry
    path: Path

    @property
    def train(self) -> Path:
        return self.path / "train.tsv"

    @property
    def valid(self) -> Path:
        return self.path / "valid.tsv"

    @property
    def test(self) -> Path:
        return self.path / "test.tsv"

    @property
    def source(self) -> Path:
        return self.path / "SOURCE.txt"

    def is_whole(self) -> bool:
        """Whether all of this corpus is here."""
        files = (self.train, self.valid, self.test)
        if not all(path.is_file() for path in (self.source, *files)):
            return False
        first, *_ = self.source.read_bytes().split(b"\n")
        return first == heading(self.entry).encode() and self.entry.counts == tuple(map(count_lines, files))

    def check_free(self) -> None:
        """Before any work: can the folder be made?"""
        taken = (
            f" and is not {self.entry.name} as Weft writes it: give another folder with --to, or move this one away."
        )
        check_free(self.path, taken, "with --to")

    def create(self, splits: Splits) -> None:
        with new_folder(self.path) as new:
            replace(self, path=new).fill(splits)

    def fill(self, splits: Splits) -> None:
        """Write the files; SOURCE.txt last, since it says that all is here."""
        write_rows(self.train, splits.train)
        write_rows(self.valid, splits.valid)
        write_rows(self.test, ((example.source, *example.targets) for example in splits.test))
        write_atomically(self.source, describe(self.entry, splits).encode())


def count_lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)


def write_rows(path: Path, rows: Iterable[Sequence[str]]) -> None:
    write_atomically(path, "".join("\t".join(row) + "\n" for row in rows).encode())


def heading(entry: Entry) -> str:
    """The first line of SOURCE.txt, by which a folder is known again."""
    return f"corpus     {entry.name}"


def describe(entry: Entry, splits: Splits) -> str:
    """What is in the folder, whose it is, and how it was split."""
    wheel, division = entry.wheel, entry.division
    targets = sum(len(example.targets) for example in splits.test)
    return (
        f"{heading(entry)}\n"
        f"what       {entry.kind}: {entry.what}\n"
        f"source     {entry.origin}, as {wheel.member} in the Python package {wheel.package} {wheel.version}\n"
        f"licence    {entry.licence}\n"
        f"credit     {entry.credit}\n"
        f"split      by a hash of {division.by},\n"
        f"           {division.test} of {division.parts} to test and {division.valid} to validate: "
        "nothing is in two files, and a split never changes\n"
        f"train.tsv  {len(splits.train):,} pairs: source, tab, target\n"
        f"valid.tsv  {len(splits.valid):,} pairs\n"
        f"test.tsv   {len(splits.test):,} sources, each with all its targets on one line ({targets:,} in all)\n"
    )
