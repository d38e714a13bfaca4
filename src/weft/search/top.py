"""The highest scores of each row, with ties decided."""

from torch import Tensor


def top(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` highest of each row [A,C] (all, if C is less) and their columns; of equals the lower column is first.

    torch.topk is much faster than a sort but leaves open which of several equal scores it takes and in what order.
    """
    if count >= scores.shape[1]:
        return scores.sort(dim=1, descending=True, stable=True)
    values, columns = scores.topk(count + 1)
    tied_at_the_edge = (values[:, count - 1] == values[:, count]) & values[:, count].isfinite()
    if tied_at_the_edge.any():
        values, columns = scores.sort(dim=1, descending=True, stable=True)
        return values[:, :count], columns[:, :count]
    columns = columns[:, :count].sort(dim=1).values
    values, order = scores.gather(1, columns).sort(dim=1, descending=True, stable=True)
    return values, columns.gather(1, order)
