"""METEOR (Banerjee & Lavie 2005): words that match exactly, by stem or as synonyms, and in how many pieces they lie."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from difflib import get_close_matches
from functools import cache
from importlib.metadata import version

import numpy as np

from weft.core.errors import UserError
from weft.metric.counts import Counts, Numbers
from weft.metric.lines import Lines, Options, signature
from weft.metric.matching import Keys, align, count_chunks
from weft.metric.sacre import words

ALPHA, BETA, GAMMA = 0.9, 3.0, 0.5
COLUMNS = ("matches", "output words", "reference words", "chunks")


def meteor(lines: Lines, options: Options) -> Counts:
    """100 F (1 - penalty) from the sums over all lines (section 2.2 of the paper), lower-cased.

    P = matches / words of the output, R = matches / words of the reference, F = P R / (alpha P + (1 - alpha) R),
    penalty = gamma (chunks / matches)^beta. Of several references the one counts that gives a line its best score.
    """
    split, stages = words(options), _stages(options)
    rows = [
        _row(split(line), [split(reference) for reference in row], stages)
        for line, row in zip(*lines.lower()[:2], strict=True)
    ]
    return Counts(np.array(rows, dtype=np.float64), _score, _signed(lines, options), COLUMNS)


def _stages(options: Options) -> list[Keys]:
    stem = _stemmer(options.stem)
    stages: list[Keys] = [lambda word: frozenset([word]), lambda word: frozenset([stem(word)])]
    return [*stages, options.synonyms.of] if options.synonyms.sets else stages


def _stemmer(name: str) -> Callable[[str], Hashable]:
    import snowballstemmer

    known = snowballstemmer.algorithms()
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise UserError(f"stem: there is no {name!r}; {hint}snowballstemmer knows {', '.join(known)}")
    return cache(snowballstemmer.stemmer(name).stemWord)


def _row(output: Sequence[str], references: Sequence[Sequence[str]], stages: Sequence[Keys]) -> tuple[int, ...]:
    return max((_counted(output, reference, stages) for reference in references), key=lambda row: _score(np.array(row)))


def _counted(output: Sequence[str], reference: Sequence[str], stages: Sequence[Keys]) -> tuple[int, ...]:
    places = align(output, reference, stages)
    return sum(place is not None for place in places), len(output), len(reference), count_chunks(places)


def _score(total: Numbers) -> float:
    matches, output, reference, chunks = total.tolist()
    if not matches:
        return 0.0 if output or reference else 100.0
    precision, recall = matches / output, matches / reference
    mean = precision * recall / (ALPHA * precision + (1 - ALPHA) * recall)
    return float(100 * mean * (1 - GAMMA * (chunks / matches) ** BETA))


def _signed(lines: Lines, options: Options) -> str:
    parts = [f"tok:{options.tokenize}", f"stem:{options.stem}", f"syn:{options.synonyms.name}"]
    weights = f"a:{ALPHA:g}|b:{BETA:g}|g:{GAMMA:g}"
    made = f"snowballstemmer:{version('snowballstemmer')}|weft:{version('weft')}"
    return signature(lines, Options(lowercase=True), *parts, weights, made)
