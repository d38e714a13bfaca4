"""From the lines of a batch, and what they ask for, to hypotheses."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from weft.config.recipe import Translate
from weft.control.again import find_without
from weft.control.checking import Checked, Output, checked
from weft.control.plan import Plan, guided, planned
from weft.control.request import Request
from weft.control.spelling import Speller
from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.core.state import Hypothesis, State, Step
from weft.data.padding import pad
from weft.engine.among import among
from weft.engine.asked import Asked, check_room, plans_of
from weft.engine.several import Beside
from weft.engine.side_by_side import Workers, unless_broken_off, workers_for
from weft.engine.steps import source_limit, steps_of, target_limit
from weft.search.forced import forced_scores
from weft.search.guides.least_length import hold_end, least_lengths
from weft.search.guides.listed import ListedWords, of_words
from weft.search.guides.repeats import block_repeats
from weft.search.likeliest import likeliest_tokens
from weft.search.role import Reading, Search
from weft.store.model_folder import Trained
from weft.text.shortlist import Shortlist


@dataclass(frozen=True)
class Finder:
    """A trained model with a search, and what steers it; or with a reading, which nothing can steer.

    words: of which outputs are made. beside: what else counts at every step. shortlist: what the tokens of a line are
    chosen from, if not from all.
    """

    trained: Trained
    search: Search
    settings: Translate
    reading: Reading | None
    words: ListedWords | None
    beside: Beside
    shortlist: Shortlist | None = None

    @torch.inference_mode()
    def __call__(self, asked: Sequence[Asked]) -> list[list[Hypothesis]]:
        """The hypotheses of each line; one in which an excluded phrase came back is searched again."""
        if not any(one.request.exclude for one in asked):
            return self._find(asked)

        def find(places: Sequence[int], plans: Sequence[Plan]) -> list[list[Hypothesis]]:
            return self._find([asked[place]._replace(plan=plan) for place, plan in zip(places, plans, strict=True)])

        return find_without(find, [one.request for one in asked], [one.plan for one in asked], self._speller)

    def read(self, requests: Sequence[Request], numbers: Sequence[int]) -> list[Asked]:
        """The lines as the models read them, with their numbers in the whole input; LineError for what cannot be."""
        lines, plans = [request.text for request in requests], self._plans(requests)
        rows, others = self.trained.source_tokenizer.encode_rows(lines).split(), self.beside.read(lines)
        limit = source_limit(self.trained)
        return [
            Asked(row[:limit], other, number, request, plan, len(row) > limit or other.cut)
            for row, other, number, request, plan in zip(rows, others, numbers, requests, plans, strict=True)
        ]

    def workers(self, requests: Sequence[Request]) -> Workers:
        """Who finds the hypotheses of these lines: with phrases to spell, one, since a speller learns as it goes."""
        tokens = self.settings.batch_tokens
        plain = all(request.is_plain for request in requests)
        return workers_for(self._device, tokens) if plain else Workers(1, tokens)

    def checked(self, one: Asked, tokens: Sequence[int], text: str) -> tuple[Checked, ...]:
        """What became of what the line asks for, in the output of these tokens."""
        if one.request.is_plain:
            return ()
        limit = int(self._limit(pad([one.row]).lengths()))
        return checked(one.request, one.plan, Output(tokens, text, limit), self._speller)

    def can_say(self, request: Request) -> bool:
        """Can the search be made to say all that a request asks for?"""
        if self.reading is not None or (request.include and not self.search.can_require):
            return False
        try:
            plan = planned(request, self._speller)
        except UserError:
            return False
        (row,) = self.trained.source_tokenizer.encode_rows([request.text]).split()
        return plan.least <= int(self._limit(pad([row[: source_limit(self.trained)]]).lengths()))

    @torch.inference_mode()
    def likeliest(self, asked: Sequence[Asked], targets: Padded, count: int) -> list[list[list[tuple[int, float]]]]:
        """What the models would have said instead, at each token of the targets [B,T]; guides have no say in it."""
        return likeliest_tokens(*self._steps(asked), targets.to(self._device), count)

    @torch.inference_mode()
    def forced(self, asked: Sequence[Asked], targets: Padded) -> list[Hypothesis]:
        """The targets [B,T] as if they had been found: how the models score them, and where they look meanwhile."""
        return forced_scores(*self._steps(asked), targets.to(self._device))

    @cached_property
    def _speller(self) -> Speller:
        return Speller(self.trained.target_tokenizer)

    def _plans(self, requests: Sequence[Request]) -> list[Plan]:
        """How each request is seen to; LineError for one that cannot be."""
        if all(request.is_plain for request in requests):
            return [Plan()] * len(requests)
        if self.reading is not None:
            raise UserError(
                "this model has no decoder whose steps could be guided: prefixes, phrases, a glossary and vocabularies "
                "are for models that have one"
            )
        return plans_of(requests, self._speller)

    @property
    def _device(self) -> torch.device:
        return next(self.trained.model.parameters()).device

    def _find(self, asked: Sequence[Asked]) -> list[list[Hypothesis]]:
        source = self._source(asked)
        limit = self._limit(source.lengths())
        if self.reading is not None:
            return self.reading(self.trained.model.frames(source), limit)
        check_room(asked, limit.tolist())
        step, state = self._guided(self._steps(asked), [one.plan for one in asked], source.lengths(), limit)
        return self.search(
            unless_broken_off(step), state, limit, torch.tensor([one.number for one in asked], device=self._device)
        )

    def _source(self, asked: Sequence[Asked]) -> Padded:
        return pad([one.row for one in asked]).to(self._device)

    def _limit(self, lengths: Tensor) -> Tensor:
        """The most tokens of each output, for the lengths of the sources [B]."""
        limit = (lengths * self.settings.length_factor).long() + self.settings.length_extra
        for most in (target_limit(self.trained), self.beside.target_limit()):
            limit = limit if most is None else limit.clamp(max=most)
        return limit

    def _steps(self, asked: Sequence[Asked]) -> tuple[Step, State]:
        """The step function of all models together, and its first state."""
        model, source = self.trained.model, self._source(asked)
        if self.shortlist is not None:
            return among(model, model.start(model.encode(source)), self._lists(self.shortlist, asked))
        begun = steps_of(model, source, self.settings.ctc_weight)
        return self.beside.steps(self.trained, begun, [one.other for one in asked])

    def _lists(self, shortlist: Shortlist, asked: Sequence[Asked]) -> list[Tensor]:
        """The tokens of each line; all of them where something is asked for, since that may need any."""
        whole = torch.arange(self.trained.target_tokenizer.size)
        return [torch.from_numpy(shortlist.of_row(one.row)).long() if one.plan == Plan() else whole for one in asked]

    def _guided(
        self, begun: tuple[Step, State], plans: Sequence[Plan], lengths: Tensor, limit: Tensor
    ) -> tuple[Step, State]:
        """The step function with all that steers it, and its first state."""
        step, state = begun
        if self.words is not None:
            step, state = of_words(step, state, self.words, limit)
        if any(plan != Plan() for plan in plans):
            step, state = guided(step, state, plans, limit, self._speller.joins)
        free = torch.tensor([len(plan.forced) for plan in plans], device=limit.device)
        step, state = block_repeats(step, state, self.settings.block_repeats, free)
        least = least_lengths(lengths, self.settings.least_factor, self.settings.least_extra, limit)
        return hold_end(step, state, least)
