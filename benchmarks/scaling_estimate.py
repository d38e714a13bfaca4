"""Cost of gradient all-reduce in data-parallel training, estimated by formulas; nothing is measured.

From the root of the repository:

    python -m benchmarks.scaling_estimate                                  # the table of docs/scale.md
    python -m benchmarks.scaling_estimate --weights 25 --tokens 8192 --teraflops 60

With P weights, t tokens per side on each GPU in an update, n GPUs, f operations per second, and b bytes per second over
the slowest link:

    computing   6 P t / f               2 P t forward, twice that backward (without the products inside attention)
    sending     2 (n - 1) / n 4 P / b   ring all-reduce in float32: each GPU sends and receives all gradients twice
    efficiency  computing / (computing / 3 + max(2 / 3 computing, sending)), at best
    enough      t >= 2 (n - 1) / n f / b, from which on communication is hidden; independent of P

DDP communicates during the backward pass, which is two thirds of the computation. Across several machines the ring
crosses each network card once per direction, so b is the bandwidth of the card, however many GPUs share it. The
estimate ignores stragglers and message latency.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer
from benchmarks.command_line import run_command
from benchmarks.markdown import table

MODELS = {"Transformer base": 65.0, "Transformer big": 213.0}  # million weights; Vaswani et al. 2017, table 3
LINKS = {"NVLink, 300 GB/s": 300e9, "100 Gb/s": 100e9 / 8, "10 Gb/s": 10e9 / 8}
GPUS = (8, 64)
ONE_MACHINE = 8  # GPUs connected by NVLink
HEADER = ("model", "GPUs", "slowest link", "computing, ms", "sending, ms", "efficiency", "enough tokens")


def compute_seconds(weights: float, tokens: int, operations: float) -> float:
    """Return the seconds of computation per update."""
    return 6 * weights * tokens / operations


def all_reduce_seconds(weights: float, gpus: int, link: float) -> float:
    """Return the seconds of a ring all-reduce of the gradients."""
    return 2 * (gpus - 1) / gpus * 4 * weights / link


def efficiency(compute: float, send: float) -> float:
    """Return the share of time in which GPUs compute; 1 if communication is hidden by the backward pass."""
    return compute / (compute / 3 + max(2 / 3 * compute, send))


def hidden_communication_tokens(gpus: int, link: float, operations: float) -> float:
    """Return the tokens per GPU and update from which on the backward pass hides all communication."""
    return 2 * (gpus - 1) / gpus * operations / link


def table_rows(models: dict[str, float], tokens: int, teraflops: float) -> Iterable[tuple[str, ...]]:
    for model, millions in models.items():
        for gpus in GPUS:
            for link, speed in LINKS.items():
                if gpus > ONE_MACHINE and link.startswith("NVLink"):
                    continue
                compute = compute_seconds(millions * 1e6, tokens, teraflops * 1e12)
                send = all_reduce_seconds(millions * 1e6, gpus, speed)
                yield (
                    f"{model}, {millions:g} M",
                    str(gpus),
                    link,
                    f"{1e3 * compute:,.0f}",
                    f"{1e3 * send:,.0f}",
                    f"{efficiency(compute, send):.0%}",
                    f"{hidden_communication_tokens(gpus, speed, teraflops * 1e12):,.0f}",
                )


def main(
    weights: Annotated[float | None, typer.Option(min=0.001, help="Millions of weights of your model.")] = None,
    tokens: Annotated[int, typer.Option(min=1, help="Per side, on each GPU in an update.")] = 4096,
    teraflops: Annotated[float, typer.Option(min=0.001, help="Achieved by a GPU in practice, not its peak.")] = 10.0,
) -> None:
    """Print a row for each model, number of GPUs and link."""
    models = MODELS if weights is None else {"yours": weights}
    print(table(HEADER, list(table_rows(models, tokens, teraflops))), end="")


if __name__ == "__main__":
    run_command(main, "scaling_estimate")
