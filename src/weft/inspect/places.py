"""How sure a model was of each word of a translation, and what else could stand there.

written = places_of(weft.load("runs/first"), "A man sleeps.", 5)
written.places[1].others[0].prefix  # how a translation begins that has something else in the second place
"""

from collections.abc import Sequence
from typing import NamedTuple

from weft.control.request import Request
from weft.core.errors import UserError
from weft.core.marks import END, FIRST_PIECE, NAMES
from weft.engine.sight import Word
from weft.engine.translation import Translation
from weft.engine.translator import Translator
from weft.inspect.translating import translate
from weft.text.tokenizer import Tokenizer


class Other(NamedTuple):
    """A piece that could stand there, its log-probability, and the text up to it."""

    piece: str
    score: float
    prefix: str


class Place(NamedTuple):
    """A word. text: what it adds to the translation, the space before it too. scores: of its pieces.

    others: what its first piece could have been, itself too, the likeliest first; whatever cannot be asked for as a
    prefix is left out, as the end is.
    """

    name: str
    text: str
    pieces: tuple[str, ...]
    scores: tuple[float, ...]
    others: tuple[Other, ...]


class Written(NamedTuple):
    """A translation, word by word; score: its log-probability, with that of its end, which has a place too."""

    text: str
    score: float
    places: tuple[Place, ...]
    end: Place


def places_of(translator: Translator, sentence: str | Request, count: int) -> Written:
    """Translate the sentence, and find `count` others for each word."""
    return written_of(translate(translator, sentence).translation, count)


def written_of(translation: Translation, count: int) -> Written:
    """A translation that is known, with `count` others for each word."""
    sight, best = translation.sight, translation.alternatives[0]
    if sight is None:
        raise UserError("of this translation nothing else is known: it was put together from parts, or is empty")
    likeliest, tokenizer = sight.likeliest(count), sight.trained.target_tokenizer
    ids, end = [*sight.tokens, END], len(sight.tokens)

    def place_of(word: Word) -> Place:
        inside = range(word.first, word.end)
        first = next((n for n in inside if tokenizer.spelled([ids[n]])[0].strip()), word.first)  # a space says nothing
        return Place(
            word.name,
            word.text,
            best.pieces[word.first : word.end],
            best.piece_scores[word.first : word.end],
            others_at(ids[:first], likeliest[first], tokenizer),
        )

    places = tuple(map(place_of, sight.words()))
    return Written(translation.text, translation.score, places, place_of(Word(NAMES[END], "", end, end + 1)))


def others_at(before: list[int], found: Sequence[tuple[int, float]], tokenizer: Tokenizer) -> tuple[Other, ...]:
    """Those of the tokens that can be asked for after these. A prefix is the beginning of what is written forward."""
    if tokenizer.order != "forward":
        return ()
    told = [(token, score) for token, score in found if token >= FIRST_PIECE and token != tokenizer.unknown]
    prefixes = tokenizer.decode([[*before, token] for token, _ in told])
    names = tokenizer.pieces([token for token, _ in told])
    rows = zip(names, told, prefixes, strict=True)
    return tuple(Other(name, score, prefix) for name, (_, score), prefix in rows if prefix.strip())
