"""Tokenizer training: one class per kind (character, byte, whitespace, word, BPE, WordPiece, unigram).

A class's constructor is its configuration. The same lines always give the same tokenizer. Settings that several kinds
share:

    normalization  Unicode normal form: none, nfc (a letter and its accent become one) or nfkc (also ﬁ -> fi, ² -> 2)
    lowercase      convert to lower case; outputs are lower case, too
    vocab_size     upper limit, including the tokens for unknown text and for tags
    min_frequency  characters, words or pairs that occur less often get no token
    byte_fallback  encode unknown characters as UTF-8 bytes, so decoding is lossless; otherwise they become one unknown
                   token, which saves the 256 byte tokens
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, Literal, Protocol, TypeGuard

import tokenizers
from tokenizers import Regex, decoders, models, normalizers, trainers
from tokenizers.models import Model
from tokenizers.normalizers import Normalizer
from tokenizers.pre_tokenizers import Split
from tokenizers.trainers import Trainer

from weft.core.codec import Codec, Modality
from weft.core.errors import UserError
from weft.core.lazy import Reiterable, ensure_reiterable
from weft.core.setting_types import PositiveInt, Rate
from weft.text.tokenizer import (
    BYTE_TOKENS,
    OPEN_TAG_SPACES,
    RUN_PATTERN,
    TAG_RUN_PATTERN,
    WHITESPACE_PATTERN,
    WORD_PATTERN,
    Tokenizer,
)

UnicodeForm = Literal["none", "nfc", "nfkc"]
UNKNOWN_TOKEN = "<unk>"  # noqa: S105 (no password)
UNKNOWN_WORD = " <unk>"  # replaces a word, which usually follows a space
MAX_WORD_CHARACTERS = 1000  # WordPiece takes quadratic time in the length of a word


class CodecTrainer(Protocol):
    """Trains a codec."""

    @property
    def modality(self) -> Modality: ...

    def train(self, lines: Iterable[str]) -> Codec: ...


class TokenizerTrainer(CodecTrainer, Protocol):
    """Trains a tokenizer, which can also decode and so serve the target."""

    @property
    def supports_tags(self) -> bool: ...

    def train(self, lines: Iterable[str]) -> Tokenizer: ...


class TagTokenizerTrainer(TokenizerTrainer, Protocol):
    """Can give characters that are tags (text/marked_text.py) a token each, which never merges with other text."""

    def train(self, lines: Iterable[str], tags: Sequence[str] = ()) -> Tokenizer: ...


def is_tokenizer_trainer(trainer: CodecTrainer) -> TypeGuard[TokenizerTrainer]:
    return trainer.modality == "text"


def supports_tags(trainer: CodecTrainer) -> TypeGuard[TagTokenizerTrainer]:
    return is_tokenizer_trainer(trainer) and trainer.supports_tags


@dataclass(frozen=True, kw_only=True)
class _TextSettings:
    """Settings of all kinds of tokenizer."""

    modality: ClassVar[Modality] = "text"
    supports_tags: ClassVar[bool] = False
    normalization: UnicodeForm = "nfc"
    lowercase: bool = False


@dataclass(frozen=True, kw_only=True)
class CharacterTokenizerTrainer(_TextSettings):
    """One token per character, including spaces."""

    supports_tags: ClassVar[bool] = True
    min_frequency: PositiveInt = 1
    byte_fallback: bool = False

    def train(self, lines: Iterable[str], tags: Sequence[str] = ()) -> Tokenizer:
        pipeline = _Pipeline(self, None)
        counts = Counter(chain.from_iterable(pipeline.normalize(lines)))
        tokens = [*_reserved_tokens(self.byte_fallback, tags), *_frequent_characters(counts, self.min_frequency)]
        return pipeline.wrap(_bpe_model(_vocabulary(tokens), [], self.byte_fallback))


@dataclass(frozen=True, kw_only=True)
class ByteTokenizerTrainer(_TextSettings):
    """One token for each of the 256 bytes of UTF-8: lossless, and nothing to train."""

    normalization: UnicodeForm = "none"

    def train(self, lines: Iterable[str]) -> Tokenizer:
        del lines
        return _Pipeline(self, None).wrap(_bpe_model(_vocabulary(BYTE_TOKENS), [], True))


@dataclass(frozen=True, kw_only=True)
class WhitespaceTokenizerTrainer(_TextSettings):
    """One token per symbol, symbols separated by whitespace, as in phone sequences.

    Whitespace of any length decodes to one space. The symbol "<unk>" is the unknown token itself.
    """

    normalization: UnicodeForm = "none"
    min_frequency: PositiveInt = 1

    def train(self, lines: Iterable[str]) -> Tokenizer:
        return _train_words(_Pipeline(self, WHITESPACE_PATTERN), lines, UNKNOWN_TOKEN, 2**31, self.min_frequency)


@dataclass(frozen=True, kw_only=True)
class WordTokenizerTrainer(_TextSettings):
    """One token per word or punctuation mark, including the space before it; rare words are unknown."""

    vocab_size: PositiveInt = 30_000
    min_frequency: PositiveInt = 2

    def train(self, lines: Iterable[str]) -> Tokenizer:
        size = _trainable_size(self.vocab_size, [UNKNOWN_WORD])
        return _train_words(_Pipeline(self, WORD_PATTERN), lines, UNKNOWN_WORD, size, self.min_frequency)


@dataclass(frozen=True, kw_only=True)
class _SubwordSettings(_TextSettings):
    """Tokens are parts of runs of letters, of digits, or of other characters, each run with the space before it.

    No token trained on such runs can be spelled "<0x41>" or "<unk>".
    """

    vocab_size: PositiveInt = 8_000
    min_frequency: PositiveInt = 2


@dataclass(frozen=True, kw_only=True)
class BPETokenizerTrainer(_SubwordSettings):
    """Byte-pair encoding (Sennrich et al. 2016): merge the most frequent pair of tokens, again and again.

    No token mixes letters, digits and other characters. dropout: probability of skipping a merge in training
    (BPE-dropout, Provilkov et al. 2020).
    """

    supports_tags: ClassVar[bool] = True
    byte_fallback: bool = True
    dropout: Rate = 0.0

    def train(self, lines: Iterable[str], tags: Sequence[str] = ()) -> Tokenizer:
        pipeline, reserved = _run_pipeline(self, tags), _reserved_tokens(self.byte_fallback, tags)
        trained = _train_bpe(pipeline, lines, _trainable_size(self.vocab_size, reserved), self.min_frequency)
        vocab = _vocabulary(reserved, trained["vocab"])
        return pipeline.wrap(_bpe_model(vocab, trained["merges"], self.byte_fallback))


@dataclass(frozen=True, kw_only=True)
class WordPieceTokenizerTrainer(_SubwordSettings):
    """WordPiece (Schuster and Nakajima 2012; Wu et al. 2016): take the longest matching token from the left.

    Tokens are trained as in BPE. As in Wu et al., the space marks the first token of a word; there is no "##". A word
    with an unknown character becomes one unknown token.
    """

    def train(self, lines: Iterable[str]) -> Tokenizer:
        pipeline, size = _Pipeline(self, RUN_PATTERN), _trainable_size(self.vocab_size, [UNKNOWN_WORD])
        model = models.WordPiece(
            vocab=_vocabulary([UNKNOWN_WORD], _train_bpe(pipeline, lines, size, self.min_frequency)["vocab"]),
            unk_token=UNKNOWN_WORD,
            continuing_subword_prefix="",
            max_input_chars_per_word=MAX_WORD_CHARACTERS,
        )
        return pipeline.wrap(model)


@dataclass(frozen=True, kw_only=True)
class UnigramTokenizerTrainer(_SubwordSettings):
    """The most probable segmentation under a unigram language model of tokens (Kudo 2018), trained by EM and pruning.

    No token mixes letters, digits and other characters.
    """

    supports_tags: ClassVar[bool] = True
    byte_fallback: bool = True

    def train(self, lines: Iterable[str], tags: Sequence[str] = ()) -> Tokenizer:
        pipeline, reserved = _run_pipeline(self, tags), _reserved_tokens(self.byte_fallback, tags)
        size = _trainable_size(self.vocab_size, reserved)
        trainer = trainers.UnigramTrainer(vocab_size=size, show_progress=False, special_tokens=[])
        frequent = _remove_rare_characters(pipeline.normalize(lines), size, self.min_frequency)
        scored = _stable_scores(pipeline.train(models.Unigram(), trainer, frequent)["vocab"], size)
        lowest = min(score for _, score in scored)
        # Tags and bytes compete with no other token. The library requires an unknown id even with byte fallback.
        learned = [entry for entry in scored if entry[0] not in tags]
        entries = [*((token, lowest) for token in reserved), *learned]
        return pipeline.wrap(models.Unigram(entries, 0, self.byte_fallback))


class _Pipeline:
    """The steps around a model. pattern: splits a line into words; no token spans two of them (None: no split)."""

    def __init__(self, settings: _TextSettings, pattern: str | None):
        forms: dict[UnicodeForm, list[Normalizer]]
        forms = {"none": [], "nfc": [normalizers.NFC()], "nfkc": [normalizers.NFKC()]}
        lowercase = [normalizers.Lowercase()] if settings.lowercase else []
        # Where the space before a word is part of it, the first word of a line needs one, too.
        self._prepends_space = pattern in (RUN_PATTERN, TAG_RUN_PATTERN, WORD_PATTERN)
        prepend = [normalizers.Prepend(" ")] if self._prepends_space else []
        self._moved_spaces = OPEN_TAG_SPACES if pattern == TAG_RUN_PATTERN else ()
        moves = [normalizers.Replace(before, after) for before, after in self._moved_spaces]
        self._normalizer = normalizers.Sequence([*forms[settings.normalization], *lowercase, *prepend, *moves])
        self._pattern = pattern

    def normalize(self, lines: Iterable[str]) -> Iterable[str]:
        """Return the normalized lines, which can be read repeatedly."""
        reiterable = ensure_reiterable(lines)
        return Reiterable(lambda: map(self._normalizer.normalize_str, reiterable))

    def train(self, model: Model, trainer: Trainer, lines: Iterable[str]) -> dict[str, Any]:
        """Train the library's model on normalized lines; return the model part of the library's JSON."""
        library = self._library(model)
        library.train_from_iterator(lines, trainer)
        trained: dict[str, Any] = json.loads(library.to_str())["model"]
        if not trained["vocab"]:
            raise UserError("cannot train a tokenizer: nothing in the text is frequent enough (min_frequency)")
        return trained

    def wrap(self, model: Model) -> Tokenizer:
        """Return the tokenizer of a trained model."""
        library = self._library(model)
        library.normalizer = self._normalizer
        if self._pattern != WHITESPACE_PATTERN:  # without a decoder, the library puts a space between tokens
            strip = [decoders.Strip(" ", 1, 0)] if self._prepends_space else []
            moves = [decoders.Replace(after, before) for before, after in reversed(self._moved_spaces)]
            library.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse(), *moves, *strip])
        return Tokenizer(library)

    def _library(self, model: Model) -> tokenizers.Tokenizer:
        library = tokenizers.Tokenizer(model)
        if self._pattern is not None:
            behavior = "removed" if self._pattern == WHITESPACE_PATTERN else "isolated"
            library.pre_tokenizer = Split(Regex(self._pattern), behavior)
        return library


def _run_pipeline(settings: _SubwordSettings, tags: Sequence[str]) -> _Pipeline:
    return _Pipeline(settings, TAG_RUN_PATTERN if tags else RUN_PATTERN)


def _reserved_tokens(byte_fallback: bool, tags: Sequence[str]) -> list[str]:
    return [*(BYTE_TOKENS if byte_fallback else [UNKNOWN_TOKEN]), *tags]


def _trainable_size(vocab_size: int, reserved: Sequence[str]) -> int:
    if vocab_size <= len(reserved):
        raise UserError(
            f"vocab_size {vocab_size} is too small: {len(reserved)} tokens are reserved for unknown text and tags. "
            "Increase vocab_size, or set byte_fallback: false (character, bpe, unigram)."
        )
    return vocab_size - len(reserved)


def _frequent_characters(counts: Counter[str], min_frequency: int) -> list[str]:
    """Return the characters that occur at least `min_frequency` times, by frequency, then by code point."""
    frequent = sorted((char for char in counts if counts[char] >= min_frequency), key=lambda x: (-counts[x], x))
    if not frequent:
        raise UserError(f"cannot train a tokenizer: no character occurs at least {min_frequency} times (min_frequency)")
    return frequent


def _remove_rare_characters(lines: Iterable[str], size: int, min_frequency: int) -> Iterator[str]:
    """Return the lines without all but the `size` most frequent characters; `lines` are read twice.

    The removed characters are later encoded as bytes (or unknown), so that these tokens, too, occur in training.
    """
    counts = Counter(chain.from_iterable(lines))
    rare = set(counts).difference(_frequent_characters(counts, min_frequency)[:size])
    if not rare:
        return iter(lines)
    pattern = re.compile("[" + "".join(map(re.escape, sorted(rare))) + "]")
    return (pattern.sub("", line) for line in lines)


def _train_words(pipeline: _Pipeline, lines: Iterable[str], unknown: str, size: int, min_frequency: int) -> Tokenizer:
    trainer = trainers.WordLevelTrainer(
        vocab_size=size, min_frequency=min_frequency, show_progress=False, special_tokens=[]
    )
    trained = pipeline.train(models.WordLevel(), trainer, pipeline.normalize(lines))
    return pipeline.wrap(models.WordLevel(vocab=_vocabulary([unknown], trained["vocab"]), unk_token=unknown))


def _train_bpe(pipeline: _Pipeline, lines: Iterable[str], size: int, min_frequency: int) -> dict[str, Any]:
    trainer = trainers.BpeTrainer(vocab_size=size, min_frequency=min_frequency, show_progress=False, special_tokens=[])
    frequent = _remove_rare_characters(pipeline.normalize(lines), size, min_frequency)
    return pipeline.train(models.BPE(), trainer, frequent)


def _bpe_model(vocab: dict[str, int], merges: Sequence[Sequence[str]], byte_fallback: bool) -> Model:
    return models.BPE(
        vocab=vocab,
        merges=[(left, right) for left, right in merges],
        unk_token=None if byte_fallback else UNKNOWN_TOKEN,
        byte_fallback=byte_fallback,
    )


def _stable_scores(scored: Sequence[tuple[str, float]], size: int) -> list[tuple[str, float]]:
    """Return the trained tokens without the parts of the library's result that differ from run to run.

    The library sums in the order of a hash table. In that order it also restores pruned single characters, each with a
    score 0.0001 above the one before, starting at the lowest; here they all get the lowest score. It may also exceed
    the size by a few tokens; those with the lowest scores are removed.
    """
    lowest = min(score for _, score in scored)
    characters = [(token, score) for token, score in scored if len(token) == 1]
    restored = lowest + 0.0001 * (len(characters) + 1)
    settled = [(char, round(lowest if score < restored else score, 6)) for char, score in characters]
    longer = [(token, round(score, 6)) for token, score in scored if len(token) > 1]
    longer.sort(key=lambda entry: (-entry[1], entry[0]))
    return sorted(settled + longer[: size - len(characters)], key=lambda entry: (-entry[1], entry[0]))


def _vocabulary(reserved: Iterable[str], trained: Mapping[str, int] = {}) -> dict[str, int]:
    """Number the reserved tokens, then the trained ones in the order of their ids."""
    tokens = dict.fromkeys([*reserved, *sorted(trained, key=trained.__getitem__)])
    return {token: number for number, token in enumerate(tokens)}
