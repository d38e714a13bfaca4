"""What a user may say about text, and the tokenizers that follow from it."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from random import Random
from typing import TypeVar

from weft.core.errors import ConfigError, Problem
from weft.core.randomness import seed_for
from weft.core.types import Count, Make
from weft.text.dropout import BpeDropout, Noise
from weft.text.learners import BPE, Learner, SourceLearner, learns_text
from weft.text.reader import Reader, Reads, is_tokenizer
from weft.text.rereading import Rereadable, readable_again
from weft.text.tokenizer import Order, Tokenizer

Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True)
class Text:
    """source, target: the kind of tokenizer of each side (target: as the source unless given); a source may also name
    pictures. joint: one tokenizer, learned over both sides, serves both. sample: pairs at most from which tokenizers
    are learned, drawn at random. The library that learns needs up to a kilobyte of memory for each different word in
    them. target_order: `backward` for a model that says a line from its last piece to its first; what it reads and
    writes is text as ever. Such a model sees mistakes at the beginning of a line that others do not (weft rerank).
    """

    source: Make[SourceLearner] = BPE
    target: Make[Learner] | None = None
    joint: bool = True
    sample: Count = 200_000
    target_order: Order = "forward"


def learners(text: Text) -> tuple[SourceLearner, Learner]:
    """The learner of each side."""
    source = text.source()
    target = source if text.target is None else text.target()
    if not learns_text(target):
        raise ConfigError([Problem("text.target", "is missing: pictures can only be read; write target: character")])
    if text.joint and not learns_text(source):
        raise ConfigError(
            [Problem("text.joint", "true, but pictures share no vocabulary with text: write joint: false")]
        )
    if text.joint and source != target:
        problem = "true, but text.source and text.target differ: one tokenizer cannot be both; write joint: false"
        raise ConfigError([Problem("text.joint", problem)])
    return source, target


def reads(text: Text) -> Reads:
    """What the lines of the source are, or name."""
    return text.source().reads


def learn_tokenizers(text: Text, pairs: Iterable[tuple[str, str]], seed: int) -> tuple[Reader, Tokenizer]:
    """What reads the source, and the target's tokenizer, learned from a sample of the pairs.

    They are one object if `joint`, unless the target is backward.
    """
    reader, tokenizer = _learned(text, pairs, seed)
    return reader, tokenizer.backward() if text.target_order == "backward" else tokenizer


def _learned(text: Text, pairs: Iterable[tuple[str, str]], seed: int) -> tuple[Reader, Tokenizer]:
    source, target = learners(text)
    sample = _sample(readable_again(pairs), text.sample, seed)
    if text.joint:
        tokenizer = target.learn(Rereadable(lambda: chain.from_iterable(sample)))
        return tokenizer, tokenizer
    sources = Rereadable(lambda: (line for line, _ in sample))
    targets = Rereadable(lambda: (line for _, line in sample))
    return source.learn(sources), target.learn(targets)


def training_noise(text: Text, readers: tuple[Reader, Tokenizer]) -> tuple[Noise | None, Noise | None]:
    """The dropout of each side's tokenizer; None where there is none."""
    source, target = (
        BpeDropout(reader, learner.dropout) if learner.dropout > 0.0 and is_tokenizer(reader) else None
        for learner, reader in zip(learners(text), readers, strict=True)
    )
    return source, target


def draw_sample(items: Iterable[Item], size: int, seed: int) -> list[Item]:
    """At most `size` items, each equally likely (reservoir sampling, algorithm R of Vitter 1985)."""
    draws = Random(seed_for(seed, "sample of text"))  # noqa: S311 (not for secrets)
    sample: list[Item] = []
    for number, item in enumerate(items):
        if number < size:
            sample.append(item)
        elif (place := int(draws.random() * (number + 1))) < size:
            sample[place] = item
    return sample


def _sample(pairs: Iterable[tuple[str, str]], size: int, seed: int) -> Iterable[tuple[str, str]]:
    """At most `size` pairs, in their order. Only their numbers are kept: the pairs are read anew each time."""
    chosen = frozenset(draw_sample((number for number, _ in enumerate(pairs)), size, seed))
    return Rereadable(lambda: (pair for number, pair in enumerate(pairs) if number in chosen))
