"""User files with a source term, a tab and its translation per line: glossaries, whose terms become constraints of a
request, and dictionaries, which replace unknown words.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from weft.core.errors import UserError
from weft.data.record_files import read_records
from weft.data.text_files import read_lines
from weft.decoding.constraints.request import Request
from weft.decoding.constraints.tbx import read_tbx
from weft.decoding.constraints.word_boundaries import phrase_occurrences

ANY_SOURCE = ""  # in place of a term


class GlossaryEntry(NamedTuple):
    """A term, its translations, and whether they are forbidden."""

    term: str
    translations: tuple[str, ...]
    is_forbidden: bool


@dataclass(frozen=True)
class Glossary:
    """Terms with their required and forbidden translations, from a file of rows with a tab (here ->) such as

        house -> Haus
        man -> Mann|Herr
        house -> !Gebäude
        -> !Scheiße

    "|" separates alternatives, any one of which is enough. "!" forbids a translation where the term appears in the
    line; without a term, in every line. Blank rows and rows that begin with "#" are skipped. A term is matched as whole
    words, in any case unless it has capital letters itself; of overlapping terms the longest counts.
    """

    required: Mapping[str, tuple[str, ...]]  # the alternatives for each source term
    forbidden: Mapping[str, tuple[str, ...]]

    def apply(self, request: Request) -> Request:
        """Return the request with the constraints of the terms in its text added."""
        required = [self.required[term] for term in _find_terms(self.required, request.text)]
        terms = [ANY_SOURCE, *_find_terms(self.forbidden, request.text)]
        forbidden = [phrase for term in terms for phrase in self.forbidden.get(term, ())]
        new = (phrases for phrases in dict.fromkeys(required) if phrases not in request.include)
        exclude = tuple(dict.fromkeys([*request.exclude, *forbidden]))
        return replace(request, include=(*request.include, *new), exclude=exclude)


def read_glossary(path: Path) -> Glossary:
    """Read a glossary file: rows with a tab, a .csv with the same two columns, or the terms of a .tbx."""
    required: dict[str, tuple[str, ...]] = {}
    forbidden: dict[str, tuple[str, ...]] = {}
    for term, phrases, is_forbidden in _read_entries(path):
        table = forbidden if is_forbidden else required
        table[term] = tuple(dict.fromkeys([*table.get(term, ()), *phrases]))
    if not required and not forbidden:
        raise UserError(f"{path}: contains no terms. Write a source term, a tab and its translation per line")
    for term, phrases in required.items():
        if {*phrases} <= {*forbidden.get(term, ()), *forbidden.get(ANY_SOURCE, ())}:
            listed = " or ".join(f'"{phrase}"' for phrase in phrases)
            raise UserError(f'{path}: "{term}" requires {listed}, which another row forbids: remove one of the rows')
    return Glossary(required, forbidden)


def _read_entries(path: Path) -> Iterator[GlossaryEntry]:
    suffix = path.suffix.lower()
    if suffix == ".tbx":
        for term, translations in read_tbx(path):
            yield GlossaryEntry(term, translations, False)
        return
    rows = _read_csv_rows(path) if suffix == ".csv" else _read_rows(path)
    for number, line in rows:
        try:
            yield _parse_glossary_row(line)
        except UserError as error:
            raise UserError(f"{path}, line {number}: {error}") from error


def _read_csv_rows(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the records of a CSV file as rows with a tab; a header "source,target" is skipped."""
    pairs = read_records(path, "csv", ("source", "target"))
    return ((number, f"{term}\t{translation}") for number, (term, translation) in enumerate(pairs, 1) if term.strip())


def _read_rows(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line numbers and lines, without blank lines and comments."""
    return ((number, line) for number, line in enumerate(read_lines(path), 1) if line.strip() and line[0] != "#")


def _parse_glossary_row(line: str) -> GlossaryEntry:
    parts = [part.strip() for part in line.split("\t")]
    if len(parts) != 2:
        tabs = "no tab" if len(parts) == 1 else f"{len(parts) - 1} tabs"
        raise UserError(
            f"has {tabs}, but a row of a glossary is a source term, one tab, and its translation (alternatives "
            "separated by |, a forbidden one preceded by !)"
        )
    term, translations = parts
    phrases = tuple(part.strip() for part in translations.removeprefix("!").split("|"))
    if not all(phrases):
        raise UserError("a translation is missing after the tab, after the ! or next to a |")
    if not term and not translations.startswith("!"):
        raise UserError("has no source term: only a forbidden translation, preceded by !, may have none")
    return GlossaryEntry(term, phrases, translations.startswith("!"))


def _find_terms(terms: Mapping[str, object], text: str) -> list[str]:
    """The terms in the text, in its order; the longest where they overlap."""
    lowered = text.lower()
    occurrences = [
        (first, end, term)
        for term in terms
        if term
        for first, end in phrase_occurrences(term, lowered if term == term.lower() else text)
    ]
    taken: list[tuple[int, int, str]] = []
    for first, end, term in sorted(occurrences, key=lambda found: (found[0] - found[1], found[0])):
        if all(end <= other[0] or other[1] <= first for other in taken):
            taken.append((first, end, term))
    return list(dict.fromkeys(term for _, _, term in sorted(taken)))


def read_dictionary(path: Path) -> dict[str, str]:
    """Read a file with a word, a tab and its translation per line; the first translation of a word counts."""
    words: dict[str, str] = {}
    for number, line in _read_rows(path):
        parts = [part.strip() for part in line.split("\t")]
        if len(parts) != 2 or not all(parts):
            raise UserError(f"{path}, line {number}: expected a word, one tab and its translation, got {line!r}")
        words.setdefault(*parts)
    if not words:
        raise UserError(f"{path}: contains no words. Write a word, a tab and its translation per line")
    return words


def look_up_word(word: str, dictionary: Mapping[str, str]) -> str:
    """Return the translation of a word, or of its lower-case form, or the word itself."""
    return dictionary.get(word) or dictionary.get(word.lower(), word)
