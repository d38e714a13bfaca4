"""Banks: places in the beam for hypotheses that have said much of what must be said.

Post & Vilar 2018, dynamic beam allocation. What a constraint asks for is rarely probable, so the best candidates alone
would leave it out until the end. A candidate's bank is how much of what is required it has said. Each bank has an equal
share of the places; what a bank cannot fill, and what is left over, goes to others, the best overall first, but one
place always to the highest bank.

That is an order: the best candidate of every bank, then the second of every bank, and so on; of one round, the
highest bank's, then by score. With one bank it is the order of the scores.
"""

import torch
from torch import Tensor

from weft.core.state import Steer
from weft.search.allowed import IMPOSSIBLE
from weft.search.candidates import Candidates
from weft.search.live import first_of_each
from weft.search.top import top


def by_banks(scores: Tensor, log_probs: Tensor, steer: Steer) -> Candidates:
    """2K candidates of each beam: of the 2K best tokens after each hypothesis [U,K], and those that are wanted."""
    beams, size = scores.shape
    best_scores, best = top(log_probs, 2 * size)  # [U*K,2K]
    tokens = torch.cat([best, steer.wanted], dim=1)  # [U*K,C]
    token_scores = torch.cat([best_scores, log_probs.gather(1, steer.wanted)], dim=1)
    token_scores = token_scores.masked_fill(_repeated(tokens), IMPOSSIBLE)
    totals = (scores.flatten()[:, None] + token_scores).view(beams, -1)  # [U,K*C]
    order = _in_turn(totals, _bank_after(tokens, steer).view(beams, -1))[:, : 2 * size]
    rows = order // tokens.shape[1] + first_of_each(scores, size)
    return Candidates(tokens.view(beams, -1).gather(1, order), totals.gather(1, order), rows)


def _repeated(tokens: Tensor) -> Tensor:
    """Where a token of a row [N,C] stands before in the same row."""
    equal = tokens[:, :, None] == tokens[:, None, :]
    return equal.tril(-1).any(2)


def _bank_after(tokens: Tensor, steer: Steer) -> Tensor:
    """The bank that each token [N,C] leads to."""
    equal = tokens[:, :, None] == steer.wanted[:, None, :]  # [N,C,W]
    others = steer.others[:, None].expand_as(tokens)
    if not steer.wanted.shape[1]:
        return others
    wanted = steer.banks.gather(1, equal.byte().argmax(2))
    return torch.where(equal.any(2), wanted, others)


def _in_turn(totals: Tensor, banks: Tensor) -> Tensor:
    """The order of the candidates [U,C], as said above; the impossible come last."""
    possible = totals > IMPOSSIBLE
    highest = banks.masked_fill(~possible, -1).amax(1, keepdim=True)
    order = totals.argsort(dim=1, descending=True, stable=True)
    order = order.gather(1, (banks.gather(1, order) != highest).byte().argsort(dim=1, stable=True))
    rounds = _places_within(banks.gather(1, order)).masked_fill(~possible.gather(1, order), totals.shape[1])
    return order.gather(1, rounds.argsort(dim=1, stable=True))


def _places_within(banks: Tensor) -> Tensor:
    """How many of the same bank come before each [U,C]."""
    order = banks.argsort(dim=1, stable=True)
    ordered = banks.gather(1, order)
    places = torch.arange(banks.shape[1], device=banks.device).expand_as(banks)
    starts = torch.ones_like(ordered, dtype=torch.bool)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = places.masked_fill(~starts, 0).cummax(1).values
    return torch.empty_like(banks).scatter_(1, order, places - first)
