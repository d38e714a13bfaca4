"""The probability of each word of a translation, and the most probable words at its position, each with the prefix that
would select it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.core.special_tokens import EOS, NUM_SPECIAL_TOKENS, SPECIAL_TOKENS
from weft.inference.translation import Translation
from weft.inference.translation_analysis import TranslatedWord, TranslationAnalysis
from weft.text.word_alignment import begins_word, tokens_are_words

REPLACEMENT_CHARACTER = "\ufffd"
MAX_WORD_TOKENS = 24  # longer words are cut, which only texts without spaces reach


class WordAlternative(NamedTuple):
    """A possible word, its log-probability, and the text up to and including it."""

    name: str
    score: float
    prefix: str
    is_current: bool


class WordPrediction(NamedTuple):
    """A word of a translation with its tokens and their scores.

    text: what it adds to the translation, with the space before it. first: the number of its first token.
    """

    name: str
    text: str
    tokens: tuple[str, ...]
    scores: tuple[float, ...]
    first: int


class AnnotatedTranslation(NamedTuple):
    """A translation word by word, and its end token."""

    text: str
    score: float
    words: tuple[WordPrediction, ...]
    end: WordPrediction


def annotate_translation(translation: Translation) -> AnnotatedTranslation:
    """Return the words with their probabilities; raise UserError if the translation has no analysis."""
    analysis, best = _require_analysis(translation), translation.alternatives[0]

    def predict(word: TranslatedWord) -> WordPrediction:
        tokens, scores = best.tokens[word.first : word.end], best.token_scores[word.first : word.end]
        return WordPrediction(word.name, word.text, tokens, scores, word.first)

    end = len(analysis.tokens)
    end_token = TranslatedWord(SPECIAL_TOKENS[EOS], "", end, end + 1)
    words = tuple(map(predict, analysis.words()))
    return AnnotatedTranslation(translation.text, translation.score, words, predict(end_token))


def word_alternatives(translation: Translation, word: WordPrediction, count: int) -> tuple[WordAlternative, ...]:
    """Return up to `count` words that could stand in place of this one, the most probable first, itself included.

    Each of the most probable first tokens is completed greedily to a word. What a prefix cannot select, such as the
    end, is left out; so is everything if the model writes backward.
    """
    analysis = _require_analysis(translation)
    tokenizer = analysis.trained.target_tokenizer
    if tokenizer.order != "forward":
        return ()
    end, start = word.first + len(word.tokens), len(tokenizer.decode([list(analysis.tokens[: word.first])])[0])
    current = [list(analysis.tokens[:end])] if end <= len(analysis.tokens) else []  # the end token is no word
    found = {
        prefix: WordAlternative(prefix[start:].strip(" "), sum(word.scores), prefix, is_current=True)
        for prefix in tokenizer.decode(current)
    }
    rows = _candidate_words(analysis, word, count)
    for (_, score), prefix in zip(rows, tokenizer.decode([row for row, _ in rows]), strict=True):
        name = prefix[start:].strip(" ")
        if name and REPLACEMENT_CHARACTER not in name:  # of a character that was cut
            found.setdefault(prefix, WordAlternative(name, score, prefix, is_current=False))
    selected = sorted(found.values(), key=lambda other: (not other.is_current, -other.score))[:count]
    return tuple(sorted(selected, key=lambda other: -other.score))


def _candidate_words(analysis: TranslationAnalysis, word: WordPrediction, count: int) -> list[tuple[list[int], float]]:
    """The tokens up to the end of each candidate, and the log-probability of the candidate."""
    ids, tokenizer = analysis.tokens, analysis.trained.target_tokenizer
    # A token may be just a space, whose alternatives say nothing about the word.
    tokens = range(word.first, min(word.first + len(word.tokens), len(ids)))
    first = next((number for number in tokens if tokenizer.token_bytes([ids[number]])[0].strip()), word.first)
    before = sum(word.scores[: first - word.first])
    if tokens_are_words(ids, tokenizer):
        return [([*ids[:first], token], score) for token, score in _first_tokens(analysis, first, count)]
    rows = [
        ([*ids[:first], token], before + score)
        for token, score in _first_tokens(analysis, first, count)
        if first == 0 or first > word.first or begins_word(ids[first - 1], token, tokenizer)  # else it extends the last
    ]
    return list(_complete_words(analysis, rows))


def _require_analysis(translation: Translation) -> TranslationAnalysis:
    if translation.analysis is None:
        raise UserError("this translation has no word probabilities: it was joined from parts, or it is empty")
    return translation.analysis


def _first_tokens(analysis: TranslationAnalysis, position: int, count: int) -> list[tuple[int, float]]:
    """The most probable tokens at a position that a prefix can contain."""
    unknown = analysis.trained.target_tokenizer.unknown_id
    tokens = analysis.top_tokens(count)[position]
    return [(token, score) for token, score in tokens if token >= NUM_SPECIAL_TOKENS and token != unknown]


def _complete_words(
    analysis: TranslationAnalysis, rows: Sequence[tuple[list[int], float]]
) -> Iterator[tuple[list[int], float]]:
    """Append the most probable next token to each row until it begins another word; add up the scores."""
    tokenizer, open_rows = analysis.trained.target_tokenizer, list(rows)
    for _ in range(MAX_WORD_TOKENS):
        continued = []
        for (row, score), (token, token_score) in zip(open_rows, _next_tokens(analysis, open_rows), strict=True):
            if token < NUM_SPECIAL_TOKENS or begins_word(row[-1], token, tokenizer):
                yield row, score
            else:
                continued.append(([*row, token], score + token_score))
        open_rows = continued
        if not open_rows:
            return
    yield from open_rows


def _next_tokens(analysis: TranslationAnalysis, rows: Sequence[tuple[list[int], float]]) -> Iterator[tuple[int, float]]:
    """The most probable token after each row."""
    encoded = analysis.translator.encode([analysis.request] * len(rows), range(len(rows)))
    targets = Padded.from_rows([[*row, EOS] for row, _ in rows])
    top = analysis.translator.top_tokens(encoded, targets, 1)
    return (positions[len(row)][0] for (row, _), positions in zip(rows, top, strict=True))
