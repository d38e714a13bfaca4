"""Step functions for searches and scorers: of the decoder, mixed with CTC, over a lexical shortlist, streaming."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor
from torch.nn import functional as F

from weft.core.padded import Padded
from weft.core.state import Hypothesis, State, StepFunction, StepOutput, TensorTree
from weft.decoding.constraints.step_constraints import repeat_per_hypothesis, wrap_step
from weft.decoding.ctc_prefix_score import ctc_prefix_step, initial_ctc_state
from weft.decoding.fusion import WeightedStep, combine_steps, join_states, weighted_sum
from weft.decoding.non_autoregressive import initial_position_state, position_step
from weft.decoding.search import NEG_INF, Search
from weft.models.model import Model


def model_steps(model: Model, source: Padded, ctc_weight: float) -> tuple[StepFunction, State]:
    """The steps of the decoder, interpolated with those of a CTC frame head if `ctc_weight` is positive:
    (1 - w) log p_decoder + w log p_CTC. Without a decoder, the steps of the frame head.
    """
    memory = model.encode(source)
    if not model.has_decoder:
        frames = model.frames_from_memory(memory)
        if model.frame_head is not None and model.frame_head.blank:
            return ctc_prefix_step, initial_ctc_state(frames)
        return position_step, initial_position_state(frames)
    start = model.start(memory)
    if not ctc_weight:
        return model.step, start
    parts = [WeightedStep(model.step, 1 - ctc_weight), WeightedStep(ctc_prefix_step, ctc_weight)]
    return combine_steps(parts, weighted_sum), join_states(start, initial_ctc_state(model.frames_from_memory(memory)))


def shortlist_steps(model: Model, start: State, lists: Sequence[Tensor]) -> tuple[StepFunction, State]:
    """The steps of a model whose output layer computes only the classes in `lists`, one list per sentence.

    The output layer is multiplied once for all classes of the batch; each sentence is then normalized over its own
    list, so that its result does not depend on the other sentences.
    """
    device = model.head.weight.device
    classes = torch.unique(torch.cat([*lists])).to(device)  # [C]
    listed = torch.stack([torch.isin(classes, ids.to(device)) for ids in lists])  # [B,C]
    weight, bias = model.head.rows(classes), None if model.head.bias is None else model.head.bias[classes]
    vocabulary = len(model.head.weight)

    def step(tokens: Tensor, state: State) -> tuple[StepOutput, State]:
        memory, allowed = cast(tuple[TensorTree, Tensor], state.memory)
        hidden, attention, after = model.advance(tokens, State(memory, state.carry))
        logits = F.linear(hidden, weight, bias)
        few = logits.masked_fill(~repeat_per_hypothesis(allowed, len(tokens)), NEG_INF).log_softmax(-1)
        log_probs = few.new_full((len(tokens), vocabulary), NEG_INF).index_copy_(1, classes, few)
        return StepOutput(log_probs, attention), State((after.memory, allowed), after.carry)

    return step, State((start.memory, listed), start.carry)


@dataclass(frozen=True)
class StreamingSearch:
    """Search of one sentence that reports the tokens of its first hypothesis at every step.

    They need not be the beginning of the result: a beam may prefer another hypothesis later.
    """

    search: Search
    report: Callable[[list[int]], None]

    def __call__(self, step: StepFunction, state: State, limit: Tensor, lines: Tensor) -> list[list[Hypothesis]]:
        def observe(scores: StepOutput, tokens: Tensor, own: State) -> tuple[StepOutput, TensorTree]:
            history = torch.cat([cast(Tensor, own.carry), tokens[:, None]], dim=1)  # [N,t+1], BOS first
            self.report(history[0, 1:].tolist())
            return scores, history

        own = State(limit, limit.new_zeros(len(limit), 0))
        return self.search(*wrap_step(step, state, own, observe), limit, lines)

    def ranking_score(self, hypothesis: Hypothesis) -> float:
        return self.search.ranking_score(hypothesis)

    @property
    def supports_constraints(self) -> bool:
        return self.search.supports_constraints
