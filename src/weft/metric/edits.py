"""Exact match, and edit distance over words and characters."""

from collections.abc import Callable, Sequence
from importlib.metadata import version

from weft.metric.lines import Lines, Options
from weft.metric.score import Score


def exact(lines: Lines, options: Options) -> Score:
    """The share of lines that equal one of their references, in percent."""
    compared = lines.lower() if options.lowercase else lines
    equal = sum(line in row for line, row in zip(*compared, strict=True))
    signature = _signature(lines, options, f"weft:{version('weft')}")
    return Score("exact", 100 * equal / len(lines.hypotheses), "higher", signature)


def wer(lines: Lines, options: Options) -> Score:
    """Word error rate: edits per hundred words of the references; words are what white space separates."""
    return _error_rate("wer", str.split, lines, options)


def cer(lines: Lines, options: Options) -> Score:
    """Character error rate: edits per hundred characters (Unicode code points, spaces included) of the references."""
    return _error_rate("cer", list, lines, options)


def _error_rate(name: str, units: Callable[[str], list[str]], lines: Lines, options: Options) -> Score:
    """100 x total edits / total length of the references, where the nearest of several references counts."""
    compared = lines.lower() if options.lowercase else lines
    edits = length = 0
    for line, row in zip(*compared, strict=True):
        line_edits, line_length = _nearest(units(line), [units(reference) for reference in row])
        edits, length = edits + line_edits, length + line_length
    signature = _signature(lines, options, f"rapidfuzz:{version('rapidfuzz')}")
    return Score(name, _percent(edits, length), "lower", signature)


def _nearest(hypothesis: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[int, int]:
    """The edits to the reference that needs the fewest, and its length; of equally near ones the longest counts."""
    from rapidfuzz.distance import Levenshtein

    pairs = [(Levenshtein.distance(hypothesis, reference), len(reference)) for reference in references]
    return min(pairs, key=lambda pair: (pair[0], -pair[1]))


def _percent(edits: int, length: int) -> float:
    """As TER has it: against references without any word, a perfect output has 0 and any other 100."""
    if not length:
        return 100.0 if edits else 0.0
    return 100 * edits / length


def _signature(lines: Lines, options: Options, maker: str) -> str:
    case = "lc" if options.lowercase else "mixed"
    return f"nrefs:{lines.reference_count()}|case:{case}|{maker}"
