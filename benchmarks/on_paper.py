"""What sending gradients costs beside computing them, by formulas: nothing is measured here.

From the root of the repository:

    python -m benchmarks.on_paper                                          # the table of docs/scale.md
    python -m benchmarks.on_paper --weights 25 --tokens 8192 --teraflops 60

P weights, t tokens a side on each GPU in an update, n GPUs, f operations a second, and b
bytes a second over the slowest link:

    computing   6 P t / f               2 P t forward, twice that backward (attention's own products left out)
    sending     2 (n - 1) / n 4 P / b   a ring, float32: each GPU sends and gets all gradients almost twice
    efficiency  computing / (computing / 3 + max(2 / 3 computing, sending)), at best
    enough      t >= 2 (n - 1) / n f / b, from where on sending costs nothing: P stands on both sides and falls out

DDP sends while the backward pass goes on, which is two thirds of the computing; the forward pass waits. Of several
machines the ring crosses each network card once a way, so that b is the card's, however many GPUs share it. What is
left out: that all wait for the slowest, and that every message takes some time to set out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer
from benchmarks.ending import run_command
from benchmarks.page import table

MODELS = {"Transformer base": 65.0, "Transformer big": 213.0}  # million weights; Vaswani et al. 2017, table 3
LINKS = {"NVLink, 300 GB/s": 300e9, "100 Gb/s": 100e9 / 8, "10 Gb/s": 10e9 / 8}
GPUS = (8, 64)
ONE_MACHINE = 8  # GPUs that NVLink joins
HEADER = ("model", "GPUs", "slowest link", "computing, ms", "sending, ms", "efficiency", "enough tokens")


def computing(weights: float, tokens: int, operations: float) -> float:
    """Seconds of an update."""
    return 6 * weights * tokens / operations


def sending(weights: float, gpus: int, link: float) -> float:
    """Seconds in which a ring sums the gradients."""
    return 2 * (gpus - 1) / gpus * 4 * weights / link


def efficiency(compute: float, send: float) -> float:
    """The share of the time in which GPUs compute; 1 where all is sent during the backward pass."""
    return compute / (compute / 3 + max(2 / 3 * compute, send))


def enough(gpus: int, link: float, operations: float) -> float:
    """Tokens on each GPU in an update from which on all is sent during the backward pass."""
    return 2 * (gpus - 1) / gpus * operations / link


def rows(models: dict[str, float], tokens: int, teraflops: float) -> Iterable[tuple[str, ...]]:
    for model, millions in models.items():
        for gpus in GPUS:
            for link, speed in LINKS.items():
                if gpus > ONE_MACHINE and link.startswith("NVLink"):
                    continue
                compute = computing(millions * 1e6, tokens, teraflops * 1e12)
                send = sending(millions * 1e6, gpus, speed)
                yield (
                    f"{model}, {millions:g} M",
                    str(gpus),
                    link,
                    f"{1e3 * compute:,.0f}",
                    f"{1e3 * send:,.0f}",
                    f"{efficiency(compute, send):.0%}",
                    f"{enough(gpus, speed, teraflops * 1e12):,.0f}",
                )


def main(
    weights: Annotated[float | None, typer.Option(min=0.001, help="Millions, of a model of your own.")] = None,
    tokens: Annotated[int, typer.Option(min=1, help="On each GPU in an update, a side.")] = 4096,
    teraflops: Annotated[float, typer.Option(min=0.001, help="What a GPU reaches, not what its maker says.")] = 10.0,
) -> None:
    """Print a row for each model, number of GPUs and link."""
    models = MODELS if weights is None else {"yours": weights}
    print(table(HEADER, list(rows(models, tokens, teraflops))), end="")


if __name__ == "__main__":
    run_command(main, "on_paper")
