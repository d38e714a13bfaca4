"""Split plain text or HTML (tokenized as browsers do, see WHATWG) into sentences, and put translations back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape, unescape
from itertools import groupby
from operator import itemgetter

from weft.text.sentences import SegmentedLine, SentenceSplitter

VOID_ELEMENTS = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
TEXT_ELEMENTS = frozenset({"textarea", "title"})  # contain text without markup
RAW_ELEMENTS = frozenset({"iframe", "noembed", "noframes", "script", "style", "xmp"})  # contain nothing to translate
END_TAGS = {name: re.compile(rf"</{name}(?=[ \t\n\f\r/>])", re.IGNORECASE) for name in TEXT_ELEMENTS | RAW_ELEMENTS}
# Possessive quantifiers (*+) never backtrack, so a match that fails takes linear time.
ATTRIBUTE_PATTERN = re.compile(
    r"""(?P<attribute>[^ \t\n\f\r/>][^ \t\n\f\r/>=]*+)
        (?:[ \t\n\f\r]*+=[ \t\n\f\r]*+
            (?P<value>"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^ \t\n\f\r>"'][^ \t\n\f\r>]*+|(?=>)))?+""",
    re.VERBOSE,
)
MARKUP_START = re.compile(r"<(?=[A-Za-z!?]|/.)", re.DOTALL)
MARKUP_PATTERN = re.compile(
    rf"""<!--(?:-?>|.*?--!?>)
        |<(?P<slash>/?)(?P<name>[A-Za-z][^ \t\n\f\r/>]*+)(?P<rest>(?:[ \t\n\f\r/]++|{ATTRIBUTE_PATTERN.pattern})*+)>
        |<(?:\?|!(?!--)|/(?![A-Za-z]))[^>]*+>""",
    re.VERBOSE | re.DOTALL,
)
NUMERIC_REFERENCE = re.compile("(?<=&#)[0-9]++")


def html_segments(page: str) -> list[tuple[str, bool]]:
    """Split a page, however broken it is, into text to translate (True) and anything else, in turn."""
    runs = groupby((segment for segment in _raw_segments(page) if segment[0]), itemgetter(1))
    return [("".join(raw for raw, _ in run), is_text) for is_text, run in runs]


def _raw_segments(page: str) -> Iterator[tuple[str, bool]]:
    """Yield texts, tags and comments, and whether to translate them. Markup that never ends extends to the end."""
    position, untranslated = 0, _UntranslatedElement()
    while start_match := MARKUP_START.search(page, position):
        start = start_match.start()
        yield page[position:start], not untranslated.depth
        markup = MARKUP_PATTERN.match(page, start)
        position = markup.end() if markup else len(page)
        yield page[start:position], False
        if markup and markup["name"]:
            untranslated.read_tag(markup)
            content = _raw_content(page, markup)
            yield content, not untranslated.depth and markup["name"].lower() in TEXT_ELEMENTS
            position += len(content)
    yield page[position:], not untranslated.depth


def _raw_content(page: str, tag: re.Match[str]) -> str:
    """Return the content of an element that contains no markup; nothing for other elements."""
    end_tag = None if tag["slash"] else END_TAGS.get(tag["name"].lower())
    if end_tag is None:
        return ""
    end = end_tag.search(page, tag.end())
    return page[tag.end() : end.start() if end else len(page)]


class _UntranslatedElement:
    """Tracks elements with translate="no". `depth` counts the open elements of its name, nested in one another."""

    def __init__(self) -> None:
        self.name, self.depth = "", 0

    def read_tag(self, tag: re.Match[str]) -> None:
        name = tag["name"].lower()
        if tag["slash"]:
            self.depth -= self.depth > 0 and name == self.name
        elif name not in VOID_ELEMENTS and not tag[0].endswith("/>"):
            if self.depth:
                self.depth += name == self.name
            elif _has_translate_no(tag["rest"]):
                self.name, self.depth = name, 1


def _has_translate_no(attributes: str) -> bool:
    """Of several attributes with the same name, the first counts."""
    matches = (match for match in ATTRIBUTE_PATTERN.finditer(attributes) if match["attribute"].lower() == "translate")
    value = next((match["value"] for match in matches), None) or ""
    return value.strip("\"'").lower() == "no"


@dataclass(frozen=True)
class SplitDocument:
    """A text or page as sentences and the text between them. `escape` spells a translation as the document needs it."""

    layout: SegmentedLine
    escape: Callable[[str], str] = str

    @property
    def sentences(self) -> tuple[str, ...]:
        return self.layout.sentences

    def fill(self, texts: Sequence[str]) -> str:
        """Return the document with these texts in place of its sentences."""
        return self.layout.fill([self.escape(text) for text in texts])


def split_text(text: str, splitter: SentenceSplitter) -> SplitDocument:
    return SplitDocument(_join_layouts([splitter(line) for line in text.split("\n")], "\n"))


def split_html(page: str, splitter: SentenceSplitter) -> SplitDocument:
    """Split a page. Markup is copied unchanged, and the text between two tags is split by itself."""
    layouts = []
    for raw, is_text in html_segments(page):
        layout = SegmentedLine((raw,), ())  # markup, and text without a sentence, keep their original spelling
        if is_text and (split := split_text(_unescape(raw), splitter).layout).sentences:
            layout = split._replace(gaps=tuple(escape(gap, quote=False) for gap in split.gaps))
        layouts.append(layout)
    return SplitDocument(_join_layouts(layouts, ""), lambda text: escape(text, quote=False))


def _join_layouts(layouts: Sequence[SegmentedLine], separator: str) -> SegmentedLine:
    gaps, sentences = list[str](), list[str]()
    for layout in layouts:
        first, *others = layout.gaps
        gaps[-1:] = [gaps[-1] + separator + first] if gaps else [first]
        gaps += others
        sentences += layout.sentences
    return SegmentedLine(tuple(gaps or [""]), tuple(sentences))


def _unescape(text: str) -> str:
    """Replace character references. Long numbers are shortened to 8 digits, enough to see that they are invalid."""
    return unescape(NUMERIC_REFERENCE.sub(lambda digits: digits[0].lstrip("0")[:8] or "0", text))
