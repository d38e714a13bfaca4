"""Where each run is: a line with its sign, a bar, and the latest numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from weft.core.numbers import clock
from weft.store.run_log import points
from weft.watching.letters import cut
from weft.watching.plot import AXIS, colour_of, sign_of
from weft.watching.run import Progress, State, Watched
from weft.watching.scale import short

NAME = 28  # cells at most
BAR = range(8, 41)  # cells; where there is less room, there is none
GAP = "  "
ENDS: dict[State, str] = {"waiting": "not begun", "finished": "finished", "patience": "ended", "broken": "stopped"}


def heads(runs: Sequence[Watched], width: int) -> list[Text]:
    """One for each, in columns; those at the right give way where there is little room."""
    names = [cut(run.name, NAME) for run in runs]
    rows = [columns(run) for run in runs]
    wide = max(map(cell_len, names))
    sizes = fitting([max(map(len, column)) for column in zip(*rows, strict=True)], width - wide - 2)
    bar = min(BAR[-1], width - wide - 2 - len(GAP) - sum(len(GAP) + size for size in sizes))
    lines = []
    for number, (run, name, row) in enumerate(zip(runs, names, rows, strict=True)):
        line = Text().append(f"{sign_of(number)} ", colour_of(number)).append(set_cell_size(name, wide), "bold")
        if bar in BAR:
            line.append(GAP).append_text(bar_of(run.progress(), bar, colour_of(number)))
        lines.append(line.append("".join(GAP + cell.rjust(size) for cell, size in zip(row, sizes, strict=False))))
    return lines


def fitting(sizes: Sequence[int], room: int) -> list[int]:
    """Of the columns, those that have room."""
    ends = accumulate(len(GAP) + size for size in sizes)
    return [size for size, end in zip(sizes, ends, strict=True) if end <= room]


def columns(run: Watched) -> list[str]:
    """How far it is, how long it takes, and what it has come to."""
    progress = run.progress()
    steps = f"{progress.step:,}" + (f" of {progress.steps:,}" if progress.steps else "")
    return [steps, when(progress), *latest(run)]


def when(progress: Progress) -> str:
    if progress.state == "silent":
        return f"silent for {clock(progress.silence)}"
    if progress.state == "training":
        return "" if progress.left is None else f"{clock(progress.left)} left"
    return ENDS[progress.state]


def latest(run: Watched) -> list[str]:
    """The training loss, and the best of what decides."""
    loss, best = points(run.history.reports[-1:], "loss"), run.best()
    return [
        f"loss {loss[0][1]:.3f}" if loss else "",
        f"best {best.name} {best.value:.2f}" if best else "",
    ]


def bar_of(progress: Progress, width: int, colour: str) -> Text:
    """How much of the run is done."""
    done = round((progress.share or 0.0) * width)
    return Text().append("━" * done, colour).append("─" * (width - done), AXIS)


def details(run: Watched, width: int) -> Text:
    """What else its last report and validation tell, as far as there is room, for one that is watched alone."""
    progress, best = run.progress(), run.best()
    reports, validations = run.history.reports[-1:], run.history.validations[-1:]
    parts = [
        *([f"epoch {progress.epoch}"] if progress.epoch else []),
        *([f"{clock(progress.seconds)} so far"] if progress.seconds else []),
        *(f"validation loss {value:.3f}" for _, value in points(validations, "loss")),
        *([f"best at {best.step:,}"] if best else []),
        *(f"{value:,.0f} tokens/s" for _, value in points(reports, "tokens_per_second")),
        *(f"rate {short(value)}" for _, value in points(reports, "rate")),
        *(f"norm {short(value)}" for _, value in points(reports, "norm")),
    ]
    lines = accumulate(parts, lambda line, part: f"{line} · {part}", initial="")
    fitting_lines = [line for line in lines if len(line) < width]
    return Text("  " + fitting_lines[-1].removeprefix(" · "), AXIS)
