"""The header of a PO file: the translation of the empty message, with a field per line."""

from __future__ import annotations

import re

from weft.documents.plural_forms import PluralForms, plural_field

CHARSET = re.compile(rb'"Content-Type:[^"\n]{0,200}?charset=([A-Za-z0-9_.:-]{1,40})')
PLACEHOLDERS = re.compile(r"(?i)charset|(us-)?ascii|ansi_x3\.4-1968")  # that UTF-8 replaces


def declared_encoding(content: bytes) -> str:
    """Return the character set of a PO file."""
    match = CHARSET.search(content)
    name = match[1].decode("ascii") if match else "charset"
    return "utf-8" if PLACEHOLDERS.fullmatch(name) else name


def header_field(header: str, name: str) -> str:
    match = re.search(rf"^{name}:(.*)$", header, re.MULTILINE | re.IGNORECASE)
    return match[1].strip() if match else ""


def read_plural_forms(header: str) -> PluralForms | None:
    """Return the plural forms, unless there are none or those of a template (nplurals=INTEGER)."""
    value = header_field(header, "Plural-Forms")
    return None if not value or "INTEGER" in value else PluralForms.parse(value)


def complete_header(header: str, language: str, has_plurals: bool) -> str:
    """Return the header for a file in this language; only that of a template, or without plural forms, changes."""
    charset = re.search(r"charset=([\w.:-]+)", header_field(header, "Content-Type"))
    has_charset = charset is not None and not PLACEHOLDERS.fullmatch(charset[1])
    lacks_language = bool(re.search(r"^Language:\s*$", header, re.MULTILINE)) and bool(language)
    lacks_forms = has_plurals and read_plural_forms(header) is None
    if has_charset and not lacks_language and not lacks_forms:
        return header
    if language and not header_field(header, "Language"):
        header = set_field(header, "Language", language.replace("-", "_"))
    if not header_field(header, "MIME-Version"):
        header = set_field(header, "MIME-Version", "1.0")
    if not has_charset:
        header = set_field(header, "Content-Type", "text/plain; charset=UTF-8")
    if header_field(header, "Content-Transfer-Encoding") in ("", "ENCODING"):
        header = set_field(header, "Content-Transfer-Encoding", "8bit")
    field = plural_field(language)
    if field is not None and read_plural_forms(header) is None:
        header = set_field(header, "Plural-Forms", field)
    return header


def set_field(header: str, name: str, value: str) -> str:
    """Replace a field, or append it."""
    lines = header.removesuffix("\n").split("\n") if header else []
    found = (number for number, line in enumerate(lines) if line.lower().startswith(f"{name.lower()}:"))
    place = next(found, len(lines))
    return "".join(f"{line}\n" for line in [*lines[:place], f"{name}: {value}", *lines[place + 1 :]])
