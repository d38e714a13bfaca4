"""Decoders for CTC frames: best path (Graves et al. 2006, section 3.2), and prefix beam search (Graves 2012,
section 7.5) with an optional language model, token bonus and word list (Hannun et al. 2014).
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.core.setting_types import PositiveInt
from weft.core.special_tokens import BOS, EOS
from weft.core.state import FrameOutput, Hypothesis, State
from weft.decoding.beam import check_n_best
from weft.decoding.constraints.word_trie import TrieNodes, WordTrie, read_word_list
from weft.decoding.ctc_prefix_score import ctc_prefix_step, initial_ctc_state
from weft.decoding.forced_decoding import forced_scores
from weft.decoding.search import NEG_INF, FrameDecoderContext, LanguageModel

FloatArray = NDArray[np.float64]


def _require_blank(context: FrameDecoderContext) -> None:
    if not context.blank:
        raise UserError(
            "decodes CTC paths with a blank, but the frames of this model.frame_head are the output tokens themselves: "
            "use the frame decoder position-wise"
        )


class BestPathDecoder:
    """The output of the most probable path: the best class of each frame, repeats merged and blanks removed.

    The score is that of the path: a lower bound of the probability of the output, which is the sum over all its paths.
    Another output may have a larger sum (`prefix-beam` searches for it).
    """

    def __init__(self, context: FrameDecoderContext):
        _require_blank(context)

    @torch.no_grad()
    def __call__(self, frames: FrameOutput, limit: Tensor) -> list[list[Hypothesis]]:
        blank = frames.log_probs.shape[-1] - 1
        scores, classes = frames.log_probs.max(-1)  # [B,F]
        lengths = frames.mask.sum(1).tolist()
        rows = zip(classes.tolist(), scores.tolist(), lengths, limit.tolist(), strict=True)
        found = [_collapse_path(row[:length], score[:length], blank, most) for row, score, length, most in rows]
        return [[hypothesis] if math.isfinite(hypothesis.score) else [] for hypothesis in found]


def _collapse_path(path: list[int], scores: list[float], blank: int, limit: int) -> Hypothesis:
    """The output of a path. The score of a token covers its first frame and the frames since the previous token's."""
    tokens: list[int] = []
    token_scores = [0.0]  # the last is the score of the end, until another token takes it
    for kind, previous, score in zip(path, [blank, *path], scores, strict=False):
        token_scores[-1] += score
        if kind not in (blank, previous):
            tokens.append(kind)
            token_scores.append(0.0)
    count = min(len(tokens), limit)
    limited = (*token_scores[:count], sum(token_scores[count:]))
    return Hypothesis(tuple(tokens[:count]), sum(limited), limited, finished=len(tokens) <= limit)


class _ExternalScores(NamedTuple):
    """The scores of a prefix apart from its CTC paths."""

    total: float  # of its tokens
    gains: FloatArray  # [V], of each next token
    end: float  # of ending here
    state: State | None  # of the language model
    nodes: TrieNodes  # in the word list


@dataclass(frozen=True)
class _ExternalScorer:
    """gain(token) = weight log p(token | prefix) + bonus; -inf if the word list does not allow the token."""

    vocabulary: int  # its size
    language_model: LanguageModel | None
    weight: float
    bonus: float
    words: WordTrie | None

    def start(self) -> _ExternalScores:
        """The scores of the empty prefix."""
        state = None if self.language_model is None else self.language_model.start
        return self._scores(0.0, BOS, state, frozenset() if self.words is None else self.words.start())

    def after(self, prefix: _ExternalScores, token: int) -> _ExternalScores:
        """The scores of the prefix extended by a token."""
        nodes = prefix.nodes if self.words is None else self.words.after(prefix.nodes, token)
        return self._scores(prefix.total + float(prefix.gains[token]), token, prefix.state, nodes)

    def _scores(self, total: float, last: int, state: State | None, nodes: TrieNodes) -> _ExternalScores:
        log_probs = np.zeros(self.vocabulary)
        if self.language_model is not None and state is not None:
            output, state = self.language_model.step(torch.tensor([last]), state)
            log_probs = self.weight * output.log_probs[0].double().cpu().numpy()
        end, gains = float(log_probs[EOS]), log_probs + self.bonus
        if self.words is not None:
            gains = np.where(self.words.allowed(nodes), gains, NEG_INF)
            end = end if self.words.can_end(nodes) else NEG_INF
        return _ExternalScores(total, gains, end, state, nodes)


