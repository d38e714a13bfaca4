"""XML as a tree of elements that know their place in the file, so that a change replaces only its own bytes.

Document type definitions with declarations are refused, which excludes entities and everything that is fetched from
elsewhere. Depth, number of nodes and length of tags are limited.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias
from xml.parsers import expat

from weft.core.formatting import pluralize, quote
from weft.documents.decoded_text import DecodedText, decode_document
from weft.documents.document import DocumentError

MAX_XML_BYTES = 2**27
MAX_NODES = 1_000_000  # in memory at once, about 300 bytes each
MAX_DEPTH = 200
MAX_TAG_LENGTH = 1_000_000
XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"
DECLARED_ENCODING = re.compile(rb"""\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']""")
START_TAG_NAME = re.compile(rb"<([^\s/>]+)")
INDENTATION = re.compile(rb"\r?\n[ \t]*\Z")
# https://www.w3.org/TR/xml/#charsets
ILLEGAL_CHARACTER = re.compile("[^\t\n\r\\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(slots=True, eq=False)
class XmlElement:
    """An element from `first` to before `end`; its content lies from `inner_first` to before `inner_end`.

    name: without prefix; namespace: its URI. attributes: by name, with the URI and a space before it if it has a
    prefix, except for xml:lang and xml:space.
    """

    name: str
    namespace: str
    attributes: Mapping[str, str]
    line: int
    first: int
    inner_first: int = -1
    inner_end: int = -1
    end: int = -1
    children: list[XmlNode] = field(default_factory=list)

    def elements(self, name: str = "") -> Iterator[XmlElement]:
        """Yield the child elements, with this name if one is given."""
        return (node for node in self.children if isinstance(node, XmlElement) and name in ("", node.name))

    def find(self, name: str) -> XmlElement | None:
        """Return the first child element with this name."""
        return next(self.elements(name), None)

    def descendants(self, name: str) -> Iterator[XmlElement]:
        """Yield the elements with this name at any depth, in the order of their ends: inner ones first."""
        for child in self.elements():
            yield from child.descendants(name)
            if child.name == name:
                yield child

    def text(self) -> str:
        """Return all text inside, without markup."""
        return "".join(
            node.text if isinstance(node, XmlText) else node.text() if isinstance(node, XmlElement) else ""
            for node in self.children
        )


class XmlText(NamedTuple):
    """Characters, with references replaced: a line, a reference, or a part of a CDATA section."""

    text: str
    first: int
    end: int


class XmlMarkup(NamedTuple):
    """A comment, a processing instruction, or the start or end of a CDATA section."""

    first: int
    end: int
    is_cdata: bool


XmlNode: TypeAlias = "XmlElement | XmlText | XmlMarkup"


class XmlSource(NamedTuple):
    """A parsed file. content: its text in UTF-8, to which all positions refer."""

    root: XmlElement
    content: bytes
    decoded: DecodedText

    def encode(self, content: bytes) -> bytes:
        """Return changed content in the encoding of the file; characters that it lacks become references."""
        return self.decoded.encode(content.decode(), "xmlcharrefreplace")

    @property
    def newline(self) -> str:
        return "\r\n" if b"\r\n" in self.content else "\n"

    def escape(self, text: str) -> str:
        """Spell text for the content of an element, with the line ends of the file.

        Raise ValueError with the reason if XML cannot contain it.
        """
        if ILLEGAL_CHARACTER.search(text):
            raise ValueError("the translation has a control character, which XML cannot contain")
        text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")
        return text.replace("\n", self.newline)

    def prefix(self, element: XmlElement) -> bytes:
        """Return the prefix of the name of an element with its colon."""
        match = START_TAG_NAME.match(self.content, element.first)
        return match[1].removesuffix(element.name.encode()) if match else b""

    def indentation(self, position: int) -> bytes:
        """Return the line end and the white space before a position; nothing if there is text before it."""
        match = INDENTATION.search(self.content, max(0, position - 1000), position)
        return match[0] if match else b""


def escape_attribute(text: str) -> str:
    """Spell text for an attribute value in double quotes."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return re.sub("[\t\n\r]", lambda match: f"&#{ord(match[0])};", text)


def decode_xml(content: bytes) -> DecodedText:
    """Decode XML with its byte order mark or declaration; without both it is UTF-8."""
    match = DECLARED_ENCODING.match(content)
    return decode_document(content, match[1].decode() if match else "utf-8", MAX_XML_BYTES)


def parse_xml(content: bytes, visit: Callable[[XmlElement], bool] = lambda _: False) -> XmlSource:
    """Parse a file. `visit` gets each element when it is complete, and returns True if the tree shall not keep it."""
    decoded = decode_xml(content)
    parser = _TreeParser(decoded.text.encode(), visit)
    return XmlSource(parser.parse(), parser.content, decoded)


class _TreeParser:
    """Builds a tree from the events of expat. The end of an event is the start of the next one."""

    def __init__(self, content: bytes, visit: Callable[[XmlElement], bool]):
        self.content = content
        self._visit = visit
        self._root: XmlElement | None = None
        self._opened: list[XmlElement] = []
        self._counts: list[int] = []  # nodes before each open element
        self._nodes = 0
        self._finish: Callable[[int], None] = _ignore_end
        self._expat = self._create_expat()

    def _create_expat(self) -> expat.XMLParserType:
        parser = expat.ParserCreate("UTF-8", namespace_separator=" ")  # whatever the declaration says: see decode_xml
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.CommentHandler = lambda _: self._markup(False)
        parser.ProcessingInstructionHandler = lambda _target, _data: self._markup(False)
        parser.StartCdataSectionHandler = lambda: self._markup(True)
        parser.EndCdataSectionHandler = lambda: self._markup(True)
        parser.StartDoctypeDeclHandler = self._doctype
        parser.SkippedEntityHandler = self._entity
        return parser

    def parse(self) -> XmlElement:
        try:
            self._expat.Parse(self.content, True)
        except expat.ExpatError as error:
            problem = expat.errors.messages.get(error.code, "?")
            raise DocumentError(f"is not well-formed XML: {problem} in line {error.lineno}. Repair the file.") from None
        if self._root is None:
            raise DocumentError("is not well-formed XML: it has no element. Repair the file.")
        return self._root

    def _position(self) -> int:
        """Return the start of this event, which ends the previous one."""
        position = self._expat.CurrentByteIndex
        self._finish(position)
        self._finish = _ignore_end
        return position

    def _count(self) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise DocumentError(f"is too large: more than {pluralize(MAX_NODES, 'XML node')}. Split it.")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        position, line = self._position(), self._expat.CurrentLineNumber
        self._counts.append(self._nodes)
        self._count()
        if len(self._opened) >= MAX_DEPTH:
            raise DocumentError(f"has elements nested more than {MAX_DEPTH} deep: line {line}. Repair the file.")
        if sum(map(len, attributes)) + sum(map(len, attributes.values())) > MAX_TAG_LENGTH:
            raise DocumentError(f"has a tag of more than {MAX_TAG_LENGTH:,} characters: line {line}. Repair the file.")
        namespace, _, local = name.rpartition(" ")
        attributes = {key.replace(f"{XML_NAMESPACE} ", "xml:"): value for key, value in attributes.items()}
        element = XmlElement(local, namespace, attributes, line, position)
        if self._opened:
            self._opened[-1].children.append(element)
        else:
            self._root = element
        self._opened.append(element)
        self._finish = lambda end: _end_start_tag(element, end)

    def _end(self, _name: str) -> None:
        position, element = self._position(), self._opened.pop()
        element.inner_end = position
        is_empty_tag = element.inner_first == position and self.content[position - 2 : position] == b"/>"
        count = self._counts.pop()
        element.end = position if is_empty_tag else self.content.index(b">", position) + 1
        if self._visit(element) and self._opened:
            self._opened[-1].children.pop()
            self._nodes = count

    def _characters(self, text: str) -> None:
        position, parent = self._position(), self._opened[-1]
        self._count()
        self._finish = lambda end: parent.children.append(XmlText(text, position, end))

    def _markup(self, is_cdata: bool) -> None:
        position = self._position()
        if self._opened:
            parent = self._opened[-1]
            self._count()
            self._finish = lambda end: parent.children.append(XmlMarkup(position, end, is_cdata))

    def _doctype(self, _name: str, _system: str | None, _public: str | None, has_declarations: bool) -> None:
        if has_declarations:
            raise DocumentError("declares entities or elements in a DOCTYPE, which is not supported. Remove it.")

    def _entity(self, name: str, _is_parameter: bool) -> None:
        line = self._expat.CurrentLineNumber
        raise DocumentError(f"uses an entity that it does not define: {quote(name)} in line {line}. Replace it.")


def _end_start_tag(element: XmlElement, end: int) -> None:
    element.inner_first = end


def _ignore_end(_end: int) -> None:
    pass
