"""XLIFF 1.2 and 2: https://docs.oasis-open.org/xliff/v1.2/os/xliff-core.html,
https://docs.oasis-open.org/xliff/xliff-core/v2.1/xliff-core-v2.1.html.

A segment without target, or with one that its state calls untranslated, is a unit. Targets are marked as unreviewed
machine translation: state="needs-review-translation" and state-qualifier="mt-suggestion" in 1.2; state="translated",
which precedes "reviewed", in 2. A target that somebody approved or signed off is never replaced.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from weft.core.formatting import quote, quote_all
from weft.documents.document import DocumentError, DocumentFormat, DocumentOptions, FilledDocument, Unit
from weft.documents.replacements import Edits
from weft.documents.xml_inline import InlineContent, InlineRole, languages_match, read_inline, render_inline
from weft.documents.xml_source import XmlElement, XmlSource, escape_attribute, parse_xml
from weft.text.marked_text import MarkedText

ATTRIBUTE = re.compile(rb"""\s+([^\s=]+)\s*=\s*("[^"]*"|'[^']*')""")
UNTRANSLATED_STATES = {"new", "needs-translation", "initial"}
APPROVED_STATES = {"final", "signed-off"}
PARTNERS = {"ept": "bpt", "ex": "bx", "ec": "sc", "em": "sm"}
MACHINE_STATES_1: Mapping[str, str] = {"state": "needs-review-translation", "state-qualifier": "mt-suggestion"}


class XliffVersion(NamedTuple):
    """source, target: attributes with the language; language_element: where they stand."""

    number: int
    source: str
    target: str
    language_element: str


VERSIONS = {
    1: XliffVersion(1, "source-language", "target-language", "file"),
    2: XliffVersion(2, "srcLang", "trgLang", "xliff"),
}


class XliffSlot(NamedTuple):
    """A unit, and the range of the template that its translation replaces."""

    unit: Unit
    content: InlineContent
    first: int
    end: int


class XliffTarget(NamedTuple):
    """What a target becomes: the content of `template` with translations in its slots.

    container: the trans-unit or segment. element: the target if there is one. after: the element that a new target
    follows.
    """

    container: XmlElement
    element: XmlElement | None
    after: XmlElement
    template: XmlElement
    slots: Sequence[XliffSlot]


@dataclass(frozen=True)
class XliffDocument:
    """A parsed file; `targets` are those that have units."""

    source: XmlSource
    version: XliffVersion
    options: DocumentOptions
    targets: Sequence[XliffTarget]
    skipped: dict[str, int]

    @property
    def units(self) -> list[Unit]:
        return [slot.unit for target in self.targets for slot in target.slots]

    def fill(self, translations: Sequence[MarkedText | None]) -> FilledDocument:
        edits, rejected = Edits(self.source.content), list[tuple[Unit, str]]()
        slots = [slot for target in self.targets for slot in target.slots]
        rendered = dict[XliffSlot, bytes]()
        for slot, translation in zip(slots, translations, strict=True):
            try:
                if translation is not None:
                    rendered[slot] = render_inline(self.source, slot.content, translation)
            except ValueError as error:
                rejected.append((slot.unit, str(error)))
        for target in self.targets:
            if any(slot in rendered for slot in target.slots):
                self._write_target(edits, target, rendered)
        if edits:
            self._write_languages(edits)
        return FilledDocument(self.source.encode(edits.render(0, len(self.source.content))), tuple(rejected))

    def _write_target(self, edits: Edits[bytes], target: XliffTarget, rendered: Mapping[XliffSlot, bytes]) -> None:
        content = self.source.content
        template = Edits(content)
        for slot in target.slots:
            if slot in rendered or target.template is not target.element:
                template.replace(slot.first, slot.end, rendered.get(slot, b""))
        inner = template.render(target.template.inner_first, target.template.inner_end)
        states = MACHINE_STATES_1 if self.version.number == 1 else {}
        after = target.after
        name = self.source.prefix(after) + b"target"
        end_tag = b"</" + name + b">"
        if target.element is not None:
            start = set_attributes(content[target.element.first : target.element.inner_first], states)
            start = start.removesuffix(b"/>").rstrip() + b">" if start.endswith(b"/>") else start
            edits.replace(target.element.first, target.element.end, start + inner + end_tag)
        else:
            space = after.attributes.get("xml:space")
            start = set_attributes(b"<" + name + b">", dict(states) | ({"xml:space": space} if space else {}))
            edits.replace(after.end, after.end, self.source.indentation(after.first) + start + inner + end_tag)
        if self.version.number == 2:
            first, end = target.container.first, target.container.inner_first
            edits.replace(first, end, set_attributes(content[first:end], {"state": "translated"}))

    def _write_languages(self, edits: Edits[bytes]) -> None:
        if not self.options.target:
            return
        for element in _language_elements(self.source.root, self.version):
            if not element.attributes.get(self.version.target):
                start = self.source.content[element.first : element.inner_first]
                tag = set_attributes(start, {self.version.target: self.options.target})
                edits.replace(element.first, element.inner_first, tag)


