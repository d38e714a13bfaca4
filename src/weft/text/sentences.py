"""The sentences of a line, and what stands around them: indentation, bullets, the white space between two."""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from sentencex import segment

from weft.core.errors import UserError

CODE = re.compile(r"([A-Za-z]{2,3})([-_][A-Za-z0-9]+)*")
WHITE = re.compile(r"\s")
# What a line of an e-mail, a list or an article may begin with: "    ", "> ", "- ", "* ", "## ", "1. ", "2) ".
BEGINNING = re.compile(r"\A\s*(>\s*|([-*+•]|#{1,6}|[0-9]{1,3}[.)])(\s+|\Z))*")


class Layout(NamedTuple):
    """A line as gap, sentence, gap ... sentence, gap: there is one gap more than there are sentences."""

    gaps: tuple[str, ...]
    sentences: tuple[str, ...]

    def filled(self, texts: Sequence[str]) -> str:
        """The line with these texts in the places of its sentences; with those themselves, the line as it was."""
        first, *others = self.gaps
        return first + "".join(text + gap for text, gap in zip(texts, others, strict=True))


class Splitter:
    """Finds the sentences of a line by the rules of a language, which are sentencex's.

    Of a code such as pt-BR the first part counts. A language without rules of its own has those of a related one, or
    else English ones.
    """

    def __init__(self, language: str = "en"):
        code = CODE.fullmatch(language)
        if code is None:
            raise UserError(f'language "{language}": should be a code such as en, de or pt-BR')
        self.language = code[1].lower()

    def __call__(self, line: str) -> Layout:
        """Where the sentences are; what holds no letter and no digit, such as a line of dashes, is none."""
        start = len(line) - len(BEGINNING.sub("", line, count=1))
        gaps, sentences = [line[:start]], []
        for piece in self._pieces(line[start:]):
            if not any(map(str.isalnum, piece)):
                gaps[-1] += piece
                continue
            before, sentence, after = piece.partition(piece.strip())
            gaps[-1] += before
            gaps.append(after)
            sentences.append(sentence)
        return Layout(tuple(gaps), tuple(sentences))

    def _pieces(self, text: str) -> Iterator[str]:
        """The text, cut where sentencex would cut it; whatever that says, the pieces are the whole text."""
        shown = WHITE.sub(" ", text)  # sentencex panics at a full stop after a wide space: "B\u00a0."
        lengths = map(len, segment(self.language, shown))
        ends = list(accumulate(lengths))
        for start, end in pairwise([0, *ends[:-1], len(text)]):
            yield text[start:end]
