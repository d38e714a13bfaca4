"""The `text` section of a recipe, and training of the tokenizers that it describes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from weft.core.codec import Codec, Modality
from weft.core.errors import ConfigError, ConfigProblem
from weft.core.lazy import Reiterable, ensure_reiterable
from weft.core.seeds import reservoir_sample
from weft.core.setting_types import Factory, PositiveInt
from weft.text.bpe_dropout import BPEDropout, TokenNoise
from weft.text.marked_text import TAGS
from weft.text.shared_spans import replace_shared_spans
from weft.text.tokenizer import Tokenizer, TokenOrder, is_tokenizer
from weft.text.tokenizer_training import (
    BPETokenizerTrainer,
    CodecTrainer,
    TokenizerTrainer,
    is_tokenizer_trainer,
    supports_tags,
)


@dataclass(frozen=True, kw_only=True)
class TextConfig:
    """How text is tokenized.

    source, target: the kind of tokenizer of each side (target: default as source); a source may also be `image`.
    joint: one tokenizer, trained on both sides, serves both. sample_size: number of random pairs, at most, that
    tokenizers are trained on; training needs up to a kilobyte of memory per distinct word. target_order: `backward`
    generates from right to left, for reranking (Liu et al. 2016). tag_tokens: teach the model to carry placeholders,
    markup, URLs and other spans into the translation, as 32 tokens of their own (bpe, unigram, character).
    """

    source: Factory[CodecTrainer] = BPETokenizerTrainer
    target: Factory[TokenizerTrainer] | None = None
    joint: bool = True
    sample_size: PositiveInt = 200_000
    target_order: TokenOrder = "forward"
    tag_tokens: bool = False


def codec_trainers(text: TextConfig) -> tuple[CodecTrainer, TokenizerTrainer]:
    """Return the trainers of source and target; raise ConfigError if they do not fit together."""
    source = text.source()
    target = source if text.target is None else text.target()
    problems = []
    if not is_tokenizer_trainer(target):
        text_problem = "is missing: images cannot be generated; set target: character"
        problems.append(ConfigProblem("text.target", text_problem))
    if text.joint and not is_tokenizer_trainer(source):
        problems.append(ConfigProblem("text.joint", "true, but images and text share no vocabulary: set joint: false"))
    elif text.joint and source != target:
        text_problem = "true, but text.source and text.target differ: set joint: false, or leave text.target out"
        problems.append(ConfigProblem("text.joint", text_problem))
    problems += _tag_problems(text)
    if problems or not is_tokenizer_trainer(target):
        raise ConfigError(problems)
    return source, target


def supports_tag_tokens(text: TextConfig) -> bool:
    """Whether tokenizers of both sides can have tag tokens."""
    return supports_tags(text.source()) and (text.target is None or supports_tags(text.target()))


def _tag_problems(text: TextConfig) -> Iterator[ConfigProblem]:
    if text.tag_tokens and not supports_tag_tokens(text):
        advice = (
            "needs a tokenizer of the type bpe, unigram or character on both sides: take one of these, or write false"
        )
        yield ConfigProblem("text.tag_tokens", advice)


def source_modality(text: TextConfig) -> Modality:
    return text.source().modality


def train_tokenizers(text: TextConfig, pairs: Iterable[tuple[str, str]], seed: int) -> tuple[Codec, Tokenizer]:
    """Return the codec of the source and the tokenizer of the target, trained on a sample of the pairs.

    They are one object if `joint`, unless the target order is backward. The pairs are read again for each pass; only
    the indices of the sample are kept in memory. With `tag_tokens`, tags replace the spans that both sides of a
    pair share, so that no tokens are spent on them.
    """
    source, target = codec_trainers(text)
    pairs = ensure_reiterable(pairs)
    sampled = frozenset(reservoir_sample((number for number, _ in enumerate(pairs)), text.sample_size, seed))
    tagged = replace_shared_spans if text.tag_tokens else _unchanged
    sample = Reiterable(lambda: (tagged(pair) for number, pair in enumerate(pairs) if number in sampled))
    codec: Codec
    if text.joint:
        codec = tokenizer = _train_tokenizer(text, target, Reiterable(lambda: chain.from_iterable(sample)))
    else:
        source_lines = Reiterable(lambda: (line for line, _ in sample))
        if is_tokenizer_trainer(source):
            codec = _train_tokenizer(text, source, source_lines)
        else:
            codec = source.train(source_lines)
        tokenizer = _train_tokenizer(text, target, Reiterable(lambda: (line for _, line in sample)))
    return codec, tokenizer.reversed() if text.target_order == "backward" else tokenizer


def _unchanged(pair: tuple[str, str]) -> tuple[str, str]:
    return pair


def _train_tokenizer(text: TextConfig, trainer: TokenizerTrainer, lines: Iterable[str]) -> Tokenizer:
    return trainer.train(lines, TAGS) if text.tag_tokens and supports_tags(trainer) else trainer.train(lines)


def dropout_rates(text: TextConfig) -> tuple[float, float]:
    """Return the BPE-dropout of source and target; 0 for other kinds, which have no merges to skip."""
    trainers = codec_trainers(text)
    source, target = (trainer.dropout if isinstance(trainer, BPETokenizerTrainer) else 0.0 for trainer in trainers)
    return source, target


def training_noise(text: TextConfig, codecs: tuple[Codec, Tokenizer]) -> tuple[TokenNoise | None, TokenNoise | None]:
    """Return the BPE-dropout of each side, or None for a side without."""
    source, target = (
        BPEDropout(codec, rate) if rate > 0.0 and is_tokenizer(codec) else None
        for rate, codec in zip(dropout_rates(text), codecs, strict=True)
    )
    return source, target