def set_attributes(tag: bytes, values: Mapping[str, str]) -> bytes:
    """Return a start tag with these attributes, in place if they exist, else at its end."""
    edits, end = Edits(tag), len(tag.removesuffix(b">").removesuffix(b"/").rstrip())
    existing = {match[1].decode(): match.span(2) for match in ATTRIBUTE.finditer(tag)}
    missing = [f' {name}="{escape_attribute(value)}"' for name, value in values.items() if name not in existing]
    for name in values.keys() & existing.keys():
        edits.replace(*existing[name], f'"{escape_attribute(values[name])}"'.encode())
    edits.replace(end, end, "".join(missing).encode())
    return edits.render(0, len(tag))


# --- Reading ---------------------------------------------------------------------------------------------------------


def inline_role(element: XmlElement) -> InlineRole:
    """Return the meaning of an inline element of either version.

    What is nested in native code (bpt, ept, ph, it: sub-flows) stays as it is, and so does protected text.
    """
    name, attributes = element.name, element.attributes
    if name == "mrk":
        if attributes.get("mtype") == "protected" or attributes.get("translate") == "no":
            return InlineRole("single")
        return InlineRole("transparent" if attributes.get("mtype") == "seg" else "element")
    if name in ("g", "pc"):
        return InlineRole("element")
    identity = attributes.get("id", "")
    match name:
        case "bpt" | "bx":
            return InlineRole("open", f"{name} {attributes.get('rid') or identity}")
        case "ept" | "ex":
            return InlineRole("close", f"{PARTNERS[name]} {attributes.get('rid') or identity}")
        case "sc" | "sm":
            return InlineRole("open", f"{name} {identity}")
        case "ec" | "em":
            return InlineRole("close", f"{PARTNERS[name]} {attributes.get('startRef', '')}")
    return InlineRole("single")


def open_xliff(content: bytes, options: DocumentOptions) -> XliffDocument:
    """Parse an XLIFF file; raise DocumentError if it is of other languages."""
    source = parse_xml(content)
    version = _version(source.root)
    reader = _XliffReader(source, version, options)
    return XliffDocument(source, version, options, list(reader.targets()), dict(reader.skipped))


def _version(root: XmlElement) -> XliffVersion:
    number = root.attributes.get("version", "1")  # many files of tools have none
    if root.name != "xliff" or number.partition(".")[0] not in ("1", "2"):
        found = f"<{root.name}>, version {quote(number)}"
        raise DocumentError(f"is not XLIFF 1 or 2: it starts with {found}. Convert it to one of these.")
    return VERSIONS[int(number[0])]


def _language_elements(root: XmlElement, version: XliffVersion) -> list[XmlElement]:
    return [root] if version.language_element == "xliff" else list(root.elements("file"))


