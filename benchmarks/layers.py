"""Time of one layer of each kind by input length and width, against the published complexity.

From the root of the repository:

    python -m benchmarks.layers                            # tables, in about four minutes
    python -m benchmarks.layers --backward --json layers.json
    python -m benchmarks.layers --picture docs/pictures/layers.png --page docs/layers.md

The layers of table 1 of Vaswani et al. 2017: self-attention, self-attention with a window, an LSTM with torch's kernel
and with our own loop, and a gated convolution. Lengths double from 16, widths from 64. Exponents are fitted to the
medians: log time = c + a log n + b log d.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import torch
import typer
from benchmarks.command_line import JsonFile, log, run_command, write_json
from benchmarks.layer_complexity.layer_kinds import KINDS
from benchmarks.layer_complexity.plot import draw
from benchmarks.layer_complexity.tables import as_json, markdown, medians
from benchmarks.layer_complexity.timing import Size, Timer, Turn, forward, forward_and_backward, measure
from benchmarks.machine import machine
from benchmarks.markdown import read_page, write_page

from weft.visualize.figures import check_figure_path, save_figure

SHORTEST, NARROWEST = 16, 64


def doublings(first: int, last: int) -> list[int]:
    """Return first, 2 first, 4 first, ..., up to last."""
    return [first << power for power in range((last // first).bit_length())]


def main(
    longest: Annotated[int, typer.Option(min=2 * SHORTEST, help="Maximum length n.")] = 2048,
    widest: Annotated[int, typer.Option(min=2 * NARROWEST, help="Maximum width d.")] = 512,
    batch: Annotated[int, typer.Option(min=1, help="Batch size.")] = 4,
    rounds: Annotated[int, typer.Option(min=1)] = 7,
    threads: Annotated[int, typer.Option(min=1)] = 2,
    backward: Annotated[bool, typer.Option("--backward", help="Also time the backward pass.")] = False,
    picture: Annotated[Path | None, typer.Option(help="Plot the times in this file.")] = None,
    page: Annotated[Path | None, typer.Option(help="Replace the tables in this page.")] = None,
    json_file: JsonFile = None,
) -> None:
    """Time one layer of each kind at many sizes."""
    if picture is not None:
        check_figure_path(picture)
    if page is not None:
        read_page(page)  # fail before the measurements, not after them
    torch.set_num_threads(threads)
    widths = doublings(NARROWEST, widest)
    sizes = [Size(length, width) for length in doublings(SHORTEST, longest) for width in widths]
    timer = Timer(KINDS, widths, batch, forward_and_backward if backward else forward)
    times = measure(timer, [Turn(kind.name, size) for size in sizes for kind in KINDS], rounds, log)
    found = medians(times)
    what = "forward and backward pass" if backward else "forward pass"
    facts = machine() | {"what": what, "batch": batch, "rounds": rounds}
    figures = markdown(KINDS, found, facts)
    print(figures)
    if page is not None:
        write_page(page, figures)
    if picture is not None:
        save_figure(lambda: draw(KINDS, found, f"{what}, batch of {batch}"), picture)
    write_json(json_file, as_json(times, found, facts))


if __name__ == "__main__":
    run_command(main, "layers")
