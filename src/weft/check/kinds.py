"""Every kind of problem in words: what it means, what to do about it, and from where on it is serious."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from weft.config.wording import nearest
from weft.core.errors import UserError
from weft.data import kinds
from weft.data.kinds import NAMES


class About(NamedTuple):
    """One kind. serious: from which share of the pairs on (0.0: a single one is; None: never).

    fix: what --fix does about it; "": nothing, and `advice` says who does.
    """

    title: str
    meaning: str
    fix: str
    advice: str
    serious: float | None


KINDS: Mapping[int, About] = {
    kinds.ENCODING: About(
        "not UTF-8",
        "bytes that are no UTF-8: training stops at the first",
        "decodes the line if the other lines bear out its encoding, else drops the pair",
        "or convert the file, as with iconv",
        0.0,
    ),
    kinds.BROKEN: About(
        "no pair in the row",
        "no tab in a row of a .tsv, no object or no such fields in one of a .jsonl: training stops at the first",
        "drops the row",
        "are the columns right, and data.fields?",
        0.0,
    ),
    kinds.UNPAIRED: About(
        "no partner",
        "one file has more lines than the other: from some line on, lines may stand beside the wrong ones",
        "",
        "find the line where it begins: it is often empty, or broken in two; training refuses such files",
        0.0,
    ),
    kinds.CONTROL: About(
        "control characters",
        "NUL and other characters that nobody sees, line separators inside a line",
        "removes them; those that part words become spaces",
        "",
        0.01,
    ),
    kinds.MARK: About(
        "byte order marks",
        "U+FEFF at the start of a file (where training leaves it out) or inside a line (where it is read as a letter)",
        "removes them",
        "",
        None,
    ),
    kinds.LOST: About(
        "lost letters",
        "U+FFFD stands where another program could not read a letter",
        "drops the pair",
        "or make the file anew from where it came, in the right encoding",
        0.001,
    ),
    kinds.GARBLED: About(
        "garbled letters",
        "UTF-8 that was read as Windows-1252 or Latin-1, as cafÃ© for café",
        "repairs the line where nothing must be guessed, else drops the pair",
        "or make the file anew from where it came, in the right encoding",
        0.001,
    ),
    kinds.EMPTY: About(
        "a side is empty",
        "nothing but white space on one side or both: training leaves them out, but lines may have been shifted there",
        "drops the pair",
        "",
        0.05,
    ),
    kinds.IDENTICAL: About(
        "identical sides",
        "lines that are not translated (single words, which may be names, do not count): a model learns to copy",
        "drops the pair",
        "where right lines stay as they are, as in spelling, this is no error: --keep identical",
        0.05,
    ),
    kinds.SCRIPT: About(
        "another script",
        "most letters of a side are of a script in which few lines of that side are",
        "drops the pair",
        "",
        0.01,
    ),
    kinds.LENGTH: About(
        "extreme lengths",
        "a side is many times as long as most lines of that side: often a page that was not cut",
        "drops the pair",
        "in training, data.max_length decides",
        0.01,
    ),
    kinds.RATIO: About(
        "extreme ratios",
        "one side is far too long for the other, compared with most pairs: they seldom belong together",
        "drops the pair",
        "in training, data.max_ratio decides",
        0.02,
    ),
    kinds.DUPLICATE: About(
        "duplicates",
        "the same pair came before; training leaves these out (data.drop_duplicates)",
        "drops all but the first",
        "",
        0.5,
    ),
    kinds.LEAKED_SOURCE: About(
        "leaked lines",
        "the source line is in the training data and in validation or test: scores there are too good",
        "drops the pair from the training data",
        "",
        0.01,
    ),
    kinds.LEAKED_PAIR: About(
        "leaked pairs",
        "the same with its target",
        "drops the pair from the training data",
        "",
        0.01,
    ),
    kinds.LONG: About(
        "too long to train on",
        "a side has more tokens than data.max_length: training leaves them out",
        "",
        "raise data.max_length, or break the lines",
        0.1,
    ),
    kinds.UNEVEN: About(
        "too uneven to train on",
        "the tokens of the sides differ by more than data.max_ratio: training leaves them out",
        "",
        "raise data.max_ratio if they belong together",
        0.1,
    ),
    kinds.UNKNOWN: About(
        "unknown tokens",
        "pairs with something that the tokenizer does not know",
        "",
        "another script or language, or take a tokenizer with bytes for what it never saw, as bpe",
        0.2,
    ),
    kinds.TARGETS: About(
        "many targets",
        "pairs whose source has five different targets or more: right for short lines, else a sign of boilerplate",
        "",
        "a hint only",
        None,
    ),
    kinds.NUMBERS: About(
        "other numbers",
        "the digits of the sides differ: right for words and dates, else the lines may not belong together",
        "",
        "a hint only",
        None,
    ),
    kinds.MARKUP: About(
        "markup",
        "tags or entities such as <b> or &amp;",
        "",
        "a hint only: remove it, or translate with --protect markup",
        None,
    ),
}

MENDED = kinds.ENCODING | kinds.CONTROL | kinds.MARK | kinds.GARBLED
DEALT_WITH = sum(kind for kind, about in KINDS.items() if about.fix)


def kinds_to_keep(names: Iterable[str]) -> int:
    """The kinds with these names, which --fix is to leave alone."""
    dealt = [name for name, kind in NAMES.items() if kind & DEALT_WITH]
    kept = 0
    for name in names:
        if name not in dealt:
            raise UserError(f"--keep {name}: --fix deals with {', '.join(dealt)}{nearest(name, dealt)}")
        kept |= NAMES[name]
    return kept
