"""The interfaces of decoding and the rules that every search shares.

`Search` finds outputs of a step function (it never sees a model), `FrameDecoder` finds them in frames. All searches
mask invalid tokens and break ties in the same way.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from torch import Tensor

from weft.core.errors import UserError
from weft.core.special_tokens import BOS, EOS, PAD, Vocabulary
from weft.core.state import BankTransitions, FrameOutput, Hypothesis, State, StepFunction

NEG_INF = float("-inf")


class Search(Protocol):
    """Finds good outputs of a step function for a batch of sentences.

    Every search follows these rules:

    - An output starts after BOS (not part of it) and ends with EOS; PAD and BOS are never produced.
    - `limit` [B] is the maximum number of tokens of each output, EOS not counted. At the limit only EOS is allowed and
      its score counts, so that the score of a hypothesis is always the forced score of its tokens and EOS.
      `finished` is False if EOS was forced although another token was more probable.
    - Outputs of probability zero are not returned; a sentence without any other output gets an empty list.
    """

    def __call__(self, step: StepFunction, state: State, limit: Tensor, lines: Tensor) -> list[list[Hypothesis]]:
        """Return the hypotheses of each sentence, best first.

        `state` has one carry row per sentence and is on the device of `limit`. `lines` [B] are the line numbers of the
        sentences in the input: random draws depend on them, never on the batch.
        """
        ...

    def ranking_score(self, hypothesis: Hypothesis) -> float:
        """Return the value by which the hypotheses of a sentence are ordered: the score after all penalties."""
        ...

    @property
    def supports_constraints(self) -> bool:
        """Whether the search honors `StepOutput.bank_transitions`, so that required phrases can be guaranteed."""
        ...


class LanguageModel(NamedTuple):
    """A language model of the outputs: its step function (tokens on any device) and the state of an empty output."""

    step: StepFunction
    start: State


@dataclass(frozen=True)
class FrameDecoderContext:
    """The properties of a model that a frame decoder may need besides the frames."""

    blank: bool  # whether the last class of a frame is the CTC blank
    vocabulary: Vocabulary
    encode: Callable[[Sequence[str]], list[list[int]]]  # lines to target ids
    language_model: Callable[[str], LanguageModel]  # loads one with the same vocabulary from a folder


class FrameDecoder(Protocol):
    """Finds good outputs in the frames of a batch of sentences; constructed as Decoder(context, **settings).

    Every frame decoder follows these rules:

    - An output has no PAD, BOS or EOS.
    - `limit` [B] is the maximum number of tokens; `finished` is False if it cut an output short.
    - `score` is the sum of `token_scores`: one for each token and one for the end.
    - Outputs of probability zero are not returned; a sentence without any other output gets an empty list.
    """

    def __call__(self, frames: FrameOutput, limit: Tensor) -> list[list[Hypothesis]]:
        """Return the hypotheses of each sentence, best first."""
        ...


def mask_invalid_tokens(log_probs: Tensor, at_limit: Tensor) -> tuple[Tensor, Tensor]:
    """Set the log-probabilities of PAD and BOS to -inf, and of all but EOS in rows that are at their limit.

    log_probs [N,V], at_limit [N] -> (the same tensor, modified in place, and a mask [N] of rows where EOS is forced
    although another token is more probable). In place because it is the largest tensor of a search.
    """
    log_probs[:, PAD] = log_probs[:, BOS] = NEG_INF
    if not at_limit.any():
        return log_probs, at_limit
    end = log_probs[:, EOS].clone()
    forced = at_limit & (end < log_probs.amax(1))
    log_probs.masked_fill_(at_limit[:, None], NEG_INF)
    log_probs[:, EOS] = end
    return log_probs, forced


def reject_constraints(transitions: BankTransitions | None) -> None:
    """Raise UserError if phrases are required: the calling search does not reserve places for them."""
    if transitions is not None:
        raise UserError(
            "lexical constraints need beam search: greedy search, sampling and diverse beam search cannot guarantee "
            "required phrases. Use --beam 5, or translate.search={type: beam}"
        )


def stable_topk(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the `count` highest scores of each row [A,C] and their columns; ties go to the lower column.

    torch.topk is much faster than a sort but does not define the order of equal scores.
    """
    if count >= scores.shape[1]:
        return scores.sort(dim=1, descending=True, stable=True)
    values, columns = scores.topk(count + 1)
    equal = (values[:, :-1] == values[:, 1:]) & values[:, 1:].isfinite()
    values, columns = values[:, :count], columns[:, :count]
    rows = equal.any(1).nonzero()[:, 0]
    if len(rows):
        in_order = scores[rows].sort(dim=1, descending=True, stable=True)
        values[rows], columns[rows] = (part[:, :count] for part in in_order)
    return values, columns
