"""PO and POT files of gettext. Only the translations of units change, and the header of a file that is a template."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from weft.documents.accelerators import find_accelerator_mark, place_accelerator, remove_accelerator
from weft.documents.decoded_text import DecodedText, decode_document
from weft.documents.document import DocumentError, DocumentFormat, DocumentOptions, FilledDocument, Unit
from weft.documents.format_directives import DirectiveSyntax, find_syntaxes
from weft.documents.plural_forms import PluralForms, plural_field
from weft.documents.po_entries import LINE_WIDTH, PoEntry, message_pairs, parse_entries, write_string
from weft.documents.po_header import complete_header, declared_encoding, read_plural_forms
from weft.documents.slot_document import MAX_UNIT_LENGTH, TOO_LONG, UNTRANSLATABLE, check_units
from weft.documents.translatable_text import (
    REQUIRED_SPANS,
    core_range,
    is_translatable,
    mark_spans,
    reject_other_spans,
)
from weft.text.marked_text import MarkedText
from weft.text.span_patterns import SpanKind, find_spans

ENTRY = re.compile(rb'^\s*(?:#~ ?)?msgid[ \t]+"', re.MULTILINE)
FUZZY = re.compile(r",\s*fuzzy\b")


class PoText(NamedTuple):
    """A source string: the text to translate, and what makes its translation a string of the same kind."""

    source: str
    marked: MarkedText
    syntaxes: tuple[DirectiveSyntax, ...]
    mark: str
    letter: str

    @classmethod
    def read(cls, source: str, flags: Iterable[str], mark: str) -> PoText:
        syntaxes = tuple(find_syntaxes(sorted(flags)))
        first, end = core_range(source)
        core, letter = remove_accelerator(source[first:end], mark)
        spans = [span for syntax in syntaxes for span in syntax.spans(core)]
        return cls(source, mark_spans(core, spans), syntaxes, mark, letter)

    def arguments(self) -> Counter[tuple[str, str]]:
        """Return the placeholders that a translation must have."""
        if self.syntaxes:
            return sum((syntax.arguments(self.source) for syntax in self.syntaxes), Counter())
        return Counter((span.text, "") for span in find_spans(self.source, ["placeholders"]))

    def render(self, translation: MarkedText) -> str:
        """Return the string with the white space, the mark and the escapes that the source has."""
        if self.letter:
            translation = place_accelerator(translation, self.mark, self.letter)
        text = self.syntaxes[0].render(self.source, translation) if self.syntaxes else translation.text
        first, end = core_range(self.source)
        start, stop = core_range(text)
        return self.source[:first] + text[start:stop] + self.source[end:]

    def reject(self, translation: MarkedText, text: str) -> str | None:
        """Return why `msgfmt --check-format` or a program would not accept the translation, or None."""
        if not translation.text.strip():
            return "the translation is empty"
        for syntax in self.syntaxes:
            if (reason := syntax.reject(self.source, text)) is not None:
                return reason
        kinds: tuple[SpanKind, ...] = ("markup",) if self.syntaxes else REQUIRED_SPANS
        return reject_other_spans(self.marked, translation, kinds)


class PoMessage(NamedTuple):
    """An entry to fill. forms: the number of the unit that each of its translations comes from."""

    entry: PoEntry
    forms: tuple[int, ...]


class LineChange(NamedTuple):
    """New lines instead of those from `first` to before `end`."""

    first: int
    end: int
    lines: Sequence[str]


@dataclass(frozen=True)
class PoDocument:
    """lines: of the file. texts: one for each unit. wraps: whether long lines are broken."""

    file: DecodedText
    options: DocumentOptions
    lines: Sequence[str]
    header: PoEntry | None
    messages: Sequence[PoMessage]
    units: Sequence[Unit]
    texts: Sequence[PoText]
    skipped: dict[str, int]
    wraps: bool

    def fill(self, translations: Sequence[MarkedText | None]) -> FilledDocument:
        strings, rejected = self._render(translations)
        changes = list[LineChange]()
        for message in self.messages:
            if all(number in strings for number in message.forms):
                changes += self._entry_changes(message.entry, [strings[number] for number in message.forms])
        if changes:
            changes += self._header_changes(any(message.entry.plural for message in self.messages))
        return FilledDocument(self.file.encode("\n".join(self._apply(changes))), tuple(rejected))

    def _render(self, translations: Sequence[MarkedText | None]) -> tuple[dict[int, str], list[tuple[Unit, str]]]:
        """Return the string of each translated unit by its number, and the units that are left out with the reasons."""
        strings, rejected = dict[int, str](), list[tuple[Unit, str]]()
        for number, (unit, text, translation) in enumerate(zip(self.units, self.texts, translations, strict=True)):
            if translation is None:
                continue
            string = text.render(translation)
            reason = text.reject(translation, string) or self.file.reject(string)
            if reason is None:
                strings[number] = string
            else:
                rejected.append((unit, reason))
        return strings, rejected

    def _entry_changes(self, entry: PoEntry, values: list[str]) -> Iterator[LineChange]:
        existing = [translation.value for translation in entry.translations]
        if not entry.is_fuzzy and not self.options.overwrite:
            values = [old or value for old, value in zip_longest(existing[: len(values)], values)]
        if values != existing:
            keywords = [f"msgstr[{number}]" for number in range(len(values))] if entry.plural else ["msgstr"]
            lines = [write_string(keyword, value, self.wraps) for keyword, value in zip(keywords, values, strict=True)]
            yield LineChange(entry.translations[0].first, entry.end, [line for new in lines for line in new])
        if entry.is_fuzzy:
            yield from self._remove_fuzzy(entry)

    def _remove_fuzzy(self, entry: PoEntry) -> Iterator[LineChange]:
        """Remove the flag, and the comments with the previous source."""
        for number in range(entry.first, entry.keyword):
            line = self.lines[number].strip()
            if line.startswith("#|"):
                yield LineChange(number, number + 1, [])
            elif line.startswith("#,") and FUZZY.search(line):
                rest = FUZZY.sub("", line)
                yield LineChange(number, number + 1, [rest] if rest != "#" else [])

    def _header_changes(self, has_plurals: bool) -> Iterator[LineChange]:
        old = self.header.translations[0].value if self.header else ""
        new = complete_header(old, self.options.target, has_plurals)
        lines = write_string("msgstr", new, self.wraps)
        if self.header is None:
            first = self.messages[0].entry.first
            yield LineChange(first, first, ['msgid ""', *lines, ""])
        elif new != old:
            yield LineChange(self.header.translations[0].first, self.header.end, lines)
            yield from self._remove_fuzzy(self.header)

    def _apply(self, changes: Iterable[LineChange]) -> Iterator[str]:
        line_end, reached = "\r" if self.lines[0].endswith("\r") else "", 0
        for first, end, new in sorted(changes):
            yield from self.lines[reached:first]
            yield from (f"{line}{line_end}" for line in new)
            reached = end
        yield from self.lines[reached:]


class _PoReader:
    """Collects the units of a file."""

    def __init__(self, options: DocumentOptions, forms: PluralForms | None, mark: str) -> None:
        self._options, self._forms, self._mark = options, forms, mark
        self.messages, self.skipped = list[PoMessage](), Counter[str]()
        self.units, self.texts = list[Unit](), list[PoText]()

    def add(self, entry: PoEntry) -> None:
        if not self._options.overwrite and (entry.is_translated or (entry.is_fuzzy and entry.has_translation)):
            self.skipped["fuzzy" if entry.is_fuzzy else "already translated"] += 1
            return
        texts = [
            PoText.read(string.value, entry.flags, self._mark) for string in (entry.source, entry.plural) if string
        ]
        if reason := self._skip_reason(entry, texts):
            self.skipped[reason] += 1
            return
        forms = self._form_texts(texts)
        used = sorted(set(forms))
        numbers = {form: len(self.units) + number for number, form in enumerate(used)}
        location = f"line {entry.source.first + 1}"
        self.units += [Unit(texts[form].marked, location) for form in used]
        self.texts += [texts[form] for form in used]
        self.messages.append(PoMessage(entry, tuple(numbers[form] for form in forms)))

    def _skip_reason(self, entry: PoEntry, texts: list[PoText]) -> str:
        if any(len(text.source) > MAX_UNIT_LENGTH for text in texts):
            return TOO_LONG
        if not all(is_translatable(text.marked) for text in texts):
            return UNTRANSLATABLE
        return "the plural forms of the target language are unknown" if entry.plural and not self._forms else ""

    def _form_texts(self, texts: list[PoText]) -> list[int]:
        """Return for each form whether it translates the singular (0) or the plural (1).

        A form that is not of the number one alone has to contain the placeholders of the plural.
        """
        if len(texts) == 1 or self._forms is None:
            return [0]
        singular, plural = (set(text.arguments()) for text in texts)
        forms = [1] * self._forms.size
        if (form := self._forms.singular) is not None:
            is_possible = singular == plural or (singular < plural and not self._forms.is_frequent(form))
            forms[form] = 0 if is_possible and texts[0].source != texts[1].source else 1
        return forms


def open_po(content: bytes, options: DocumentOptions) -> PoDocument:
    """Read a PO file; a template without plural forms gets those of the target language."""
    file, lines, entries = _read_entries(content)
    header = next((entry for entry in entries if entry.is_header), None)
    fields = header.translations[0].value if header else ""
    template = plural_field(options.target)
    forms = read_plural_forms(fields) or (PluralForms.parse(template) if template else None)
    reader = _PoReader(options, forms, _accelerator_mark(entries))
    for entry in entries:
        if entry.source.value:
            reader.add(entry)
    check_units(len(reader.units))
    sources = (entry.source for entry in entries if not entry.is_header)
    wraps = not any(_is_unwrapped(line) for source in sources for line in lines[source.first : source.end])
    return PoDocument(
        file, options, lines, header, reader.messages, reader.units, reader.texts, dict(reader.skipped), wraps
    )


def read_po_pairs(content: bytes, options: DocumentOptions) -> Iterator[tuple[MarkedText, MarkedText]]:
    """Yield the translated messages that are not fuzzy; of plurals, the forms that translate one source."""
    del options
    entries = _read_entries(content)[2]
    mark = _accelerator_mark(entries)
    for entry in entries:
        if entry.source.value and entry.is_translated and not entry.is_fuzzy:
            for pair in message_pairs(entry.message):
                source, target = (PoText.read(text, entry.flags, mark).marked for text in pair)
                if is_translatable(source) and target.text:
                    yield source, target


def _read_entries(content: bytes) -> tuple[DecodedText, list[str], list[PoEntry]]:
    file = decode_document(content, declared_encoding(content))
    lines = file.text.split("\n")
    entries = parse_entries(lines)
    if not entries:
        raise DocumentError("has no messages of gettext. Is it a PO file?")
    return file, lines, entries


def _accelerator_mark(entries: Sequence[PoEntry]) -> str:
    return find_accelerator_mark([(entry.source.value, entry.translations[0].value) for entry in entries])


def _is_unwrapped(line: str) -> bool:
    has_space = " " in line.partition('"')[2][: LINE_WIDTH // 2]
    return len(line) > LINE_WIDTH + 1 and has_space


def matches_po(content: bytes) -> bool:
    return ENTRY.search(content[: 2**16]) is not None


PO_FORMAT = DocumentFormat("po", "gettext catalog", (".po", ".pot"), matches_po, open_po, read_po_pairs)
