"""Inline syntax of CommonMark: emphasis, links, code, HTML and escapes of a paragraph as spans."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from weft.documents.inline_tags import InlineTag, mark_tags
from weft.text.marked_text import MarkedText
from weft.text.span_patterns import SpanRole

TOKEN = re.compile(
    r"(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<code>`++)"
    r"|(?P<autolink><(?:[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]{0,2000}+|[\w.+-]{1,64}+@[\w.-]{1,255}+)>)"
    r"|(?P<html></?[A-Za-z][^<>]{0,2000}+>|<!--[^<>]{0,2000}+-->)"
    r"|(?P<entity>&(?:[A-Za-z][A-Za-z0-9]{0,31}+|\#[0-9]{1,7}+|\#[xX][0-9A-Fa-f]{1,6}+);)"
    r"|(?P<note>\[\^[^\s\[\]]{1,200}+\])"
    r"|(?P<open>!?\[)"
    r"|(?P<close>\])"
    r"|(?P<run>\*++|_++|~~?+(?!~))"
)
LINK_TARGET = re.compile(
    r"\(\s*+(?:<[^<>\n]{0,2000}+>|(?:[^\s()<>\\]|\\.|\((?:[^\s()\\]|\\.){0,500}+\)){0,2000}+)"
    r"""(?:\s++(?:"(?:[^"\\]|\\.){0,1000}+"|'(?:[^'\\]|\\.){0,1000}+'|\((?:[^()\\]|\\.){0,1000}+\)))?+\s*+\)"""
)
REFERENCE = re.compile(r"\[((?:[^\[\]\\]|\\.){0,999}+)\]")
HTML_NAME = re.compile(r"<(/?)([A-Za-z][^\s/>]*+)")
MAX_BRACKETS = 100  # open at the same time
SPECIAL = re.compile(r"[\\`*_\[\]<>~&]")


class Mark(NamedTuple):
    """A piece of syntax. text: as it is written in a translation, which may differ from the source."""

    first: int
    end: int
    text: str
    pair: int = -1  # the same number for the two marks of a pair
    role: SpanRole = "single"

    @property
    def tag(self) -> InlineTag:
        key = str(self.pair)
        return InlineTag(self.text, key if self.role == "open" else "", key if self.role == "close" else "")


def parse_inline(text: str, references: Collection[str]) -> MarkedText:
    """Return a paragraph with its inline syntax as spans. references: the normalized labels of link definitions.

    A link that is its own label ([text] or [text][]) is written with the label, so that its text can be translated.
    """
    marks, runs = _scan(text, references)
    marks = sorted([*marks, *_pair_emphasis(runs, text)])
    parts, reached = list[str | InlineTag](), 0
    for mark in marks:
        parts += [text[reached : mark.first], mark.tag]
        reached = mark.end
    return mark_tags([*parts, text[reached:]])


def escape_inline(text: str) -> str:
    """Write text so that nothing in it is syntax."""
    return SPECIAL.sub(r"\\\g<0>", text)


def normalize_label(label: str) -> str:
    """Return the label of a reference as definitions are compared."""
    return " ".join(label.split()).lower().upper()


def _scan(text: str, references: Collection[str]) -> tuple[list[Mark], list[Run]]:
    """Return the marks of everything but emphasis, and the runs of its characters."""
    marks, runs = list[Mark](), list[Run]()
    brackets, elements = list[re.Match[str]](), list[tuple[str, int]]()
    unclosed = set[int]()  # lengths of runs of backticks that are not closed in the rest of the text
    position, pair = 0, 0
    while found := TOKEN.search(text, position):
        position = found.end()
        match found.lastgroup:
            case "code":
                end = _code_end(text, found, unclosed)
                if end:
                    marks.append(Mark(found.start(), end, text[found.start() : end]))
                    position = end
            case "html":
                pair += 1
                marks += _pair_element(marks, found, elements, pair)
            case "open":
                brackets = [*brackets[-MAX_BRACKETS:], found]
            case "close":
                link = _match_link(text, brackets, found, references)
                if link is not None:
                    pair += 1
                    opening, target, end = link
                    marks.append(Mark(opening.start(), opening.end(), opening[0], pair, "open"))
                    marks.append(Mark(found.start(), end, target, pair, "close"))
                    position = end
                brackets = brackets[:-1]
            case "run":
                runs.append(Run(found.start(), found.end()))
            case _:
                marks.append(Mark(*found.span(), found[0]))
    return marks, runs


