"""The highest scores of each row, with ties decided."""

from torch import Tensor


def top(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` highest of each row [A,C] (all, if C is less) and their columns; of equals the lower column is first.

    torch.topk is much faster than a sort but leaves open which of several equal scores it takes and in what order.
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
