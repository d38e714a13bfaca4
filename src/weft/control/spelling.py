"""Phrases as tokens: how a tokenizer spells one where it stands as whole words.

Most tokenizers put the space before a word into the word's first piece, and one before the line, so that a word is
spelled alike wherever it stands. With letters or bytes as pieces, the space is a piece by itself: then a phrase is
spelled with a space before it, or it is the beginning of the output. A phrase that begins with a sign, or in a script
without spaces, may also follow without any space.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from weft.control.words import joins
from weft.core.errors import UserError
from weft.core.marks import BEGIN, FIRST_PIECE
from weft.data.lines import one_line
from weft.search.guides.phrases import Phrase
from weft.text.tokenizer import Tokenizer


class _Ways(NamedTuple):
    """The tokens of a phrase, in every way that it may stand; whether the space before it is a piece by itself."""

    tokens: list[tuple[int, ...]]
    apart: bool


class Speller:
    """Spells phrases with a tokenizer."""

    def __init__(self, tokenizer: Tokenizer):
        if tokenizer.order != "forward":
            raise UserError(
                "this model writes a line from its end to its beginning, and only one that writes forward can be given "
                "a prefix, phrases or words"
            )
        self.tokenizer = tokenizer

    @cached_property
    def joins(self) -> Tensor:
        """[V], the tokens that join on to a word before them."""
        pieces, bytes_ = self.tokenizer.vocabulary(), set(self.tokenizer.byte_pieces)
        found = [
            token >= FIRST_PIECE and (_byte_joins(piece) if token in bytes_ else joins(piece[0]))
            for token, piece in enumerate(pieces)
        ]
        mask = torch.tensor(found)
        return torch.zeros_like(mask) if self._puts_spaces(mask) else mask

    def written(self, tokens: Sequence[int]) -> str:
        """The text of an output."""
        return one_line(self.tokenizer.decode([tokens])[0])

    def shown(self, phrase: str) -> str:
        """As it stands in an output: perhaps in small letters, or with an accent and its letter made one.

        What the tokenizer does not know stays as it is: no piece shows it, but words of the source may be put there.
        """
        (tokens,) = self.tokenizer.encode([phrase])
        return phrase if self.tokenizer.unknown in tokens else self.written(tokens)

    def required(self, phrase: str) -> list[Phrase]:
        """What to look for where the phrase must stand."""
        self.check(phrase)
        bounded = bool(self.joins.any()) and joins(self.shown(phrase)[-1:])
        return [Phrase(tokens, bounded) for tokens in self._ways(phrase).tokens]

    def excluded(self, phrase: str) -> list[Phrase]:
        """What to forbid where the phrase must not stand, spelled as the tokenizer spells it.

        Of pieces that hold a space the last is forbidden at once, so that the search turns to another word in time: a
        longer word that begins with the same pieces is lost with it. Of letters the end of the word is forbidden.
        """
        tokens, apart = self._ways(phrase)
        return [Phrase(way, apart and joins(self.shown(phrase)[-1:])) for way in tokens]

    def prefix(self, text: str) -> list[int]:
        """The tokens of the beginning of an output."""
        (tokens,) = self.tokenizer.encode([text.rstrip()])
        if tokens:
            self.check(text)
        return tokens

    def pieces_of(self, words: tuple[str, ...]) -> set[int]:
        """All that these words are spelled with."""
        return {token for word in words for way in self._ways(word).tokens for token in way if token >= FIRST_PIECE}

    def knows(self, phrase: str) -> bool:
        """Has the tokenizer pieces for all of it?"""
        (tokens,) = self.tokenizer.encode([phrase.rstrip()])
        return self.tokenizer.unknown not in tokens

    def check(self, phrase: str) -> None:
        """Can an output hold it?"""
        if not self.knows(phrase):
            raise UserError(
                f'"{phrase}" has a letter or a word that the target\'s tokenizer has never seen, so no output can hold '
                "it: leave it out (of the prefix, the glossary or the line), or write it in another way"
            )
        if not self.shown(phrase).strip():
            raise UserError(f'"{phrase}" is nothing that an output could show: leave it out')

    def _ways(self, phrase: str) -> _Ways:
        (alone,), (twice,) = self.tokenizer.encode([phrase]), self.tokenizer.encode([f"{phrase} {phrase}"])
        spaced = _rest(twice, alone) or alone
        ways = [alone] if spaced == alone else [[BEGIN, *alone], spaced]
        if not joins(phrase[0]):
            ways.append(self._unspaced(phrase))
        known = [way for way in ways if way and self.tokenizer.unknown not in way]
        if known and all(way[0] == BEGIN for way in known):  # a space was never seen, so an output is one word
            known.append(alone)
        return _Ways(list(dict.fromkeys(map(tuple, known))), spaced != alone)

    def _unspaced(self, phrase: str) -> list[int]:
        """How it is spelled after a sign, or, if it begins with a sign, after a letter; [] if that cannot be told."""
        before = "(" if phrase[0].isalnum() else "a"
        (alone,), (both,) = self.tokenizer.encode([before]), self.tokenizer.encode([before + phrase])
        return _rest(both, alone)

    def _puts_spaces(self, mask: Tensor) -> bool:
        """Does the tokenizer put a space between any two pieces, so that none can join?"""
        if not mask.any():
            return False
        token = int(mask.byte().argmax())
        (text,) = self.tokenizer.decode([[token, token]])
        return " " in text


def _rest(row: list[int], beginning: list[int]) -> list[int]:
    """What comes after the beginning of a row; [] if it does not begin so."""
    return row[len(beginning) :] if row[: len(beginning)] == beginning else []


def _byte_joins(piece: str) -> bool:
    """Of a byte, "<0x41>": beyond ASCII it may be part of a letter."""
    value = int(piece[3:5], 16)
    return value >= 0x80 or joins(chr(value))
