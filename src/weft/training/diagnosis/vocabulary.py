"""A vocabulary that does not fit the data: told before training."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from weft.config.reader import describe
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.data.corpus import Corpus
from weft.data.report import Report, SideReport
from weft.text.reader import Reader
from weft.training.diagnosis.finding import Finding

UNKNOWN = 0.1  # of the tokens: tokenizers of words leave some hundredths unknown in the published systems
BYTES = 0.1  # of the tokens
LETTERS = 1.25  # in a piece; a vocabulary of 8,000 has 3 to 5 in English, 1.4 in Chinese
CAUSE = "the vocabulary does not fit the data: it is too small, or was learned from other text"
LINES = 1000  # that are looked at
LEARNED = ("bpe", "wordpiece", "unigram")  # kinds whose pieces should be longer than a letter


def misfits(recipe: Recipe, report: Report, train: Corpus, readers: tuple[Reader, Reader]) -> list[Finding]:
    """At most one for each side."""
    found = []
    for number, side in enumerate(("source", "target")):
        what = next(worst(side, report), None) or short_pieces(recipe, number, train, readers[number])
        if what is not None:
            found.append(Finding(f"vocabulary-of-{side}", what, CAUSE, setting(recipe, number)))
    return found


def setting(recipe: Recipe, number: int) -> str:
    place = "text.target" if number and recipe.text.target is not None else "text.source"
    if recipe.train.start is not None:
        return "weft finetune --extend N, which adds pieces of the new data to the vocabulary"
    return f"{place}: a larger size, or the type bpe, which can spell every word"


def worst(side: str, report: Report) -> Iterator[str]:
    """What is wrong with the tokens of a side, in the first split of which something is."""
    for split in report.splits:
        told: SideReport = split.source if side == "source" else split.target
        if told.unknown_share > UNKNOWN:
            yield f"{told.unknown_share:.0%} of the {side} tokens of {split.name} are unknown"
        if (told.byte_share or 0.0) > BYTES:
            yield f"{told.byte_share:.0%} of the {side} tokens of {split.name} are single bytes"


def short_pieces(recipe: Recipe, number: int, train: Corpus, reader: Reader) -> str | None:
    """Are pieces hardly longer than letters, though they were learned to be?"""
    make = recipe.text.target if number and recipe.text.target is not None else recipe.text.source
    if describe(make, REGISTRY)["type"] not in LEARNED:
        return None
    lines = [pair[number] for pair in islice(train.pairs(), LINES)]
    letters, pieces = sum(len("".join(line.split())) for line in lines), int(reader.encode_rows(lines).lengths.sum())
    if not letters or letters >= LETTERS * pieces:
        return None
    side = "source" if number == 0 else "target"
    return f"a {side} piece has {letters / pieces:.2f} letters in the mean, so that a line is spelled letter by letter"
