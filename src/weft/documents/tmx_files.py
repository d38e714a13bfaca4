"""TMX 1.4, translation memories: https://www.gala-global.org/tmx-14b.

As a document, translation units without a variant of the target language get one. As training data, they are pairs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from weft.core.formatting import quote, quote_all
from weft.documents.document import DocumentError, DocumentFormat, DocumentOptions, FilledDocument, Unit
from weft.documents.replacements import Edits
from weft.documents.xml_inline import InlineContent, InlineRole, languages_match, read_inline, render_inline
from weft.documents.xml_source import XmlElement, XmlSource, escape_attribute, parse_xml
from weft.text.marked_text import MarkedText


class TmxSlot(NamedTuple):
    """A unit, its variant, and the segment of an existing variant of the target language."""

    unit: Unit
    content: InlineContent
    variant: XmlElement
    segment: XmlElement
    target: XmlElement | None


@dataclass(frozen=True)
class TmxDocument:
    """A parsed translation memory."""

    source: XmlSource
    target_language: str
    slots: Sequence[TmxSlot]
    skipped: dict[str, int]

    @property
    def units(self) -> list[Unit]:
        return [slot.unit for slot in self.slots]

    def fill(self, translations: Sequence[MarkedText | None]) -> FilledDocument:
        edits, rejected = Edits(self.source.content), list[tuple[Unit, str]]()
        for slot, translation in zip(self.slots, translations, strict=True):
            try:
                if translation is not None:
                    self._write(edits, slot, render_inline(self.source, slot.content, translation))
            except ValueError as error:
                rejected.append((slot.unit, str(error)))
        return FilledDocument(self.source.encode(edits.render(0, len(self.source.content))), tuple(rejected))

    def _write(self, edits: Edits[bytes], slot: TmxSlot, text: bytes) -> None:
        segment = slot.segment if slot.target is None else slot.target
        name = self.source.prefix(segment) + b"seg"
        element = b"<" + name + b">" + text + b"</" + name + b">"
        if slot.target is not None:
            edits.replace(slot.target.first, slot.target.end, element)
            return
        attribute = "xml:lang" if "xml:lang" in slot.variant.attributes else "lang"
        variant = self.source.prefix(slot.variant) + b"tuv"
        start = b"<" + variant + f' {attribute}="{escape_attribute(self.target_language)}">'.encode()
        outer, inner = (self.source.indentation(element.first) for element in (slot.variant, segment))
        before_end = self.source.indentation(slot.variant.inner_end)
        end = b"</" + variant + b">"
        edits.replace(slot.variant.end, slot.variant.end, outer + start + inner + element + before_end + end)


def inline_role(element: XmlElement) -> InlineRole:
    """Return the meaning of an inline element. Sub-flows in native code stay as they are."""
    match element.name:
        case "bpt":
            return InlineRole("open", element.attributes.get("i", ""))
        case "ept":
            return InlineRole("close", element.attributes.get("i", ""))
        case "hi":
            return InlineRole("element")
    return InlineRole("single")  # ph, it, ut


def open_tmx(content: bytes, options: DocumentOptions) -> TmxDocument:
    """Parse a translation memory; raise DocumentError unless source and target language are known and in it."""
    source = _check_root(parse_xml(content))
    source_language = options.source or _header_language(source.root)
    if not source_language or not options.target:
        missing = "source" if options.target else "target"
        raise DocumentError(f"does not tell the {missing} language. Name it with an option.")
    slots, skipped, languages = list[TmxSlot](), Counter[str](), Counter[str]()
    for unit in source.root.descendants("tu"):
        languages.update(_language(variant) for variant in unit.elements("tuv"))
        slot = _slot(source, unit, source_language, options.target)
        if slot is None:
            skipped[f"without {source_language}"] += 1
        elif slot.content.is_empty:
            skipped["empty"] += 1
        elif slot.target is not None and slot.target.text().strip() and not options.overwrite:
            skipped["already translated"] += 1
        else:
            slots.append(slot)
    if languages and not any(languages_match(language, source_language) for language in languages):
        raise DocumentError(
            f"has no text in {quote(source_language)}, but in {quote_all(sorted(languages)[:20])}. Name another source."
        )
    return TmxDocument(source, options.target, slots, dict(skipped))


def _slot(source: XmlSource, unit: XmlElement, source_language: str, target_language: str) -> TmxSlot | None:
    variant, translation = _variant(unit, source_language), _variant(unit, target_language)
    segment = variant.find("seg") if variant is not None else None
    if variant is None or segment is None or variant is translation:
        return None
    content = read_inline(source, segment, inline_role)
    target = translation.find("seg") if translation is not None else None
    return TmxSlot(Unit(content.marked, f"line {segment.line}"), content, variant, segment, target)


def _variant(unit: XmlElement, language: str) -> XmlElement | None:
    """Return the variant in exactly this language, else the first that matches it."""
    matching = [variant for variant in unit.elements("tuv") if languages_match(_language(variant), language)]
    exact = (variant for variant in matching if _language(variant).lower() == language.lower())
    return next(exact, matching[0] if matching else None)


def _language(variant: XmlElement) -> str:
    return variant.attributes.get("xml:lang") or variant.attributes.get("lang", "")


def _header_language(root: XmlElement) -> str:
    header = root.find("header")
    language = header.attributes.get("srclang", "") if header is not None else ""
    return "" if language == "*all*" else language


def _check_root(source: XmlSource) -> XmlSource:
    if source.root.name != "tmx":
        raise DocumentError(f"is not TMX: it starts with <{source.root.name}>. Check the format.")
    return source


# --- Pairs -----------------------------------------------------------------------------------------------------------


def read_tmx_pairs(content: bytes, options: DocumentOptions) -> Iterator[tuple[MarkedText, MarkedText]]:
    """Yield the pairs of two languages; those that the options leave open are the header's source and the only other.

    The memory is read twice, since the languages are known only at its end.
    """
    languages, header = Counter[str](), list[str]()

    def count(element: XmlElement) -> bool:
        if element.name == "header":
            header.append(element.attributes.get("srclang", ""))
        if element.name == "tu":
            languages.update(_language(variant) for variant in element.elements("tuv"))
        return element.name == "tu"

    source = _check_root(parse_xml(content, count))
    declared = next((language for language in header if language != "*all*"), "")
    one, other = _pair_languages(languages, declared, options)
    pairs = list[tuple[MarkedText, MarkedText]]()

    def collect(element: XmlElement) -> bool:
        if element.name == "tu" and (pair := _read_pair(source, element, one, other)):
            pairs.append(pair)
        return element.name == "tu"

    parse_xml(content, collect)
    yield from pairs


def _pair_languages(languages: Counter[str], declared: str, options: DocumentOptions) -> tuple[str, str]:
    def matching(language: str) -> list[str]:
        return [name for name in languages if languages_match(name, language)]

    source = options.source or (declared if matching(declared) else "")
    if not source and options.target:
        source = _only_language(set(languages).difference(matching(options.target)))
    target = options.target or _only_language(set(languages).difference(matching(source)) if source else ())
    if not source or not target or not matching(source) or not matching(target):
        requested = f"{quote(options.source or source)} and {quote(options.target)}"
        found = quote_all(sorted(languages)[:20])
        raise DocumentError(f"has no clear pair of languages: {requested} of {found}. Name source and target.")
    return source, target


def _only_language(names: Collection[str]) -> str:
    """Return the language that all names match, such as es of es, ES and es-MX; "" if there are several."""
    shortest = min(names, key=len, default="")
    return shortest if all(languages_match(name, shortest) for name in names) else ""


def _read_pair(source: XmlSource, unit: XmlElement, one: str, other: str) -> tuple[MarkedText, MarkedText] | None:
    slot = _slot(source, unit, one, other)
    if slot is None or slot.target is None or slot.content.is_empty:
        return None
    target = read_inline(source, slot.target, inline_role)
    return None if target.is_empty else (slot.content.marked, target.marked)


def is_tmx(content: bytes) -> bool:
    """Whether a file starts as TMX does, in UTF-8 or UTF-16."""
    return re.search(rb"<tmx[\s>]", content[:5000].replace(b"\0", b"")) is not None


TMX = DocumentFormat("tmx", "TMX", (".tmx",), is_tmx, open_tmx, read_tmx_pairs)
