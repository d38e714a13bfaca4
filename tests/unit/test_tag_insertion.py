"""Synthetic tags: word alignment, where tags are inserted, and the noise of training pairs."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch

from system import toys
from weft.core.errors import UserError
from weft.data import tag_noise
from weft.data.batches import Batch, BatchLoader
from weft.data.corpus import Corpus
from weft.data.data_config import DataConfig
from weft.data.tag_noise import TagNoise, make_tag_noise
from weft.data.token_cache import TokenCache, open_token_cache
from weft.text.marked_text import CLOSE_TAGS, OPEN_TAGS, SINGLE_TAGS, TAGS, tags_are_intact
from weft.text.tag_insertion import (
    AlignedPair,
    GapPair,
    PhrasePair,
    align_pair,
    consistent_phrases,
    inner_gaps,
    insert_tags,
)
from weft.text.tokenizer import Tokenizer
from weft.text.tokenizer_training import BPETokenizerTrainer
from weft.text.word_aligner import WordAligner, WordLinks, split_words, word_keys

RNG = Random(1)
PAIRS = [toys.sentence(RNG) for _ in range(400)]
HELD_OUT = [(f"{source}.", f"{target}.") for source, target in (toys.sentence(Random(n)) for n in range(1000, 1100))]
TRANSLATIONS = {**toys.ARTICLES, **toys.ADJECTIVES, **toys.NOUNS, **toys.VERBS, ".": "."}
TO_SPACES = str.maketrans(dict.fromkeys(TAGS, " "))


def keys(line: str) -> list[str]:
    return word_keys(line, split_words(line))


def texts(line: str) -> list[str]:
    return [line[word.first : word.end] for word in split_words(line)]


@pytest.fixture(scope="module")
def aligner() -> WordAligner:
    return WordAligner.train([(keys(f"{source}."), keys(f"{target}.")) for source, target in PAIRS])


def monotone(source: str, target: str, links: set[tuple[int, int]]) -> AlignedPair:
    pairs = tuple(sorted(links))
    return AlignedPair((source, target), (split_words(source), split_words(target)), frozenset(links), pairs)


def tags_of(line: str) -> list[str]:
    return [char for char in line if char in TAGS]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("Is it ¿Tom's (red) T-shirt?!", ["Is", "it", "¿", "Tom's", "(", "red", ")", "T-shirt", "?!"]),
        ("  हिन्दी है।", ["हिन्दी", "है", "।"]),
        ("我爱Weft。", ["我", "爱", "Weft", "。"]),
        ("... 3.5%", ["...", "3.5", "%"]),
        (" ", []),
    ],
)
def test_words(line: str, words: list[str]) -> None:
    assert texts(line) == words
    assert [word.is_punctuation for word in split_words(line)] == [not any(map(str.isalnum, word)) for word in words]


def test_alignment_finds_the_translations(aligner: WordAligner) -> None:
    found = expected = correct = 0
    for source, target in HELD_OUT:
        links = aligner.align(keys(source), keys(target))
        words = texts(source), texts(target)
        assert len({i for i, _ in links}) == len({j for _, j in links}) == len(links)
        found += len(links)
        expected += len(words[0])
        correct += sum(TRANSLATIONS[words[0][i]] == words[1][j] for i, j in links)
    assert correct > 0.95 * found
    assert correct > 0.8 * expected


def test_unknown_or_empty_lines_have_no_wrong_links(aligner: WordAligner) -> None:
    assert aligner.align([], ["kato"]) == frozenset()
    assert aligner.align(keys("cat"), []) == frozenset()
    assert aligner.align(["x"] * 1000, ["y"]) == frozenset()


def test_saved_alignment_is_the_same(aligner: WordAligner, tmp_path: Path) -> None:
    aligner.save(tmp_path / "alignment.npz")
    loaded = WordAligner.load(tmp_path / "alignment.npz")
    for source, target in HELD_OUT:
        assert loaded.align(keys(source), keys(target)) == aligner.align(keys(source), keys(target))
    (tmp_path / "alignment.npz").write_bytes(b"damaged")
    with pytest.raises(UserError, match="this cached alignment is damaged"):
        WordAligner.load(tmp_path / "alignment.npz")


def brute_force_phrases(links: WordLinks, sources: int, targets: int) -> Iterator[PhrasePair]:
    """Yield all consistent phrase pairs whose first and last words are linked on both sides."""
    for i1 in range(sources):
        for i2 in range(i1 + 1, sources + 1):
            for j1 in range(targets):
                for j2 in range(j1 + 1, targets + 1):
                    inside = {(i, j) for i, j in links if i1 <= i < i2 and j1 <= j < j2}
                    touching = {(i, j) for i, j in links if i1 <= i < i2 or j1 <= j < j2}
                    bounds = {i for i, _ in inside} >= {i1, i2 - 1} and {j for _, j in inside} >= {j1, j2 - 1}
                    if inside and inside == touching and bounds:
                        yield PhrasePair(i1, i2, j1, j2)


@pytest.mark.parametrize("seed", range(20))
def test_phrases_are_all_consistent_ones(seed: int) -> None:
    rng = Random(seed)
    links = {(i, j) for i, j in zip(range(6), rng.sample(range(6), 6), strict=True) if rng.random() < 0.7}
    pair = monotone("a b c d e f", "u v w x y z", links)
    assert set(consistent_phrases(pair)) == set(brute_force_phrases(pair.links, 6, 6))


@pytest.mark.parametrize("seed", range(20))
def test_no_link_crosses_a_gap(seed: int) -> None:
    rng = Random(seed)
    order = sorted(range(6), key=lambda j: j + 2 * rng.random())
    links = {(i, j) for i, j in enumerate(order) if rng.random() < 0.7}
    pair = monotone("a b c d e f", "u v w x y z", links)
    for gap in inner_gaps(pair):
        assert all((i < gap.i) == (j < gap.j) for i, j in links)
        assert {(gap.i - 1, gap.j - 1), (gap.i, gap.j)} & links


def test_gap_between_words_without_links_is_uncertain() -> None:
    pair = monotone("a b", "u v w", {(0, 0), (1, 2)})
    assert list(inner_gaps(pair)) == []
    assert list(inner_gaps(monotone("a b", "u v", {(0, 0), (1, 1)}))) == [GapPair(1, 1)]


def test_tags_are_the_same_on_both_sides_and_words_stay(aligner: WordAligner) -> None:
    """Pairs are nested; without the tags and the replaced words, the lines are the same, except for spaces."""
    seen = set[str]()
    for number in range(2000):
        source, target = HELD_OUT[number % len(HELD_OUT)]
        pair = align_pair(aligner, source, target)
        tagged = insert_tags(pair, Random(number))
        assert insert_tags(pair, Random(number)) == tagged
        tags = tags_of(tagged[0])
        seen |= {*tags}
        assert sorted(tags) == sorted(tags_of(tagged[1])) == sorted(set(tags))
        assert all(tags_are_intact(line, tags) for line in tagged)
        rests = [texts(line.translate(TO_SPACES)) for line in tagged]
        lost = [missing(texts(line), rest) for line, rest in zip((source, target), rests, strict=True)]
        assert sorted(TRANSLATIONS[word] for word in lost[0]) == sorted(lost[1])
        assert len(lost[0]) <= sum(tag in SINGLE_TAGS for tag in tags)
    assert seen >= {SINGLE_TAGS[0], SINGLE_TAGS[1], OPEN_TAGS[0], OPEN_TAGS[1], CLOSE_TAGS[1]}


def missing(words: list[str], rest: list[str]) -> list[str]:
    """Return the words that are not in the rest, which has the others in the same order."""
    remaining, lost = iter([*rest, ""]), list[str]()
    expected = next(remaining)
    for word in words:
        if word == expected:
            expected = next(remaining)
        else:
            lost.append(word)
    assert not expected
    return lost


def test_tags_stand_at_corresponding_places(aligner: WordAligner) -> None:
    """A pair of tags contains the translations of its words, and a tag replaces a word and its translation."""
    total = correct = 0
    for number in range(1000):
        pair = align_pair(aligner, *HELD_OUT[number % len(HELD_OUT)])
        source, target = insert_tags(pair, Random(number))
        for open_tag, close_tag in zip(OPEN_TAGS, CLOSE_TAGS, strict=True):
            if open_tag in source:
                inner = [line.partition(open_tag)[2].partition(close_tag)[0] for line in (source, target)]
                words = [texts(line.translate(TO_SPACES)) for line in inner]
                total += 1
                correct += sorted(TRANSLATIONS[word] for word in words[0]) == sorted(words[1])
    assert total > 200
    assert correct > 0.95 * total


@pytest.mark.parametrize(
    ("source", "target"), [("", ""), ("a", ""), ("...", "!"), ("我爱你。", "I love you."), ("a" * 500, "b " * 300)]
)
def test_any_pair_can_be_tagged(aligner: WordAligner, source: str, target: str) -> None:
    for seed in range(50):
        tagged = insert_tags(align_pair(aligner, source, target), Random(seed))
        assert all(tags_are_intact(line, tags_of(tagged[0])) for line in tagged)
        assert [texts(line.translate(TO_SPACES)) for line in tagged] == [texts(source), texts(target)]


def test_chinese_gets_no_spaces(aligner: WordAligner) -> None:
    pair = monotone("我爱你。", "我爱你。", {(0, 0), (1, 1), (2, 2), (3, 3)})
    for seed in range(100):
        for line in insert_tags(pair, Random(seed)):
            assert " " not in line


@pytest.fixture(scope="module", params=["forward", "backward"])
def tokenizers(request: pytest.FixtureRequest) -> tuple[Tokenizer, Tokenizer]:
    tokenizer = BPETokenizerTrainer(vocab_size=400).train([line for pair in PAIRS for line in pair], TAGS)
    return tokenizer, tokenizer if request.param == "forward" else tokenizer.reversed()


@pytest.fixture(scope="module")
def tagged_cache(tokenizers: tuple[Tokenizer, Tokenizer], tmp_path_factory: pytest.TempPathFactory) -> TokenCache:
    """Pairs of which some have natural tags."""
    folder: Path = tmp_path_factory.mktemp("tags")
    pairs = [
        (f"{source} {{x}}", f"{{x}} {target}") if n % 20 == 0 else (source, target)
        for n, (source, target) in enumerate(PAIRS)
    ]
    (folder / "pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs), "utf-8")
    settings = DataConfig(cache=str(folder / "cache"), drop_duplicates=False)
    return open_token_cache(Corpus([folder / "pairs.tsv"]), *tokenizers, settings)


def decoded(batches: Iterator[Batch], tokenizers: tuple[Tokenizer, Tokenizer]) -> dict[int, list[str]]:
    """Return both lines of each pair, by its index."""
    lines: dict[int, list[str]] = {}
    for batch in batches:
        for row, index in enumerate(batch.corpus_indices):
            sides = zip(tokenizers, (batch.source, batch.target), strict=True)
            lines[index] = [tokenizer.decode([side.data[row][side.mask[row]].tolist()])[0] for tokenizer, side in sides]
    return lines


def noise(tagged_cache: TokenCache, tokenizers: tuple[Tokenizer, Tokenizer], share: float = 0.5) -> TagNoise:
    made = make_tag_noise(tagged_cache, tokenizers, lambda _: None)
    assert made is not None
    return TagNoise(tokenizers, made._aligner, share)


def test_noise_inserts_tags_into_a_share_of_the_pairs(
    tagged_cache: TokenCache, tokenizers: tuple[Tokenizer, Tokenizer]
) -> None:
    loader = BatchLoader(tagged_cache, 500, 1, pair_noise=noise(tagged_cache, tokenizers))
    lines = decoded(loader.epoch(0), tokenizers)
    tagged = 0
    for index, pair in lines.items():
        tags = tags_of(pair[0])
        assert all(tags_are_intact(line, tags) for line in pair)
        if index % 20:
            tagged += bool(tags)
            assert tags or pair == list(PAIRS[index])
        else:
            assert len(tags) == 1
            assert pair == [f"{PAIRS[index][0]} {tags[0]}", f"{tags[0]} {PAIRS[index][1]}"]
    assert abs(tagged / (0.95 * len(lines)) - 0.5) < 0.1
    natural = {tags_of(pair[0])[0] for index, pair in lines.items() if index % 20 == 0}
    assert len(natural) > 5  # the numbers are permuted


def test_noise_depends_on_seed_epoch_and_pair_only(
    tagged_cache: TokenCache, tokenizers: tuple[Tokenizer, Tokenizer]
) -> None:
    def lines(max_tokens: int, seed: int, epoch: int, start: int = 0) -> dict[int, list[str]]:
        loader = BatchLoader(tagged_cache, max_tokens, seed, pair_noise=noise(tagged_cache, tokenizers))
        return decoded(loader.epoch(epoch, start), tokenizers)

    first = lines(500, 1, 0)
    assert lines(200, 1, 0) == first
    assert lines(500, 1, 0, start=2).items() < first.items()
    assert lines(500, 1, 1) != first
    assert lines(500, 2, 0) != first


def test_pair_that_would_become_too_long_stays(
    tagged_cache: TokenCache, tokenizers: tuple[Tokenizer, Tokenizer]
) -> None:
    longest = int(tagged_cache.lengths(np.arange(len(tagged_cache))).max())
    loader = BatchLoader(tagged_cache, 500, 1, pair_noise=noise(tagged_cache, tokenizers, 1.0), max_length=longest)
    batches = list(loader.epoch(0))
    assert max(max(batch.source.lengths().max(), batch.target.lengths().max()) for batch in batches) <= longest + 1
    lines = decoded(iter(batches), tokenizers)
    assert any(not tags_of(pair[0]) for pair in lines.values())


def test_alignment_is_trained_once(
    tagged_cache: TokenCache, tokenizers: tuple[Tokenizer, Tokenizer], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = noise(tagged_cache, tokenizers, 1.0)
    monkeypatch.setattr(WordAligner, "train", None)
    after = noise(tagged_cache, tokenizers, 1.0)
    first, second = (next(BatchLoader(tagged_cache, 500, 1, pair_noise=each).epoch(0)) for each in (before, after))
    assert torch.equal(first.source.data, second.source.data)


def test_alignment_is_the_same_whoever_trains_it(
    tagged_cache: TokenCache, tokenizers: tuple[Tokenizer, Tokenizer]
) -> None:
    words = list(tag_noise._sampled_words(tagged_cache, tokenizers, 100))
    assert len(words) == 100
    first, second = (WordAligner.train(words) for _ in range(2))
    assert all(first.align(*pair) == second.align(*pair) for pair in words)
