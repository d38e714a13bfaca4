"""Speed and BLEU with and without a lexical shortlist.

From the root of the repository:

    weft shortlist MODEL
    python -m benchmarks.shortlist MODEL SOURCE REFERENCE
    python -m benchmarks.shortlist MODEL SOURCE REFERENCE --lines 200 --beam 1 --beam 5 --json shortlist.json

Every row is a backend with a search. The same lines are translated without and with the shortlist, in turns;
the ratio is taken within each round (median, minimum, maximum). `same` is the share of lines with equal output.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Annotated, Any, NamedTuple

import typer
from benchmarks.command_line import JsonFile, run_command, write_json
from benchmarks.machine import machine

from weft.checkpoints.model_folder import find_model, load_shortlist
from weft.data.text_files import read_lines
from weft.inference.backends import Backend, BackendName, BackendOptions, select_backend
from weft.inference.capabilities import CTranslate2Precision
from weft.inference.loader import load_translator
from weft.metrics.corpus_metrics import evaluate
from weft.metrics.score_report import align_columns
from weft.metrics.scores import Segments

WARM_UP = 32  # lines


class Kind(NamedTuple):
    """An engine with a search. precision: of CTranslate2; None for torch."""

    precision: CTranslate2Precision | None
    beam: int

    def __str__(self) -> str:
        engine = "torch, float32" if self.precision is None else f"ctranslate2, {self.precision}"
        return f"{engine}, {'greedy' if self.beam == 1 else f'beam {self.beam}'}"


class Row(NamedTuple):
    """Results without and with the shortlist, in this order. seconds: of each round."""

    kind: str
    bleu: tuple[float, float]
    seconds: tuple[list[float], list[float]]
    same: float
    lines: int

    @property
    def ratios(self) -> list[float]:
        return [without / with_it for without, with_it in zip(*self.seconds, strict=True)]


def engines(model: Path, kind: Kind) -> tuple[Backend, Backend]:
    """Return the backend without and with the shortlist."""
    backends = []
    for shortlist in (False, True):

        def load(shortlist: bool = shortlist) -> Backend:
            return load_translator(model, device="cpu", beam=kind.beam, shortlist=shortlist)

        name: BackendName = "torch" if kind.precision is None else "ctranslate2"
        options = BackendOptions(name, kind.precision, kind.beam, (), shortlist)
        backends.append(select_backend(model, options, load).backend)
    return backends[0], backends[1]


def measure_kind(model: Path, kind: Kind, pairs: Sequence[tuple[str, str]], rounds: int) -> Row:
    both, sources = engines(model, kind), [source for source, _ in pairs]
    texts: list[list[str]] = [[], []]
    seconds: tuple[list[float], list[float]] = ([], [])
    for engine in both:
        list(engine.stream(sources[:WARM_UP]))
    for number in range(rounds):
        for place in (0, 1) if number % 2 == 0 else (1, 0):
            began = time.perf_counter()
            texts[place] = [translation.text for translation in both[place].stream(sources)]
            seconds[place].append(time.perf_counter() - began)
    references = [[target] for _, target in pairs]
    without, with_it = (evaluate(Segments(text, references), ["bleu"])[0].value for text in texts)
    same = sum(text == other for text, other in zip(*texts, strict=True)) / len(pairs)
    return Row(str(kind), (without, with_it), seconds, same, len(pairs))


def rows_of(model: Path, beams: Sequence[int], pairs: Sequence[tuple[str, str]], rounds: int) -> Iterator[Row]:
    precisions: tuple[CTranslate2Precision | None, ...] = (None, "float32", "int8")
    for beam in beams:
        for precision in precisions:
            yield measure_kind(model, Kind(precision, beam), pairs, rounds)


def render(rows: Sequence[Row]) -> str:
    heading = ["", "BLEU without", "with", "same", "lines/s without", "with", "times as fast"]
    cells = [
        [
            row.kind,
            *(f"{bleu:.2f}" for bleu in row.bleu),
            f"{row.same:.1%}",
            *(f"{row.lines / median(times):,.1f}" for times in row.seconds),
            f"{median(row.ratios):.2f} ({min(row.ratios):.2f} to {max(row.ratios):.2f})",
        ]
        for row in rows
    ]
    return "\n".join(align_columns([heading, *cells]))


def as_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [{**row._asdict(), "times_as_fast": median(row.ratios)} for row in rows]


def main(
    model: Annotated[Path, typer.Argument(help="A run or model folder that has a shortlist.")],
    source: Annotated[Path, typer.Argument(help="Lines to translate.")],
    reference: Annotated[Path, typer.Argument(help="Their translations.")],
    lines: Annotated[int | None, typer.Option(min=1, help="Number of lines. Default: all.")] = None,
    beam: Annotated[list[int] | None, typer.Option(min=1, help="Beam sizes. Default: 1 and 5.")] = None,
    rounds: Annotated[int, typer.Option(min=1)] = 5,
    json_file: JsonFile = None,
) -> None:
    """Translate with and without a shortlist, in turns."""
    pairs = list(islice(zip(read_lines(source), read_lines(reference), strict=True), lines))
    shortlist, reader = load_shortlist(find_model(model)), load_translator(model, device="cpu").source_codec
    sizes = [len(shortlist.for_row(row)) for row in reader.encode_rows([line for line, _ in pairs]).split()]
    rows = list(rows_of(model, beam or (1, 5), pairs, rounds))
    mean = sum(sizes) / len(sizes)
    print(f"{render(rows)}\n\n{len(pairs):,} lines of {source}; {mean:,.0f} shortlist tokens per line on average")
    write_json(json_file, {"machine": machine(), "rows": as_json(rows)})


if __name__ == "__main__":
    run_command(main, "shortlist")
