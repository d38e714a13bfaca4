"""The torch backend, for every model: encodes lines, batches them, searches with constraints, and returns
translations. Used by translate, evaluate, serve and validation.

The path of a line: `stream` reads a window of requests; `encode` makes an EncodedRequest (token ids and token
constraints); `_translate` sorts them by length into batches; `search_batch` finds hypotheses; `_to_translation`
converts these to text. Lines of several sentences, and with spans, go through `for_text` (text_translator.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, NamedTuple, overload

import numpy as np
import torch
from torch import Tensor

from weft.checkpoints.trained_model import TrainedModel
from weft.config.inference_config import DecodingConfig
from weft.core.codec import Codec, LineError, codec_chunk_size
from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.core.state import Hypothesis, State, StepFunction
from weft.data.batches import RowArray, pad_rows
from weft.decoding.constraints.constrained_decoding import (
    ConstraintCheck,
    TokenConstraints,
    check_constraints,
    compile_constraints,
    constrain_step,
    search_with_exclusions,
)
from weft.decoding.constraints.phrase_tokens import PhraseTokenizer
from weft.decoding.constraints.request import Request
from weft.decoding.constraints.step_constraints import block_repeated_ngrams, enforce_min_length, min_lengths
from weft.decoding.constraints.word_trie import WordListConstraint, restrict_to_words
from weft.decoding.forced_decoding import forced_scores, token_alternatives
from weft.decoding.search import FrameDecoder, Search
from weft.inference.backends import StreamError, batch_by_length, process_windows
from weft.inference.ensemble import SINGLE_MODEL, Ensemble
from weft.inference.mbr import MBRSelector
from weft.inference.parallel_batches import BatchWorkers, cancellable_step, make_batch_workers
from weft.inference.postprocessor import DEFAULT_OUTPUT, OutputOptions, Postprocessor, token_candidates
from weft.inference.step_functions import model_steps, shortlist_steps
from weft.inference.text_translator import TextTranslator, source_language
from weft.inference.translation import EMPTY_OUTPUT, FAILED_OUTPUT, Translation
from weft.inference.translation_analysis import TranslationAnalysis
from weft.metrics.calibration import Calibration
from weft.text.lexical_shortlist import Shortlist
from weft.text.sentences import SentenceSplitter
from weft.text.tokenizer import Tokenizer

UNCONSTRAINED = TokenConstraints()


class EncodedRequest(NamedTuple):
    """A request in the token ids of the model and of each other model of the ensemble (`rows`, truncated at the model's
    limit). number: of the line in the input, from 0.
    """

    request: Request
    number: int
    rows: tuple[RowArray, ...]
    truncated: bool
    constraints: TokenConstraints


@dataclass(frozen=True)
class Translator:
    """A trained model with a search, or with a frame decoder if it has no decoder.

    word_list: the words that outputs consist of. ensemble: other models whose steps are combined with this one's.
    mbr: chooses among sampled outputs. shortlist: the target tokens that each line may use.
    """

    trained: TrainedModel
    search: Search
    settings: DecodingConfig = field(default_factory=DecodingConfig)
    frame_decoder: FrameDecoder | None = None
    word_list: WordListConstraint | None = None
    ensemble: Ensemble = SINGLE_MODEL
    mbr: MBRSelector | None = None
    output_options: OutputOptions = DEFAULT_OUTPUT
    calibration: Calibration | None = None
    shortlist: Shortlist | None = None

    concurrency: ClassVar[int] = 1

    # Lines in, translations out

    @overload
    def translate(  # type: ignore[overload-overlap]  # a string is an iterable of strings, too
        self, lines: str | Request, *, split: bool = True
    ) -> Translation: ...

    @overload
    def translate(self, lines: Iterable[str | Request], *, split: bool = True) -> list[Translation]: ...

    def translate(
        self, lines: str | Request | Iterable[str | Request], *, split: bool = True
    ) -> Translation | list[Translation]:
        """Translate a text, or a list of texts, in order. A Request has constraints on its translation.

        split: translate sentence by sentence, if the model was trained on sentences.
        """
        if isinstance(lines, str | Request):
            return next(self.for_text(split=split).stream([lines]))
        return list(self.for_text(split=split).stream(_check_lines(lines)))

    def for_text(self, *, split: bool = True, language: str | None = None) -> TextTranslator:
        """The translator for lines with several sentences and with spans.

        split: into sentences, if the model was trained on such. language: a code such as en or pt-BR, whose rules split
        sentences; None: that of the model.
        """
        return TextTranslator(self, lambda: self, self.sentence_splitter(language) if split else None)

    def stream(self, lines: Iterable[str | Request]) -> Iterator[Translation]:
        """Translate lines as they are read, each as one sentence without spans; memory does not grow with their number.

        `for_text` handles spans and several sentences.
        """
        size = codec_chunk_size(self.trained.source_tokenizer, self.settings.buffer_size)
        return process_windows(map(Request.of, lines), size, self._translate_window)

    def translate_text(self, text: str, language: str | None = None) -> str:
        """Translate a text sentence by sentence; its lines and white space are kept.

        language: a code such as en or pt-BR, whose rules split sentences; None: that of the model.
        """
        return "\n".join(line.text for line in self.for_text(language=language).stream(text.split("\n")))

    @property
    def source_codec(self) -> Codec:
        return self.trained.source_tokenizer

    @property
    def target_tokenizer(self) -> Tokenizer:
        return self.trained.target_tokenizer

    def sentence_splitter(self, language: str | None) -> SentenceSplitter | None:
        if not self.settings.split_sentences or self.source_codec.modality != "text":
            return None
        return SentenceSplitter(language or source_language(vars(self.trained.recipe.data)))

    def unbuffered(self) -> Translator:
        """The same translator, which answers a line before it reads the next."""
        return replace(self, settings=replace(self.settings, buffer_size=1))

    def max_source_length(self) -> int:
        """The most source tokens that all models of the ensemble read."""
        return min(model.max_source_length for model in self._models)

    # Encoding and search

    def encode(self, requests: Sequence[Request], numbers: Sequence[int]) -> list[EncodedRequest]:
        """Encode lines with their numbers in the input; raise LineError if one cannot be encoded or constrained."""
        constraints, lines = self._compile_constraints(requests), [request.text for request in requests]
        limits = [model.max_source_length for model in self._models]
        rows = zip(*(model.source_tokenizer.encode_rows(lines).split() for model in self._models), strict=True)
        return [
            EncodedRequest(
                request,
                number,
                tuple(ids[:limit] for ids, limit in zip(row, limits, strict=True)),
                any(len(ids) > limit for ids, limit in zip(row, limits, strict=True)),
                constraint,
            )
            for request, number, row, constraint in zip(requests, numbers, rows, constraints, strict=True)
        ]

    @torch.inference_mode()
    def search_batch(self, batch: Sequence[EncodedRequest]) -> list[list[Hypothesis]]:
        """Find the hypotheses of each line; search again where an excluded phrase appears in another spelling."""
        if not any(encoded.request.exclude for encoded in batch):
            return self._search(batch)

        def search(rows: Sequence[int], constraints: Sequence[TokenConstraints]) -> list[list[Hypothesis]]:
            return self._search([batch[row]._replace(constraints=c) for row, c in zip(rows, constraints, strict=True)])

        requests, constraints = [one.request for one in batch], [one.constraints for one in batch]
        return search_with_exclusions(search, requests, constraints, self._phrase_tokenizer)

    @torch.inference_mode()
    def forced(self, batch: Sequence[EncodedRequest], targets: Padded) -> list[Hypothesis]:
        """The targets [B,T] as hypotheses, with the scores and the attention of the models."""
        return forced_scores(*self._steps(batch), targets.to(self.trained.device))

    @torch.inference_mode()
    def top_tokens(
        self, batch: Sequence[EncodedRequest], targets: Padded, count: int
    ) -> list[list[list[tuple[int, float]]]]:
        """The most probable ids at each position of the targets [B,T], without constraints."""
        return token_alternatives(*self._steps(batch), targets.to(self.trained.device), count)

    def can_satisfy(self, request: Request) -> bool:
        """Whether the search can be constrained to meet all constraints of a request."""
        if self.frame_decoder is not None or (request.include and not self.search.supports_constraints):
            return False
        try:
            constraints = compile_constraints(request, self._phrase_tokenizer)
        except UserError:
            return False
        (row,) = self.trained.source_tokenizer.encode_rows([request.text]).split()
        return constraints.min_length <= self._max_length(row[: self.trained.max_source_length])

    @property
    def _models(self) -> tuple[TrainedModel, ...]:
        return self.trained, *self.ensemble.others

    @cached_property
    def _phrase_tokenizer(self) -> PhraseTokenizer:
        return PhraseTokenizer(self.trained.target_tokenizer)

    def _compile_constraints(self, requests: Sequence[Request]) -> list[TokenConstraints]:
        compiled = [UNCONSTRAINED] * len(requests)
        for number, request in enumerate(requests):
            if request.is_plain:
                continue
            if self.frame_decoder is not None:
                problem = "this model has no decoder, so its outputs cannot be constrained"
                raise UserError(f"{problem}: prefixes, phrases, a glossary and vocabularies need one")
            try:
                compiled[number] = compile_constraints(request, self._phrase_tokenizer)
            except UserError as error:
                raise LineError(number, str(error)) from error
        return compiled

    def _search(self, batch: Sequence[EncodedRequest]) -> list[list[Hypothesis]]:
        source = self._source(batch)
        limit = self._max_lengths(source.lengths())
        if self.frame_decoder is not None:
            return self.frame_decoder(self.trained.model.frames(source), limit)
        for encoded, max_length in zip(batch, limit.tolist(), strict=True):
            if encoded.constraints.min_length > max_length:
                raise StreamError(
                    encoded.number,
                    f"its constraints need {encoded.constraints.min_length} tokens, but its output may have only "
                    f"{max_length}: request less, or raise translate.max_length_factor or translate.max_length_extra",
                )
        step, state = self._steps(batch)
        step, state = self._constrain(step, state, [one.constraints for one in batch], source.lengths(), limit)
        numbers = torch.tensor([encoded.number for encoded in batch], device=self.trained.device)
        return self.search(cancellable_step(step), state, limit, numbers)

    def _source(self, batch: Sequence[EncodedRequest]) -> Padded:
        return pad_rows([encoded.rows[0] for encoded in batch]).to(self.trained.device)

    def _max_lengths(self, source_lengths: Tensor) -> Tensor:
        """The most tokens of each output [B]."""
        limit = (source_lengths * self.settings.max_length_factor).long() + self.settings.max_length_extra
        for max_length in (self.trained.max_target_length, self.ensemble.max_target_length()):
            limit = limit if max_length is None else limit.clamp(max=max_length)
        return limit

    def _max_length(self, row: RowArray) -> int:
        return int(self._max_lengths(pad_rows([row]).lengths()))

    def _steps(self, batch: Sequence[EncodedRequest]) -> tuple[StepFunction, State]:
        """The step function of all models, without constraints, and its initial state."""
        model, source = self.trained.model, self._source(batch)
        if self.shortlist is not None:
            every = torch.arange(self.trained.target_tokenizer.size)  # constraints may need any token
            rows = [one.rows[0] if one.constraints == UNCONSTRAINED else None for one in batch]
            lists = [every if row is None else torch.from_numpy(self.shortlist.for_row(row)).long() for row in rows]
            return shortlist_steps(model, model.start(model.encode(source)), lists)
        step, state = model_steps(model, source, self.settings.ctc_weight)
        return self.ensemble.combine(self.trained, step, state, [encoded.rows[1:] for encoded in batch])

    def _constrain(
        self,
        step: StepFunction,
        state: State,
        constraints: Sequence[TokenConstraints],
        source_lengths: Tensor,
        limit: Tensor,
    ) -> tuple[StepFunction, State]:
        """The step function with the constraints of the lines and of the settings."""
        settings = self.settings
        if self.word_list is not None:
            step, state = restrict_to_words(step, state, self.word_list, limit)
        if any(one != UNCONSTRAINED for one in constraints):
            joins = self._phrase_tokenizer.continuation_mask
            step, state = constrain_step(step, state, constraints, limit, joins)
        prefixes = torch.tensor([len(one.forced_prefix) for one in constraints], device=limit.device)
        step, state = block_repeated_ngrams(step, state, settings.no_repeat_ngram_size, prefixes)
        minimum = min_lengths(source_lengths, settings.min_length_factor, settings.min_length_extra, limit)
        return enforce_min_length(step, state, minimum)

    # From requests to translations

    def _translate_window(self, requests: Sequence[Request], first: int) -> list[Translation]:
        """Translate lines of which the first has this number in the input."""
        return self._translate(requests, range(first, first + len(requests)))

    def _translate(self, requests: Sequence[Request], numbers: Sequence[int]) -> list[Translation]:
        """Translate lines with these numbers in the input, in batches of similar length."""
        encoded = self.encode(requests, numbers)
        done = {row: self._empty(one) for row, one in enumerate(encoded) if not one.request.text.strip()}
        sources = [one.rows[0] for one in encoded]
        rows = [row for row in range(len(encoded)) if row not in done]
        workers = BatchWorkers(1, self.settings.batch_tokens)
        if all(request.is_plain for request in requests):  # the phrase tokenizer is not safe to share between threads
            workers = make_batch_workers(self.trained.device, self.settings.batch_tokens)
        batches = list(batch_by_length(rows, sources, workers.tokens))
        inputs = [[encoded[row] for row in batch] for batch in batches]
        for batch, batch_input, found in zip(batches, inputs, workers(self.search_batch, inputs), strict=True):
            done |= zip(batch, self._to_translations(batch_input, found), strict=True)
        return [done[row] for row in range(len(requests))]

    def _to_translations(
        self, batch: Sequence[EncodedRequest], found: Sequence[Sequence[Hypothesis]]
    ) -> list[Translation]:
        ranked = [self._rank_hypotheses(hypotheses) for hypotheses in found]
        translations = [self._to_translation(encoded, few) for encoded, few in zip(batch, ranked, strict=True)]
        count, tokenizer = self.output_options.top_tokens, self.trained.target_tokenizer
        if not count:
            return translations
        best = pad_rows([np.array(few[0][0].tokens if few else (), np.int64) for few in ranked])
        candidates = [tuple(token_candidates(rows, tokenizer)) for rows in self.top_tokens(batch, best, count)]
        rows = zip(translations, candidates, ranked, strict=True)
        return [replace(one, top_tokens=tokens) if few else one for one, tokens, few in rows]

    def _rank_hypotheses(self, hypotheses: Sequence[Hypothesis]) -> list[tuple[Hypothesis, float | None]]:
        """The hypotheses of a line, best first, and the values by which they are sorted."""
        if self.mbr is not None:
            return [*self.mbr(hypotheses)]
        if self.frame_decoder is not None:
            return [(hypothesis, None) for hypothesis in hypotheses]
        return [(hypothesis, self.search.ranking_score(hypothesis)) for hypothesis in hypotheses]

    def _to_translation(
        self, encoded: EncodedRequest, ranked: Sequence[tuple[Hypothesis, float | None]]
    ) -> Translation:
        if not ranked:
            return replace(self._empty(encoded), alternatives=(FAILED_OUTPUT,), truncated=encoded.truncated)
        line, best = encoded.request.text, ranked[0][0]
        post = Postprocessor(self.trained, self.output_options, line, len(encoded.rows[0]))
        alternatives = tuple(post.alternative(hypothesis, score) for hypothesis, score in ranked)
        calibration = self.calibration if self.ensemble == SINGLE_MODEL else None  # does not fit an ensemble's scores
        return Translation(
            line,
            alternatives,
            truncated=encoded.truncated,
            constraint_checks=self._check_constraints(encoded, best.tokens, alternatives[0].text),
            confidence=None if calibration is None else calibration(best.score, len(best.token_scores)),
            alignment=post.alignment(best),
            attention=post.attention(best),
            analysis=TranslationAnalysis(self, encoded.request, best.tokens),
        )

    def _empty(self, encoded: EncodedRequest) -> Translation:
        """The translation of a blank line, whatever its constraints."""
        checks = self._check_constraints(encoded, (), "")
        return Translation(encoded.request.text, (EMPTY_OUTPUT,), constraint_checks=checks)

    def _check_constraints(
        self, encoded: EncodedRequest, tokens: Sequence[int], text: str
    ) -> tuple[ConstraintCheck, ...]:
        if encoded.request.is_plain:
            return ()
        limit = self._max_length(encoded.rows[0])
        return check_constraints(encoded.request, encoded.constraints, tokens, text, limit, self._phrase_tokenizer)


def _check_lines(lines: Iterable[str | Request]) -> Iterator[str | Request]:
    """Yield the lines; raise TypeError unless each is a text or a request."""
    expected = "expected a string, a Request, or a list of these"
    if isinstance(lines, bytes | Mapping) or not isinstance(lines, Iterable):
        raise TypeError(f"{expected}, got {type(lines).__name__}")
    for number, line in enumerate(lines, 1):
        if not isinstance(line, str | Request):
            raise TypeError(f"{expected}, got {type(line).__name__} as number {number} of the list")
        yield line
