"""Phrases as tokens: every way in which a tokenizer encodes a phrase that appears as whole words."""

from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor

from weft.core.errors import UserError
from weft.core.special_tokens import BOS, NUM_SPECIAL_TOKENS
from weft.data.text_files import replace_line_breaks
from weft.decoding.constraints.phrase_matching import TokenPhrase
from weft.decoding.constraints.word_boundaries import continues_word
from weft.text.tokenizer import Tokenizer


class PhraseTokenizer:
    """Encodes the phrases of constraints with the target tokenizer of a model."""

    def __init__(self, tokenizer: Tokenizer):
        if tokenizer.order != "forward":
            raise UserError("this model writes lines backward, but constraints need a model that writes forward")
        self.tokenizer = tokenizer

    @cached_property
    def continuation_mask(self) -> Tensor:
        """[V], the tokens that continue the word before them."""
        byte_ids = set(self.tokenizer.byte_ids)
        mask = torch.tensor(
            [
                token >= NUM_SPECIAL_TOKENS
                and (_byte_continues_word(text) if token in byte_ids else continues_word(text[0]))
                for token, text in enumerate(self.tokenizer.vocabulary())
            ]
        )
        if not mask.any():
            return mask
        token = int(mask.byte().argmax())
        (text,) = self.tokenizer.decode([[token, token]])
        return torch.zeros_like(mask) if " " in text else mask  # a space between any two tokens: none can continue

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of an output."""
        return replace_line_breaks(self.tokenizer.decode([tokens])[0])

    def normalize(self, phrase: str) -> str:
        """Return a phrase as it appears in outputs, for example in lower case or with composed accents.

        A phrase with unknown tokens stays as it is: the model cannot write it, but source words may be copied there.
        """
        (tokens,) = self.tokenizer.encode([phrase])
        return phrase if self.tokenizer.unknown_id in tokens else self.decode(tokens)

    def required_phrases(self, phrase: str) -> list[TokenPhrase]:
        """Return the token phrases any one of which contains the required phrase."""
        self._check_encodable(phrase)
        bounded = bool(self.continuation_mask.any()) and continues_word(self.normalize(phrase)[-1:])
        return [TokenPhrase(tokens, bounded) for tokens in self._encodings(phrase)[0]]

    def excluded_phrases(self, phrase: str) -> list[TokenPhrase]:
        """Return the token phrases to exclude so that the usual encodings of a phrase do not appear.

        If tokens include the space before them, the last token is excluded at once, so that the search can turn to
        another word in time; longer words that begin with the same tokens are lost. If spaces are tokens of their own,
        as with characters, only the end of the word is excluded.
        """
        encodings, has_separate_space = self._encodings(phrase)
        bounded = has_separate_space and continues_word(self.normalize(phrase)[-1:])
        return [TokenPhrase(tokens, bounded) for tokens in encodings]

    def prefix_tokens(self, text: str) -> list[int]:
        """Return the tokens of an output's prefix."""
        (tokens,) = self.tokenizer.encode([text.rstrip()])
        if tokens:
            self._check_encodable(text)
        return tokens

    def tokens_of(self, words: tuple[str, ...]) -> set[int]:
        """Return all tokens in the encodings of the words."""
        encodings = (tokens for word in words for tokens in self._encodings(word)[0])
        return {token for tokens in encodings for token in tokens if token >= NUM_SPECIAL_TOKENS}

    def can_encode(self, phrase: str) -> bool:
        """Whether the phrase has no unknown tokens."""
        (tokens,) = self.tokenizer.encode([phrase.rstrip()])
        return self.tokenizer.unknown_id not in tokens

    def _check_encodable(self, phrase: str) -> None:
        if not self.can_encode(phrase):
            raise UserError(
                f'"{phrase}" has a letter or word that the target tokenizer does not know, so no output can contain '
                "it: remove it (from the prefix, the glossary or the line), or spell it differently"
            )
        if not self.normalize(phrase).strip():
            raise UserError(f'"{phrase}" contains nothing visible: remove it')

    def _encodings(self, phrase: str) -> tuple[list[tuple[int, ...]], bool]:
        """All encodings of a phrase as whole words; and whether the space before it is a token of its own."""
        (alone,), (repeated,) = self.tokenizer.encode([phrase]), self.tokenizer.encode([f"{phrase} {phrase}"])
        spaced = _without_prefix(repeated, alone) or alone
        encodings = [alone] if spaced == alone else [[BOS, *alone], spaced]
        if not continues_word(phrase[0]):  # it may follow a letter or punctuation without a space
            before = "(" if phrase[0].isalnum() else "a"
            (context,), (both,) = self.tokenizer.encode([before]), self.tokenizer.encode([before + phrase])
            encodings.append(_without_prefix(both, context))
        known = [tokens for tokens in encodings if tokens and self.tokenizer.unknown_id not in tokens]
        if known and all(tokens[0] == BOS for tokens in known):  # the space is unknown, so an output is one word
            known.append(alone)
        return list(dict.fromkeys(map(tuple, known))), spaced != alone


def _without_prefix(row: list[int], prefix: list[int]) -> list[int]:
    """The rest of a row after a prefix; [] if it does not begin with it."""
    return row[len(prefix) :] if row[: len(prefix)] == prefix else []


def _byte_continues_word(token: str) -> bool:
    """For a byte token such as "<0x41>": beyond ASCII it may be part of a letter."""
    value = int(token[3:5], 16)
    return value >= 0x80 or continues_word(chr(value))
