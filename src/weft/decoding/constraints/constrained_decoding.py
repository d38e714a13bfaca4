"""Constrained decoding of requests: compile a request into token constraints, wrap the step function with them,
search again where an excluded phrase returns in other tokens, and check which constraints an output meets.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor

from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.core.special_tokens import BOS, NUM_SPECIAL_TOKENS
from weft.core.state import Hypothesis, State, StepFunction
from weft.decoding.constraints.phrase_matching import TokenPhrase, exclude_phrases
from weft.decoding.constraints.phrase_tokens import PhraseTokenizer
from weft.decoding.constraints.prefix import bias_prefix, force_prefix
from weft.decoding.constraints.request import Request
from weft.decoding.constraints.required_phrases import (
    require_phrases,
    requirement_outcomes,
    requirement_predecessors,
    shortest_length,
)
from weft.decoding.constraints.step_constraints import restrict_vocabulary, vocabulary_masks
from weft.decoding.constraints.word_boundaries import contains_phrase, phrase_occurrences

# positions in the batch, and constraints for each -> hypotheses of each
SearchRows: TypeAlias = Callable[[Sequence[int], Sequence["TokenConstraints"]], list[list[Hypothesis]]]
MAX_PHRASE_ROUNDS = 8  # rounds that exclude all tokens of a phrase; later ones exclude single tokens


@dataclass(frozen=True)
class TokenConstraints:
    """The constraints of a request as tokens; the fields are those of Request."""

    prefix: tuple[int, ...] = ()
    prefix_bias: float = 0.0
    requirements: tuple[tuple[TokenPhrase, ...], ...] = ()
    ordered: int = 0
    excluded: tuple[TokenPhrase, ...] = ()
    vocabulary: frozenset[int] | None = None

    @property
    def forced_prefix(self) -> tuple[int, ...]:
        return () if self.prefix_bias else self.prefix

    @property
    def required_rows(self) -> list[tuple[int, ...]]:
        """The token sequences that other constraints must not make impossible."""
        return [self.prefix, *(phrase.tokens for phrases in self.requirements for phrase in phrases)]

    @property
    def min_length(self) -> int:
        """The number of tokens that an output needs if no token serves two constraints."""
        return len(self.forced_prefix) + sum(map(shortest_length, self.requirements))


def compile_constraints(request: Request, tokenizer: PhraseTokenizer) -> TokenConstraints:
    """Return the constraints of a request as tokens; UserError if they contradict each other or cannot be encoded."""
    excluded = [tokenizer.normalize(phrase) for phrase in request.exclude]
    prefix = tokenizer.prefix_tokens(request.prefix) if request.prefix else []
    for phrase in excluded:
        if request.prefix_bias is None and contains_phrase(phrase, tokenizer.normalize(request.prefix)):
            raise UserError(f'the prefix "{request.prefix}" contains the excluded phrase "{phrase}": remove one')
    requirements = tuple(_compile_requirement(alternatives, excluded, tokenizer) for alternatives in request.include)
    constraints = TokenConstraints(tuple(prefix), request.prefix_bias or 0.0, requirements, request.ordered)
    rows, words = constraints.required_rows, request.vocabulary
    phrases = [phrase for text in request.exclude for phrase in tokenizer.excluded_phrases(text)]
    return replace(
        constraints,
        excluded=tuple(
            phrase._replace(bounded=phrase.bounded or any(_contains_tokens(row, phrase.tokens) for row in rows))
            for phrase in phrases
        ),
        vocabulary=None if words is None else frozenset(tokenizer.tokens_of(words).union(*rows)),
    )


def _contains_tokens(row: tuple[int, ...], tokens: tuple[int, ...]) -> bool:
    """Whether a required row needs excluded tokens in a longer word: then only the end of their word is excluded."""
    return any(row[first : first + len(tokens)] == tokens for first in range(len(row)))


def _compile_requirement(
    alternatives: tuple[str, ...], excluded: Sequence[str], tokenizer: PhraseTokenizer
) -> tuple[TokenPhrase, ...]:
    """The alternatives without those that contain an excluded phrase or that no output can contain."""
    encodable = [phrase for phrase in alternatives if tokenizer.can_encode(phrase)]
    encoded = {phrase: tokenizer.required_phrases(phrase) for phrase in encodable or alternatives}
    possible = [
        phrase
        for phrase in encoded
        if not any(contains_phrase(other, tokenizer.normalize(phrase)) for other in excluded)
    ]
    if not possible:
        listed = " or ".join(f'"{phrase}"' for phrase in alternatives)
        raise UserError(f"{listed} is to be included, but contains an excluded phrase: remove one of the two")
    return tuple(dict.fromkeys(row for phrase in possible for row in encoded[phrase]))


def constrain_step(
    step: StepFunction, state: State, constraints: Sequence[TokenConstraints], limit: Tensor, continues: Tensor
) -> tuple[StepFunction, State]:
    """Wrap the step function of a batch with the constraints of its sentences.

    limit [B]; continues [V]: PhraseTokenizer.continuation_mask.
    """
    device = limit.device
    continues = continues.to(device)
    if any(row.prefix_bias for row in constraints):
        biased = Padded.from_rows([row.prefix if row.prefix_bias else () for row in constraints]).to(device)
        weights = torch.tensor([row.prefix_bias for row in constraints], device=device)
        step, state = bias_prefix(step, state, biased, weights)
    allowed = vocabulary_masks([row.vocabulary for row in constraints], len(continues)).to(device)
    step, state = restrict_vocabulary(step, state, allowed)
    step, state = exclude_phrases(step, state, [row.excluded for row in constraints], continues, limit)
    requirements, ordered = [row.requirements for row in constraints], [row.ordered for row in constraints]
    step, state = require_phrases(step, state, requirements, continues, limit, ordered)
    return force_prefix(step, state, Padded.from_rows([row.forced_prefix for row in constraints]).to(device))


def search_with_exclusions(
    search: SearchRows, requests: Sequence[Request], constraints: Sequence[TokenConstraints], tokenizer: PhraseTokenizer
) -> list[list[Hypothesis]]:
    """Return the hypotheses of each request; search again where an excluded phrase appears in the text of an output.

    The tokens that spell the phrase there are excluded too, and the line is searched again. A phrase has many
    encodings: if one still appears after MAX_PHRASE_ROUNDS, a single token of it is excluded in each round, one that no
    other constraint needs. That ends because the vocabulary is finite. If nothing more can be excluded or found, the
    last hypotheses are returned.
    """
    constraints = list(constraints)
    found = search(range(len(constraints)), constraints)
    pending = list(range(len(constraints)))
    for completed in count():
        new = {row: _new_exclusions(requests[row], constraints[row], found[row], tokenizer) for row in pending}
        if completed >= MAX_PHRASE_ROUNDS:
            new = {row: _single_token_exclusions(new[row], constraints[row]) for row in pending}
        pending = [row for row in pending if new[row]]
        if not pending:
            break
        for row in pending:
            constraints[row] = replace(constraints[row], excluded=(*constraints[row].excluded, *new[row]))
        results = dict(zip(pending, search(pending, [constraints[row] for row in pending]), strict=True))
        pending = [row for row in pending if results[row]]
        for row in pending:
            found[row] = results[row]
    return found


def _new_exclusions(
    request: Request, constraints: TokenConstraints, hypotheses: Sequence[Hypothesis], tokenizer: PhraseTokenizer
) -> list[TokenPhrase]:
    """The tokens that spell excluded phrases in any of the hypotheses, unless they are excluded already."""
    matched = (
        match
        for phrase in map(tokenizer.normalize, request.exclude)
        for hypothesis in hypotheses
        for match in _matched_phrases(phrase, hypothesis.tokens, tokenizer)
    )
    return [match for match in dict.fromkeys(matched) if match not in constraints.excluded]


def _single_token_exclusions(phrases: Sequence[TokenPhrase], constraints: TokenConstraints) -> list[TokenPhrase]:
    """The last token of each phrase that no other constraint needs."""
    needed = {token for row in constraints.required_rows for token in row}
    free = (
        [token for token in phrase.tokens[1:] if token >= NUM_SPECIAL_TOKENS and token not in needed]
        for phrase in phrases
    )
    return list(dict.fromkeys(TokenPhrase((tokens[-1],)) for tokens in free if tokens))


def _matched_phrases(phrase: str, tokens: Sequence[int], tokenizer: PhraseTokenizer) -> Iterator[TokenPhrase]:
    """The tokens of each occurrence of a phrase, with the token before: alone they may be part of many words."""
    occurrences = list(phrase_occurrences(phrase, tokenizer.decode(tokens)))
    if not occurrences:
        return
    texts = tokenizer.tokenizer.decode([tokens[:size] for size in range(len(tokens) + 1)])
    ends = [len(text) for text in texts]  # of the text of the first tokens, by their number
    for first, end in occurrences:
        begin = max(size for size, reached in enumerate(ends) if reached <= first)
        stop = min((size for size, reached in enumerate(ends) if reached >= end), default=len(tokens))
        yield TokenPhrase((BOS, *tokens)[begin : stop + 1])


class ConstraintCheck(NamedTuple):
    """Whether an output meets a constraint.

    phrases: of an inclusion, any one of them meets it. forced: the phrase was included only when no more tokens were
    left than it needed, so that the output may read badly.
    """

    kind: Literal["prefix", "include", "exclude"]
    phrases: tuple[str, ...]
    met: bool
    forced: bool = False


def check_constraints(
    request: Request,
    constraints: TokenConstraints,
    tokens: Sequence[int],
    text: str,
    limit: int,
    tokenizer: PhraseTokenizer,
) -> tuple[ConstraintCheck, ...]:
    """Check an output (tokens without EOS, and their text) against each constraint of a request.

    Whether it contains a phrase is decided by the text, whatever its tokens. limit: that of the search.
    """
    results = []
    if request.prefix:
        met = text.startswith(tokenizer.normalize(request.prefix.rstrip()))
        results.append(ConstraintCheck("prefix", (request.prefix,), met))
    include = [tuple(map(tokenizer.normalize, alternatives)) for alternatives in request.include]
    outcomes = requirement_outcomes(
        tokens, constraints.requirements, tokenizer.continuation_mask, limit, constraints.ordered
    )
    checks = zip(request.include, _inclusions_met(include, request.ordered, text), outcomes, strict=True)
    results += [ConstraintCheck("include", phrases, met, met and forced) for phrases, met, (_, forced) in checks]
    results += [
        ConstraintCheck("exclude", (phrase,), not contains_phrase(tokenizer.normalize(phrase), text))
        for phrase in request.exclude
    ]
    return tuple(results)


def _inclusions_met(include: Sequence[tuple[str, ...]], ordered: int, text: str) -> list[bool]:
    """Whether each requirement is met, after the end of its predecessor if it has one."""
    ends = [0]
    predecessors = requirement_predecessors([frozenset(phrases) for phrases in include], ordered)
    for phrases, previous in zip(include, predecessors, strict=True):
        spans = (span for phrase in phrases for span in phrase_occurrences(phrase, text))
        ends.append(min((end for first, end in spans if first >= ends[previous]), default=len(text) + 1))
    return [end <= len(text) for end in ends[1:]]
