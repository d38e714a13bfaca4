"""Sentence splitting: the sentences of a line and the gaps around them (indentation, bullets, whitespace)."""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from sentencex import segment

from weft.core.errors import UserError

LANGUAGE_CODE = re.compile(r"([A-Za-z]{2,3})([-_][A-Za-z0-9]{2,8})*")  # group 1: without script and region
WHITESPACE = re.compile(r"\s")
SURROGATE = re.compile("[\ud800-\udfff]")
# The start of a line in an e-mail, a list or an article: "    ", "> ", "- ", "* ", "## ", "1. ", "2) ".
LINE_PREFIX = re.compile(r"\A\s*(>\s*|([-*+•]|#{1,6}|[0-9]{1,3}[.)])(\s+|\Z))*")
LAST_NUMBER = re.compile(r"[0-9]{1,3}\.\s+\Z")  # of a prefix: a list number or an ordinal
ORDINAL_LANGUAGES = {  # write ordinals as "3."
    "bs", "cs", "da", "de", "et", "eu", "fi", "fo", "hr", "hu", "is", "lb", "lv", "nb", "nn", "no", "pl", "sk", "sl",
    "sr", "tr",
}  # fmt: skip


class SegmentedLine(NamedTuple):
    """A line as gap, sentence, gap ... sentence, gap: one gap more than sentences."""

    gaps: tuple[str, ...]
    sentences: tuple[str, ...]

    def fill(self, texts: Sequence[str]) -> str:
        """Return the line with its sentences replaced by `texts`."""
        first, *others = self.gaps
        return first + "".join(text + gap for text, gap in zip(texts, others, strict=True))


class SentenceSplitter:
    """Splits a line into sentences by the rules of sentencex for a language.

    Only the first part of a code such as pt-BR is used. Languages without rules use those of a related language, or
    English ones.
    """

    def __init__(self, language: str = "en"):
        code = LANGUAGE_CODE.fullmatch(language)
        if code is None:
            raise UserError(f'language "{language}": not a language code. Use a code such as en, de or pt-BR.')
        self.language = code[1].lower()

    def __call__(self, line: str) -> SegmentedLine:
        """Split a line; segments without letters and digits, such as a row of dashes, are part of the gaps."""
        text = LINE_PREFIX.sub("", line, count=1)
        prefix = line.removesuffix(text)
        ordinal = self._ordinal(prefix, text)
        gaps, sentences = [prefix.removesuffix(ordinal)], []
        first, *others = self._segments(text)
        for part in (ordinal + first, *others):
            if not any(map(str.isalnum, part)):
                gaps[-1] += part
                continue
            before, sentence, after = part.partition(part.strip())
            gaps[-1] += before
            gaps.append(after)
            sentences.append(sentence)
        return SegmentedLine(tuple(gaps), tuple(sentences))

    def _ordinal(self, prefix: str, text: str) -> str:
        """Return the number at the end of the prefix if it is an ordinal, as in "3. Oktober", else "".

        It is one if the language writes ordinals so, and either the text begins with a lower-case letter or sentencex
        sees no end of a sentence after the number, as before German months.
        """
        number = LAST_NUMBER.search(prefix)
        if number is None or not text or self.language not in ORDINAL_LANGUAGES:
            return ""
        ends_sentence = next(self._segments(number[0] + text)) == number[0]
        return number[0] if text[0].islower() or not ends_sentence else ""

    def _segments(self, text: str) -> Iterator[str]:
        """Cut the text at sentencex's boundaries; the segments always add up to the text."""
        plain = SURROGATE.sub("\ufffd", text)  # JSON may contain lone surrogates, sentencex takes UTF-8
        plain = WHITESPACE.sub(" ", plain)  # sentencex panics at a full stop after a multi-byte space: "B\u00a0."
        parts = list(segment(self.language, plain))
        if "".join(parts) != plain:
            yield text
            return
        ends = list(accumulate(map(len, parts)))
        for start, end in pairwise([0, *ends[:-1], len(text)]):
            yield text[start:end]
