"""The table of file formats, and which of them a file has: by its name, by its content, or as the user says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

from weft.core.errors import UserError
from weft.core.formatting import did_you_mean, quote
from weft.documents.android_strings import ANDROID_FORMAT
from weft.documents.apple_strings import STRINGS_FORMAT
from weft.documents.document import DocumentFormat
from weft.documents.docx_files import DOCX
from weft.documents.html_files import HTML
from weft.documents.json_files import JSON_FORMAT
from weft.documents.markdown import MARKDOWN_FORMAT
from weft.documents.po_files import PO_FORMAT
from weft.documents.properties_files import PROPERTIES_FORMAT
from weft.documents.subtitles import SRT_FORMAT, VTT_FORMAT
from weft.documents.tmx_files import TMX
from weft.documents.xliff_files import XLIFF

FORMATS: tuple[DocumentFormat, ...] = (
    PO_FORMAT,
    XLIFF,
    TMX,
    JSON_FORMAT,
    STRINGS_FORMAT,
    ANDROID_FORMAT,
    PROPERTIES_FORMAT,
    SRT_FORMAT,
    VTT_FORMAT,
    MARKDOWN_FORMAT,
    HTML,
    DOCX,
)
BINARY_FORMATS = frozenset({"docx"})  # not for a terminal
COMPRESSED_SUFFIXES = (".gz", ".bz2", ".xz")
RECOGNIZED = ("po", "xliff", "tmx", "srt", "vtt", "android", "html")  # by their content, in files with these suffixes
GENERAL_SUFFIXES = ("", ".txt", ".text", ".xml")
UNSUPPORTED_SUFFIXES: Mapping[str, str] = {  # what to do instead
    ".doc": "Save it as .docx",
    ".rtf": "Save it as .docx",
    ".odt": "Save it as .docx",
    ".pages": "Save it as .docx",
    ".pdf": "Save it as .docx, or copy its text into a .txt file",
    ".epub": "Translate the .xhtml files in it",
    ".ppt": "Copy its text into a .txt file",
    ".pptx": "Copy its text into a .txt file",
    ".odp": "Copy its text into a .txt file",
    ".xls": "Save its texts as a .txt file",
    ".xlsx": "Save its texts as a .txt file",
    ".ods": "Save its texts as a .txt file",
    ".mo": "Translate the .po file that it was made from",
    ".ass": "Save it as .srt",
    ".ssa": "Save it as .srt",
    ".sub": "Save it as .srt",
    ".rst": "Translate the .po files of its documentation",
    ".tex": "Copy its text into a .txt file",
    ".yaml": "Save its texts as .json",
    ".yml": "Save its texts as .json",
    ".csv": "Save the column to translate as a .txt file",
}
SIGNATURES: Mapping[bytes, str] = {  # the first bytes of files that are not text
    b"%PDF-": "a PDF file",
    b"PK\x03\x04": "an archive or an office document",
    b"\xd0\xcf\x11\xe0": "an old office document",
    b"{\\rtf": "a rich text file",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
    b"GIF8": "an image",
    b"RIFF": "a sound, an image or a video",
    b"ID3": "a sound",
    b"OggS": "a sound or a video",
    b"\x1f\x8b": "a compressed file",
    b"BZh": "a compressed file",
    b"\xfd7zXZ": "a compressed file",
    b"7z\xbc\xaf": "an archive",
    b"Rar!": "an archive",
    b"\x7fELF": "a program",
    b"MZ\x90": "a program",
    b"SQLite format 3": "a database",
    b"\xde\x12\x04\x95": "a compiled gettext catalog",
    b"\x95\x04\x12\xde": "a compiled gettext catalog",
}
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".svg")


def format_by_name(name: str) -> DocumentFormat:
    """Return the format that --format names; raise UserError if there is none."""
    known = {one.name: one for one in FORMATS}
    if name not in known:
        hint = did_you_mean(name, known)
        raise UserError(f"{quote(name)} is not a format{hint} (the formats are {', '.join(known)})")
    return known[name]


def find_format(name: PurePath | str, content: bytes) -> DocumentFormat | None:
    """Return the format of a file, or None if it is plain text: lines to translate.

    The suffix decides; the content, where several formats have the suffix, or it tells nothing. content: the file, or
    its start. Raise UserError for files whose format is known, but not supported, and for binary files.
    """
    path = PurePath(name)
    suffix = path.suffix.lower()
    if suffix in COMPRESSED_SUFFIXES:
        _check_compressed(path)
        return None
    candidates = [one for one in FORMATS if suffix in one.suffixes]
    if len(candidates) == 1 and suffix not in GENERAL_SUFFIXES:
        return candidates[0]
    if suffix in GENERAL_SUFFIXES:
        candidates += [one for one in FORMATS if one.name in RECOGNIZED and one not in candidates]
    found = next((one for one in candidates if one.matches(content)), None)
    if found is None:
        _check_plain_text(name, suffix, content)
    return found


def _check_compressed(path: PurePath) -> None:
    """Raise UserError if a compressed file is a document; a compressed text file is read as lines."""
    suffix = PurePath(path.stem).suffix.lower()
    if suffix in UNSUPPORTED_SUFFIXES or any(suffix in one.suffixes for one in FORMATS) or suffix == ".tar":
        raise UserError(f"{path}: a compressed document cannot be translated. Decompress it first.")


def _check_plain_text(name: PurePath | str, suffix: str, content: bytes) -> None:
    """Raise UserError if lines of this file would be no text, or the file would be damaged."""
    supported = f"The formats are {', '.join(one.name for one in FORMATS)}, and plain text."
    if suffix in UNSUPPORTED_SUFFIXES:
        raise UserError(f"{name}: {suffix} files cannot be translated. {UNSUPPORTED_SUFFIXES[suffix]}. {supported}")
    kind = next((kind for start, kind in SIGNATURES.items() if content.startswith(start)), None)
    kind = "an image" if suffix in IMAGE_SUFFIXES else kind
    if kind is None and b"\0" in content:
        kind = "not text"
    if kind is None and suffix in (".xml", ".json", ".xhtml", ".js", ".py", ".c", ".ts", ".css", ".toml", ".ini"):
        kind = f"a {suffix} file whose texts are in no known place"
    if kind is not None:
        raise UserError(f"{name}: is {kind}, which cannot be translated. {supported}")
