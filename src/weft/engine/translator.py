"""The torch engine, for every model: lines in, lines out. What translate, evaluate and validation share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice

import numpy as np

from weft.config.recipe import Translate
from weft.control.request import Request
from weft.core.errors import UserError
from weft.core.state import Hypothesis
from weft.data.padding import pad
from weft.engine.asked import Asked
from weft.engine.batching import cut_batches
from weft.engine.finding import Finder
from weft.engine.paragraphs import translate_lines
from weft.engine.protecting import Protector, TranslateSome
from weft.engine.risk import Ranked, Risk
from weft.engine.several import ALONE, Beside
from weft.engine.sight import Sight
from weft.engine.steps import source_limit
from weft.engine.telling import Teller, choices_of
from weft.engine.translation import FAILED, NOTHING, Translation
from weft.engine.wanted import NOTHING_ELSE, Wanted
from weft.metric.calibration import Calibration
from weft.search.guides.listed import ListedWords
from weft.search.role import Reading, Search
from weft.store.model_folder import Trained
from weft.text.reader import LineError, Reader, at_once
from weft.text.sentences import Splitter
from weft.text.shortlist import Shortlist


@dataclass(frozen=True)
class Translator:
    """A trained model with a search; or with a reading, if it has no decoder whose steps could be searched.

    words: of which the search makes its outputs. beside: what else counts at every step: the other models of an
    ensemble, a language model. risk: what chooses among outputs that the search has drawn. wanted: what else
    translations tell. calibration: how scores become confidence. shortlist: what the tokens of a line are chosen from.
    """

    trained: Trained
    search: Search
    settings: Translate = field(default_factory=Translate)
    reading: Reading | None = None
    words: ListedWords | None = None
    beside: Beside = ALONE
    risk: Risk | None = None
    wanted: Wanted = NOTHING_ELSE
    calibration: Calibration | None = None
    shortlist: Shortlist | None = None

    def translate(self, lines: Iterable[str | Request]) -> list[Translation]:
        """One translation per line, in order, whatever the lines hold; a request says what is asked of it."""
        return list(self.stream(lines))

    def stream(self, lines: Iterable[str | Request]) -> Iterator[Translation]:
        """The same as they come: memory does not grow with the number of lines."""
        remaining, done = map(Request.of, lines), 0
        size = at_once(self.trained.source_tokenizer, self.settings.window)
        while window := list(islice(remaining, size)):
            try:
                yield from self._window(window, done)
            except LineError as error:
                raise UserError(f"line {done + error.row + 1}: {error}") from error
            done += len(window)

    def translate_text(self, text: str, language: str = "en") -> str:
        """A text of any number of lines and sentences, sentence by sentence; its lines and white space stay.

        language: a code, such as en or pt-BR, of the language by whose rules sentences are found.
        """
        lines = translate_lines(self.stream, text.split("\n"), Splitter(language))
        return "\n".join(line.text for line in lines)

    @property
    def reader(self) -> Reader:
        return self.trained.source_tokenizer

    @property
    def at_once(self) -> int:
        return 1

    def line_by_line(self) -> Translator:
        """The same, which answers a line before it reads the next: for a person who types, or a program that waits."""
        return replace(self, settings=replace(self.settings, window=1))

    def source_limit(self) -> int:
        """The most pieces of a line that the model reads."""
        return source_limit(self.trained)

    def least_source_limit(self) -> int:
        """The same of the model of an ensemble that reads the fewest."""
        return min(source_limit(trained) for trained in (self.trained, *self.beside.others))

    @cached_property
    def _finder(self) -> Finder:
        return Finder(self.trained, self.search, self.settings, self.reading, self.words, self.beside, self.shortlist)

    def _window(self, requests: Sequence[Request], first: int) -> list[Translation]:
        """Some of the lines, of which the first has this number in the whole input."""
        translate: TranslateSome = self._translate
        if any(request.protect for request in requests):
            translate = Protector(self._translate, self._finder.can_say, self.wanted.alignment)
        return translate(requests, range(first, first + len(requests)))

    def _translate(self, requests: Sequence[Request], numbers: Sequence[int]) -> list[Translation]:
        """Some of the lines, with their numbers in the whole input."""
        asked = self._finder.read(requests, numbers)
        done = {place: self._blank(one) for place, one in enumerate(asked) if not one.request.text.strip()}
        rows = [one.row for one in asked]
        order = sorted((place for place in range(len(rows)) if place not in done), key=lambda n: -len(rows[n]))
        workers = self._finder.workers(requests)
        batches = list(cut_batches(order, rows, self.source_limit(), workers.tokens))
        given = [[asked[place] for place in batch] for batch in batches]
        for batch, some, found in zip(batches, given, workers(self._finder, given), strict=True):
            done |= zip(batch, self._translations(some, found), strict=True)
        return [done[place] for place in range(len(requests))]

    def _translations(self, asked: Sequence[Asked], found: Sequence[Sequence[Hypothesis]]) -> list[Translation]:
        """A batch, and what was found."""
        ranked = [self._ranked(hypotheses) for hypotheses in found]
        translations = [self._translation(*pair) for pair in zip(asked, ranked, strict=True)]
        return self._with_likeliest(asked, ranked, translations) if self.wanted.likeliest else translations

    def _ranked(self, hypotheses: Sequence[Hypothesis]) -> list[Ranked]:
        """In the order in which they are given, with what decided it."""
        if self.risk is not None:
            return self.risk(hypotheses)
        compared = self.reading is None
        return [Ranked(one, self.search.rank(one) if compared else None) for one in hypotheses]

    def _blank(self, one: Asked) -> Translation:
        """Nothing becomes nothing, whatever is asked for: the model is not asked."""
        return Translation(one.request.text, (NOTHING,), checked=self._finder.checked(one, (), ""))

    def _translation(self, one: Asked, ranked: Sequence[Ranked]) -> Translation:
        line, count = one.request.text, len(one.row)
        if not ranked:
            return Translation(line, (FAILED,), cut=one.cut, checked=self._finder.checked(one, (), ""))
        best, teller = ranked[0].hypothesis, Teller(self.trained, self.wanted)
        alternatives = tuple(teller.alternative(hypothesis, line, count, rank) for hypothesis, rank in ranked)
        return Translation(
            line,
            alternatives,
            cut=one.cut,
            checked=self._finder.checked(one, best.tokens, alternatives[0].text),
            confidence=self._confidence(best),
            links=teller.links(best, line, count),
            looked=teller.looked(best, line, count),
            sight=Sight(self._finder, one.request, best.tokens),
        )

    def _confidence(self, hypothesis: Hypothesis) -> float | None:
        """Nothing is known of scores in which other models have a say."""
        if self.calibration is None or self.beside != ALONE:
            return None
        return self.calibration(hypothesis.score, len(hypothesis.token_scores))

    def _with_likeliest(
        self, asked: Sequence[Asked], ranked: Sequence[Sequence[Ranked]], translations: Sequence[Translation]
    ) -> list[Translation]:
        """The same translations, telling also what else could stand at each piece of the texts."""
        best = [np.array(few[0].hypothesis.tokens if few else (), np.int64) for few in ranked]
        found = self._finder.likeliest(asked, pad(best), self.wanted.likeliest)
        choices = [tuple(choices_of(places, self.trained.target_tokenizer)) for places in found]
        return [
            replace(one, likeliest=places) if few else one
            for one, places, few in zip(translations, choices, ranked, strict=True)
        ]
