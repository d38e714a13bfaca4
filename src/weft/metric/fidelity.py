"""Do numbers and addresses come out as they went in?"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import TypeAlias

import numpy as np

from weft.control.spans import Kind, Span, find_spans
from weft.metric.counts import Counts, Numbers, percent
from weft.metric.lines import Lines, Options, signature

Found: TypeAlias = "Counter[str]"

ADDRESSES: tuple[Kind, ...] = ("urls", "emails")
NUMBER = re.compile(r"\d+(?:[.,:'’\u00a0\u202f]\d+)*")


def numbers(lines: Lines, _options: Options) -> Counts:
    """F-score of the numbers: 100 where each number of the source stands in the output, and no other does.

    Languages write them differently (1,000.5 and 1.000,5), so their digits are compared.
    """
    return _fidelity(numbers_in, lines)


def addresses(lines: Lines, _options: Options) -> Counts:
    """The same of web and e-mail addresses, which must not change in any letter."""
    return _fidelity(addresses_in, lines)


def numbers_in(line: str) -> Found:
    """The digits of each number outside addresses."""
    return Counter(_digits(number) for number in NUMBER.findall(_without(find_spans(line, ADDRESSES), line)))


def addresses_in(line: str) -> Found:
    return Counter(span.text for span in find_spans(line, ADDRESSES))


def _without(spans: Sequence[Span], line: str) -> str:
    """The line with a space in place of each span."""
    ends, starts = [0, *(span.end for span in spans)], [*(span.first for span in spans), len(line)]
    return " ".join(line[end:start] for end, start in zip(ends, starts, strict=True))


def _digits(number: str) -> str:
    """In whatever script they are written."""
    return "".join(str(unicodedata.digit(letter)) for letter in number if letter.isdigit())


def _fidelity(find: Callable[[str], Found], lines: Lines) -> Counts:
    """Against the source or, if there is none, the reference that is nearest in this respect."""
    wanted = lines.references if lines.sources is None else [[source] for source in lines.sources]
    rows = [
        max((_shared(find(line), find(other)) for other in row), key=lambda row: _score(np.array(row)))
        for line, row in zip(lines.hypotheses, wanted, strict=True)
    ]
    beside = "references" if lines.sources is None else "source"
    signed = signature(lines, Options(), f"beside:{beside}", f"weft:{version('weft')}")
    return Counts(np.array(rows, dtype=np.float64), _score, signed, ("kept", "wanted", "written"))


def _shared(output: Found, wanted: Found) -> tuple[int, int, int]:
    return (output & wanted).total(), wanted.total(), output.total()


def _score(total: Numbers) -> float:
    """2 kept / (wanted + written); where there are none at all, nothing went wrong."""
    return percent(2 * total[0], total[1] + total[2], 100.0)
