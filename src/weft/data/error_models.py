"""Error models of spelling: the rate of each single-letter edit, from keyboard layout and sound, or learned from
misspellings (noisy channel of Kernighan, Church and Gale 1990).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import dist, isfinite
from typing import Literal, NamedTuple, Protocol, TypeAlias

from rapidfuzz.distance import OSA, Postfix, Prefix

from weft.core.errors import UserError
from weft.core.formatting import did_you_mean, quote

WORD_START = "\n"  # stands for the position before a word; no word can contain it
KeyboardLayout = Literal["qwerty", "qwertz", "azerty"]
KEYBOARD_ROWS: Mapping[KeyboardLayout, tuple[str, str, str]] = {
    "qwerty": ("qwertyuiop", "asdfghjkl", "zxcvbnm"),
    "qwertz": ("qwertzuiopü", "asdfghjklöä", "yxcvbnm"),
    "azerty": ("azertyuiop", "qsdfghjklm", "wxcvbn"),
}
ROW_OFFSETS = (0.0, 0.25, 0.75)  # of the first key of each row, in widths of a key
MAX_KEY_DISTANCE = 1.3  # between the centers of adjacent keys
SIMILAR_SOUNDS = ("aeiouy", "ckq", "csz", "gj", "dt", "bp", "fvw", "mn")  # letters that are confused by sound
PRIOR_COUNT = 20  # occurrences of a context at which its own counts weigh as much as the mean of all contexts


class ErrorModel(Protocol):
    """Relative rates of edits. Letters are lower case; `before` is the letter before the edit, or WORD_START."""

    def deletion_rate(self, before: str, letter: str) -> float: ...

    def transposition_rate(self, first: str, second: str) -> float: ...

    def substitution_rates(self, letter: str) -> Mapping[str, float]:
        """Return the rate of each replacement."""
        ...

    def insertion_rates(self, before: str) -> Mapping[str, float]:
        """Return the rate of each inserted letter."""
        ...


def misspellings(word: str, model: ErrorModel) -> dict[str, float]:
    """Return every non-empty result of one edit of a word, with its rate; never the word itself."""
    rates: dict[str, float] = defaultdict(float)
    for spelling, rate in _single_edits(word, [WORD_START, *map(str.lower, word)], model):
        rates[spelling] += rate
    return {spelling: rate for spelling, rate in rates.items() if rate > 0 and spelling not in ("", word)}


def _single_edits(word: str, letters: Sequence[str], model: ErrorModel) -> Iterator[tuple[str, float]]:
    """Yield spellings and rates. letters: WORD_START and the lower-case letters of the word.

    Neighbors of different case are not transposed: nobody writes "oLndon".
    """
    for i in range(len(word)):
        yield word[:i] + word[i + 1 :], model.deletion_rate(letters[i], letters[i + 1])
    for i, (first, second) in enumerate(pairwise(word)):
        if first.isupper() == second.isupper():
            rate = model.transposition_rate(letters[i + 1], letters[i + 2])
            yield word[:i] + second + first + word[i + 2 :], rate
    for i, letter in enumerate(word):
        for other, rate in model.substitution_rates(letters[i + 1]).items():
            yield word[:i] + _match_case(other, letter) + word[i + 1 :], rate
    for i in range(len(word) + 1):
        neighbor = word[i : i + 1] or word[-1:]
        for other, rate in model.insertion_rates(letters[i]).items():
            yield word[:i] + _match_case(other, neighbor) + word[i:], rate


def _match_case(letter: str, like: str) -> str:
    return letter.upper() if like.isupper() else letter


@dataclass(frozen=True, kw_only=True)
class TypoRates:
    """Relative rates of the kinds of edits at one position of a word.

    replace: by a letter of an adjacent key. sound: by a letter of similar sound. insert: a letter of an adjacent key
    after this one. double: the same letter once more. drop: delete the letter. swap: exchange it with the next one.
    """

    replace: float = 1.0
    sound: float = 1.5
    insert: float = 0.5
    double: float = 1.0
    drop: float = 3.0
    swap: float = 1.0


def parse_typo_rates(changes: Sequence[str]) -> TypoRates:
    """Return the default rates with changes such as "drop=2"."""
    rates = asdict(TypoRates())
    for change in changes:
        kind, _, number = change.partition("=")
        if kind not in rates:
            raise UserError(
                f"--rate {change}: there is no kind of error {quote(kind)}{did_you_mean(kind, rates)} "
                f"(the kinds are {', '.join(rates)}; write drop=2, for example)"
            )
        try:
            rates[kind] = float(number)
        except ValueError:
            rates[kind] = -1.0
        if not isfinite(rates[kind]) or rates[kind] < 0:
            raise UserError(f"--rate {change}: expected a number of at least 0, as in {kind}=2, got {quote(number)}")
    if not any(rates.values()):
        raise UserError("--rate: all rates are 0, so there would be no errors. Set one of them higher.")
    return TypoRates(**rates)


def adjacent_keys(layout: KeyboardLayout) -> dict[str, str]:
    """Return the letters on the keys that touch each letter's key."""
    positions = {
        letter: (column + offset, row)
        for row, (letters, offset) in enumerate(zip(KEYBOARD_ROWS[layout], ROW_OFFSETS, strict=True))
        for column, letter in enumerate(letters)
    }
    return {
        letter: "".join(other for other, there in positions.items() if 0 < dist(here, there) < MAX_KEY_DISTANCE)
        for letter, here in positions.items()
    }


