"""The kinds of problems in parallel data, with title, meaning, remedy, and the share of pairs from which a kind is
serious.
"""

from collections.abc import Iterable, Mapping
from enum import IntFlag, auto
from typing import NamedTuple

from weft.core.errors import UserError
from weft.core.formatting import did_you_mean


class Problem(IntFlag):
    """One bit for each kind, so that one number holds all problems of a pair."""

    INVALID_UTF8 = auto()
    MALFORMED_ROW = auto()
    UNPAIRED = auto()
    CONTROL_CHARACTERS = auto()
    BYTE_ORDER_MARK = auto()
    REPLACEMENT_CHARACTERS = auto()
    MOJIBAKE = auto()
    EMPTY_SIDE = auto()
    IDENTICAL_SIDES = auto()
    UNEXPECTED_SCRIPT = auto()
    EXTREME_LENGTH = auto()
    EXTREME_RATIO = auto()
    DUPLICATE = auto()
    LEAKED_SOURCE = auto()
    LEAKED_PAIR = auto()
    TOO_MANY_TOKENS = auto()
    UNEVEN_TOKENS = auto()
    UNKNOWN_TOKENS = auto()
    MANY_TARGETS = auto()
    NUMBER_MISMATCH = auto()
    MARKUP = auto()


class ProblemKind(NamedTuple):
    """serious: the share of pairs from which the kind is serious (0.0: a single pair; None: never).

    fix: what --fix does; "" if nothing.
    """

    bit: Problem
    title: str
    serious: float | None
    meaning: str
    fix: str = ""
    advice: str = ""


# fmt: off
PROBLEM_KINDS: Mapping[str, ProblemKind] = {
    "encoding": ProblemKind(Problem.INVALID_UTF8, "not UTF-8", 0.0,
        "bytes that are not UTF-8: training stops at the first",
        fix="decodes the line if the other lines confirm its encoding, else drops the pair",
        advice="or convert the file, for example with iconv"),
    "malformed": ProblemKind(Problem.MALFORMED_ROW, "no pair in the row", 0.0,
        "a .tsv row without a tab, a .jsonl row without an object or its fields: training stops at the first",
        fix="drops the row", advice="check the columns, and data.fields"),
    "unpaired": ProblemKind(Problem.UNPAIRED, "no partner", 0.0,
        "one file has more lines than the other: from some line on, lines may be paired with the wrong ones",
        advice="find the line where it starts: it is often empty, or broken in two; training refuses such files"),
    "control": ProblemKind(Problem.CONTROL_CHARACTERS, "control characters", 0.01,
        "NUL and other invisible characters, line separators inside a line",
        fix="removes them; those that separate words become spaces"),
    "bom": ProblemKind(Problem.BYTE_ORDER_MARK, "byte order marks", None,
        "U+FEFF at the start of a file (where training ignores it) or inside a line (where it is a character)",
        fix="removes them"),
    "replacement": ProblemKind(Problem.REPLACEMENT_CHARACTERS, "replacement characters", 0.001,
        "U+FFFD, where another program could not decode a character",
        fix="drops the pair", advice="or create the file again from its origin, in the right encoding"),
    "mojibake": ProblemKind(Problem.MOJIBAKE, "mojibake", 0.001,
        "UTF-8 that was decoded as Windows-1252 or Latin-1: cafÃ© for café",
        fix="repairs the line where this is unambiguous, else drops the pair",
        advice="or create the file again from its origin, in the right encoding"),
    "empty": ProblemKind(Problem.EMPTY_SIDE, "a side is empty", 0.05,
        "only whitespace on one side or both: training drops them, but lines may have been shifted there",
        fix="drops the pair"),
    "identical": ProblemKind(Problem.IDENTICAL_SIDES, "identical sides", 0.05,
        "lines that are not translated (except single words, which may be names): a model learns to copy",
        fix="drops the pair", advice="for tasks such as spelling correction this is right: --ignore identical"),
    "script": ProblemKind(Problem.UNEXPECTED_SCRIPT, "another script", 0.01,
        "most letters of a side belong to a script in which few lines of that side are written",
        fix="drops the pair"),
    "length": ProblemKind(Problem.EXTREME_LENGTH, "extreme lengths", 0.01,
        "a side is many times as long as most lines of that side: often a page that was not split",
        fix="drops the pair", advice="in training, data.max_length is the limit"),
    "ratio": ProblemKind(Problem.EXTREME_RATIO, "extreme ratios", 0.02,
        "one side is far too long for the other, compared with most pairs: they rarely belong together",
        fix="drops the pair", advice="in training, data.max_length_ratio is the limit"),
    "duplicate": ProblemKind(Problem.DUPLICATE, "duplicates", 0.5,
        "the same pair occurred before; training drops these (data.drop_duplicates)",
        fix="drops all but the first"),
    "leaked-source": ProblemKind(Problem.LEAKED_SOURCE, "leaked lines", 0.01,
        "the source line is in the training data and in validation or test: scores there are too high",
        fix="drops the pair from the training data"),
    "leaked-pair": ProblemKind(Problem.LEAKED_PAIR, "leaked pairs", 0.01, "the same with its target",
        fix="drops the pair from the training data"),
    "too-long": ProblemKind(Problem.TOO_MANY_TOKENS, "too long to train on", 0.1,
        "a side has more tokens than data.max_length: training drops them",
        advice="raise data.max_length, or break the lines"),
    "token-ratio": ProblemKind(Problem.UNEVEN_TOKENS, "too uneven to train on", 0.1,
        "the numbers of tokens of the sides differ by more than data.max_length_ratio: training drops them",
        advice="raise data.max_length_ratio if they belong together"),
    "unknown": ProblemKind(Problem.UNKNOWN_TOKENS, "unknown tokens", 0.2,
        "pairs with text that the tokenizer does not know",
        advice="another script or language, or use a tokenizer with byte_fallback, such as bpe"),
    "many-targets": ProblemKind(Problem.MANY_TARGETS, "many targets", None,
        "pairs whose source has five or more different targets: normal for short lines, otherwise often boilerplate",
        advice="a hint only"),
    "numbers": ProblemKind(Problem.NUMBER_MISMATCH, "different numbers", None,
        "the digits of the sides differ: normal for words and dates, otherwise the lines may not belong together",
        advice="a hint only"),
    "markup": ProblemKind(Problem.MARKUP, "markup", None, "tags or entities such as <b> or &amp;",
        advice="a hint only: remove it, or translate with --protect markup"),
}
# fmt: on
REPAIRABLE = Problem.INVALID_UTF8 | Problem.CONTROL_CHARACTERS | Problem.BYTE_ORDER_MARK | Problem.MOJIBAKE
FIXABLE = sum(kind.bit for kind in PROBLEM_KINDS.values() if kind.fix)


def problem_names(bits: int) -> list[str]:
    return [name for name, kind in PROBLEM_KINDS.items() if bits & kind.bit]


def parse_ignored_kinds(names: Iterable[str]) -> int:
    """Return the bits of the kinds that --fix is to ignore."""
    fixable = problem_names(FIXABLE)
    kept = 0
    for name in names:
        if name not in fixable:
            raise UserError(f"--ignore {name}: --fix deals with {', '.join(fixable)}{did_you_mean(name, fixable)}")
        kept |= PROBLEM_KINDS[name].bit
    return kept
