"""What lines ask for is so: 1,000 cases on models that have learned nothing, read from the text with other means."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from random import Random
from typing import Any

import pytest

from unit.models import BAHDANAU, TRANSFORMER, untrained
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
SOME, ALL = 30, 250  # of each kind


@cache
def model(kind: str) -> TrainedModel:
    family, learner = KINDS[kind]
    target = learner.train(LINES)
    return untrained(family, target=target, translate={"max_length_factor": 1.0, "max_length_extra": 18})


def translator(kind: str, batch_tokens: int = 4096) -> Translator:
    trained = model(kind)
    return Translator(
        trained, BeamSearch(size=2, n_best=2), replace(trained.recipe.translate, batch_tokens=batch_tokens)
    )


def phrase(draws: Random) -> str:
    words = draws.choice(LINES).replace(",", "").split()
    first = draws.randrange(len(words))
    return " ".join(words[first : first + draws.choice([1, 1, 2])])


def requests(kind: str, count: int) -> list[Request]:
    """Lines that ask for much, little or nothing; what they exclude, the model would say."""
    draws = Random(kind)
    texts = [" ".join(draws.choices(WORDS, k=draws.randint(1, 3))) for _ in range(count)]
    said = [re.findall(r"[a-zäöü]{2,}", one.text, re.IGNORECASE) for one in translator(kind).translate(texts)]
    return [asking(text, words, draws) for text, words in zip(texts, said, strict=True)]


def asking(text: str, said: list[str], draws: Random) -> Request:
    include = [tuple(phrase(draws) for _ in range(draws.choice([1, 1, 2]))) for _ in range(draws.randint(0, 2))]
    if include and draws.random() < 0.3:
        include.append(include[0])
    prefix = phrase(draws) if draws.random() < 0.3 else ""
    while sum(map(len, chain(*include))) > 20:  # so that it fits into few letters
        include.pop()
    wanted = " ".join([prefix, *(one for alternatives in include for one in alternatives)]).split()
    exclude = [word for word in dict.fromkeys([*said, draws.choice(WORDS)]) if word not in wanted]
    exclude = draws.sample(exclude, k=min(len(exclude), draws.randint(0, 3)))
    return Request(text, prefix, None, tuple(include), draws.choice([0, len(include)]), tuple(exclude))


def places(phrase: str, text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(rf"(?<!\w){re.escape(phrase)}(?!\w)", text)]


def in_order(include: Sequence[tuple[str, ...]], text: str) -> bool:
    reached = 0
    for alternatives in include:
        ends = [end for one in alternatives for first, end in places(one, text) if first >= reached]
        if not ends:
            return False
        reached = min(ends)
    return True


def often_enough(include: Sequence[tuple[str, ...]], text: str) -> bool:
    counts = Counter(frozenset(alternatives) for alternatives in include)
    return all(len({place for one in same for place in places(one, text)}) >= count for same, count in counts.items())


@pytest.mark.parametrize("count", [SOME, pytest.param(ALL, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_included_stands_and_what_is_excluded_does_not(kind: str, count: int) -> None:
    cases = requests(kind, count)
    assert sum(bool(case.exclude) for case in cases) > count / 2
    for case, translation in zip(cases, translator(kind).translate(cases), strict=True):
        assert all(one.met for one in translation.constraint_checks), (case, translation)
        for alternative in translation.alternatives:
            text = alternative.text
            assert text.startswith(case.prefix), (case, text)
            assert in_order(case.include, text) if case.ordered else often_enough(case.include, text), (case, text)
            assert not any(places(one, text) for one in case.exclude), (case, text)


@pytest.mark.parametrize("kind", KINDS)
def test_the_batch_changes_nothing(kind: str) -> None:
    cases = requests(kind, 10)
    together, alone = (translator(kind, tokens).translate(cases) for tokens in (4096, 1))
    assert [one.text for one in together] == [one.text for one in alone]
    assert [one.score for one in together] == pytest.approx([one.score for one in alone], abs=1e-9)
