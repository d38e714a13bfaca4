"""Outputs satisfy the constraints of their requests: 1,000 cases on untrained models, checked with regex."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from random import Random
from typing import Any

import pytest

from unit.models import BAHDANAU, TRANSFORMER, untrained_model
from weft.checkpoints.trained_model import TrainedModel
from weft.decoding.beam import BeamSearch
from weft.decoding.constraints.request import Request
from weft.inference.translator import Translator
from weft.text.tokenizer_training import (
    BPETokenizerTrainer,
    CharacterTokenizerTrainer,
    TokenizerTrainer,
    WordTokenizerTrainer,
)

LINES = [
    "das Haus am See ist alt",
    "ein Haus und ein See, alt",
    "in den alten Haustüren am See",
    "die rote Katze sieht den Hund im Garten",
    "der Hund schläft, die Katze nicht",
]
WORDS = sorted({word for line in LINES for word in re.findall(r"\w+", line)})
KINDS: dict[str, tuple[dict[str, Any], TokenizerTrainer]] = {
    "transformer, pieces": (TRANSFORMER, BPETokenizerTrainer(vocab_size=70, byte_fallback=False, min_frequency=1)),
    "transformer, letters": (TRANSFORMER, CharacterTokenizerTrainer()),
    "recurrent, bytes": (BAHDANAU, BPETokenizerTrainer(vocab_size=300, min_frequency=1)),
    "recurrent, words": (BAHDANAU, WordTokenizerTrainer(min_frequency=1)),
}
FAST_CASES, SLOW_CASES = 30, 250  # per model


@cache
def model(kind: str) -> TrainedModel:
    architecture, trainer = KINDS[kind]
    target = trainer.train(LINES)
    return untrained_model(architecture, target=target, translate={"max_length_factor": 1.0, "max_length_extra": 18})


def translator(kind: str, batch_tokens: int = 4096) -> Translator:
    trained = model(kind)
    return Translator(
        trained, BeamSearch(size=2, n_best=2), replace(trained.recipe.translate, batch_tokens=batch_tokens)
    )


def random_phrase(random: Random) -> str:
    words = random.choice(LINES).replace(",", "").split()
    first = random.randrange(len(words))
    return " ".join(words[first : first + random.choice([1, 1, 2])])


def requests(kind: str, count: int) -> list[Request]:
    """Return requests with random constraints; the excluded words are words that the model would produce."""
    random = Random(kind)
    texts = [" ".join(random.choices(WORDS, k=random.randint(1, 3))) for _ in range(count)]
    outputs = [
        re.findall(r"[a-zäöü]{2,}", translation.text, re.IGNORECASE)
        for translation in translator(kind).translate(texts)
    ]
    return [make_request(text, words, random) for text, words in zip(texts, outputs, strict=True)]


def make_request(text: str, output_words: list[str], random: Random) -> Request:
    include = [
        tuple(random_phrase(random) for _ in range(random.choice([1, 1, 2]))) for _ in range(random.randint(0, 2))
    ]
    if include and random.random() < 0.3:
        include.append(include[0])
    prefix = random_phrase(random) if random.random() < 0.3 else ""
    while sum(map(len, chain(*include))) > 20:  # so that it fits into the length limit of a character model
        include.pop()
    required = " ".join([prefix, *chain(*include)]).split()
    exclude = [word for word in dict.fromkeys([*output_words, random.choice(WORDS)]) if word not in required]
    exclude = random.sample(exclude, k=min(len(exclude), random.randint(0, 3)))
    return Request(text, prefix, None, tuple(include), random.choice([0, len(include)]), tuple(exclude))


def spans(phrase: str, text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(rf"(?<!\w){re.escape(phrase)}(?!\w)", text)]


def is_in_order(include: Sequence[tuple[str, ...]], text: str) -> bool:
    position = 0
    for alternatives in include:
        ends = [end for option in alternatives for start, end in spans(option, text) if start >= position]
        if not ends:
            return False
        position = min(ends)
    return True


def is_frequent_enough(include: Sequence[tuple[str, ...]], text: str) -> bool:
    counts = Counter(frozenset(alternatives) for alternatives in include)
    return all(
        len({span for option in options for span in spans(option, text)}) >= count for options, count in counts.items()
    )


@pytest.mark.parametrize("count", [FAST_CASES, pytest.param(SLOW_CASES, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_included_phrases_occur_and_excluded_ones_do_not(kind: str, count: int) -> None:
    cases = requests(kind, count)
    assert sum(bool(case.exclude) for case in cases) > count / 2
    for case, translation in zip(cases, translator(kind).translate(cases), strict=True):
        assert all(check.met for check in translation.constraint_checks), (case, translation)
        for alternative in translation.alternatives:
            text = alternative.text
            assert text.startswith(case.prefix), (case, text)
            assert is_in_order(case.include, text) if case.ordered else is_frequent_enough(case.include, text), (
                case,
                text,
            )
            assert not any(spans(word, text) for word in case.exclude), (case, text)


@pytest.mark.parametrize("kind", KINDS)
def test_constrained_output_does_not_depend_on_batch(kind: str) -> None:
    cases = requests(kind, 10)
    batched, single = (translator(kind, tokens).translate(cases) for tokens in (4096, 1))
    assert [result.text for result in batched] == [result.text for result in single]
    assert [result.score for result in batched] == pytest.approx([result.score for result in single], abs=1e-9)
