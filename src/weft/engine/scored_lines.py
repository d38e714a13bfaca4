"""Scores of given outputs, to a file or to standard output, as they come."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from weft.engine.output import write_lines
from weft.engine.records import finite
from weft.engine.scoring import Scored, Scorer, Totals, pairs_for
from weft.engine.steps import source_limit
from weft.engine.wording import counted, some


def write_scores(scorer: Scorer, files: Sequence[Path], output: Path | None, *, as_json: bool) -> None:
    """A line for each pair; on standard error, which sources were cut, and the totals."""
    totals: list[Totals] = [Totals()]

    def lines(scored: Iterable[Scored]) -> Iterator[tuple[str, bool]]:
        for one in scored:
            totals[0] = totals[0].plus(one)
            yield as_json_line(one) if as_json else as_columns(one), one.cut

    cut = write_lines(lines(scorer.stream(pairs_for(scorer, files))), output)
    if cut:
        limit = f"{source_limit(scorer.trained)} pieces"
        told = f"sources longer than {limit} were cut there, in {counted(len(cut), 'line')}: {some(cut)}"
        print(f"weft: {told}", file=sys.stderr)
    print(f"weft: {totals[0]}", file=sys.stderr)


def as_columns(one: Scored) -> str:
    """Log-probability, tokens and perplexity, with tabs between."""
    return f"{one.score:.6f}\t{len(one.pieces)}\t{one.perplexity:.4f}\n"


def as_json_line(one: Scored) -> str:
    """What --json prints for a pair."""
    record = {
        "source": one.source,
        "target": one.target,
        "score": finite(one.score),
        "perplexity": finite(one.perplexity),
        "cut": one.cut,
        "pieces": one.pieces,
        "piece_scores": [finite(score) for score in one.piece_scores],
    }
    return json.dumps(record, ensure_ascii=False) + "\n"
