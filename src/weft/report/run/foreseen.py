"""What a language model makes of lines that it was not trained on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from weft.core.errors import UserError
from weft.engine.completion import sampled
from weft.engine.perplexity import counted, scores
from weft.engine.scoring import Scored, Scorer, perplexity
from weft.engine.steps import target_limit
from weft.metric.breakdown import Class, even_starts, labels
from weft.metric.score import Score
from weft.report.run.held import Held
from weft.report.run.measured import Lengths
from weft.store.model_folder import Trained

PROMPTS, WORDS, LETTERS = 5, 2, 3  # so many beginnings, of so many words, or of letters where a line is one word


class Foreseen(NamedTuple):
    """Scores of the lines, each line with those of its pieces, perplexity by length, and how prompts go on.

    left_out: lines with more pieces than the model has positions for.
    """

    held: Held
    scores: list[Score]
    lines: list[Scored]
    lengths: Lengths
    completions: list[tuple[str, str]]
    left_out: int


def foresee(trained: Trained, held: Held) -> Foreseen:
    """UserError if the model has positions for none of the lines."""
    limit = target_limit(trained)
    texts = [target for _, target in held.pairs]
    rows = trained.target_tokenizer.encode(texts)
    fitting = [number for number, row in enumerate(rows) if limit is None or len(row) <= limit]
    if not fitting:
        raise UserError(f"all lines have more pieces than the model has positions for, which are {limit}")
    lines = list(Scorer(trained).stream(("", texts[number]) for number in fitting))
    counts = Counter(counted([one.target for one in lines], [rows[n] for n in fitting], trained.target_tokenizer))
    return Foreseen(
        held,
        scores(-sum(one.score for one in lines), counts),
        lines,
        Lengths("perplexity per token, by the length of the line in pieces", by_pieces(lines)),
        completions(trained, [one.target for one in lines]),
        len(texts) - len(fitting),
    )


def by_pieces(lines: Sequence[Scored]) -> list[Class]:
    """Perplexity of the lines of each class of lengths, the end of a line among its pieces."""
    lengths = np.array([len(one.pieces) for one in lines])
    starts = even_starts(lengths.tolist())
    place = np.searchsorted(starts, lengths, side="right") - 1
    found = [[one for one, here in zip(lines, place, strict=True) if here == n] for n in range(len(starts))]
    return [
        Class(label, len(some), (perplexity(sum(one.score for one in some), sum(len(one.pieces) for one in some)),))
        for label, some in zip(labels(starts), found, strict=True)
        if some
    ]


def completions(trained: Trained, lines: Sequence[str]) -> list[tuple[str, str]]:
    """How the beginnings of the first lines go on; none of a model that says lines from their end."""
    if trained.target_tokenizer.order != "forward":
        return []
    prompts = list(dict.fromkeys(filter(str.strip, map(beginning, lines))))[:PROMPTS]
    completer = sampled(trained, 1, temperature=1.0, seed=1)
    return [(prompt, completer.complete(prompt, number)[0]) for number, prompt in enumerate(prompts, start=1)]


def beginning(line: str) -> str:
    words = line.split()
    return " ".join(words[:WORDS]) if len(words) > WORDS else line[:LETTERS]
