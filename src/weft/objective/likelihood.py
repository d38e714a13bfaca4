"""How probable given tokens are, with gradients, without ever holding all logits."""

from typing import cast

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from weft.model.roles import Head
from weft.objective.head_and_loss import positions


def token_log_probs(head: Head, hidden: Tensor, targets: Tensor, chunk: int | None) -> Tensor:
    """log p of each target [M] after its hidden [M,D]; the logits of a chunk are made again for its gradient."""
    few = positions(hidden, chunk)
    chunks = [
        checkpoint(_chosen, head, rows, tokens, use_reentrant=False, preserve_rng_state=False)
        for rows, tokens in zip(torch.split(hidden, few), torch.split(targets, few), strict=True)
    ]
    return torch.cat(cast(list[Tensor], chunks))


def _chosen(head: Head, hidden: Tensor, targets: Tensor) -> Tensor:
    return head(hidden).log_softmax(-1).gather(1, targets[:, None])[:, 0]


def sums(values: Tensor, groups: Tensor, count: int) -> Tensor:
    """values [M], the group of each [M] -> the sum of each of the groups [count]."""
    return values.new_zeros(count).index_add(0, groups, values)