@dataclass
class _XliffReader:
    source: XmlSource
    version: XliffVersion
    options: DocumentOptions

    def __post_init__(self) -> None:
        self.skipped: Counter[str] = Counter()

    def targets(self) -> Iterator[XliffTarget]:
        for container in self.containers():
            target = self._target(container)
            if target is not None and target.slots:
                yield target

    def containers(self) -> Iterator[XmlElement]:
        """Yield the trans-units or segments of the requested languages that are to be translated."""
        root, version = self.source.root, self.version
        elements = _language_elements(root, version)
        matching = [element for element in elements if self._has_languages(element)]
        if elements and not matching:
            found = [
                f"{e.attributes.get(version.source, '')} to {e.attributes.get(version.target, '')}" for e in elements
            ]
            raise DocumentError(
                f"is not from {quote(self.options.source)} to {quote(self.options.target)}, but "
                f"{quote_all(sorted(set(found))[:10])}. Translate it with a model of these languages, or correct it."
            )
        for element in elements:
            if element in matching:
                yield from self._walk(element, True)
            else:
                self.skipped["other languages"] += sum(1 for _ in element.descendants("trans-unit"))

    def _has_languages(self, element: XmlElement) -> bool:
        pairs = ((self.options.source, self.version.source), (self.options.target, self.version.target))
        declared = [(requested, element.attributes.get(name, "")) for requested, name in pairs]
        return all(languages_match(one, other) for one, other in declared if one and other)

    def _walk(self, element: XmlElement, is_translated: bool) -> Iterator[XmlElement]:
        translate = element.attributes.get("translate")
        is_translated = translate != "no" and (is_translated or translate == "yes")
        if element.name in ("trans-unit", "segment"):
            if not is_translated:
                self.skipped['translate="no"'] += 1
            else:
                yield element
        elif element.name in ("xliff", "file", "body", "group", "unit"):
            for child in element.elements():
                yield from self._walk(child, is_translated)
        elif element.name == "bin-unit":
            self.skipped["binary"] += 1

    def _target(self, container: XmlElement) -> XliffTarget | None:
        source, target = container.find("source"), container.find("target")
        if source is None:
            raise DocumentError(f"has a {container.name} without source: line {container.line}. Repair the file.")
        segmented = container.find("seg-source") if self.version.number == 1 else None
        segments = _segments(segmented) if segmented is not None else {}
        status = self._status(container)
        if status == "approved" or not source.text().strip():
            self.skipped["approved" if status == "approved" else "empty"] += 1
            return None
        after = source if segmented is None else segmented
        target_segments = _segments(target) if target is not None and status == "translated" else {}
        if segments and target is not None and target_segments:
            slots = list(self._segment_slots(segments, target_segments))
            return XliffTarget(container, target, after, target, slots)
        if status == "translated" and not self.options.overwrite:
            self.skipped["already translated"] += 1
            return None
        template = segmented if segmented is not None and segments else source
        holes = segments.values() if segments else [source]
        slots = [self._slot(hole, hole) for hole in holes if hole.text().strip()]
        return XliffTarget(container, target, after, template, slots)

    def _status(self, container: XmlElement) -> str:
        """Return "untranslated", "translated" or "approved"."""
        target = container.find("target")
        holder = target if self.version.number == 1 else container
        state = holder.attributes.get("state", "") if holder is not None else ""
        if container.attributes.get("approved") == "yes" or state in APPROVED_STATES:
            return "approved"
        if target is None or state in UNTRANSLATED_STATES:
            return "untranslated"
        has_content = bool(target.text().strip()) or any(child.name != "mrk" for child in target.elements())
        return "translated" if has_content else "untranslated"

    def _segment_slots(self, segments: dict[str, XmlElement], targets: dict[str, XmlElement]) -> Iterator[XliffSlot]:
        for mid, segment in segments.items():
            target = targets.get(mid)
            if target is None or (target.children and not self.options.overwrite):
                self.skipped["already translated"] += 1
            elif segment.text().strip():
                yield self._slot(segment, target)

    def _slot(self, element: XmlElement, hole: XmlElement) -> XliffSlot:
        content = read_inline(self.source, element, inline_role)
        return XliffSlot(Unit(content.marked, f"line {element.line}"), content, hole.inner_first, hole.inner_end)

    def pairs(self) -> Iterator[tuple[MarkedText, MarkedText]]:
        for container in self.containers():
            source, target = container.find("source"), container.find("target")
            if source is not None and target is not None and self._status(container) != "untranslated":
                one, other = (read_inline(self.source, element, inline_role) for element in (source, target))
                if not one.is_empty and not other.is_empty:
                    yield one.marked, other.marked


def _segments(element: XmlElement) -> dict[str, XmlElement]:
    """Return the segments of a seg-source or target with content of its own, by mid."""
    marks = (mark for mark in element.descendants("mrk") if mark.attributes.get("mtype") == "seg")
    return {mark.attributes.get("mid", ""): mark for mark in marks if mark.inner_end < mark.end}


def read_xliff_pairs(content: bytes, options: DocumentOptions) -> Iterator[tuple[MarkedText, MarkedText]]:
    """Yield source and target of each segment that has a translation."""
    source = parse_xml(content)
    yield from _XliffReader(source, _version(source.root), options).pairs()


def is_xliff(content: bytes) -> bool:
    """Whether a file starts as XLIFF does, in UTF-8 or UTF-16."""
    return re.search(rb"<(?:[\w.-]+:)?xliff[\s>]", content[:5000].replace(b"\0", b"")) is not None


XLIFF = DocumentFormat("xliff", "XLIFF", (".xlf", ".xliff"), is_xliff, open_xliff, read_xliff_pairs)
