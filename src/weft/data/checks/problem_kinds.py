"""The kinds of problems in parallel data: one bit each, so that one number holds all problems of a pair, with title,
meaning, remedy, and the share of pairs from which a kind is serious.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from weft.core.errors import UserError
from weft.core.formatting import did_you_mean

(
    INVALID_UTF8,
    MALFORMED_ROW,
    UNPAIRED,
    CONTROL_CHARACTERS,
    BYTE_ORDER_MARK,
    REPLACEMENT_CHARACTERS,
    MOJIBAKE,
    EMPTY_SIDE,
    IDENTICAL_SIDES,
    UNEXPECTED_SCRIPT,
) = (1 << bit for bit in range(10))
EXTREME_LENGTH, EXTREME_RATIO, DUPLICATE, LEAKED_SOURCE, LEAKED_PAIR = (1 << bit for bit in range(10, 15))
TOO_MANY_TOKENS, UNEVEN_TOKENS, UNKNOWN_TOKENS, MANY_TARGETS, NUMBER_MISMATCH, MARKUP = (
    1 << bit for bit in range(15, 21)
)


class ProblemKind(NamedTuple):
    """serious: the share of pairs from which the kind is serious (0.0: a single pair; None: never).

    fix: what --fix does; "" if nothing.
    """

    bit: int
    title: str
    serious: float | None
    meaning: str
    fix: str = ""
    advice: str = ""


# fmt: off
PROBLEM_KINDS: Mapping[str, ProblemKind] = {
    "encoding": ProblemKind(INVALID_UTF8, "not UTF-8", 0.0, "bytes that are not UTF-8: training stops at the first",
        fix="decodes the line if the other lines confirm its encoding, else drops the pair",
        advice="or convert the file, for example with iconv"),
    "malformed": ProblemKind(MALFORMED_ROW, "no pair in the row", 0.0,
        "a .tsv row without a tab, a .jsonl row without an object or its fields: training stops at the first",
        fix="drops the row", advice="check the columns, and data.fields"),
    "unpaired": ProblemKind(UNPAIRED, "no partner", 0.0,
        "one file has more lines than the other: from some line on, lines may be paired with the wrong ones",
        advice="find the line where it starts: it is often empty, or broken in two; training refuses such files"),
    "control": ProblemKind(CONTROL_CHARACTERS, "control characters", 0.01,
        "NUL and other invisible characters, line separators inside a line",
        fix="removes them; those that separate words become spaces"),
    "bom": ProblemKind(BYTE_ORDER_MARK, "byte order marks", None,
        "U+FEFF at the start of a file (where training ignores it) or inside a line (where it is a character)",
        fix="removes them"),
    "replacement": ProblemKind(REPLACEMENT_CHARACTERS, "replacement characters", 0.001,
        "U+FFFD, where another program could not decode a character",
        fix="drops the pair", advice="or create the file again from its origin, in the right encoding"),
    "mojibake": ProblemKind(MOJIBAKE, "mojibake", 0.001,
        "UTF-8 that was decoded as Windows-1252 or Latin-1: cafÃ© for café",
        fix="repairs the line where this is unambiguous, else drops the pair",
        advice="or create the file again from its origin, in the right encoding"),
    "empty": ProblemKind(EMPTY_SIDE, "a side is empty", 0.05,
        "only whitespace on one side or both: training drops them, but lines may have been shifted there",
        fix="drops the pair"),
    "identical": ProblemKind(IDENTICAL_SIDES, "identical sides", 0.05,
        "lines that are not translated (except single words, which may be names): a model learns to copy",
        fix="drops the pair", advice="for tasks such as spelling correction this is right: --ignore identical"),
    "script": ProblemKind(UNEXPECTED_SCRIPT, "another script", 0.01,
        "most letters of a side belong to a script in which few lines of that side are written",
        fix="drops the pair"),
    "length": ProblemKind(EXTREME_LENGTH, "extreme lengths", 0.01,
        "a side is many times as long as most lines of that side: often a page that was not split",
        fix="drops the pair", advice="in training, data.max_length is the limit"),
    "ratio": ProblemKind(EXTREME_RATIO, "extreme ratios", 0.02,
        "one side is far too long for the other, compared with most pairs: they rarely belong together",
        fix="drops the pair", advice="in training, data.max_length_ratio is the limit"),
    "duplicate": ProblemKind(DUPLICATE, "duplicates", 0.5,
        "the same pair occurred before; training drops these (data.drop_duplicates)",
        fix="drops all but the first"),
    "leaked-source": ProblemKind(LEAKED_SOURCE, "leaked lines", 0.01,
        "the source line is in the training data and in validation or test: scores there are too high",
        fix="drops the pair from the training data"),
    "leaked-pair": ProblemKind(LEAKED_PAIR, "leaked pairs", 0.01, "the same with its target",
        fix="drops the pair from the training data"),
    "too-long": ProblemKind(TOO_MANY_TOKENS, "too long to train on", 0.1,
        "a side has more tokens than data.max_length: training drops them",
        advice="raise data.max_length, or break the lines"),
    "token-ratio": ProblemKind(UNEVEN_TOKENS, "too uneven to train on", 0.1,
        "the numbers of tokens of the sides differ by more than data.max_length_ratio: training drops them",
        advice="raise data.max_length_ratio if they belong together"),
    "unknown": ProblemKind(UNKNOWN_TOKENS, "unknown tokens", 0.2, "pairs with text that the tokenizer does not know",
        advice="another script or language, or use a tokenizer with byte_fallback, such as bpe"),
    "many-targets": ProblemKind(MANY_TARGETS, "many targets", None,
        "pairs whose source has five or more different targets: normal for short lines, otherwise often boilerplate",
        advice="a hint only"),
    "numbers": ProblemKind(NUMBER_MISMATCH, "different numbers", None,
        "the digits of the sides differ: normal for words and dates, otherwise the lines may not belong together",
        advice="a hint only"),
    "markup": ProblemKind(MARKUP, "markup", None, "tags or entities such as <b> or &amp;",
        advice="a hint only: remove it, or translate with --protect markup"),
}
# fmt: on
REPAIRABLE = INVALID_UTF8 | CONTROL_CHARACTERS | BYTE_ORDER_MARK | MOJIBAKE
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
