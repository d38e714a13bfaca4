"""Translates what people bring: lines of several sentences, with spans that are carried into the translation.

The path of a line: `split_line` finds its spans and sentences; `prepare_sentence` makes the text that the model reads;
the backend translates it; `SpanTranslator` puts the spans in place; `SplitLine.join` makes one translation of all.
Must not import torch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from weft.core.codec import Codec
from weft.decoding.constraints.request import Request
from weft.inference.backends import Backend, StreamError
from weft.inference.line_sentences import SplitLine, split_line
from weft.inference.span_repair import SpanTranslator
from weft.inference.span_translation import DEFAULT_KINDS, SpanSentence, has_tag_tokens, prepare_sentence
from weft.inference.translation import Translation
from weft.text.sentences import SentenceSplitter
from weft.text.span_patterns import SpanKind
from weft.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from weft.decoding.constraints.glossary import Glossary
    from weft.inference.translator import Translator

CHUNK_SIZE = 256  # sentences whose spans are repaired together
NO_LINE = Request("")  # costs nothing


def source_language(data: Mapping[str, object]) -> str:
    """The source language that a model folder names in the section `data` of its recipe, or English."""
    languages = data.get("languages")
    return str(languages[0]) if isinstance(languages, list | tuple) and languages else "en"


class PendingLine(NamedTuple):
    """A line and its sentences. first: the number of its first sentence in the stream, which has `size` of them."""

    line: SplitLine
    number: int
    first: int
    sentences: list[SpanSentence]

    @property
    def size(self) -> int:
        """A line without sentences counts as one, so that no more lines wait than the backend reads ahead."""
        return max(1, len(self.sentences))


@dataclass(frozen=True)
class TextTranslator:
    """A backend for lines of several sentences with spans.

    torch: loads the translator for what the backend lacks: searches with required tags, and word alignment. splitter:
    finds sentences; None: a line is one. protect: the kinds of spans of requests that name none; None: if the model
    has tag tokens, all but numbers. glossary: for the sentences that contain its terms.
    """

    backend: Backend
    torch: Callable[[], Translator]
    splitter: SentenceSplitter | None = None
    protect: tuple[SpanKind, ...] | None = None
    glossary: Glossary | None = None
    chunk_size: int = CHUNK_SIZE

    def stream(self, lines: Iterable[str | Request]) -> Iterator[Translation]:
        """Translate lines as they are read; memory does not grow with their number."""
        if self.source_codec.modality != "text":
            yield from self.backend.stream(lines)
            return
        pending: deque[PendingLine] = deque()
        spans = SpanTranslator(self.backend, self.torch)
        try:
            results = spans.stream(self._sentences(map(Request.of, lines), pending), self.chunk_size)
            for first in results:
                line = pending[0].line
                others = islice(results, pending[0].size - 1)
                translations = [first, *others]
                pending.popleft()
                yield line.join(translations[: len(line.sentences)])
        except StreamError as error:
            number = next(line.number for line in pending if error.number < line.first + line.size)
            raise StreamError(number, error.reason) from error

    def split(self, request: Request) -> SplitLine:
        """Find the sentences of a line."""
        return split_line(request, self.splitter, self.default_kinds)

    @property
    def default_kinds(self) -> tuple[SpanKind, ...]:
        if self.protect is not None:
            return self.protect
        return DEFAULT_KINDS if self.has_tag_tokens else ()

    @cached_property
    def has_tag_tokens(self) -> bool:
        return has_tag_tokens(self.source_codec, self.target_tokenizer)

    @property
    def source_codec(self) -> Codec:
        return self.backend.source_codec

    @property
    def target_tokenizer(self) -> Tokenizer:
        return self.backend.target_tokenizer

    @property
    def concurrency(self) -> int:
        return self.backend.concurrency

    def max_source_length(self) -> int:
        return self.backend.max_source_length()

    def sentence_splitter(self, language: str | None) -> SentenceSplitter | None:
        return self.backend.sentence_splitter(language)

    def unbuffered(self) -> TextTranslator:
        return replace(self, backend=self.backend.unbuffered(), chunk_size=1)

    def _sentences(self, requests: Iterable[Request], pending: deque[PendingLine]) -> Iterator[SpanSentence]:
        """Yield the sentences of all lines; a blank one for a line without any. Lines are added to `pending`."""
        first = 0
        for number, request in enumerate(requests):
            line = self.split(request)
            sentences = [self._prepare(sentence) for sentence in line.requests]
            pending.append(PendingLine(line, number, first, sentences))
            first += pending[-1].size
            yield from sentences or [prepare_sentence(NO_LINE, has_tag_tokens=False)]

    def _prepare(self, request: Request) -> SpanSentence:
        sentence = prepare_sentence(request, has_tag_tokens=self.has_tag_tokens)
        if self.glossary is None or not sentence.has_words:
            return sentence
        with_terms = self.glossary.apply(replace(request, text=sentence.text))
        return replace(sentence, request=replace(with_terms, text=request.text))