class KeyboardErrorModel:
    """Slips on a keyboard, and confusions of letters that sound alike."""

    def __init__(self, layout: KeyboardLayout, rates: TypoRates):
        self._rates = rates
        self._adjacent = adjacent_keys(layout)

    def deletion_rate(self, before: str, letter: str) -> float:
        del before, letter  # equal for all letters
        return self._rates.drop

    def transposition_rate(self, first: str, second: str) -> float:
        del first, second
        return self._rates.swap

    def substitution_rates(self, letter: str) -> Mapping[str, float]:
        similar = "".join(group.replace(letter, "") for group in SIMILAR_SOUNDS if letter in group)
        by_key = _share_rate(self._adjacent.get(letter, ""), self._rates.replace)
        by_sound = _share_rate(similar, self._rates.sound)
        return {other: by_key.get(other, 0.0) + by_sound.get(other, 0.0) for other in {**by_key, **by_sound}}

    def insertion_rates(self, before: str) -> Mapping[str, float]:
        if before == WORD_START:
            return {}
        return {**_share_rate(self._adjacent.get(before, ""), self._rates.insert), before: self._rates.double}


def _share_rate(letters: str, rate: float) -> dict[str, float]:
    """Divide a rate equally among the distinct letters."""
    distinct = sorted(set(letters))
    return {letter: rate / len(distinct) for letter in distinct}


EditKind: TypeAlias = Literal["drop", "insert", "replace", "swap"]
_Step: TypeAlias = tuple[EditKind | Literal["keep"], int, int]  # kind, letters of right and of wrong


class TypoEdit(NamedTuple):
    """One edit after the letter `before` (or WORD_START) of the right spelling, from `right` to `wrong`."""

    kind: EditKind
    before: str
    right: str
    wrong: str


def find_typo_edits(right: str, wrong: str) -> list[TypoEdit]:
    """Return the fewest edits that turn `right` into `wrong`, from left to right (optimal string alignment).

    Among alternatives, letters are kept as early as possible: "beggin" has an insertion after its first g.
    """
    start = Prefix.similarity(right, wrong)
    end = Postfix.similarity(right[start:], wrong[start:])
    prefix, right, wrong = WORD_START + right[:start], right[start : len(right) - end], wrong[start : len(wrong) - end]
    edits = []
    while right or wrong:
        remaining = OSA.distance(right, wrong)
        kind, m, n = next(
            (kind, m, n)
            for kind, m, n in _next_steps(right[:2], wrong[:2])
            if OSA.distance(right[m:], wrong[n:]) + (kind != "keep") == remaining
        )
        if kind != "keep":
            edits.append(TypoEdit(kind, prefix[-1], right[:m], wrong[:n]))
        prefix, right, wrong = prefix + right[:m], right[m:], wrong[n:]
    return edits


