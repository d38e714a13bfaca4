"""What outputs do that no translation should: say the same again, or leave words of the source as they are."""

from collections.abc import Sequence
from importlib.metadata import version
from itertools import pairwise

import numpy as np

from weft.core.errors import UserError
from weft.metric.counts import Counts, Numbers, percent
from weft.metric.lines import Lines, Options, signature
from weft.metric.sacre import words


def repetition(lines: Lines, options: Options) -> Counts:
    """Of a hundred pairs of neighbouring words, how many stood in the same line before (Welleck et al. 2020, n = 2)."""
    split = words(options)
    rows = np.array([_repeated(split(line)) for line in lines.folded(options).hypotheses], dtype=np.float64)
    return Counts(rows, _share, _signed(lines, options), ("repeated", "pairs of words"))


def copy(lines: Lines, options: Options) -> Counts:
    """Of a hundred words of the output, how many stand in the source and in no reference.

    Only what has a letter is a word here. Names, which are rightly the same in both, stand in the references.
    """
    if lines.sources is None:
        raise UserError(
            "copy counts words that were left as they are in the source, which is not given: give references as a .tsv "
            "whose first column is the source (weft compare also takes --source FILE), or leave copy out"
        )
    split, compared = words(options), lines.folded(options)
    rows = [
        _copied(split(line), split(source), [split(reference) for reference in row])
        for line, source, row in zip(compared.hypotheses, compared.sources or (), compared.references, strict=True)
    ]
    return Counts(np.array(rows, dtype=np.float64), _share, _signed(lines, options), ("copied", "words"))


def _repeated(line: Sequence[str]) -> tuple[int, int]:
    pairs = list(pairwise(line))
    return len(pairs) - len(set(pairs)), len(pairs)


def _copied(line: Sequence[str], source: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[int, int]:
    wrong = set(source).difference(*references)
    spoken = [word for word in line if any(map(str.isalpha, word))]
    return sum(word in wrong for word in spoken), len(spoken)


def _share(total: Numbers) -> float:
    return percent(total[0], total[1])


def _signed(lines: Lines, options: Options) -> str:
    return signature(lines, options, f"tok:{options.tokenize}", f"weft:{version('weft')}")
