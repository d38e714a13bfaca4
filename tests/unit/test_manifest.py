"""The manifest detects every change to a folder."""

import importlib.metadata
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from weft.checkpoints import file_formats
from weft.checkpoints.manifest import FORMAT_VERSION, MANIFEST_FILE, check_manifest, write_manifest
from weft.core.errors import UserError

FILES = {"weights.bin": bytes(range(64)), "config.json": b"{}", "sub/text.ü": b"x", "empty": b""}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    write_manifest(folder, {"kind": "model"})
    return folder


def message(folder: Path) -> str:
    with pytest.raises(UserError) as caught:
        check_manifest(folder)
    return str(caught.value)


def edit(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    document = json.loads((folder / MANIFEST_FILE).read_text("utf-8"))
    change(document)
    (folder / MANIFEST_FILE).write_text(json.dumps(document), "utf-8")


def test_unchanged_folder_is_valid(folder: Path) -> None:
    manifest = check_manifest(folder)
    assert manifest.format == FORMAT_VERSION
    assert manifest.weft == importlib.metadata.version("weft")
    assert manifest.extra == {"kind": "model"}
    assert set(manifest.files) == set(FILES)
    assert manifest.files["config.json"].size == 2
    assert manifest.files["config.json"].sha256 == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


def test_manifest_does_not_list_itself(folder: Path) -> None:
    write_manifest(folder, {})
    assert set(check_manifest(folder).files) == set(FILES)


@pytest.mark.parametrize("name", [name for name, content in FILES.items() if content])
def test_each_flipped_byte_is_detected(folder: Path, name: str) -> None:
    for position in range(len(FILES[name])):
        content = bytearray(FILES[name])
        content[position] ^= 1
        (folder / name).write_bytes(content)
        assert message(folder).startswith(f"{folder / name}: is damaged: its content has changed")


@pytest.mark.parametrize("name", FILES)
def test_changed_size_is_detected(folder: Path, name: str) -> None:
    size = len(FILES[name])
    for content in {FILES[name][: size // 2], FILES[name] + b"\n"} - {FILES[name]}:
        (folder / name).write_bytes(content)
        assert message(folder).startswith(f"{folder / name}: is damaged: it has {len(content)} bytes instead of {size}")


@pytest.mark.parametrize("name", FILES)
def test_missing_file_is_detected(folder: Path, name: str) -> None:
    (folder / name).unlink()
    assert message(folder).startswith(f"{folder / name}: is missing")


def test_extra_file_is_detected(folder: Path) -> None:
    (folder / "sub" / MANIFEST_FILE).write_text("")
    assert message(folder).startswith(f"{folder / 'sub' / MANIFEST_FILE}: does not belong there")


def test_missing_manifest_or_folder_is_reported(folder: Path) -> None:
    (folder / MANIFEST_FILE).unlink()
    assert message(folder).startswith(f"{folder / MANIFEST_FILE}: is missing")
    assert message(folder / "none").startswith(f"{folder / 'none' / MANIFEST_FILE}: is missing")


@pytest.mark.parametrize("name", ["/etc/passwd", "../secret", "sub/../config.json", "./config.json", "sub//x", ""])
def test_paths_outside_the_folder_are_rejected(folder: Path, name: str) -> None:
    (folder.parent / "secret").write_bytes(b"{}")
    edit(folder, lambda document: document["files"].update({name: document["files"]["config.json"]}))
    assert message(folder).startswith(f"{folder / MANIFEST_FILE}: lists {name!r}, a path outside the folder")


def test_link_to_an_outside_file_is_rejected(folder: Path) -> None:
    (folder.parent / "secret").write_bytes(b"{}")
    (folder / "config.json").unlink()
    (folder / "config.json").symlink_to(folder.parent / "secret")
    assert message(folder).startswith(f"{folder / 'config.json'}: is a link that leaves the folder")
    with pytest.raises(UserError, match="is a link that leaves the folder"):
        write_manifest(folder, {})


def test_link_to_an_outside_folder_is_rejected(folder: Path) -> None:
    (folder.parent / "elsewhere").mkdir()
    (folder / "linked").symlink_to(folder.parent / "elsewhere")
    assert message(folder).startswith(f"{folder / 'linked'}: is a link that leaves the folder")


def test_linked_manifest_is_rejected(folder: Path) -> None:
    (folder / MANIFEST_FILE).rename(folder.parent / MANIFEST_FILE)
    (folder / MANIFEST_FILE).symlink_to(folder.parent / MANIFEST_FILE)
    assert message(folder).startswith(f"{folder / MANIFEST_FILE}: is a link that leaves the folder")


def test_special_files_are_rejected(folder: Path) -> None:
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")
    assert message(folder) == f"{folder / 'config.json'}: is not a regular file; remove it"
    (folder / "config.json").unlink()
    (folder / "config.json").symlink_to("config.json")
    assert message(folder) == f"{folder / 'config.json'}: is not a regular file; remove it"


def test_newer_format_is_reported(folder: Path) -> None:
    (folder / MANIFEST_FILE).write_text('{"format": 2, "parts": []}')
    text = f"{folder / MANIFEST_FILE}: was made by a newer Weft (format 2, this one reads 1); upgrade Weft"
    assert message(folder) == text


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff", b"[" * 100_000, b'{"format": 1, "weft": "\\ud800"}', b"NaN", b'{"a": ' + b"1" * 9000 + b"}"],
)
def test_invalid_json_is_reported(folder: Path, content: bytes) -> None:
    (folder / MANIFEST_FILE).write_bytes(content)
    assert message(folder).startswith(f"{folder / MANIFEST_FILE}: is damaged")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda document: document.pop("format"), "format"),
        (lambda document: document.update(format="1"), "format"),
        (lambda document: document.update(format=True), "format"),
        (lambda document: document.update(format=0), "format"),
        (lambda document: document.update(weft=None), "weft"),
        (lambda document: document.update(extra=[]), "extra"),
        (lambda document: document.update(files=[]), "files"),
        (lambda document: document.update(more=1), "more"),
        (lambda document: document["files"].update(empty=3), "files.empty"),
        (lambda document: document["files"]["empty"].update(size=-1), "files.empty.size"),
        (lambda document: document["files"]["empty"].update(size="0"), "files.empty.size"),
        (lambda document: document["files"]["empty"].update(sha256="E3"), "files.empty.sha256"),
    ],
)
def test_type_error_names_the_field(folder: Path, change: Callable[[dict[str, Any]], object], field: str) -> None:
    edit(folder, change)
    assert message(folder).startswith(f"{folder / MANIFEST_FILE}: is damaged at {field} (")


def test_top_level_list_is_reported(folder: Path) -> None:
    (folder / MANIFEST_FILE).write_text("[]")
    assert message(folder).startswith(f"{folder / MANIFEST_FILE}: is damaged: it should be an object")


def test_unreadable_manifest_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, largest: int) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(file_formats, "read_bounded", refuse)
    assert message(folder) == f"{folder / MANIFEST_FILE}: cannot be read: Permission denied"


@pytest.mark.parametrize("name", [".DS_Store", "sub/.gitkeep", "Thumbs.db"])
def test_files_of_file_managers_are_ignored(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"x")
    assert name not in check_manifest(folder).files
