"""How well a language model foresees a text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import torch

from weft.core.errors import UserError
from weft.core.marks import END
from weft.core.padded import Padded
from weft.data.batches import Batch
from weft.data.lines import read_lines
from weft.engine.batching import cut_batches
from weft.engine.evaluation import no_references
from weft.engine.load import load_trained
from weft.metric.examples import is_table
from weft.metric.score import Score
from weft.objective.cross_entropy import cross_entropy
from weft.store.model_folder import Trained
from weft.text.tokenizer import Tokenizer


def is_text(files: Sequence[Path]) -> bool:
    """One text file alone, which only a language model can be evaluated on."""
    return len(files) == 1 and not is_table(files[0])


def load_for(text: Path, path: Path, device: str) -> Trained:
    """The model that is to be evaluated on a text alone."""
    trained = load_trained(path, device)
    if not trained.model.is_language_model:
        raise UserError(no_references(text))
    return trained


def evaluate_text(trained: Trained, text: Path) -> list[Score]:
    """The scores of a text, to which every line belongs, with its end."""
    surprise, counts = 0.0, Counter[str]()
    for window in windows(read_lines(text), trained.recipe.translate.window):
        rows = trained.target_tokenizer.encode(window)
        check_positions(trained, rows, text, counts["lines"] + 1)
        surprise += surprise_of(trained, rows)
        counts.update(counted(window, rows, trained.target_tokenizer))
    if not counts:
        raise UserError(f"{text}: is empty, so there are no lines to evaluate")
    return scores(surprise, counts)


def counted(lines: Sequence[str], rows: Sequence[Sequence[int]], tokenizer: Tokenizer) -> dict[str, int]:
    """What the lines hold; the end of a line is a token, a word and a character."""
    return {
        "lines": len(lines),
        "tokens": sum(len(row) + 1 for row in rows),
        "words": sum(len(line.split()) + 1 for line in lines),
        "characters": sum(len(line) + 1 for line in lines),
        "unknown": 0 if tokenizer.unknown is None else sum(row.count(tokenizer.unknown) for row in rows),
    }


def scores(surprise: float, counts: Counter[str]) -> list[Score]:
    """exp(-log p / tokens), exp(-log p / words) and -log2 p / characters, with surprise = -log p of the whole text.

    Models with different tokenizers can be compared by the last two, as long as no token is unknown.
    """
    note = f"|unknown:{counts['unknown'] / counts['tokens']:.2%}" if counts["unknown"] else ""
    values = {
        "tokens": ("perplexity per token", math.exp(min(700.0, surprise / counts["tokens"]))),
        "words": ("perplexity per word", math.exp(min(700.0, surprise / counts["words"]))),
        "characters": ("bits per character", surprise / math.log(2) / counts["characters"]),
    }
    return [Score(name, value, "lower", f"{what}:{counts[what]}{note}") for what, (name, value) in values.items()]


@torch.inference_mode()
def surprise_of(trained: Trained, rows: Sequence[Sequence[int]]) -> float:
    """-log p of lines of tokens, the end of each included."""
    model = trained.model
    device = next(model.parameters()).device
    order = sorted(range(len(rows)), key=lambda number: -len(rows[number]))
    total = 0.0
    for numbers in cut_batches(order, rows, len(rows[order[0]]), trained.recipe.translate.batch_tokens):
        nothing, target = Padded.of([[END]] * len(numbers)), Padded.of([[*rows[number], END] for number in numbers])
        batch = Batch(nothing, target, tuple(numbers)).to(device)
        outputs = model.features(batch).hidden
        total += cross_entropy(model.head, outputs, batch.target).parts["nll"].item()
    return total


def check_positions(trained: Trained, rows: Sequence[Sequence[int]], text: Path, first: int) -> None:
    """A line with more tokens than positions has no probability, and to cut it would make the text look easier."""
    limit = trained.model.target.limit
    for number, row in enumerate(rows, first):
        if limit is not None and len(row) >= limit:
            told = f"has {len(row)} pieces, but this model has positions for {limit - 1}"
            raise UserError(f"{text}, line {number}: {told}: split the line")


def windows(lines: Iterable[str], size: int) -> Iterator[list[str]]:
    remaining = iter(lines)
    while window := list(islice(remaining, size)):
        yield window
