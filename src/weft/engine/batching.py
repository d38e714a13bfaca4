"""Lines of like length go together."""

from collections.abc import Iterator, Sequence, Sized


def cut_batches(order: Sequence[int], rows: Sequence[Sized], limit: int, budget: int) -> Iterator[list[int]]:
    """Runs of line numbers, longest first, each with at most `budget` positions (or a single line)."""
    batch: list[int] = []
    for number in order:
        longest = min(len(rows[batch[0] if batch else number]), limit) + 1
        if batch and longest * (len(batch) + 1) > budget:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
