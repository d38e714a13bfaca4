"""What a metric compares: lines, each with one or several references; and the options of the comparison."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from weft.core.errors import UserError


@dataclass(frozen=True)
class Options:
    """How lines are compared, where a metric leaves that open."""

    lowercase: bool = False  # ignore case; TER does so always, as its published scores do
    tokenize: str = "13a"  # BLEU's splitting of lines into words: any name that sacrebleu knows


DEFAULTS = Options()


class Lines(NamedTuple):
    """The outputs and, for each of them, its references."""

    hypotheses: Sequence[str]
    references: Sequence[Sequence[str]]

    def lower(self) -> "Lines":
        return Lines(
            [line.lower() for line in self.hypotheses], [[line.lower() for line in row] for row in self.references]
        )

    def reference_count(self) -> str:
        """As sacrebleu's signatures write it: the number of references of every line, or "var"."""
        counts = {len(row) for row in self.references}
        return str(counts.pop()) if len(counts) == 1 else "var"


def check(lines: Lines) -> None:
    """Refuse what no metric can compare."""
    outputs, references = len(lines.hypotheses), len(lines.references)
    if outputs != references:
        raise UserError(f"{outputs} lines of output but {references} lines of references: there must be as many")
    if not outputs:
        raise UserError("there are no lines to evaluate: the output and the references are empty")
    for number, row in enumerate(lines.references, start=1):
        if isinstance(row, str):  # a string is a sequence of strings too: its letters would be taken for references
            raise TypeError(f"line {number}: the references must be a list of lines, got the string {row!r}")
        if not row:
            raise UserError(f"line {number} has no reference: every line needs at least one")
