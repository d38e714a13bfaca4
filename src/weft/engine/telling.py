"""From what a search has found to what a person reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import cast

import numpy as np

from weft.control.dictionary import looked_up
from weft.core.marks import END
from weft.core.state import Hypothesis
from weft.data.lines import one_line
from weft.engine.translation import Alternative, Choice, Looked
from weft.engine.wanted import Wanted
from weft.store.model_folder import Trained
from weft.text.alignment import Link, aligned, linked, source_words, target_words
from weft.text.tokenizer import Tokenizer
from weft.text.words import Numbers

LETTERS = re.compile(r"\w+")
NO_LETTER = "\ufffd".encode()


@dataclass(frozen=True)
class Teller:
    """Writes hypotheses of a model as text, and tells what else is wanted of them.

    A hypothesis comes with its line, and with the number of the line's pieces that the model has read.
    """

    trained: Trained
    wanted: Wanted

    def alternative(self, hypothesis: Hypothesis, line: str, count: int, rank: float | None) -> Alternative:
        """The hypothesis as text, with words for the unknown ones if that is wanted."""
        return Alternative(
            self._written(hypothesis, line, count),
            hypothesis.score,
            tuple(self.target.pieces([*hypothesis.tokens, END])),
            hypothesis.token_scores,
            hypothesis.finished,
            rank,
        )

    def links(self, hypothesis: Hypothesis, line: str, count: int) -> tuple[Link, ...] | None:
        """Which words belong together."""
        if not self.wanted.alignment:
            return None
        spelled = self._spelled(hypothesis, line, count)
        weights = self._weights(hypothesis, count)
        pairs = aligned(weights, source_words(line, self.source)[:count], target_words(spelled))
        return linked(pairs, line, self._written(hypothesis, line, count))

    def looked(self, hypothesis: Hypothesis, line: str, count: int) -> Looked | None:
        """Where each piece looked."""
        if not self.wanted.attention:
            return None
        [ids] = self.source.encode([line])
        return Looked(
            tuple(self.source.pieces([*ids[:count], END])), tuple(map(tuple, weights_of(hypothesis, count).tolist()))
        )

    @property
    def source(self) -> Tokenizer:
        return cast(Tokenizer, self.trained.source_tokenizer)  # as check_wanted has made sure where it is used

    @property
    def target(self) -> Tokenizer:
        return self.trained.target_tokenizer

    def _written(self, hypothesis: Hypothesis, line: str, count: int) -> str:
        (text,) = self.target.decode([hypothesis.tokens])
        if self.wanted.replace_unknown and self.target.unknown in hypothesis.tokens:
            as_it_was = b"".join(self._pieces(hypothesis)).decode()
            words = b"".join(self._spelled(hypothesis, line, count)).decode()
            text = words[len(as_it_was) - len(text) :]  # without the space that a decoder takes away
        return one_line(text)

    def _pieces(self, hypothesis: Hypothesis) -> list[bytes]:
        """How each piece is spelled, in the order of the text."""
        before = b" " if self.target.puts_spaces else b""
        return [before + piece for piece in decoded_pieces(self.target.ordered(hypothesis.tokens), self.target)]

    def _spelled(self, hypothesis: Hypothesis, line: str, count: int) -> list[bytes]:
        """The same, with words for the unknown ones if that is wanted."""
        pieces = self._pieces(hypothesis)
        if not self.wanted.replace_unknown or self.target.unknown not in hypothesis.tokens:
            return pieces
        weights, tokens = self._weights(hypothesis, count), self.target.ordered(hypothesis.tokens)
        (unknown,) = self.target.spelled([self.target.unknown])
        return [
            piece.replace(unknown.strip(), self._word_at(int(row.argmax()), line).encode())
            if token == self.target.unknown and count
            else piece
            for token, piece, row in zip(tokens, pieces, weights, strict=True)
        ]

    def _weights(self, hypothesis: Hypothesis, count: int) -> Numbers:
        """Where each piece looked, without the end marks of both sides [T,S], in the order of the text."""
        rows = self.target.ordered(list(weights_of(hypothesis, count)[:-1, :-1]))
        return np.array(rows, dtype=np.float64).reshape(-1, count)

    def _word_at(self, position: int, line: str) -> str:
        """What stands for an unknown piece that looks at this piece of the line."""
        first, end = self.source.offsets(line)[position]
        place = first + len(line[first:end]) - len(line[first:end].lstrip())
        word = next((match[0] for match in LETTERS.finditer(line) if match.start() <= place < match.end()), None)
        if word is None or not stands_for_words(self.target):
            word = line[first:end].strip()
        return looked_up(word, self.wanted.dictionary)


def decoded_pieces(tokens: Sequence[int], tokenizer: Tokenizer) -> list[bytes]:
    """How each piece is spelled in the text; of bytes side by side that make no letters, each becomes U+FFFD."""
    singles, pieces = set(tokenizer.byte_pieces), list[bytes]()
    for are_bytes, run in groupby(tokens, key=singles.__contains__):
        spelled = tokenizer.spelled(run)
        pieces += [NO_LETTER] * len(spelled) if are_bytes and not is_text(b"".join(spelled)) else spelled
    return pieces


def is_text(spelled: bytes) -> bool:
    try:
        spelled.decode()
    except UnicodeDecodeError:
        return False
    return True


def choices_of(places: Sequence[Sequence[tuple[int, float]]], tokenizer: Tokenizer) -> Iterator[tuple[Choice, ...]]:
    """Tokens with their log-probabilities, at each place, as pieces."""
    for tokens in places:
        pieces = tokenizer.pieces([token for token, _ in tokens])
        yield tuple(Choice(piece, score) for piece, (_, score) in zip(pieces, tokens, strict=True))


def weights_of(hypothesis: Hypothesis, count: int) -> Numbers:
    """Where each token looked, END last [T,S]; of the padded source, the `count` pieces of the line and its END."""
    return np.array([row[: count + 1] for row in hypothesis.attention], dtype=np.float64)


def stands_for_words(tokenizer: Tokenizer) -> bool:
    """Is the unknown piece a whole word, not a letter?"""
    return " " in tokenizer.decode([[cast(int, tokenizer.unknown)] * 2])[0]
