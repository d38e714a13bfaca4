"""Terminology in TBX (ISO 30042): concepts with terms in two languages, in the forms of 2008 and 2019."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from weft.core.errors import UserError
from weft.core.files import read_bounded
from weft.data.text_files import require_file
from weft.documents.document import DocumentError
from weft.documents.xml_source import XmlElement, parse_xml

CONCEPTS, LANGUAGES = ("termEntry", "conceptEntry"), ("langSet", "langSec")  # of 2008 and 2019
MAX_BYTES = 2**25


def read_tbx(path: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the source terms of each concept with its target terms, any of which is a translation.

    The source language is that of the root element, else the first in the file.
    """
    require_file(path)
    try:
        root = parse_xml(read_bounded(path, MAX_BYTES)).root
    except DocumentError as error:
        raise UserError(f"{path}: {error}") from error
    concepts = [dict(_terms(concept)) for name in CONCEPTS for concept in root.descendants(name)]
    languages = list(dict.fromkeys(chain.from_iterable(concepts)))
    if root.name not in ("martif", "tbx") or len(languages) != 2:
        found = f"terms in {', '.join(languages) or 'no language'}" if concepts else "no concepts"
        raise UserError(f"{path}: has {found}, but a glossary in TBX has concepts with terms in two languages")
    own = root.attributes.get("xml:lang", "")
    source, target = languages[::-1] if own == languages[1] else languages
    for concept in concepts:
        translations = concept.get(target, ())
        if translations:
            yield from ((term, translations) for term in concept.get(source, ()))


def _terms(concept: XmlElement) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each language of a concept with its terms."""
    for section in chain.from_iterable(map(concept.elements, LANGUAGES)):
        terms = (" ".join(term.text().split()) for term in section.descendants("term"))
        yield section.attributes.get("xml:lang", ""), tuple(dict.fromkeys(filter(None, terms)))
