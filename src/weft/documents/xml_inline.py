"""What XLIFF and TMX share: segments of text with inline elements, their translation, and language tags."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, TypeAlias

from weft.documents.inline_tags import InlineTag, mark_tags, match_tags
from weft.documents.xml_source import XmlElement, XmlMarkup, XmlSource, XmlText
from weft.text.marked_text import MarkedText

OUTER_SPACE = re.compile(r"[ \t\r\n]*")


class InlineRole(NamedTuple):
    """How an element marks text. key: what the start and the end of a pair have in common.

    element: its tags are a pair around its content. transparent: its content without its tags.
    open, close: the whole element is the start or the end of a pair. single: the whole element is a tag.
    """

    kind: Literal["element", "transparent", "open", "close", "single"]
    key: str = ""


InlineRoles: TypeAlias = Callable[[XmlElement], InlineRole]


class InlineContent(NamedTuple):
    """The text of a segment and the white space around it, which stays."""

    marked: MarkedText
    before: str
    after: str

    @property
    def is_empty(self) -> bool:
        return not self.marked.text


def read_inline(source: XmlSource, element: XmlElement, roles: InlineRoles) -> InlineContent:
    """Return the content of an element; comments and processing instructions are no part of it."""
    parts = _join_texts(_inline_parts(source.content, element, roles))
    before = after = ""
    if parts and isinstance(parts[0], str):
        before, parts[0] = _split_space(parts[0])
    if parts and isinstance(parts[-1], str):
        after, parts[-1] = (part[::-1] for part in _split_space(parts[-1][::-1]))
    return InlineContent(mark_tags([part for part in parts if part]), before, after)


def _split_space(text: str) -> tuple[str, str]:
    match = OUTER_SPACE.match(text)
    end = match.end() if match else 0
    return text[:end], text[end:]


def _join_texts(parts: Iterator[str | InlineTag]) -> list[str | InlineTag]:
    joined, texts = list[str | InlineTag](), list[str]()
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
            continue
        joined += ["".join(texts), part] if texts else [part]
        texts = []
    return [*joined, "".join(texts)] if texts else joined


def _inline_parts(content: bytes, element: XmlElement, roles: InlineRoles) -> Iterator[str | InlineTag]:
    for node in element.children:
        if isinstance(node, XmlText):
            yield node.text
        elif not isinstance(node, XmlMarkup):
            yield from _element_parts(content, node, roles)


def _element_parts(content: bytes, element: XmlElement, roles: InlineRoles) -> Iterator[str | InlineTag]:
    kind, key = roles(element)
    if kind == "transparent":
        yield from _inline_parts(content, element, roles)
    elif kind == "element" and element.inner_end < element.end:  # not <g/>
        start = content[element.first : element.inner_first].decode()
        yield InlineTag(start, opens=f"<{element.first}")
        yield from _inline_parts(content, element, roles)
        yield InlineTag(content[element.inner_end : element.end].decode(), closes=f"<{element.first}")
    else:
        text = content[element.first : element.end].decode()
        yield InlineTag(text, key if kind == "open" else "", key if kind == "close" else "")


def render_inline(source: XmlSource, content: InlineContent, translation: MarkedText) -> bytes:
    """Spell a translation as content of an element; raise ValueError with the reason if it is not possible."""
    parts = match_tags(content.marked, translation)
    texts, spans = [content.before, *parts, content.after], content.marked.spans
    return "".join(spans[part].text if isinstance(part, int) else source.escape(part) for part in texts).encode()


def languages_match(one: str, other: str) -> bool:
    """Whether two language tags (BCP 47) are equal, or one is the other without its last subtags: en and en-US."""
    one, other = (f"{tag.strip().lower().replace('_', '-')}-" for tag in (one, other))
    return one.startswith(other) or other.startswith(one)