class _PrefixBeam(NamedTuple):
    """The K best prefixes; probabilities are logarithms."""

    prefixes: list[tuple[int, ...]]
    token: FloatArray  # [K], of the paths of the prefix that end with its last token
    blank: FloatArray  # [K], of the paths that end with a blank
    external: list[_ExternalScores]


class PrefixBeamDecoder:
    """The outputs whose paths have the largest total probability, by a beam of the `size` best prefixes per frame.

    Exact where the beam is wide enough. `language_model`: the folder of a language model, whose log-probability counts
    `language_model_weight` times; `token_bonus` is added for each token, since a language model prefers short outputs
    (Hannun et al. 2014). `word_list`: a file with a word per line; outputs consist of these words, separated by
    spaces, and where all of the best prefixes end inside a word, the best that does not is kept as well. A score is
    the sum of all this over the tokens and the end; that of the paths is exact, whatever the beam has pruned.
    """

    def __init__(
        self,
        context: FrameDecoderContext,
        *,
        size: PositiveInt = 16,
        n_best: PositiveInt = 1,
        language_model: str | None = None,
        language_model_weight: float = 0.5,
        token_bonus: float = 0.0,
        word_list: str | None = None,
    ):
        _require_blank(context)
        check_n_best(n_best, size)
        self.size = size
        self.n_best = n_best
        model = None if language_model is None else context.language_model(language_model)
        vocabulary = len(context.vocabulary)
        path = None if word_list is None else Path(word_list).expanduser()
        words = None if path is None else read_word_list(path, context.encode, vocabulary)
        self._scorer = _ExternalScorer(vocabulary, model, language_model_weight, token_bonus, words)

    @torch.no_grad()
    def __call__(self, frames: FrameOutput, limit: Tensor) -> list[list[Hypothesis]]:
        log_probs = frames.log_probs.double().nan_to_num(nan=NEG_INF, neginf=NEG_INF).cpu().numpy()
        rows = zip(log_probs, frames.mask.sum(1).tolist(), limit.tolist(), strict=True)
        found = [self._search(row[:length], most) for row, length, most in rows]
        return self._score(frames, found, limit)

    def _search(self, log_probs: FloatArray, limit: int) -> list[tuple[int, ...]]:
        """The `n_best` outputs of one sentence, log_probs [F,C]."""
        beam = _PrefixBeam([()], np.full(1, NEG_INF), np.zeros(1), [self._scorer.start()])
        for row in log_probs:
            beam = self._advance(beam, row, limit)
            if not beam.prefixes:
                return []
        ends = np.logaddexp(beam.token, beam.blank) + [scores.total + scores.end for scores in beam.external]
        order = np.argsort(-ends, kind="stable")[: self.n_best]
        return [beam.prefixes[place] for place in order if ends[place] > NEG_INF]

    def _advance(self, beam: _PrefixBeam, row: FloatArray, limit: int) -> _PrefixBeam:
        """Process one frame, row [C]: prefixes stay as they are or grow by a token; the best of both are kept."""
        token, grown = _extend_paths(beam, row, limit)
        blank = np.logaddexp(beam.token, beam.blank) + row[-1]
        totals = np.array([scores.total for scores in beam.external])
        gains = np.stack([scores.gains for scores in beam.external])  # [K,V]
        scores = np.concatenate([np.logaddexp(token, blank) + totals, (grown + totals[:, None] + gains).ravel()])
        best = _top_indices(scores, self.size)
        stay = best[best < len(token)]
        parents, tokens = np.divmod(best[best >= len(token)] - len(token), grown.shape[1])
        growing = [*zip(parents.tolist(), tokens.tolist(), strict=True)]
        after = [self._scorer.after(beam.external[parent], added) for parent, added in growing]
        if not any(scores.end > NEG_INF for scores in [*(beam.external[place] for place in stay), *after]):
            ends = np.array([scores.end for scores in beam.external])
            stay = np.append(stay, _top_indices(scores[: len(token)] + ends, 1))
        return _PrefixBeam(
            [beam.prefixes[place] for place in stay] + [(*beam.prefixes[parent], added) for parent, added in growing],
            np.concatenate([token[stay], grown[parents, tokens]]),
            np.concatenate([blank[stay], np.full(len(parents), NEG_INF)]),
            [beam.external[place] for place in stay] + after,
        )

    def _score(self, frames: FrameOutput, found: list[list[tuple[int, ...]]], limit: Tensor) -> list[list[Hypothesis]]:
        """The outputs with their exact scores, best first."""
        results: list[list[Hypothesis]] = [[] for _ in found]
        for place in range(max(map(len, found), default=0)):
            rows = [row for row, outputs in enumerate(found) if len(outputs) > place]
            target = Padded.from_rows([[*found[row][place], EOS] for row in rows]).to(frames.mask.device)
            chosen = torch.tensor(rows, device=frames.mask.device)
            state = initial_ctc_state(frames._replace(log_probs=frames.log_probs[chosen], mask=frames.mask[chosen]))
            for row, hypothesis in zip(rows, forced_scores(ctc_prefix_step, state, target), strict=True):
                results[row].append(self._add_external_scores(hypothesis, int(limit[row])))
        return [sorted(row, key=lambda hypothesis: -hypothesis.score) for row in results]

    def _add_external_scores(self, paths: Hypothesis, limit: int) -> Hypothesis:
        gains, prefix = [], self._scorer.start()
        for token in paths.tokens:
            gains.append(float(prefix.gains[token]))
            prefix = self._scorer.after(prefix, token)
        scores = tuple(a + b for a, b in zip(paths.token_scores, [*gains, prefix.end], strict=True))
        finished = len(paths.tokens) < limit or paths.token_scores[-1] >= math.log(0.5)  # no token beats the end
        return Hypothesis(paths.tokens, sum(scores), scores, finished)


