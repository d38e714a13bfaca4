"""Translates sentences with spans so that each span is in the translation once, and elements stay nested.

An output whose tags are not intact is replaced by another one of its n-best list, or by that of a search in which the
tags are required. What is still wrong is repaired with word alignments, and so are spans without tags. For models
without attention the sentence is cut at its spans.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from weft.core.errors import UserError
from weft.decoding.constraints.request import Request
from weft.inference.backends import Backend, StreamError
from weft.inference.span_translation import SpanSentence, strip_tags
from weft.inference.translation import Alternative, SpanMethod, Translation
from weft.text.marked_text import MarkedText
from weft.text.span_patterns import Span

if TYPE_CHECKING:
    from weft.inference.translator import Translator

MAX_REQUIRED_TAGS = 8  # a search with more required phrases takes long
TRANSLATABLE_TEXT = re.compile(r"\w(?:.*\w)?", re.DOTALL)  # from the first to the last letter or digit
BLANK = Request("")


@dataclass(frozen=True)
class SpanTranslator:
    """A backend for sentences with spans. torch: loads the translator for searches and word alignments."""

    backend: Backend
    torch: Callable[[], Translator]

    def stream(self, sentences: Iterable[SpanSentence], chunk_size: int) -> Iterator[Translation]:
        """Translate sentences as they are read; up to `chunk_size` results are repaired together."""
        pending: deque[SpanSentence] = deque()
        results = self.backend.stream(self._first_requests(sentences, pending))
        done = 0
        while translations := list(islice(results, chunk_size)):
            chunk = [pending.popleft() for _ in translations]
            try:
                yield from self._finish(chunk, translations)
            except StreamError as error:
                raise StreamError(done + error.number, error.reason) from error
            done += len(chunk)

    def _first_requests(self, sentences: Iterable[SpanSentence], pending: deque[SpanSentence]) -> Iterator[Request]:
        """Yield what the backend translates; nothing where the translation needs word alignments anyway."""
        for number, sentence in enumerate(sentences):
            pending.append(sentence)
            try:
                request = sentence.model_request
            except UserError as error:
                raise StreamError(number, str(error)) from error
            yield request if sentence.needs_translation and not sentence.needs_alignment else BLANK

    def _finish(self, sentences: Sequence[SpanSentence], first: Sequence[Translation]) -> list[Translation]:
        """Put the spans into translations; sentences that need more are translated again, together."""
        done = dict[int, Translation]()
        for row, (sentence, translation) in enumerate(zip(sentences, first, strict=True)):
            result = _finish_intact(sentence, translation, "tags")
            if result is not None:
                done[row] = result
        for repair in (self._search, self._align, self._cut):
            remaining = [row for row in range(len(sentences)) if row not in done]
            if remaining:
                done |= repair({row: sentences[row] for row in remaining})
        return [done[row] for row in range(len(sentences))]

    @cached_property
    def _aligner(self) -> Translator:
        """The torch translator, with word alignments if the model has attention."""
        from weft.inference.capabilities import attention_obstacle

        translator = self.torch()
        if attention_obstacle(translator.trained):
            return translator
        return replace(translator, output_options=replace(translator.output_options, alignment=True))

    def _search(self, sentences: dict[int, SpanSentence]) -> dict[int, Translation]:
        """Translate sentences whose spans all have tags, in a search that requires these."""
        rows = [
            row
            for row, sentence in sentences.items()
            if not sentence.needs_alignment
            and len(sentence.tags) <= MAX_REQUIRED_TAGS
            and self._aligner.can_satisfy(sentence.search_request)
        ]
        done = dict[int, Translation]()
        for row, translation in self._translate({row: sentences[row].search_request for row in rows}).items():
            result = _finish_intact(sentences[row], translation, "search")
            if result is not None:
                done[row] = result
        return {row: self._without_alignment(translation) for row, translation in done.items()}

    def _align(self, sentences: dict[int, SpanSentence]) -> dict[int, Translation]:
        """Translate sentences, and place spans by word alignment where the tags are wrong."""
        if not self._aligner.output_options.alignment:
            return {}
        found = self._translate({row: sentence.model_request for row, sentence in sentences.items()})
        done = dict[int, Translation]()
        for row, translation in found.items():
            sentence = sentences[row]
            core = sentence.place(translation.text, translation.alignment or ())
            best = replace(translation, alternatives=translation.alternatives[:1])
            done[row] = self._without_alignment(sentence.finish(best, core, "alignment", ()))
        return done

    def _cut(self, sentences: dict[int, SpanSentence]) -> dict[int, Translation]:
        """Translate the parts of sentences between their spans."""
        requests = dict[tuple[int, int], Request]()
        for row, sentence in sentences.items():
            if sentence.request.prefix or sentence.request.include:
                problem = "this model has no attention, so the line is cut at its spans"
                raise StreamError(row, f"{problem}: omit the prefix and the required phrases, or do not protect spans")
            for number, part in enumerate(_core_parts(sentence)):
                text = TRANSLATABLE_TEXT.search(part) if isinstance(part, str) else None
                if text is not None:
                    requests[row, number] = replace(sentence.request, text=text[0], spans=(), protect=())
        keys = list(requests)
        found = self._translate(dict(enumerate(requests.values())), [row for row, _ in keys])
        translations = {key: found[number] for number, key in enumerate(keys)}
        return {
            row: _join_parts(sentence, {n: one for (own, n), one in translations.items() if own == row})
            for row, sentence in sentences.items()
        }

    def _translate(self, requests: dict[int, Request], rows: Sequence[int] | None = None) -> dict[int, Translation]:
        """Translate requests with torch. rows: of their sentences in the chunk, for errors."""
        numbers = list(requests) if rows is None else rows
        try:
            return dict(zip(requests, self._aligner.stream(requests.values()), strict=True))
        except StreamError as error:
            raise StreamError(numbers[error.number], error.reason) from error

    def _without_alignment(self, translation: Translation) -> Translation:
        return translation if self.torch().output_options.alignment else replace(translation, alignment=None)


def _finish_intact(sentence: SpanSentence, translation: Translation, method: SpanMethod) -> Translation | None:
    """Return the translation with its spans, by the first alternative with intact tags; None if there is none."""
    if not sentence.request.spans:
        return sentence.without_tags(translation)
    if not sentence.has_words:
        return sentence.copy()
    if sentence.needs_alignment:
        return None
    restored = [(one, sentence.restore(one.text)) for one in translation.alternatives]
    intact = [(one, marked) for one, marked in restored if marked is not None]
    if not intact or (restored[0][1] is None and translation.alignment is not None):
        return None  # the alignment is that of the first alternative
    found = replace(translation, alternatives=tuple(one for one, _ in intact))
    if restored[0][1] is None:
        found = replace(found, attention=None, top_tokens=(), analysis=None, confidence=None)
    return sentence.finish(found, intact[0][1], method, [marked for _, marked in intact[1:]])


def _core_parts(sentence: SpanSentence) -> list[str | Span]:
    return [*sentence.core.restore(range(len(sentence.core.spans))).parts()]


def _join_parts(sentence: SpanSentence, translations: dict[int, Translation]) -> Translation:
    """Put the translated parts back between the spans."""
    parts = _core_parts(sentence)
    for number, translation in translations.items():
        part = parts[number]
        if isinstance(part, str):
            before, _, after = part.partition(translation.source)
            parts[number] = before + strip_tags(translation.text, frozenset()).text + after
    core = MarkedText.join(parts)
    found = list(translations.values())
    best = Alternative(
        core.text,
        sum(translation.score for translation in found),
        (),
        (),
        all(translation.alternatives[0].finished for translation in found),
    )
    truncated = any(translation.truncated for translation in found)
    checks = tuple(check for translation in found for check in translation.constraint_checks)
    joined = Translation(sentence.text, (best,), truncated=truncated, constraint_checks=checks)
    return sentence.finish(joined, core, "split", ())
