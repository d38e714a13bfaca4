"""Scores given targets by forced decoding: log p(y | x), token by token, with totals and perplexity."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch

from weft.checkpoints.trained_model import TrainedModel
from weft.core.codec import LineError, codec_chunk_size
from weft.core.errors import UserError
from weft.core.formatting import pluralize
from weft.core.progress_bar import track_progress
from weft.core.special_tokens import EOS
from weft.data.batches import pad_rows
from weft.data.corpus import Corpus
from weft.data.pair_files import is_table_file
from weft.decoding.forced_decoding import forced_scores
from weft.inference.backends import batch_by_length, process_windows
from weft.inference.loader import load_model_on_device
from weft.inference.step_functions import model_steps
from weft.inference.translation import finite_or_none
from weft.inference.translation_io import report_truncated, write_lines

MAX_EXPONENT = 700.0  # exp of more overflows


class ScoredPair(NamedTuple):
    """A pair of lines with its log-probability, and the target tokens, EOS last, with theirs."""

    source: str
    target: str
    score: float
    tokens: tuple[str, ...]
    token_scores: tuple[float, ...]
    truncated: bool  # the source was longer than the model reads

    def __repr__(self) -> str:
        return f"<ScoredPair {self.score:.4f}, perplexity {self.perplexity:.4f}, {self.target!r}>"

    @property
    def perplexity(self) -> float:
        """exp(-log p / tokens); infinite if the target is impossible."""
        return perplexity(self.score, len(self.tokens))


class ScoreTotals(NamedTuple):
    """Sums over lines, except those that are impossible, which are counted."""

    lines: int = 0
    tokens: int = 0
    score: float = 0.0
    impossible: int = 0

    def plus(self, pair: ScoredPair) -> ScoreTotals:
        if not math.isfinite(pair.score):
            return self._replace(lines=self.lines + 1, impossible=self.impossible + 1)
        return ScoreTotals(self.lines + 1, self.tokens + len(pair.tokens), self.score + pair.score, self.impossible)

    def __str__(self) -> str:
        counts = f"{pluralize(self.lines, 'line')}, {pluralize(self.tokens, 'token')}"
        per_token = f"{perplexity(self.score, max(self.tokens, 1)):.4f}"
        impossible = f"; without {pluralize(self.impossible, 'impossible line')}" if self.impossible else ""
        return f"{counts}: log-probability {self.score:.4f}, perplexity per token {per_token}{impossible}"


def perplexity(score: float, tokens: int) -> float:
    """exp(-log p / tokens)."""
    mean = -score / tokens
    return math.inf if mean > MAX_EXPONENT else math.exp(mean)


@dataclass(frozen=True)
class Scorer:
    """Scores targets with a trained model; the score is the one that its search would give them.

    It is log p of the target tokens and EOS: by the decoder (interpolated with CTC by `translate.ctc_weight`), or by
    the frame head, summed over all alignments. A language model reads no source.
    """

    trained: TrainedModel

    def stream(self, pairs: Iterable[tuple[str, str]]) -> Iterator[ScoredPair]:
        """Score pairs as they are read, in their order."""
        size = codec_chunk_size(self.trained.source_tokenizer, self.trained.recipe.translate.buffer_size)
        return process_windows(pairs, size, lambda window, _: self.score(window))

    @torch.inference_mode()
    def score(self, pairs: Sequence[tuple[str, str]]) -> list[ScoredPair]:
        """Score pairs in batches; raise LineError if a target is longer than the model has positions for."""
        sources = self.trained.source_tokenizer.encode_rows([source for source, _ in pairs]).split()
        targets = self.trained.target_tokenizer.encode_rows([target for _, target in pairs]).split()
        limit, max_target = self.trained.max_source_length, self.trained.max_target_length
        settings, device = self.trained.recipe.translate, self.trained.device
        for number, row in enumerate(targets):
            if max_target is not None and len(row) > max_target:
                raise LineError(
                    number, f"the target has {len(row)} tokens, but this model has positions for {max_target}"
                )
        truncated = [row[:limit] for row in sources]
        longer = [max(pair, key=len) for pair in zip(truncated, targets, strict=True)]
        tokenizer, scored = self.trained.target_tokenizer, dict[int, ScoredPair]()
        for batch in batch_by_length(range(len(pairs)), longer, settings.batch_tokens):
            source = pad_rows([truncated[number] for number in batch]).to(device)
            step, state = model_steps(self.trained.model, source, settings.ctc_weight)
            target = pad_rows([targets[number] for number in batch]).to(device)
            for number, one in zip(batch, forced_scores(step, state, target), strict=True):
                tokens, is_truncated = tuple(tokenizer.tokens([*one.tokens, EOS])), len(sources[number]) > limit
                scored[number] = ScoredPair(*pairs[number], one.score, tokens, one.token_scores, is_truncated)
        return [scored[number] for number in range(len(pairs))]


def load_scorer(path: Path, device: str) -> Scorer:
    """Load the model in a run or model folder for scoring."""
    return Scorer(load_model_on_device(path, device))


def read_scored_pairs(scorer: Scorer, files: Sequence[Path]) -> Iterable[tuple[str, str]]:
    """The pairs in two text files, one .tsv or one .jsonl; for a language model, the lines of one text file."""
    if not scorer.trained.model.is_language_model:
        return Corpus(files, modality=scorer.trained.source_tokenizer.modality).pairs()
    if len(files) != 1 or is_table_file(files[0]):
        listed = " ".join(map(str, files))
        raise UserError(f"a language model scores the lines of one text file: got {listed}. Give one text file.")
    return Corpus(files, monolingual=True).pairs()


def write_scores(scorer: Scorer, files: Sequence[Path], output: Path | None, *, as_json: bool) -> None:
    """Write log-probability, number of tokens and perplexity of each pair, or JSON; report totals on standard error."""
    totals, truncated = ScoreTotals(), list[int]()
    pairs = scorer.stream(read_scored_pairs(scorer, files))
    scored = track_progress(pairs, "scoring", prints_items=output is None)

    def lines() -> Iterator[str]:
        nonlocal totals
        for number, pair in enumerate(scored, 1):
            totals = totals.plus(pair)
            if pair.truncated:
                truncated.append(number)
            columns = f"{pair.score:.6f}\t{len(pair.tokens)}\t{pair.perplexity:.4f}\n"
            yield _format_json(pair) if as_json else columns

    write_lines(lines(), output)
    report_truncated(truncated, scorer.trained.max_source_length, scorer.trained.source_tokenizer)
    print(f"weft: {totals}", file=sys.stderr)


def _format_json(pair: ScoredPair) -> str:
    record = {
        "source": pair.source,
        "target": pair.target,
        "score": finite_or_none(pair.score),
        "perplexity": finite_or_none(pair.perplexity),
        "truncated": pair.truncated,
        "tokens": pair.tokens,
        "token_scores": [finite_or_none(score) for score in pair.token_scores],
    }
    return json.dumps(record, ensure_ascii=False) + "\n"