def _next_steps(right: str, wrong: str) -> Iterator[_Step]:
    """Yield the possible steps, in order of preference, given the next two letters of both spellings."""
    if right and wrong:
        yield ("keep", 1, 1) if right[0] == wrong[0] else ("replace", 1, 1)
    if len(right) == len(wrong) == 2 and right == wrong[::-1]:
        yield "swap", 2, 2
    if right:
        yield "drop", 1, 0
    if wrong:
        yield "insert", 0, 1


class LearnedErrorModel:
    """The noisy channel of Kernighan, Church and Gale 1990: how often an edit was made where it was possible.

        P(y deleted after x)    = del[x,y] / chars[x,y]      P(y replaced by z)      = sub[z,y] / chars[y]
        P(x, y transposed)      = rev[x,y] / chars[x,y]      P(z inserted after x)   = add[x,z] / chars[x]

    Rates of rare contexts are smoothed towards the mean, or towards 0 for substitutions and insertions.

    pairs: wrong and right words, of any case. errors: mean number of edits of a misspelled word.
    """

    def __init__(self, pairs: Iterable[tuple[str, str]]):
        words = edit_count = 0
        letters: Counter[str] = Counter()
        bigrams: Counter[str] = Counter()
        counts: defaultdict[EditKind, Counter[str]] = defaultdict(Counter)  # of the two letters of each edit
        for wrong, right in pairs:
            right = right.lower()
            letters.update(WORD_START + right)
            bigrams.update(map("".join, pairwise(WORD_START + right)))
            edits = find_typo_edits(right, wrong.lower())
            words += bool(edits)
            edit_count += len(edits)
            for kind, before, old, new in edits:
                edited = {"drop": before + old, "swap": old, "replace": old + new, "insert": before + new}
                counts[kind][edited[kind]] += 1
        self.errors = edit_count / max(words, 1)
        self._deleted, self._mean_deleted = _bigram_rates(counts["drop"], bigrams)
        self._transposed, self._mean_transposed = _bigram_rates(counts["swap"], bigrams)
        self._substituted = _letter_rates(counts["replace"], letters)
        self._inserted = _letter_rates(counts["insert"], letters)

    def deletion_rate(self, before: str, letter: str) -> float:
        return self._deleted.get(before + letter, self._mean_deleted)

    def transposition_rate(self, first: str, second: str) -> float:
        return self._transposed.get(first + second, self._mean_transposed)

    def substitution_rates(self, letter: str) -> Mapping[str, float]:
        return self._substituted.get(letter, {})

    def insertion_rates(self, before: str) -> Mapping[str, float]:
        return self._inserted.get(before, {})


def learn_error_model(pairs: Iterable[tuple[str, str]], name: str) -> LearnedErrorModel:
    """Learn from pairs of wrong and right text, word by word; `name` is used in messages.

    Lines with different numbers of words, as in "alot" for "a lot", are ignored.
    """
    split = ((wrong.split(), right.split()) for wrong, right in pairs)
    aligned = (zip(wrong, right, strict=True) for wrong, right in split if len(wrong) == len(right))
    model = LearnedErrorModel(pair for line in aligned for pair in line)
    if not model.errors:
        raise UserError(
            f"{name}: there is nothing to learn from: no word of the first column, which should contain misspellings, "
            "differs from the right word in the second"
        )
    return model


def _bigram_rates(edits: Counter[str], bigrams: Counter[str]) -> tuple[dict[str, float], float]:
    """Return the smoothed rate of each bigram and the mean rate."""
    mean = edits.total() / max(bigrams.total(), 1)
    rates = {pair: (edits[pair] + PRIOR_COUNT * mean) / (count + PRIOR_COUNT) for pair, count in bigrams.items()}
    return rates, mean


def _letter_rates(edits: Counter[str], letters: Counter[str]) -> Mapping[str, Mapping[str, float]]:
    """Return the smoothed rate of each other letter, by letter."""
    rates: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for pair, count in edits.items():
        rates[pair[0]][pair[1]] = count / (letters[pair[0]] + PRIOR_COUNT)
    return rates
