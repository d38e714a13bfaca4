"""The time of one layer of each kind over the length and the width of its input, beside the published orders.

From the root of the repository:

    python -m benchmarks.layers                            # tables, in about four minutes
    python -m benchmarks.layers --backward --json layers.json
    python -m benchmarks.layers --picture docs/pictures/layers.png --page docs/layers.md

Self-attention, the same with a window, an LSTM by torch's kernel and by our own loop, and a gated convolution: what
Vaswani et al. 2017 compare in table 1. Lengths are doubled from 16 on, widths from 64 on. Exponents are fitted to the
medians, log time = c + a log n + b log d.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import torch
import typer
from benchmarks.ending import JsonFile, run_command, write_json
from benchmarks.machine import machine
from benchmarks.orders.figures import as_json, markdown, medians
from benchmarks.orders.kinds import KINDS
from benchmarks.orders.picture import draw
from benchmarks.orders.timing import Size, Timer, Turn, forward, forward_and_backward, measure
from benchmarks.page import read_page, write_page
from benchmarks.telling import tell

from weft.visualize.figures import check_figure_path, save_figure

SHORTEST, NARROWEST = 16, 64


def doublings(first: int, last: int) -> list[int]:
    """first, 2 first, 4 first ..., none above last."""
    return [first << power for power in range((last // first).bit_length())]


def main(
    longest: Annotated[int, typer.Option(min=2 * SHORTEST, help="The greatest length n.")] = 2048,
    widest: Annotated[int, typer.Option(min=2 * NARROWEST, help="The greatest width d.")] = 512,
    batch: Annotated[int, typer.Option(min=1, help="Sequences at once.")] = 4,
    rounds: Annotated[int, typer.Option(min=1)] = 7,
    threads: Annotated[int, typer.Option(min=1)] = 2,
    backward: Annotated[bool, typer.Option("--backward", help="Time the gradients too.")] = False,
    picture: Annotated[Path | None, typer.Option(help="Draw the times into this file.")] = None,
    page: Annotated[Path | None, typer.Option(help="Put the tables into this page, in place of those there.")] = None,
    json_file: JsonFile = None,
) -> None:
    """Time one layer of each kind at many sizes."""
    if picture is not None:
        check_figure_path(picture)
    if page is not None:
        read_page(page)  # what is wrong with it is told before the work, not after it
    torch.set_num_threads(threads)
    widths = doublings(NARROWEST, widest)
    sizes = [Size(length, width) for length in doublings(SHORTEST, longest) for width in widths]
    timer = Timer(KINDS, widths, batch, forward_and_backward if backward else forward)
    times = measure(timer, [Turn(kind.name, size) for size in sizes for kind in KINDS], rounds, tell)
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
