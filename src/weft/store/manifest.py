"""The manifest of a folder: which files it has, their sizes and hashes, and which Weft wrote it."""

import hashlib
import importlib.metadata
import json
import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json

from weft.core.bounded import read_bounded
from weft.core.errors import UserError
from weft.store.files import write_atomically
from weft.store.formats import FORMAT, migrated

MANIFEST = "manifest.json"
LARGEST = 2**24  # bytes
LITTER = ("Thumbs.db", "desktop.ini")
COPY_AGAIN = "copy the folder again or take another copy"


class FileFacts(BaseModel):
    """What a file should be."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    size: Annotated[int, Field(ge=0)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Manifest(BaseModel):
    """What stands in manifest.json; `files` has a relative path with forward slashes for each other file."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    format: Annotated[int, Field(ge=1)]
    weft: str
    extra: dict[str, Any]
    files: dict[str, FileFacts]


def write_manifest(folder: Path, extra: Mapping[str, Any]) -> None:
    """Write down every file of the folder; `extra` is plain data that the reader gets back."""
    manifest = Manifest(
        format=FORMAT,
        weft=importlib.metadata.version("weft"),
        extra=dict(extra),
        files={name: _facts(folder / name) for name in sorted(_names_in(folder))},
    )
    text = json.dumps(manifest.model_dump(), indent=2, ensure_ascii=False, allow_nan=False)
    write_atomically(folder / MANIFEST, f"{text}\n".encode())


def check_manifest(folder: Path) -> Manifest:
    """The manifest, if the folder holds exactly what it says; otherwise a UserError that names the file."""
    try:
        manifest = read_manifest(folder)
        _check_names(folder, manifest)
        for name, facts in manifest.files.items():
            _check_file(folder / name, facts)
    except OSError as error:
        raise UserError(f"{error.filename or folder}: cannot be read: {error.strerror}") from error
    return manifest


def read_manifest(folder: Path) -> Manifest:
    """The manifest as it is written, whether or not the files are as it says."""
    path = folder / MANIFEST
    if not path.is_file():
        raise UserError(f"{path}: is missing, so {folder} is no whole folder of Weft; {COPY_AGAIN}")
    try:
        document = _current(path, from_json(read_bounded(path, LARGEST), allow_inf_nan=False))
        return Manifest.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise UserError(f"{path}: is damaged at {place or 'its top'} ({first['msg']}); {COPY_AGAIN}") from None
    except ValueError as error:
        raise UserError(f"{path}: is damaged: it is no JSON ({error}); {COPY_AGAIN}") from None


def _current(path: Path, document: Any) -> Any:
    """As the newest format has it. A newer one is told first: the rest of such a file may look like anything."""
    match document:
        case {"format": int(number)} if number > FORMAT:
            text = f"{path}: was made by a newer Weft (format {number}, this one reads {FORMAT}); upgrade Weft"
            raise UserError(text)
        case {"format": int(number)}:
            return migrated(document, "manifest", number)
    return document


def _check_names(folder: Path, manifest: Manifest) -> None:
    """The manifest names exactly the files that are there, and none outside of the folder."""
    for name in manifest.files:
        if not _is_plain(name):
            raise UserError(f"{folder / MANIFEST}: names {name!r}, which is no path inside the folder; {COPY_AGAIN}")
    found = _names_in(folder)
    for name in manifest.files:
        if name not in found:
            raise UserError(f"{folder / name}: is missing; {COPY_AGAIN}")
    for name in sorted(found):
        if name not in manifest.files:
            raise UserError(f"{folder / name}: does not belong there ({MANIFEST} does not name it); move it elsewhere")


def _is_plain(name: str) -> bool:
    """A relative path in its shortest writing, with no way up."""
    path = PurePosixPath(name)
    return str(path) == name and not path.is_absolute() and ".." not in path.parts


def _names_in(folder: Path) -> set[str]:
    """Every file below the folder but the manifest, by its relative path; links to folders are not followed.

    What file managers leave behind (.DS_Store, Thumbs.db ...) is passed over, and so never read either.
    """
    names = set()
    for path in folder.rglob("*"):
        if path.name.startswith(".") or path.name in LITTER:
            continue
        if path.is_symlink() or not path.is_dir():
            _check_inside(folder, path)
            names.add(path.relative_to(folder).as_posix())
    return names - {MANIFEST}


def _check_inside(folder: Path, path: Path) -> None:
    # realpath and not resolve(): a link that goes round in a circle makes the latter raise
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        raise UserError(f"{path}: is a link that leaves the folder; put the file itself there")


def _check_file(path: Path, facts: FileFacts) -> None:
    _check_regular(path)
    size = path.stat().st_size
    if size != facts.size:
        raise UserError(f"{path}: is damaged: it has {size} bytes instead of {facts.size}; {COPY_AGAIN}")
    if _hash(path) != facts.sha256:
        raise UserError(f"{path}: is damaged: its content has changed since it was written; {COPY_AGAIN}")


def _facts(path: Path) -> FileFacts:
    _check_regular(path)
    return FileFacts(size=path.stat().st_size, sha256=_hash(path))


def _check_regular(path: Path) -> None:
    if not path.is_file():
        raise UserError(f"{path}: is not a plain file; remove it")


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
