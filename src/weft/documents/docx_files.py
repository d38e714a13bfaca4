"""DOCX: the paragraphs of the text, headers, footers and notes are units; all other members of the archive stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from weft.documents.document import DocumentError, DocumentFormat, DocumentOptions, FilledDocument, Unit
from weft.documents.docx_paragraphs import DocxParagraph, read_paragraph, render_paragraph
from weft.documents.replacements import Edits
from weft.documents.xml_source import XmlSource, parse_xml
from weft.documents.zip_archive import ZipArchive, open_zip
from weft.text.marked_text import MarkedText

TRANSLATED_PARTS = tuple(f"wordprocessingml.{part}+xml" for part in ("header", "footer", "footnotes", "endnotes"))
MAIN_PARTS = (  # with templates and macros
    "wordprocessingml.document.main+xml",
    "wordprocessingml.template.main+xml",
    "ms-word.document.macroEnabled.main+xml",
    "ms-word.template.macroEnabledTemplate.main+xml",
)
WORD_NAMESPACES = (
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "http://purl.oclc.org/ooxml/wordprocessingml/main",
)
OTHER_FORMATS = {"presentationml": "PPTX", "spreadsheetml": "XLSX", "visio": "VSDX"}
CONTENT_TYPES = "[Content_Types].xml"
OLD_OFFICE = b"\xd0\xcf\x11\xe0"


class DocxSlot(NamedTuple):
    """A unit and its paragraph in a member of the archive."""

    unit: Unit
    paragraph: DocxParagraph
    member: str


@dataclass(frozen=True)
class DocxDocument:
    """A parsed document; sources: the members that have text."""

    content: bytes
    archive: ZipArchive
    sources: Mapping[str, XmlSource]
    slots: Sequence[DocxSlot]
    skipped: dict[str, int]

    @property
    def units(self) -> list[Unit]:
        return [slot.unit for slot in self.slots]

    def fill(self, translations: Sequence[MarkedText | None]) -> FilledDocument:
        edits, rejected = (
            {name: Edits(source.content) for name, source in self.sources.items()},
            list[tuple[Unit, str]](),
        )
        for slot, translation in zip(self.slots, translations, strict=True):
            if translation is None or translation.text == slot.unit.text.text:
                continue
            paragraph, member = slot.paragraph, edits[slot.member]
            try:
                rendered = render_paragraph(self.sources[slot.member], paragraph, translation, member)
                member.replace(paragraph.first, paragraph.end, rendered)
            except ValueError as error:
                rejected.append((slot.unit, str(error)))
        contents = {
            name: source.encode(edits[name].render(0, len(source.content)))
            for name, source in self.sources.items()
            if edits[name]
        }
        return FilledDocument(self.archive.replace(contents) if contents else self.content, tuple(rejected))


def open_docx(content: bytes, _options: DocumentOptions) -> DocxDocument:
    """Parse a document of Word 2007 or later; raise DocumentError for other formats of office programs."""
    if content.startswith(OLD_OFFICE):
        raise DocumentError("is a .doc file, or encrypted. Save it as .docx without a password.")
    archive = open_zip(content)
    sources, slots = dict[str, XmlSource](), list[DocxSlot]()
    for name in _text_members(archive):
        sources[name] = parse_xml(archive.read(name) or b"")
        slots += _slots(sources[name], name)
    return DocxDocument(content, archive, sources, slots, {})


def _text_members(archive: ZipArchive) -> list[str]:
    """Return the members with text, the main one first, by their content types."""
    types = archive.read(CONTENT_TYPES)
    if types is None:
        kind = (archive.read("mimetype") or b"").partition(b"opendocument.")[2].decode("ascii", "replace")[:30]
        name = f"OpenDocument ({kind})" if kind else "not an office document"
        raise DocumentError(f"is not DOCX: {name}. Save it as .docx.")
    overrides = {
        e.attributes.get("PartName", "")[1:]: e.attributes.get("ContentType", "")
        for e in parse_xml(types).root.elements("Override")
    }
    main = [name for name, kind in overrides.items() if kind.endswith(MAIN_PARTS)]
    if not main:
        name = next((name for key, name in OTHER_FORMATS.items() if key in str(overrides)), "an unknown format")
        raise DocumentError(f"is not DOCX, but {name}, which is not supported. Save its text as .docx.")
    names = main + [name for name, kind in overrides.items() if kind.endswith(TRANSLATED_PARTS)]
    missing = [name for name in names if archive.read(name) is None]
    if missing:
        raise DocumentError(f"is damaged: {missing[0]} is missing in the archive. Save it again.")
    return names


def _slots(source: XmlSource, member: str) -> list[DocxSlot]:
    """Return the paragraphs with text. Those in text boxes precede the paragraph that contains the box."""
    elements = (e for e in source.root.descendants("p") if e.namespace in WORD_NAMESPACES)
    slots = list[DocxSlot]()
    for number, element in enumerate(elements, 1):
        paragraph = read_paragraph(source, element)
        if paragraph is not None:
            place = f"paragraph {number} of {member.rpartition('/')[2]}"
            slots.append(DocxSlot(Unit(paragraph.marked, place), paragraph, member))
    return slots


def is_docx(content: bytes) -> bool:
    """Whether a file is an archive with the folder of a DOCX file."""
    return content.startswith(b"PK\x03\x04") and b"word/" in content


DOCX = DocumentFormat("docx", "DOCX", (".docx", ".docm", ".dotx"), is_docx, open_docx)
