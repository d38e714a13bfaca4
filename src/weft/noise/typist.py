"""A writer who knows how a word is spelled, or about how it sounds, and slips on the keyboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import isfinite

from weft.config.wording import nearest, quoted
from weft.core.errors import UserError
from weft.noise.habits import START
from weft.noise.keyboards import Layout, neighbours

ALIKE = ("aeiouy", "ckq", "csz", "gj", "dt", "bp", "fvw", "mn")  # letters that are taken for each other by ear


@dataclass(frozen=True, kw_only=True)
class Rates:
    """How often each kind of mistake is made at a place in a word, compared with the other kinds.

    replace: a neighbour on the keyboard instead of the letter. sound: a letter that sounds alike instead of it.
    insert: a neighbour after the letter. double: the letter twice. drop: not at all. swap: after the next one.
    """

    replace: float = 1.0
    sound: float = 1.5
    insert: float = 0.5
    double: float = 1.0
    drop: float = 3.0
    swap: float = 1.0


def read_rates(given: Sequence[str]) -> Rates:
    """The usual rates with changes such as "drop=2"."""
    rates = Rates()
    for change in given:
        kind, _, number = change.partition("=")
        if kind not in asdict(rates):
            kinds = asdict(rates)
            raise UserError(
                f"--rate {change}: there is no mistake {quoted(kind)}{nearest(kind, kinds)} "
                f"(the kinds are {', '.join(kinds)}; write drop=2, for example)"
            )
        rates = replace(rates, **{kind: _rate(number, change)})
    if not any(asdict(rates).values()):
        raise UserError("--rate: all rates are 0, so that no mistake would ever be made; give one of them more")
    return rates


def _rate(number: str, change: str) -> float:
    try:
        rate = float(number)
    except ValueError:
        rate = -1.0
    if not isfinite(rate) or rate < 0:
        kind = change.partition("=")[0]
        raise UserError(f"--rate {change}: wanted a number of at least 0, as in {kind}=2, got {quoted(number)}")
    return rate


class Typist:
    """Slips that depend on the keyboard, and letters that sound alike."""

    def __init__(self, layout: Layout, rates: Rates):
        self._rates = rates
        self._near = neighbours(layout)

    def dropping(self, before: str, letter: str) -> float:
        del before, letter  # any letter is dropped as easily as any other
        return self._rates.drop

    def swapping(self, first: str, second: str) -> float:
        del first, second
        return self._rates.swap

    def replacing(self, letter: str) -> Mapping[str, float]:
        near = _shared(self._near.get(letter, ""), self._rates.replace)
        alike = _shared("".join(group.replace(letter, "") for group in ALIKE if letter in group), self._rates.sound)
        return {other: near.get(other, 0.0) + alike.get(other, 0.0) for other in {**near, **alike}}

    def inserting(self, before: str) -> Mapping[str, float]:
        if before == START:
            return {}
        return {**_shared(self._near.get(before, ""), self._rates.insert), before: self._rates.double}


def _shared(letters: str, rate: float) -> dict[str, float]:
    """The same part of the rate for each letter."""
    different = sorted(set(letters))
    return {letter: rate / len(different) for letter in different}
