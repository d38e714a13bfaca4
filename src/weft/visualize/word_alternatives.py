"""The probability of each word of a translation, and the most probable alternatives at its position, each with the
prefix that would select it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from weft.core.errors import UserError
from weft.core.special_tokens import EOS, NUM_SPECIAL_TOKENS, SPECIAL_TOKENS
from weft.inference.translation import Translation
from weft.inference.translation_analysis import TranslatedWord
from weft.text.tokenizer import Tokenizer


class WordAlternative(NamedTuple):
    """A possible token, its log-probability, and the text up to and including it."""

    token: str
    score: float
    prefix: str


class WordPrediction(NamedTuple):
    """A word of a translation with its tokens and their scores.

    text: what it adds to the translation, with the space before it. alternatives: the most probable first tokens of
    the word, including its own; tokens that a prefix cannot select, such as the end, are left out.
    """

    name: str
    text: str
    tokens: tuple[str, ...]
    scores: tuple[float, ...]
    alternatives: tuple[WordAlternative, ...]


class AnnotatedTranslation(NamedTuple):
    """A translation word by word, and its end token."""

    text: str
    score: float
    words: tuple[WordPrediction, ...]
    end: WordPrediction


def annotate_translation(translation: Translation, count: int) -> AnnotatedTranslation:
    """Return up to `count` alternatives for each word; raise UserError if the translation has no analysis."""
    analysis, best = translation.analysis, translation.alternatives[0]
    if analysis is None:
        raise UserError("this translation has no word probabilities: it was joined from parts, or it is empty")
    top_tokens, tokenizer = analysis.top_tokens(count), analysis.trained.target_tokenizer
    ids, end = [*analysis.tokens, EOS], len(analysis.tokens)

    def predict(word: TranslatedWord) -> WordPrediction:
        # A token may be just a space, whose alternatives say nothing about the word.
        visible = (n for n in range(word.first, word.end) if tokenizer.token_bytes([ids[n]])[0].strip())
        first = next(visible, word.first)
        return WordPrediction(
            word.name,
            word.text,
            best.tokens[word.first : word.end],
            best.token_scores[word.first : word.end],
            _alternatives(ids[:first], top_tokens[first], tokenizer),
        )

    words = tuple(map(predict, analysis.words()))
    end_token = TranslatedWord(SPECIAL_TOKENS[EOS], "", end, end + 1)
    return AnnotatedTranslation(translation.text, translation.score, words, predict(end_token))


def _alternatives(
    previous: list[int], candidates: Sequence[tuple[int, float]], tokenizer: Tokenizer
) -> tuple[WordAlternative, ...]:
    """Return the candidates that a prefix can select; none if the model writes backward."""
    if tokenizer.order != "forward":
        return ()
    ids = [token for token, _ in candidates if token >= NUM_SPECIAL_TOKENS and token != tokenizer.unknown_id]
    scores, prefixes = dict(candidates), tokenizer.decode([[*previous, token] for token in ids])
    rows = zip(tokenizer.tokens(ids), ids, prefixes, strict=True)
    return tuple(WordAlternative(name, scores[token], prefix) for name, token, prefix in rows if prefix.strip())
