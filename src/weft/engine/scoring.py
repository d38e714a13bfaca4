"""What a model thinks of outputs that are given: the log-probability of each, token by token."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import torch

from weft.core.errors import UserError
from weft.core.marks import END
from weft.core.state import Hypothesis
from weft.data.corpus import Corpus
from weft.data.padding import Row, pad
from weft.data.shards import is_table
from weft.engine.batching import cut_batches
from weft.engine.load import load_trained
from weft.engine.steps import source_limit, steps_of, target_limit
from weft.engine.wording import counted
from weft.search.forced import forced_scores
from weft.store.model_folder import Trained
from weft.text.reader import LineError, at_once

LARGEST = 700.0  # whose exponential is still a number


class Scored(NamedTuple):
    """A pair of lines with its log-probability, and the pieces of the target (the end mark last) with theirs."""

    source: str
    target: str
    score: float
    pieces: tuple[str, ...]
    piece_scores: tuple[float, ...]
    cut: bool  # the source was longer than the model can read, and its end was left out

    @property
    def perplexity(self) -> float:
        """exp(-log p / tokens); infinite where the model cannot say the target at all."""
        return perplexity(self.score, len(self.pieces))


class Totals(NamedTuple):
    """The sums over lines. impossible: how many of them the model cannot say at all, which are not in the sums."""

    lines: int = 0
    tokens: int = 0
    score: float = 0.0
    impossible: int = 0

    def plus(self, one: Scored) -> Totals:
        if not math.isfinite(one.score):
            return self._replace(lines=self.lines + 1, impossible=self.impossible + 1)
        return Totals(self.lines + 1, self.tokens + len(one.pieces), self.score + one.score, self.impossible)

    def __str__(self) -> str:
        counts = f"{counted(self.lines, 'line')}, {counted(self.tokens, 'token')}"
        per_token = f"{perplexity(self.score, max(self.tokens, 1)):.4f}"
        left_out = f"; without {counted(self.impossible, 'line')} that cannot be" if self.impossible else ""
        return f"{counts}: log-probability {self.score:.4f}, perplexity per token {per_token}{left_out}"


def perplexity(score: float, tokens: int) -> float:
    """exp(-log p / tokens)."""
    mean = -score / tokens
    return math.inf if mean > LARGEST else math.exp(mean)


@dataclass(frozen=True)
class Scorer:
    """A trained model that scores the targets it is given: the score is what a search of it would give them.

    That is log p of the target's pieces and END after the source: by the decoder (with `translate.ctc_weight`, mixed
    with the paths of the lattice), or by all paths or positions of the frames. A language model is given no source.
    """

    trained: Trained

    def stream(self, pairs: Iterable[tuple[str, str]]) -> Iterator[Scored]:
        """The pairs with their scores as they come, in their order."""
        remaining, done = iter(pairs), 0
        size = at_once(self.trained.source_tokenizer, self.trained.recipe.translate.window)
        while window := list(islice(remaining, size)):
            try:
                yield from self.score(window)
            except LineError as error:
                raise UserError(f"line {done + error.row + 1}: {error}") from error
            done += len(window)

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[Scored]:
        """The same of some pairs, all in memory; LineError for one that cannot be scored."""
        sources, targets = self._rows(pairs)
        limit = source_limit(self.trained)
        longer = [max(pair, key=len) for pair in zip((row[:limit] for row in sources), targets, strict=True)]
        order = sorted(range(len(pairs)), key=lambda number: -len(longer[number]))
        found: dict[int, Hypothesis] = {}
        budget = self.trained.recipe.translate.batch_tokens
        for batch in cut_batches(order, longer, len(longer[order[0]]), budget):
            scored = self._score([sources[number][:limit] for number in batch], [targets[number] for number in batch])
            found.update(zip(batch, scored, strict=True))
        cut = [len(row) > limit for row in sources]
        return [self._scored(pair, found[number], cut[number]) for number, pair in enumerate(pairs)]

    def _rows(self, pairs: Sequence[tuple[str, str]]) -> tuple[list[Row], list[Row]]:
        """The ids of both sides. A target that is longer than there are positions for has no score."""
        source = self.trained.source_tokenizer.encode_rows([source for source, _ in pairs]).split()
        target = self.trained.target_tokenizer.encode_rows([target for _, target in pairs]).split()
        most = target_limit(self.trained)
        for number, row in enumerate(target):
            if most is not None and len(row) > most:
                raise LineError(number, f"the target has {len(row)} pieces, but this model has positions for {most}")
        return source, target

    @torch.inference_mode()
    def _score(self, sources: Sequence[Row], targets: Sequence[Row]) -> list[Hypothesis]:
        model = self.trained.model
        device = next(model.parameters()).device
        step, state = steps_of(model, pad(sources).to(device), self.trained.recipe.translate.ctc_weight)
        return forced_scores(step, state, pad(targets).to(device))

    def _scored(self, pair: tuple[str, str], found: Hypothesis, cut: bool) -> Scored:
        pieces = self.trained.target_tokenizer.pieces([*found.tokens, END])
        return Scored(*pair, found.score, tuple(pieces), found.token_scores, cut)


def load_scorer(path: Path, device: str) -> Scorer:
    """The model in a run or model folder, ready to score."""
    return Scorer(load_trained(path, device))


def pairs_for(scorer: Scorer, files: Sequence[Path]) -> Iterable[tuple[str, str]]:
    """The pairs in two text files, one .tsv or one .jsonl; for a language model, the lines of one text file."""
    if not scorer.trained.model.is_language_model:
        return Corpus(files, source=scorer.trained.source_tokenizer.reads).pairs()
    if len(files) != 1 or is_table(files[0]):
        given = " ".join(map(str, files))
        raise UserError(f"a language model reads no source: give it one text file, whose lines to score; got {given}")
    return Corpus(files, one_sided=True).pairs()
