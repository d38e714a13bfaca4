"""The result of translating a line of one or several sentences; also as JSON. Must not import torch."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from weft.text.word_alignment import word_index_pairs

if TYPE_CHECKING:
    from weft.decoding.constraints.constrained_decoding import ConstraintCheck
    from weft.inference.translation_analysis import TranslationAnalysis
    from weft.text.span_patterns import Span, SpanKind
    from weft.text.word_alignment import WordLink

MAX_REPR_CHARACTERS = 60  # of a line in a repr


class Alternative(NamedTuple):
    """One entry of the n-best list: a hypothesis as text, with its log-probability and its tokens (EOS last).

    finished: False if the length limit ended it, or if no output has a probability. ranking_score: the value by which
    the n-best list is sorted, higher is better; None if nothing was compared. token_scores: empty where the backend
    does not return them.
    """

    text: str
    score: float
    tokens: tuple[str, ...]
    token_scores: tuple[float, ...]
    finished: bool
    ranking_score: float | None = None


EMPTY_OUTPUT = Alternative("", 0.0, (), (), finished=True)  # of a blank line
FAILED_OUTPUT = Alternative("", float("-inf"), (), (), finished=False)  # no output has a probability: broken weights


SpanMethod: TypeAlias = Literal["copy", "tags", "search", "alignment", "split"]


class ProtectedSpan(NamedTuple):
    """A copied span of the source, and how its place was found.

    method: copy: it is at the start or end of the sentence. tags: the model placed its tag. search: likewise, in a
    search that required all tags. alignment: by word alignment. split: the sentence was cut there.
    """

    kind: SpanKind
    text: str
    method: SpanMethod


class AttentionWeights(NamedTuple):
    """Attention of the tokens of the text (EOS last): a row of weights over the source tokens (EOS last) for each."""

    source_tokens: tuple[str, ...]
    weights: tuple[tuple[float, ...], ...]


class TokenCandidate(NamedTuple):
    """A possible token at a position, and its log-probability there."""

    token: str
    score: float


@dataclass(frozen=True, repr=False)
class Translation:
    """The result for a line. `alternatives` is the n-best list; its first entry is the translation.

    spans: the protected ones in the text. sentences: of a line that has several, or other text around one; the
    line has the alternatives, constraints and word alignments of all of them, everything else is only in `sentences`.

    The fields after `sentences` describe the first alternative; they are set on request and if the model provides
    them. `analysis` can compute more later, for instance in a notebook. It refers to the model, so that it is dropped
    when a translation is pickled or copied, and ignored by comparisons.
    """

    source: str
    alternatives: tuple[Alternative, ...]
    truncated: bool = False  # the line was longer than the model reads
    constraint_checks: tuple[ConstraintCheck, ...] = ()
    protected: tuple[ProtectedSpan, ...] = ()
    spans: tuple[Span, ...] = ()
    sentences: tuple[Translation, ...] = ()
    confidence: float | None = None  # the calibrated probability that the translation is good
    alignment: tuple[WordLink, ...] | None = None
    attention: AttentionWeights | None = None
    top_tokens: tuple[tuple[TokenCandidate, ...], ...] = ()  # for each token of the text, EOS last
    analysis: TranslationAnalysis | None = field(default=None, compare=False)

    @property
    def text(self) -> str:
        return self.alternatives[0].text

    @property
    def score(self) -> float:
        return self.alternatives[0].score

    @property
    def aligned_words(self) -> list[tuple[int, int]]:
        """Pairs of word indices (source, translation), counted from 0."""
        return word_index_pairs(self.alignment or (), self.source, self.text)

    def record(self) -> dict[str, object]:
        """The JSON object of `--json`, without fields that were not requested."""
        record = {
            "source": self.source,
            "text": self.text,
            "score": finite_or_none(self.score),
            "truncated": self.truncated,
            "alternatives": [_alternative_record(alternative) for alternative in self.alternatives],
        }
        candidates = [
            [{"token": token, "score": finite_or_none(score)} for token, score in row] for row in self.top_tokens
        ]
        optional = {
            "constraints": [check._asdict() for check in self.constraint_checks] or None,
            "protected": [span._asdict() for span in self.protected] or None,
            "confidence": self.confidence,
            "alignment": None if self.alignment is None else self.aligned_words,
            "attention": None if self.attention is None else self.attention._asdict(),
            "top_tokens": candidates or None,
            "sentences": [one.record() for one in self.sentences] if len(self.sentences) > 1 else None,
        }
        return record | {name: value for name, value in optional.items() if value is not None}

    def __repr__(self) -> str:
        return f"Translation({_shorten(self.source)!r} -> {_shorten(self.text)!r}, score={self.score:.4f})"

    def _repr_html_(self) -> str:
        """How a notebook shows it."""
        from weft.inference.notebook import translation_html

        return translation_html(self)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "analysis": None}


def format_line(result: Translation, *, as_json: bool) -> str:
    """A line of output: the text, or the JSON record."""
    return (json.dumps(result.record(), ensure_ascii=False) if as_json else result.text) + "\n"


def finite_or_none(score: float | None) -> float | None:
    """The score for JSON, which has no infinity."""
    return score if score is not None and isfinite(score) else None


def _alternative_record(alternative: Alternative) -> dict[str, object]:
    rank = finite_or_none(alternative.ranking_score)
    return {**alternative._asdict(), "score": finite_or_none(alternative.score), "ranking_score": rank}


def _shorten(line: str) -> str:
    return line if len(line) <= MAX_REPR_CHARACTERS else line[: MAX_REPR_CHARACTERS - 1] + "…"
