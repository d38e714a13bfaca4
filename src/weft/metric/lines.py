"""What a metric compares: lines, each with one or several references; and the options of the comparison."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from weft.core.errors import UserError
from weft.metric.synonyms import NO_SYNONYMS, Synonyms


@dataclass(frozen=True)
class Options:
    """How lines are compared, where a metric leaves that open."""

    lowercase: bool = False  # ignore case; TER and METEOR do so always, as their published scores do
    tokenize: str = "13a"  # BLEU's splitting of lines into words: any name that sacrebleu knows
    stem: str = "porter"  # METEOR's stems: any language or algorithm that snowballstemmer knows
    synonyms: Synonyms = NO_SYNONYMS  # METEOR's words that mean the same


DEFAULTS = Options()


class Lines(NamedTuple):
    """The outputs and, for each of them, its references; maybe what was translated."""

    hypotheses: Sequence[str]
    references: Sequence[Sequence[str]]
    sources: Sequence[str] | None = None

    def lower(self) -> "Lines":
        return Lines(
            [line.lower() for line in self.hypotheses],
            [[line.lower() for line in row] for row in self.references],
            None if self.sources is None else [line.lower() for line in self.sources],
        )

    def folded(self, options: Options) -> "Lines":
        """As the metrics of this room compare them."""
        return self.lower() if options.lowercase else self

    def reference_count(self) -> str:
        """As sacrebleu's signatures write it: the number of references of every line, or "var"."""
        counts = {len(row) for row in self.references}
        return str(counts.pop()) if len(counts) == 1 else "var"


def check(lines: Lines) -> None:
    """Refuse what no metric can compare."""
    outputs, references = len(lines.hypotheses), len(lines.references)
    if outputs != references:
        raise UserError(f"{outputs} lines of output but {references} lines of references: there must be as many")
    if lines.sources is not None and len(lines.sources) != outputs:
        raise UserError(f"{outputs} lines of output but {len(lines.sources)} lines of source: there must be as many")
    if not outputs:
        raise UserError("there are no lines to evaluate: the output and the references are empty")
    for number, row in enumerate(lines.references, start=1):
        if isinstance(row, str):  # a string is a sequence of strings too: its letters would be taken for references
            raise TypeError(f"line {number}: the references must be a list of lines, got the string {row!r}")
        if not row:
            raise UserError(f"line {number} has no reference: every line needs at least one")


def signature(lines: Lines, options: Options, *parts: str) -> str:
    """In sacrebleu's form: how many references, what of case, and what else one must know."""
    return "|".join([f"nrefs:{lines.reference_count()}", f"case:{'lc' if options.lowercase else 'mixed'}", *parts])
