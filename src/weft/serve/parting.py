"""A text or a page of HTML as one row of sentences and what stands between them, to be put together again."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape, unescape

from weft.serve.markup import runs_of
from weft.text.sentences import Layout, Splitter

NUMBER = re.compile("(?<=&#)[0-9]++")


@dataclass(frozen=True)
class Parted:
    """written: how a translation is to be written in between."""

    layout: Layout
    written: Callable[[str], str] = str

    @property
    def sentences(self) -> tuple[str, ...]:
        return self.layout.sentences

    def filled(self, texts: Sequence[str]) -> str:
        """The whole with these texts in the places of its sentences."""
        return self.layout.filled([self.written(text) for text in texts])


def part_text(text: str, splitter: Splitter) -> Parted:
    """Its lines, with the sentences of each."""
    return Parted(joined([splitter(line) for line in text.split("\n")], "\n"))


def part_html(page: str, splitter: Splitter) -> Parted:
    """Markup is copied as it is written, letter for letter; the text between two tags is parted by itself."""
    layouts = [
        _escaped(part_text(_read(run.raw), splitter).layout, run.raw) if run.is_text else Layout((run.raw,), ())
        for run in runs_of(page)
    ]
    return Parted(joined(layouts, ""), lambda text: escape(text, quote=False))


def joined(layouts: Sequence[Layout], between: str) -> Layout:
    """Several as one."""
    gaps, sentences = list[str](), list[str]()
    for layout in layouts:
        first, *others = layout.gaps
        gaps[-1:] = [gaps[-1] + between + first] if gaps else [first]
        gaps += others
        sentences += layout.sentences
    return Layout(tuple(gaps or [""]), tuple(sentences))


def _escaped(layout: Layout, raw: str) -> Layout:
    """What stands between sentences, as HTML; text without a sentence stays as it was written."""
    if not layout.sentences:
        return Layout((raw,), ())
    return layout._replace(gaps=tuple(escape(gap, quote=False) for gap in layout.gaps))


def _read(text: str) -> str:
    """With the letters that references stand for; of numbers, no more digits than tell that there is no such letter."""
    return unescape(NUMBER.sub(lambda digits: digits[0].lstrip("0")[:8] or "0", text))
