"""METEOR (Banerjee & Lavie 2005; Denkowski & Lavie 2011): unigram alignment by exact match, stem and synonym,
found by beam search, and the score with its fragmentation penalty.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from weft.core.errors import UserError
from weft.core.formatting import did_you_mean, quote
from weft.data.languages import language_name
from weft.data.text_files import read_lines
from weft.metrics.bleu import bleu_word_splitter
from weft.metrics.scores import (
    DEFAULT_OPTIONS,
    FloatArray,
    MetricOptions,
    Segments,
    SufficientStatistics,
    Synonyms,
    format_signature,
)

MatchKeys: TypeAlias = Callable[[str], frozenset[Hashable]]  # two words match if they have a key in common
Positions: TypeAlias = frozenset[int]  # in the reference

ALPHA, BETA, GAMMA = 0.9, 3.0, 0.5
BEAM_WIDTH = 64


def read_synonyms(path: Path) -> Synonyms:
    """Read a file with a set of synonyms, separated by spaces, per line; a word may be in several sets."""
    sets: defaultdict[str, set[int]] = defaultdict(set)
    for number, line in enumerate(read_lines(path)):
        for word in line.lower().split():
            sets[word].add(number)
    if not sets:
        raise UserError(f"{path}: contains no words. Write synonyms on each line")
    return Synonyms(path.name, {word: frozenset(numbers) for word, numbers in sets.items()})


class UnigramAlignment(NamedTuple):
    """The alignment of the output, or of its first words."""

    positions: tuple[int | None, ...] = ()  # in the reference, of each word
    used: Positions = frozenset()
    stages: int = 0  # sum of the stages of the matches
    chunks: int = 0
    distance: int = 0

    def rank(self) -> tuple[int, int, int, int]:
        """Order by the most matches, then the earliest stages, the fewest chunks, the closest positions."""
        return -len(self.used), self.stages, self.chunks, self.distance

    def match(self, position: int, stage: int) -> UnigramAlignment:
        starts_chunk = not self.positions or self.positions[-1] != position - 1
        return UnigramAlignment(
            (*self.positions, position),
            self.used | {position},
            self.stages + stage,
            self.chunks + starts_chunk,
            self.distance + abs(len(self.positions) - position),
        )


def align_unigrams(output: Sequence[str], reference: Sequence[str], stages: Sequence[MatchKeys]) -> UnigramAlignment:
    """Return the alignment with the most matches, at the earliest stages, in the fewest chunks (METEOR 1.3).

    A chunk is a run of words that are adjacent and in the same order in both (Denkowski & Lavie 2011, section 2;
    Banerjee & Lavie 2005 minimized crossings). At the first stage equal words match. Found by beam search: in long
    lines of few different words there might be fewer chunks, but never more matches.
    """
    occurrences: defaultdict[str, set[int]] = defaultdict(set)
    for position, other in enumerate(reference):
        occurrences[other].add(position)
    matches = _match_stages(output, reference, stages)
    later_words = Counter(output)  # after the current one
    later_matches = Counter(chain.from_iterable(matches))  # how many of them may match each position

    def extend(partial: UnigramAlignment, word: str, stages: Mapping[int, int]) -> Iterator[UnigramAlignment]:
        """Match the word with each available position; skip it only if that may help a later word.

        Positions are reserved for later words that equal the reference word there.
        """
        available = []
        for position in stages:
            other = reference[position]
            free = occurrences[other] - partial.used
            if position in free and (other == word or len(free) > later_words[other]):
                available.append(position)
                yield partial.match(position, stages[position])
        if not available or not later_matches.keys().isdisjoint(available):
            yield partial._replace(positions=(*partial.positions, None))

    partials = [UnigramAlignment()]
    for word, positions in zip(output, matches, strict=True):
        later_words[word] -= 1
        later_matches -= Counter(positions.keys())  # drops those that reach 0
        best: dict[tuple[Positions, int | None], UnigramAlignment] = {}
        for partial in partials:
            for longer in extend(partial, word, positions):
                future = longer.used, longer.positions[-1]  # everything that later words depend on
                if future not in best or longer.rank() < best[future].rank():
                    best[future] = longer
        partials = sorted(best.values(), key=UnigramAlignment.rank)[:BEAM_WIDTH]
    return partials[0]


def _match_stages(
    output: Sequence[str], reference: Sequence[str], stages: Sequence[MatchKeys]
) -> list[Mapping[int, int]]:
    """For each output word the positions of reference words that share a key with it, with the first such stage."""
    matches: list[dict[int, int]] = [{} for _ in output]
    for stage, keys in enumerate(stages):
        reference_keys = [keys(word) for word in reference]
        for word, found in zip(output, matches, strict=True):
            own = keys(word)
            for position, others in enumerate(reference_keys):
                if position not in found and not own.isdisjoint(others):
                    found[position] = stage
    return list(matches)


def meteor(lines: Segments, options: MetricOptions) -> SufficientStatistics:
    """100 F (1 - penalty) from the sums over all lines, in lower case (Banerjee & Lavie 2005, section 2.2).

    P = matches / output words, R = matches / reference words, F = P R / (alpha P + (1 - alpha) R), penalty = gamma
    (chunks / matches)^beta. Of several references the one with the best score counts.
    """
    split, stem, synonyms = bleu_word_splitter(options), _stemmer(options.stem), options.synonyms
    stages: list[MatchKeys] = [lambda word: frozenset([word]), lambda word: frozenset([stem(word)])]
    if synonyms.sets:
        stages.append(synonyms.of)
    rows, lowercase = [], MetricOptions(lowercase=True)
    for line, references in zip(*lines.normalized(lowercase)[:2], strict=True):
        counts = [_alignment_counts(split(line), split(reference), stages) for reference in references]
        rows.append(max(counts, key=lambda row: _meteor_score(np.array(row))))
    parts = [f"tok:{options.tokenize}", f"stem:{options.stem}", f"syn:{synonyms.name}"]
    parts.append(f"a:{ALPHA:g}|b:{BETA:g}|g:{GAMMA:g}")
    parts.append(f"snowballstemmer:{version('snowballstemmer')}|weft:{version('weft')}")
    columns = ("matches", "output words", "reference words", "chunks")
    signature = format_signature(lines, lowercase, *parts)
    return SufficientStatistics(np.array(rows, dtype=np.float64), _meteor_score, signature, columns)


def default_stemmer(language: str) -> str:
    """Return Snowball's stemmer of a language; porter for English, and for languages without one."""
    import snowballstemmer

    name = language_name(language).lower()
    return name if name in snowballstemmer.algorithms() and name != "english" else DEFAULT_OPTIONS.stem


def _stemmer(name: str) -> Callable[[str], Hashable]:
    import snowballstemmer

    known = snowballstemmer.algorithms()
    if name not in known:
        hint = did_you_mean(name, known)
        raise UserError(f"stem: unknown stemmer {quote(name)}{hint} (use one of {', '.join(known)})")
    return cache(snowballstemmer.stemmer(name).stemWord)


def _alignment_counts(output: Sequence[str], reference: Sequence[str], stages: Sequence[MatchKeys]) -> tuple[int, ...]:
    alignment = align_unigrams(output, reference, stages)
    return len(alignment.used), len(output), len(reference), alignment.chunks


def _meteor_score(total: FloatArray) -> float:
    matches, output, reference, chunks = total.tolist()
    if not matches:
        return 0.0 if output or reference else 100.0
    precision, recall = matches / output, matches / reference
    mean = precision * recall / (ALPHA * precision + (1 - ALPHA) * recall)
    return float(100 * mean * (1 - GAMMA * (chunks / matches) ** BETA))