def _extend_paths(beam: _PrefixBeam, row: FloatArray, limit: int) -> tuple[FloatArray, FloatArray]:
    """The paths that end with a token: of the prefixes as they are [K], and of each prefix plus each token [K,V].

    A prefix that grows into another one of the beam adds its paths to those of that one.
    """
    last = np.array([prefix[-1] if prefix else EOS for prefix in beam.prefixes])  # EOS is on no path
    token = beam.token + np.where(beam.token > NEG_INF, row[last], 0.0)
    grown = np.logaddexp(beam.token, beam.blank)[:, None] + row[None, :-1]
    grown[np.arange(len(last)), last] = beam.blank + row[last]  # an equal token needs a blank in between
    grown[[len(prefix) >= limit for prefix in beam.prefixes]] = NEG_INF
    numbers = {prefix: number for number, prefix in enumerate(beam.prefixes)}
    for number, prefix in enumerate(beam.prefixes):
        parent = numbers.get(prefix[:-1]) if prefix else None
        if parent is not None:
            token[number] = np.logaddexp(token[number], grown[parent, prefix[-1]])
            grown[parent, prefix[-1]] = NEG_INF
    return token, grown


def _top_indices(scores: FloatArray, count: int) -> NDArray[np.int64]:
    """The indices of the `count` highest scores above -inf, in ascending order."""
    indices = np.flatnonzero(scores > NEG_INF)
    if len(indices) > count:
        indices = indices[np.argpartition(-scores[indices], count - 1)[:count]]
    ascending: NDArray[np.int64] = np.sort(indices)
    return ascending
