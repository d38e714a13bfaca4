"""Subtitles: SRT and WebVTT. Cue numbers, times, settings, comments, style sheets and line ends stay.

The lines of a cue are translated as one text, which is wrapped again into at most as many lines; a sentence that
clearly continues in the next cue is translated whole, and distributed over the cues by their lengths.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from weft.documents.decoded_text import DecodedText, Line, check_output, decode_plain_text, split_lines
from weft.documents.document import Document, DocumentError, DocumentFormat, DocumentOptions, FilledDocument, Unit
from weft.documents.inline_tags import InlineTag, mark_tags
from weft.documents.line_wrapping import distribute_marked, join_lines, wrap_marked
from weft.documents.replacements import Replacement, replace_ranges
from weft.documents.translatable_text import has_letters, normalize_spaces, strip_outer_markup
from weft.text.marked_text import MarkedText

MAX_WIDTH = 42  # characters of a line, as broadcasters recommend
MAX_CUE_LINES = 100
MAX_JOINED_CUES = 4
SRT_TIME = r"\s*+\d{1,9}:\d{1,2}:\d{1,2}([,.]\d{1,9})?+\s*+"
SRT_TIMES = re.compile(f"{SRT_TIME}-->{SRT_TIME}.*+")
VTT_TIME = r"\s*+(\d{2,9}:)?\d{2}:\d{2}\.\d{3}\s*+"
VTT_TIMES = re.compile(rf"{VTT_TIME}-->{VTT_TIME}((?<=\s).*+)?")
SRT_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,500}+>|\{\\[^{}\n]{0,500}+\}")
VTT_TAG = re.compile(r"<[^<>\n]{0,500}+>")
TAG_NAME = re.compile(r"<(/?)([A-Za-z]+)")
SPEAKER = re.compile(r"(?:\{\\[^{}]{0,500}+\}|<[^<>]{0,500}+>|\s)*+[-–—‐]")  # the dash before what a person says
LEADING = re.compile(
    r"(?:<v\b[^<>]{0,500}+>|\{\\[^{}]{0,500}+\}|\s|[-–—‐](?=[\s\w¿¡\"'«“<]))*+"
)  # what stays before a text
SENTENCE_END = re.compile(r"[.!?…:;。！？♪)\]]['\"»”’)\]]*+$")


class SubtitleSyntax(NamedTuple):
    """Where SRT and WebVTT differ. times: of a cue. unescape, escape: of the text outside of tags."""

    name: str
    times: re.Pattern[str]
    tag: re.Pattern[str]
    has_blocks: bool

    def unescape(self, text: str) -> str:
        return html.unescape(text) if self.has_blocks else text

    def escape(self, text: str) -> str:
        return html.escape(text, quote=False).replace("&gt;", ">").replace("-->", "--&gt;") if self.has_blocks else text


SRT = SubtitleSyntax("srt", SRT_TIMES, SRT_TAG, has_blocks=False)
VTT = SubtitleSyntax("vtt", VTT_TIMES, VTT_TAG, has_blocks=True)


class Segment(NamedTuple):
    """Lines of a cue that are one text. before, after: what stays around it.

    is_whole_cue: whether the cue has no other text, so that a sentence may continue in the next one.
    """

    lines: tuple[Line, ...]
    before: str
    text: MarkedText
    after: str
    is_whole_cue: bool


@dataclass(frozen=True)
class Subtitles:
    """Each unit has one segment, or those over which a sentence runs."""

    syntax: SubtitleSyntax
    source: DecodedText
    segments: tuple[tuple[Segment, ...], ...]
    units: tuple[Unit, ...]
    skipped: dict[str, int]

    def fill(self, translations: Sequence[MarkedText | None]) -> FilledDocument:
        replacements, rejected = list[Replacement](), list[tuple[Unit, str]]()
        for unit, segments, translation in zip(self.units, self.segments, translations, strict=True):
            if translation is None or translation == unit.text:
                continue
            try:
                replacements += list(self._replace(segments, normalize_spaces(translation)))
            except DocumentError as error:
                rejected.append((unit, str(error)))
        return FilledDocument(self.source.encode(replace_ranges(self.source.text, replacements)), tuple(rejected))

    def _replace(self, segments: Sequence[Segment], translation: MarkedText) -> Iterator[Replacement]:
        """Yield the new lines of each segment; raise DocumentError if the format cannot hold them."""
        if not translation.text:
            raise DocumentError("the translation is empty")
        parts = distribute_marked(translation, [len(segment.text.text) for segment in segments])
        if parts is None:
            raise DocumentError("the translation has fewer words than the sentence has subtitles")
        for segment, part in zip(segments, parts, strict=True):
            wrapped = wrap_marked(part, len(segment.lines), MAX_WIDTH)
            lines = [line.render(self.syntax.escape) for line in wrapped]
            lines[0] = segment.before + lines[0]
            lines[-1] += segment.after
            self._check_lines(lines, part)
            text = segment.lines[0].break_text.join(lines)
            yield Replacement(segment.lines[0].first, segment.lines[-1].end, text)

    def _check_lines(self, lines: Sequence[str], text: MarkedText) -> None:
        check_output(text.text)
        if any(not line.strip() or "-->" in line for line in lines):
            raise DocumentError('the translation has an empty line or contains "-->"')
        if any(self.syntax.tag.search(self.syntax.escape(part)) for part in text.parts() if isinstance(part, str)):
            raise DocumentError("the translation contains text that looks like a tag")


def open_subtitles(syntax: SubtitleSyntax, content: bytes, _options: DocumentOptions) -> Document:
    """Parse a file; raise DocumentError if it has no cue, or a line with "-->" that is not a time."""
    source = decode_plain_text(content)
    cues = list(_read_cues(list(split_lines(source.text)), syntax))
    if not cues and not syntax.has_blocks:
        raise DocumentError("has no subtitle: expected a line such as 00:00:01,000 --> 00:00:02,000")
    found = [segment for cue in cues for segment in _split_cue(cue, syntax)]
    segments = [segment for segment in found if has_letters(segment.text.parts())]
    groups = tuple(_group_sentences(segments))
    units = tuple(Unit(_join_segments(group), f"line {group[0].lines[0].number}") for group in groups)
    skipped = len(found) - len(segments)
    return Subtitles(syntax, source, groups, units, {"without text": skipped} if skipped else {})


def _read_cues(lines: Sequence[Line], syntax: SubtitleSyntax) -> Iterator[list[Line]]:
    """Yield the text lines of each cue; those after a blank line are a cue of their own in SRT."""
    position, in_cue = 0, False
    if syntax.has_blocks:
        if not lines or not re.fullmatch(r"WEBVTT([ \t].*)?", lines[0].text):
            raise DocumentError("line 1: must be WEBVTT")
        position = 1
    text: list[Line] = []
    for number, line in enumerate(lines[position:], start=position):
        is_times = syntax.times.fullmatch(line.text) is not None
        if "-->" in line.text and not is_times:
            raise DocumentError(f"line {line.number}: the times of a subtitle are damaged")
        before_times = number + 1 < len(lines) and syntax.times.fullmatch(lines[number + 1].text) is not None
        is_number = before_times and (line.text.strip().isdecimal() or (syntax.has_blocks and not in_cue))
        if is_times or is_number or not line.text.strip():
            if text:
                yield text
            text = []
            in_cue = (in_cue or is_times) and not (syntax.has_blocks and not line.text.strip())
        elif in_cue:
            text.append(line)
        elif not syntax.has_blocks:
            raise DocumentError(f"line {line.number}: expected the number or the times of a subtitle")
        if len(text) > MAX_CUE_LINES:
            raise DocumentError(f"line {line.number}: a subtitle has more than {MAX_CUE_LINES} lines")
    if text:
        yield text


def _split_cue(lines: Sequence[Line], syntax: SubtitleSyntax) -> list[Segment]:
    """The texts of a cue: one, or one for each speaker if several lines begin with a dash."""
    starts = [number for number, line in enumerate(lines) if SPEAKER.match(line.text)]
    bounds = sorted({0, *starts, len(lines)}) if len(starts) > 1 else [0, len(lines)]
    return [_make_segment(lines[a:b], syntax, is_whole_cue=len(bounds) == 2) for a, b in pairwise(bounds)]


def _make_segment(lines: Sequence[Line], syntax: SubtitleSyntax, *, is_whole_cue: bool) -> Segment:
    before, after, skipped = "", "", 1
    text = _parse_tags(join_lines([line.text for line in lines]), syntax)
    while skipped:
        outer = strip_outer_markup(text)
        leading = LEADING.match(outer.text.text)
        skipped = leading.end() if leading else 0
        before, after = before + outer.before + outer.text.text[:skipped], outer.after + after
        text = outer.text.slice(skipped, len(outer.text.text))
    return Segment(tuple(lines), before, text, after, is_whole_cue)


def _parse_tags(text: str, syntax: SubtitleSyntax) -> MarkedText:
    """Return the text with its tags as spans, and character references decoded."""
    parts, reached = list[str | InlineTag](), 0
    for match in syntax.tag.finditer(text):
        parts += [syntax.unescape(text[reached : match.start()]), _inline_tag(match[0])]
        reached = match.end()
    return mark_tags([*parts, syntax.unescape(text[reached:])])


def _inline_tag(tag: str) -> InlineTag:
    """Return a start or end tag; classes and annotations (<c.yellow>, <v Ann>) are no part of its name."""
    match = TAG_NAME.match(tag)
    if match is None:
        return InlineTag(tag)
    return InlineTag(tag, closes=match[2]) if match[1] else InlineTag(tag, opens=match[2])


def _group_sentences(segments: Sequence[Segment]) -> Iterator[tuple[Segment, ...]]:
    """Join whole cues of which one ends within a sentence and the next begins in lower case."""
    group: list[Segment] = []
    for segment in segments:
        if group and (len(group) == MAX_JOINED_CUES or not _continues(group[-1], segment)):
            yield tuple(group)
            group = []
        group.append(segment)
    if group:
        yield tuple(group)


def _continues(first: Segment, second: Segment) -> bool:
    if not (first.is_whole_cue and second.is_whole_cue) or first.text.spans or second.text.spans:
        return False
    return SENTENCE_END.search(first.text.text) is None and second.text.text[:1].islower()


def _join_segments(segments: Sequence[Segment]) -> MarkedText:
    return segments[0].text if len(segments) == 1 else MarkedText(join_lines([one.text.text for one in segments]))


def _is_srt(content: bytes) -> bool:
    """Whether there are times of a subtitle near the start."""
    head = content[:4096].replace(b"\0", b"").decode("utf-8", "replace")
    return any(SRT_TIMES.fullmatch(line.text) for line in split_lines(head))


def _is_vtt(content: bytes) -> bool:
    return content.replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe").startswith(b"WEBVTT")


SRT_FORMAT = DocumentFormat("srt", "SRT subtitles", (".srt",), _is_srt, partial(open_subtitles, SRT))
VTT_FORMAT = DocumentFormat("vtt", "WebVTT subtitles", (".vtt",), _is_vtt, partial(open_subtitles, VTT))
