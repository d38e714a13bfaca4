"""Tags in training batches: some pairs get tags at places that word alignment connects (text/tag_insertion.py), and the
numbers of all tags are permuted, so that a model carries any tag and learns all of them equally well.
"""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.core.codec import Codec
from weft.data.token_cache import TokenCache, cache_write_errors
from weft.text.marked_text import CLOSE_TAGS, OPEN_TAGS, SINGLE_TAGS, TAGS
from weft.text.tag_insertion import align_pair, insert_tags
from weft.text.tokenizer import Tokenizer, is_tokenizer
from weft.text.word_aligner import WordAligner, split_words, word_keys

TAG_SHARE = 0.1  # of the pairs without tags, which get some in an epoch
ALIGNED_PAIRS = 50_000  # that the alignment is trained on
ALIGNMENT_VERSION = 1  # to be increased whenever the same pairs give other alignments
CHUNK_PAIRS = 4096  # decoded at once
TAGS_TO_SPACES = dict.fromkeys(map(ord, TAGS), " ")

IdRow: TypeAlias = NDArray[Any]


class TagNoise:
    """Inserts tags into a share of the pairs that have none, and permutes the numbers of tags."""

    def __init__(self, tokenizers: tuple[Tokenizer, Tokenizer], aligner: WordAligner, share: float = TAG_SHARE):
        self._tokenizers = tokenizers
        self._aligner = aligner
        self._share = share
        self._is_tag = tuple(np.isin(np.arange(one.size), list(one.tag_ids.values())) for one in tokenizers)

    def __call__(self, source: IdRow, target: IdRow, rng: Random) -> tuple[IdRow, IdRow]:
        is_drawn = rng.random() < self._share
        if not self._has_tags(source, target):
            if not is_drawn:
                return source, target
            source, target = self._insert(source, target, rng)
        return self._permute(source, target, rng)

    def _has_tags(self, source: IdRow, target: IdRow) -> bool:
        return bool(self._is_tag[0][source].any() or self._is_tag[1][target].any())

    def _insert(self, source: IdRow, target: IdRow, rng: Random) -> tuple[IdRow, IdRow]:
        """Insert tags into the text; a pair stays as it is if its ids are not those of its text (unknown tokens)."""
        pairs = list(zip(self._tokenizers, (source, target), strict=True))
        lines = [tokenizer.decode([row.tolist()])[0] for tokenizer, row in pairs]
        if any(
            tokenizer.encode([line])[0] != row.tolist() for line, (tokenizer, row) in zip(lines, pairs, strict=True)
        ):
            return source, target
        tagged = insert_tags(align_pair(self._aligner, *lines), rng)
        rows = zip(self._tokenizers, tagged, strict=True)
        new_source, new_target = (np.array(tokenizer.encode([line])[0], np.int64) for tokenizer, line in rows)
        return new_source, new_target

    def _permute(self, source: IdRow, target: IdRow, rng: Random) -> tuple[IdRow, IdRow]:
        """Permute the numbers of single tags, and those of pairs of tags, in the same way on both sides."""
        singles, pairs = (rng.sample(range(len(tags)), len(tags)) for tags in (SINGLE_TAGS, OPEN_TAGS))
        new_tags = dict(zip(SINGLE_TAGS, (SINGLE_TAGS[number] for number in singles), strict=True))
        for tags in (OPEN_TAGS, CLOSE_TAGS):
            new_tags |= zip(tags, (tags[number] for number in pairs), strict=True)
        new_source, new_target = (
            _replace_ids(row, {tokenizer.tag_ids[old]: tokenizer.tag_ids[new] for old, new in new_tags.items()})
            for tokenizer, row in zip(self._tokenizers, (source, target), strict=True)
        )
        return new_source, new_target


def _replace_ids(row: IdRow, new_ids: dict[int, int]) -> IdRow:
    return np.array([new_ids.get(token, token) for token in row.tolist()], np.int64)


def make_tag_noise(
    cache: TokenCache, codecs: tuple[Codec, Tokenizer], report: Callable[[str], None]
) -> TagNoise | None:
    """Return the noise for training pairs; None if the tokenizers have no tags.

    The alignment is trained on a sample of the cache at even distances, and stored beside the cache.
    """
    source, target = codecs
    if not (is_tokenizer(source) and source.tag_ids and target.tag_ids):
        return None
    path = cache.folder.with_name(f"{cache.folder.name}.alignment-{ALIGNMENT_VERSION}.npz")
    if not path.exists():
        count = min(len(cache), ALIGNED_PAIRS)
        report(f"aligning the words of {count:,} pairs, to insert tags into {TAG_SHARE:.0%} of the pairs")
        with cache_write_errors(path.parent):
            WordAligner.train(list(_sampled_words(cache, (source, target), count))).save(path)
    return TagNoise((source, target), WordAligner.load(path))


def _sampled_words(
    cache: TokenCache, tokenizers: tuple[Tokenizer, Tokenizer], count: int
) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the keys of the words of both sides of sampled pairs."""
    sample = np.linspace(0, len(cache) - 1, count).astype(np.int64).tolist()
    for first in range(0, count, CHUNK_PAIRS):
        chunk = sample[first : first + CHUNK_PAIRS]
        sides = (
            [_line_keys(line) for line in tokenizer.decode([cache.row(pair, side).tolist() for pair in chunk])]
            for side, tokenizer in enumerate(tokenizers)
        )
        yield from zip(*sides, strict=True)


def _line_keys(line: str) -> list[str]:
    line = line.translate(TAGS_TO_SPACES)
    return word_keys(line, split_words(line))