def _code_end(text: str, run: re.Match[str], unclosed: set[int]) -> int:
    """Return the end of a code span; 0 if it is not closed."""
    length = len(run[0])
    if length in unclosed:
        return 0
    for other in re.compile("`++").finditer(text, run.end()):
        if len(other[0]) == length:
            return other.end()
    unclosed.add(length)
    return 0


def _pair_element(
    marks: list[Mark], match: re.Match[str], elements: list[tuple[str, int]], pair: int
) -> Iterator[Mark]:
    """Yield the mark of a tag, and make the last open element of its name its partner."""
    name = HTML_NAME.match(match[0])
    if name is None or match[0].endswith("/>"):
        yield Mark(*match.span(), match[0])
    elif not name[1]:
        elements.append((name[2].lower(), len(marks)))
        yield Mark(*match.span(), match[0])
    elif elements and elements[-1][0] == name[2].lower():
        number = elements.pop()[1]
        marks[number] = marks[number]._replace(pair=pair, role="open")
        yield Mark(*match.span(), match[0], pair, "close")
    else:
        yield Mark(*match.span(), match[0])


def _match_link(
    text: str, brackets: Sequence[re.Match[str]], close: re.Match[str], references: Collection[str]
) -> tuple[re.Match[str], str, int] | None:
    """Return the opening bracket, what to write after the text, and the end of the link."""
    if not brackets:
        return None
    opening = brackets[-1]
    if target := LINK_TARGET.match(text, close.end()):
        return opening, "]" + target[0], target.end()
    reference = REFERENCE.match(text, close.end())
    if reference and reference[1] and normalize_label(reference[1]) in references:
        return opening, "]" + reference[0], reference.end()
    label = text[opening.end() : close.start()]
    if normalize_label(label) not in references:
        return None
    end = reference.end() if reference and not reference[1] else close.end()
    return opening, f"][{label}]", end


class Run(NamedTuple):
    """Characters of emphasis in a row."""

    first: int
    end: int


class Delimiter:
    """What is left of a run while it is paired."""

    def __init__(self, run: Run, text: str):
        self.first, self.end = run
        self.char, self.length = text[run.first], run.end - run.first
        before, after = text[run.first - 1 : run.first] or " ", text[run.end : run.end + 1] or " "
        left = not after.isspace() and (not _is_punctuation(after) or before.isspace() or _is_punctuation(before))
        right = not before.isspace() and (not _is_punctuation(before) or after.isspace() or _is_punctuation(after))
        is_underscore = self.char == "_"
        self.opens = left and (not is_underscore or not right or _is_punctuation(before))
        self.closes = right and (not is_underscore or not left or _is_punctuation(after))


def _is_punctuation(char: str) -> bool:
    return not char.isalnum() and not char.isspace()


def _pair_emphasis(runs: Sequence[Run], text: str) -> Iterator[Mark]:
    """Yield the marks of emphasis, strong emphasis and strikethrough ("Process emphasis" of CommonMark)."""
    stack, bottoms, pair = list[Delimiter](), dict[tuple[str, bool, int], int](), -2
    for closer in (Delimiter(run, text) for run in runs):
        while closer.closes and closer.end > closer.first:
            key = (closer.char, closer.opens, closer.length % 3)
            depth = _find_opener(stack, closer, bottoms.get(key, 0))
            if depth is None:
                bottoms[key] = len(stack)
                break
            opener = stack[depth]
            used = closer.end - closer.first if closer.char == "~" else 2
            used = min(used, opener.end - opener.first, closer.end - closer.first)
            yield Mark(opener.end - used, opener.end, text[opener.end - used : opener.end], pair, "open")
            yield Mark(closer.first, closer.first + used, text[closer.first : closer.first + used], pair, "close")
            pair -= 1
            opener.end -= used
            closer.first += used
            del stack[depth + (opener.end > opener.first) :]
            bottoms = {known: min(bottom, len(stack)) for known, bottom in bottoms.items()}
        if closer.opens and closer.end > closer.first:
            stack.append(closer)


def _find_opener(stack: Sequence[Delimiter], closer: Delimiter, bottom: int) -> int | None:
    for depth in range(len(stack) - 1, bottom - 1, -1):
        opener = stack[depth]
        if opener.char != closer.char:
            continue
        if closer.char == "~":
            if opener.length == closer.length:
                return depth
            continue
        multiple = (opener.length + closer.length) % 3 == 0 and (opener.length % 3 or closer.length % 3)
        if not ((opener.closes or closer.opens) and multiple):
            return depth
    return None
