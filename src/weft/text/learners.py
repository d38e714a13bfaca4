"""The kinds of tokenizer: each learns a `Tokenizer` from lines, and its constructor is its configuration.

Settings that several kinds have:

    normalise  Unicode normal form: none, nfc (a letter and its accent become one) or nfkc (also ﬁ -> fi, ² -> 2)
    lowercase  write all in small letters; they stay small in the output
    size       pieces at most, those for the unknown included; a text that holds fewer gives fewer
    min_count  letters, words or pairs seen more seldom get no piece
    unknown    what becomes of letters never seen: `bytes` spells them in UTF-8, so that nothing is ever lost;
               `token` writes one unknown piece, and saves the 256 byte pieces

Every kind gives the same tokenizer for the same lines.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeGuard

import tokenizers
from tokenizers import models, trainers
from tokenizers.decoders import Decoder
from tokenizers.models import Model
from tokenizers.normalizers import Normalizer
from tokenizers.pre_tokenizers import PreTokenizer
from tokenizers.trainers import Trainer

from weft.core.errors import UserError
from weft.core.types import Count, Rate
from weft.text.alphabet import count_letters, frequent_letters, learnable
from weft.text.pieces import (
    BYTE_PIECES,
    UNKNOWN_PIECE,
    UNKNOWN_WORD,
    Form,
    Unknown,
    joined,
    joined_unspaced,
    plain,
    runs,
    spaced,
    stand_ins,
    symbols,
    words,
)
from weft.text.reader import Reader, Reads
from weft.text.tokenizer import Tokenizer

LONGEST_WORD = 1000  # letters; WordPiece takes time that is quadratic in them


class SourceLearner(Protocol):
    """Learns to read lines. `dropout`: the share of merges left out in training (0: the kind has none)."""

    @property
    def reads(self) -> Reads: ...

    @property
    def dropout(self) -> float: ...

    def learn(self, lines: Iterable[str]) -> Reader: ...


class Learner(SourceLearner, Protocol):
    """Learns a tokenizer, which reads and writes."""

    def learn(self, lines: Iterable[str]) -> Tokenizer: ...


def learns_text(learner: SourceLearner) -> TypeGuard[Learner]:
    """Does it learn a tokenizer? Then it can be the learner of a target too."""
    return learner.reads == "text"


@dataclass(frozen=True, kw_only=True)
class Character:
    """A piece a letter, the space among them. Exact but for `normalise`, `lowercase` and unknown letters."""

    reads: ClassVar[Reads] = "text"
    dropout: ClassVar[float] = 0.0
    normalise: Form = "nfc"
    lowercase: bool = False
    min_count: Count = 1
    unknown: Unknown = "token"

    def learn(self, lines: Iterable[str]) -> Tokenizer:
        normalizer = plain(self.normalise, self.lowercase)
        counts = count_letters(normalizer.normalize_str(line) for line in lines)
        pieces = [*stand_ins(self.unknown), *frequent_letters(counts, self.min_count)]
        return _assemble(_byte_pair(pieces, [], self.unknown), normalizer, None, joined())


@dataclass(frozen=True, kw_only=True)
class Byte:
    """A piece for each of the 256 bytes, the text in UTF-8. Exact for every text, with nothing to learn."""

    reads: ClassVar[Reads] = "text"
    dropout: ClassVar[float] = 0.0
    normalise: Form = "none"
    lowercase: bool = False

    def learn(self, lines: Iterable[str]) -> Tokenizer:
        del lines  # every text has the same bytes
        model = _byte_pair(BYTE_PIECES, [], "bytes")
        return _assemble(model, plain(self.normalise, self.lowercase), None, joined())


@dataclass(frozen=True, kw_only=True)
class Whitespace:
    """A piece a symbol, the symbols separated by white space, as phones are.

    Exact for known symbols with one space between them; other white space becomes one space. The symbol "<unk>" is the
    unknown piece itself.
    """

    reads: ClassVar[Reads] = "text"
    dropout: ClassVar[float] = 0.0
    normalise: Form = "none"
    lowercase: bool = False
    min_count: Count = 1

    def learn(self, lines: Iterable[str]) -> Tokenizer:
        normalizer = plain(self.normalise, self.lowercase)
        trainer = trainers.WordLevelTrainer(
            vocab_size=2**31, min_frequency=self.min_count, show_progress=False, special_tokens=[]
        )
        learned = _train(models.WordLevel(), trainer, symbols(), map(normalizer.normalize_str, lines))
        seen = [piece for piece in _in_order(learned) if piece != UNKNOWN_PIECE]
        model = models.WordLevel(vocab=_numbered([UNKNOWN_PIECE, *seen]), unk_token=UNKNOWN_PIECE)
        return _assemble(model, normalizer, symbols(), None)


@dataclass(frozen=True, kw_only=True)
class Word:
    """A piece a word or a sign of punctuation, which knows whether a space stands before it; rare words are unknown.

    Exact for known words, but for `normalise` and `lowercase`.
    """

    reads: ClassVar[Reads] = "text"
    dropout: ClassVar[float] = 0.0
    normalise: Form = "nfc"
    lowercase: bool = False
    size: Count = 30_000
    min_count: Count = 2

    def learn(self, lines: Iterable[str]) -> Tokenizer:
        normalizer = spaced(self.normalise, self.lowercase)
        room = _room(self.size, [UNKNOWN_WORD])
        trainer = trainers.WordLevelTrainer(
            vocab_size=room, min_frequency=self.min_count, show_progress=False, special_tokens=[]
        )
        learned = _train(models.WordLevel(), trainer, words(), map(normalizer.normalize_str, lines))
        model = models.WordLevel(vocab=_numbered([UNKNOWN_WORD, *_in_order(learned)]), unk_token=UNKNOWN_WORD)
        return _assemble(model, normalizer, words(), joined_unspaced())


@dataclass(frozen=True, kw_only=True)
class BPE:
    """Byte-pair encoding (Sennrich et al. 2016): the most frequent pair of pieces is joined, again and again.

    Letters, digits and signs are never in one piece. Exact but for `normalise` and `lowercase` (and with `unknown:
    token` for unknown letters). `dropout`: the share of merges left out in training (Provilkov et al. 2020).
    """

    reads: ClassVar[Reads] = "text"
    normalise: Form = "nfc"
    lowercase: bool = False
    size: Count = 8_000
    min_count: Count = 2
    unknown: Unknown = "bytes"
    dropout: Rate = 0.0

    def learn(self, lines: Iterable[str]) -> Tokenizer:
        normalizer = spaced(self.normalise, self.lowercase)
        first = stand_ins(self.unknown)
        room = _room(self.size, first)
        learned = _learn_pairs(learnable(lines, normalizer, room, self.min_count), room, self.min_count)
        model = _byte_pair([*first, *_in_order(learned)], learned["merges"], self.unknown)
        return _assemble(model, normalizer, runs(), joined_unspaced())


@dataclass(frozen=True, kw_only=True)
class WordPiece:
    """Word pieces (Schuster and Nakajima 2012; Wu et al. 2016): from the left, the longest piece that fits.

    The pieces are found as in `BPE`. As in Wu et al., the space marks a word's first piece; there is no "##". A word
    with an unknown letter is one unknown piece; all else is exact, but for `normalise` and `lowercase`.
    """

    reads: ClassVar[Reads] = "text"
    dropout: ClassVar[float] = 0.0
    normalise: Form = "nfc"
    lowercase: bool = False
    size: Count = 8_000
    min_count: Count = 2

    def learn(self, lines: Iterable[str]) -> Tokenizer:
        normalizer = spaced(self.normalise, self.lowercase)
        room = _room(self.size, [UNKNOWN_WORD])
        learned = _learn_pairs(learnable(lines, normalizer, room, self.min_count), room, self.min_count)
        model = models.WordPiece(
            vocab=_numbered([UNKNOWN_WORD, *_in_order(learned)]),
            unk_token=UNKNOWN_WORD,
            continuing_subword_prefix="",
            max_input_chars_per_word=LONGEST_WORD,
        )
        return _assemble(model, normalizer, runs(), joined_unspaced())


@dataclass(frozen=True, kw_only=True)
class Unigram:
    """The likeliest pieces under a unigram model of pieces (Kudo 2018), learned by EM and pruning.

    Letters, digits and signs are never in one piece. Exact but for `normalise` and `lowercase` (and with `unknown:
    token` for unknown letters).
    """

    reads: ClassVar[Reads] = "text"
    dropout: ClassVar[float] = 0.0
    normalise: Form = "nfc"
    lowercase: bool = False
    size: Count = 8_000
    min_count: Count = 2
    unknown: Unknown = "bytes"

    def learn(self, lines: Iterable[str]) -> Tokenizer:
        normalizer = spaced(self.normalise, self.lowercase)
        first = stand_ins(self.unknown)
        room = _room(self.size, first)
        trainer = trainers.UnigramTrainer(vocab_size=room, show_progress=False, special_tokens=[])
        learned = _train(models.Unigram(), trainer, runs(), learnable(lines, normalizer, room, self.min_count))
        scored = _settled(learned["vocab"], room)
        lowest = min(score for _, score in scored)
        # The library wants the unknown's place even where bytes stand in for it.
        model = models.Unigram([*((piece, lowest) for piece in first), *scored], 0, self.unknown == "bytes")
        return _assemble(model, normalizer, runs(), joined_unspaced())


def _room(size: int, first: Sequence[str]) -> int:
    """How many pieces may be learned beside those for the unknown."""
    if size <= len(first):
        raise UserError(
            f"a tokenizer of size {size} has no room beside the {len(first)} pieces for what was never seen; "
            "give it a larger size or (character, bpe, unigram) unknown: token"
        )
    return size - len(first)


def _train(model: Model, trainer: Trainer, splitter: PreTokenizer, lines: Iterable[str]) -> dict[str, Any]:
    """Train the library's model on lines that are normalised already; the model as the library's JSON has it."""
    library = tokenizers.Tokenizer(model)
    library.pre_tokenizer = splitter
    library.train_from_iterator(lines, trainer)
    learned: dict[str, Any] = json.loads(library.to_str())["model"]
    if not learned["vocab"]:
        raise UserError("a tokenizer cannot be learned: nothing stands in the text often enough (min_count)")
    return learned


def _learn_pairs(lines: Iterable[str], room: int, min_count: int) -> dict[str, Any]:
    trainer = trainers.BpeTrainer(vocab_size=room, min_frequency=min_count, show_progress=False, special_tokens=[])
    return _train(models.BPE(), trainer, runs(), lines)


def _byte_pair(pieces: Sequence[str], merges: Sequence[Sequence[str]], unknown: Unknown) -> Model:
    return models.BPE(
        vocab=_numbered(pieces),
        merges=[(left, right) for left, right in merges],
        unk_token=UNKNOWN_PIECE if unknown == "token" else None,
        byte_fallback=unknown == "bytes",
    )


def _settled(scored: Sequence[tuple[str, float]], room: int) -> list[tuple[str, float]]:
    """The learned pieces without what differs from run to run: the last digits of the scores, and the lowest letters.

    The library sums in the order of a hash table. In that order, too, it puts back the letters that pruning took away:
    each a ten-thousandth higher than the one before, from the lowest score upwards. They all get the lowest here.
    It may also go a few pieces over the size; those with the lowest scores are taken out again.
    """
    lowest = min(score for _, score in scored)
    letters = [(piece, score) for piece, score in scored if len(piece) == 1]
    put_back = lowest + 0.0001 * (len(letters) + 1)
    settled = [(letter, round(lowest if score < put_back else score, 6)) for letter, score in letters]
    longer = sorted(((piece, round(score, 6)) for piece, score in scored if len(piece) > 1), key=_by_score)
    return sorted(settled + longer[: room - len(letters)], key=_by_score)


def _by_score(scored: tuple[str, float]) -> tuple[float, str]:
    """The best first, equals in the order of Unicode."""
    return -scored[1], scored[0]


def _in_order(learned: dict[str, Any]) -> list[str]:
    vocabulary: dict[str, int] = learned["vocab"]
    return sorted(vocabulary, key=vocabulary.__getitem__)


def _numbered(pieces: Sequence[str]) -> dict[str, int]:
    return {piece: number for number, piece in enumerate(pieces)}


def _assemble(
    model: Model, normalizer: Normalizer, splitter: PreTokenizer | None, decoder: Decoder | None
) -> Tokenizer:
    library = tokenizers.Tokenizer(model)
    library.normalizer = normalizer
    if splitter is not None:
        library.pre_tokenizer = splitter
    if decoder is not None:
        library.decoder = decoder  # without one, the library puts a space between the pieces
    return Tokenizer(library)
