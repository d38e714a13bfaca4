"""manifest.json: the files of a folder with sizes and SHA-256 hashes, the format version, and migrations from
older formats.
"""

import hashlib
import importlib.metadata
import os
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from weft.checkpoints.file_formats import COPY_ADVICE, parse_json_as, read_json_object
from weft.core.errors import UserError
from weft.core.files import write_atomically

MANIFEST_FILE = "manifest.json"
IGNORED_FILES = ("Thumbs.db", "desktop.ini")

FORMAT_VERSION = 1  # the newest format that this version reads, and the one that it writes
Document: TypeAlias = Literal["manifest", "config"]  # manifest.json, config.json
FormatMigration: TypeAlias = Mapping[Document, Callable[[dict[str, Any]], dict[str, Any]]]
MIGRATIONS: Mapping[int, FormatMigration] = {}  # from each older format to the next; the first format is 1


def migrate_document(
    node: dict[str, Any], document: Document, version: int, migrations: Mapping[int, FormatMigration] = MIGRATIONS
) -> dict[str, Any]:
    """Convert a document of format `version` to the newest format."""
    for number in sorted(older for older in migrations if older >= version):
        node = migrations[number][document](node)
    return node


class FileEntry(BaseModel):
    """Size and hash of a file."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    size: Annotated[int, Field(ge=0)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Manifest(BaseModel):
    """The content of manifest.json. files: every other file by its relative path, with forward slashes."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    format: Annotated[int, Field(ge=1)]
    weft: str
    extra: dict[str, Any]
    files: dict[str, FileEntry]


def write_manifest(folder: Path, extra: Mapping[str, Any]) -> None:
    """Write the manifest of all files in the folder. extra: JSON data for the reader."""
    files = {}
    for name in sorted(_list_files(folder)):
        path = folder / name
        _check_regular_file(path)
        files[name] = FileEntry(size=path.stat().st_size, sha256=_sha256(path))
    version = importlib.metadata.version("weft")
    manifest = Manifest(format=FORMAT_VERSION, weft=version, extra=dict(extra), files=files)
    write_atomically(folder / MANIFEST_FILE, f"{manifest.model_dump_json(indent=2)}\n".encode())


def check_manifest(folder: Path) -> Manifest:
    """Return the manifest; raise UserError unless the folder contains exactly the files in it, unchanged."""
    try:
        manifest = read_manifest(folder)
        _check_file_names(folder, manifest)
        for name, entry in manifest.files.items():
            path = folder / name
            _check_regular_file(path)
            size = path.stat().st_size
            if size != entry.size:
                raise UserError(f"{path}: is damaged: it has {size} bytes instead of {entry.size}; {COPY_ADVICE}")
            if _sha256(path) != entry.sha256:
                raise UserError(f"{path}: is damaged: its content has changed since it was written; {COPY_ADVICE}")
    except OSError as error:
        raise UserError(f"{error.filename or folder}: cannot be read: {error.strerror}") from error
    return manifest


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest without checking the files."""
    path = folder / MANIFEST_FILE
    if not path.is_file():
        raise UserError(f"{path}: is missing, so {folder} is not a complete Weft folder; {COPY_ADVICE}")
    node = read_json_object(path)
    match node:
        case {"format": int(number)} if number > FORMAT_VERSION:  # checked first: anything else may differ too
            raise UserError(
                f"{path}: was made by a newer Weft (format {number}, this one reads {FORMAT_VERSION}); upgrade Weft"
            )
        case {"format": int(number)}:
            node = migrate_document(node, "manifest", number)
    return parse_json_as(node, Manifest, path)


def _check_file_names(folder: Path, manifest: Manifest) -> None:
    """Raise UserError unless the manifest lists exactly the files of the folder, and none outside of it."""
    for name in manifest.files:
        path = PurePosixPath(name)
        if str(path) != name or path.is_absolute() or ".." in path.parts:
            raise UserError(f"{folder / MANIFEST_FILE}: lists {name!r}, a path outside the folder; {COPY_ADVICE}")
    found = _list_files(folder)
    for name in manifest.files:
        if name not in found:
            raise UserError(f"{folder / name}: is missing; {COPY_ADVICE}")
    for name in sorted(found):
        if name not in manifest.files:
            raise UserError(f"{folder / name}: does not belong there ({MANIFEST_FILE} does not list it); move it")


def _list_files(folder: Path) -> set[str]:
    """The relative paths of all files below the folder except the manifest and files left behind by file managers
    (.DS_Store, Thumbs.db). Links to folders are not followed.
    """
    names = set()
    for path in folder.rglob("*"):
        if path.name.startswith(".") or path.name in IGNORED_FILES:
            continue
        if path.is_symlink() or not path.is_dir():
            # realpath, not resolve(): the latter raises on circular links
            if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
                raise UserError(f"{path}: is a link that leaves the folder; put the file itself there")
            names.add(path.relative_to(folder).as_posix())
    return names - {MANIFEST_FILE}


def _check_regular_file(path: Path) -> None:
    if not path.is_file():
        raise UserError(f"{path}: is not a regular file; remove it")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
