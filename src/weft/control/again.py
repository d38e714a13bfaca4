"""Searching again where an excluded phrase came back, spelled with other pieces."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import TypeAlias

from weft.control.plan import Plan
from weft.control.request import Request
from weft.control.spelling import Speller
from weft.control.words import occurrences
from weft.core.marks import BEGIN, FIRST_PIECE
from weft.core.state import Hypothesis
from weft.search.guides.phrases import Phrase

Find: TypeAlias = Callable[[Sequence[int], Sequence[Plan]], list[list[Hypothesis]]]
ROUNDS = 8  # in which whole spellings are forbidden; from then on, single tokens


def find_without(
    find: Find, requests: Sequence[Request], plans: Sequence[Plan], speller: Speller
) -> list[list[Hypothesis]]:
    """The hypotheses of each request.

    `find` takes places in the batch and a plan for each. Where an output has an excluded phrase in its text, the tokens
    that spell it are forbidden too, and that line is searched again. A phrase has many spellings: if it still comes
    back after `ROUNDS` times, one of its tokens is forbidden by itself each time, of those that nothing else needs.
    That ends, as there are only so many tokens. Where nothing more can be forbidden or found, the last is kept.
    """
    plans = list(plans)
    found = find(range(len(plans)), plans)
    dirty = list(range(len(plans)))
    for done in count():
        bans = {place: _bans(requests[place], plans[place], found[place], speller) for place in dirty}
        if done >= ROUNDS:
            bans = {place: _single(bans[place], plans[place]) for place in dirty}
        dirty = [place for place in dirty if bans[place]]
        if not dirty:
            break
        for place in dirty:
            plans[place] = replace(plans[place], excluded=(*plans[place].excluded, *bans[place]))
        results = dict(zip(dirty, find(dirty, [plans[place] for place in dirty]), strict=True))
        dirty = [place for place in dirty if results[place]]
        for place in dirty:
            found[place] = results[place]
    return found


def _bans(request: Request, plan: Plan, hypotheses: Sequence[Hypothesis], speller: Speller) -> list[Phrase]:
    """The tokens that spell excluded phrases in any of the hypotheses, where they are not forbidden already."""
    shown = [speller.shown(phrase) for phrase in request.exclude]
    spelled = (one for phrase in shown for hypothesis in hypotheses for one in _spellings(phrase, hypothesis, speller))
    return [one for one in dict.fromkeys(spelled) if one not in plan.excluded]


def _single(bans: Sequence[Phrase], plan: Plan) -> list[Phrase]:
    """Of each spelling the last token that nothing needs which must be said."""
    needed = {token for row in plan.needed for token in row}
    free = ([token for token in ban.tokens[1:] if token >= FIRST_PIECE and token not in needed] for ban in bans)
    return list(dict.fromkeys(Phrase((tokens[-1],)) for tokens in free if tokens))


def _spellings(phrase: str, hypothesis: Hypothesis, speller: Speller) -> Iterator[Phrase]:
    """The tokens of each place where a phrase stands, and the one before: alone they may be part of many words."""
    tokens = hypothesis.tokens
    places = list(occurrences(phrase, speller.written(tokens)))
    if places:
        ends = [len(part) for part in speller.tokenizer.decode([tokens[:size] for size in range(len(tokens) + 1)])]
        for first, end in places:
            yield Phrase(_covering(tokens, ends, first, end))


def _covering(tokens: Sequence[int], ends: Sequence[int], first: int, end: int) -> tuple[int, ...]:
    """The tokens that spell the text from `first` to `end`, and the one before; ends: of the text after each."""
    begin = max(count for count, reached in enumerate(ends) if reached <= first)
    stop = min((count for count, reached in enumerate(ends) if reached >= end), default=len(tokens))
    return (BEGIN, *tokens)[begin : stop + 1]
