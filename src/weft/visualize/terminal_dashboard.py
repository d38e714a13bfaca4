"""The dashboard of `weft watch`: progress, curves, sample outputs and messages, drawn once or refreshed until all runs
have ended.
"""

from __future__ import annotations

import shlex
import textwrap
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, zip_longest

from rich.cells import cell_len, set_cell_size
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from weft.checkpoints.run_log import LogRecord, curve_points
from weft.core.extras import require_extra
from weft.core.formatting import escape_unprintable, format_duration
from weft.visualize.run_monitor import (
    END_STATES,
    RunMonitor,
    RunProgress,
    RunState,
    ValidationSample,
    check_runs_started,
    format_tick,
    select_outputs,
    validation_samples,
)
from weft.visualize.terminal_curves import (
    AXIS_STYLE,
    TRAINING_PANELS,
    CurvePanel,
    build_panels,
    plot_panel,
    run_color,
    run_marker,
)

REFRESH_SECONDS = 0.5
SAMPLE_SECONDS = 10.0  # until other samples are shown
STATIC_HEIGHT = 36  # lines of a dashboard that is not drawn in a terminal
LOW_TERMINAL = 28  # lines; below, messages are shortened
MAX_NAME_WIDTH = 28  # cells
MIN_BAR_WIDTH, MAX_BAR_WIDTH = 8, 40  # cells
COLUMN_SPACING = "  "
SAMPLE_LABEL_WIDTH = 11  # cells before a sentence
MAX_OUTPUTS = 4  # of a sample
MIN_PANEL_HEIGHT = 6  # lines: a title, three rows, and the axis
LARGE_PANEL_WIDTH, SMALL_PANEL_WIDTH = 38, 24  # cells, at least
SMALL_PANEL_SHARE = 0.4  # of the lines of all panels
WARNING_STYLE = "bold color(166)"
STATE_LABELS: dict[RunState, str] = {
    "waiting": "not started",
    "finished": "finished",
    "patience": "stopped",
    "broken": "failed",
}


def print_dashboard(runs: Sequence[RunMonitor], console: Console) -> None:
    """Print the current state of the runs once."""
    require_extra("plots", "weft watch")
    for run in runs:
        run.update()
    check_runs_started(runs)
    height = min(STATIC_HEIGHT, console.height - 1) if console.is_terminal else STATIC_HEIGHT
    for line in dashboard_lines(runs, console.width, height):
        console.print(line, soft_wrap=True)


def run_dashboard(runs: Sequence[RunMonitor], console: Console) -> None:
    """Refresh the dashboard until all runs have ended, or until Ctrl-C; its last state stays on the screen."""
    require_extra("plots", "weft watch")
    started = time.monotonic()
    try:
        with Live(console=console, screen=True, auto_refresh=False, redirect_stderr=False) as live:
            while not _all_ended(runs):
                turn = int((time.monotonic() - started) / SAMPLE_SECONDS)
                live.update(Group(*dashboard_lines(runs, console.width, console.height, turn)), refresh=True)
                time.sleep(REFRESH_SECONDS)
    finally:
        for line in dashboard_lines(runs, console.width, console.height - 1):
            console.print(line, soft_wrap=True)


def _all_ended(runs: Sequence[RunMonitor]) -> bool:
    for run in runs:
        run.update()
    return all(run.progress().state in END_STATES for run in runs)


def dashboard_lines(runs: Sequence[RunMonitor], width: int, height: int, turn: int = 0) -> list[Text]:
    """Return at most `height` lines of at most `width` cells; turn: number of the sample that is shown first."""
    top = progress_lines(runs, width)
    if len(runs) == 1:
        top.append(run_details(runs[0], width))
    room = height - len(top)
    messages = dashboard_messages(runs, width, room)
    samples = validation_samples([run.history for run in runs])
    examples = sample_lines(samples, turn, width, max(0, (room - len(messages)) // 3))
    panels = panel_grid(build_panels(runs), width, room - len(messages) - len(examples))
    lines = [*top, *panels, *examples, *messages][:height]
    for line in lines:
        line.truncate(width)
    return lines


def progress_lines(runs: Sequence[RunMonitor], width: int) -> list[Text]:
    """Return a line for each run, in columns; if there is little room, the right columns and the bar are left out."""
    names = [truncate_text(run.name, MAX_NAME_WIDTH) for run in runs]
    rows = [_progress_columns(run) for run in runs]
    name_width = max(map(cell_len, names))
    room = width - name_width - 2
    sizes = [max(map(len, column)) for column in zip(*rows, strict=True)]
    ends = list(accumulate(len(COLUMN_SPACING) + size for size in sizes))
    shown = sum(end <= room for end in ends)
    bar_width = min(MAX_BAR_WIDTH, room - len(COLUMN_SPACING) - (ends[shown - 1] if shown else 0))
    lines = []
    for number, (run, name, row) in enumerate(zip(runs, names, rows, strict=True)):
        color = run_color(number)
        line = Text().append(f"{run_marker(number)} ", color).append(set_cell_size(name, name_width), "bold")
        if bar_width >= MIN_BAR_WIDTH:
            done = round((run.progress().fraction or 0.0) * bar_width)
            line.append(COLUMN_SPACING).append("━" * done, color).append("─" * (bar_width - done), AXIS_STYLE)
        for cell, size in zip(row[:shown], sizes, strict=False):
            line.append(COLUMN_SPACING + cell.rjust(size))
        lines.append(line)
    return lines


def _progress_columns(run: RunMonitor) -> list[str]:
    progress, best = run.progress(), run.best()
    loss = curve_points(run.history.reports[-1:], "loss")
    return [
        f"{progress.step:,}" + (f" of {progress.total_steps:,}" if progress.total_steps else ""),
        _time_label(progress),
        f"loss {loss[0][1]:.3f}" if loss else "",
        f"best {best.name} {best.value:.2f}" if best else "",
    ]


def _time_label(progress: RunProgress) -> str:
    if progress.state == "silent":
        return f"silent for {format_duration(progress.silent_seconds)}"
    if progress.state == "training":
        remaining = progress.remaining_seconds
        return "" if remaining is None else f"{format_duration(remaining)} left"
    return STATE_LABELS[progress.state]


def run_details(run: RunMonitor, width: int) -> Text:
    """Return further values of the last report and validation, as many as fit into a line."""
    progress, best = run.progress(), run.best()
    reports, validations = run.history.reports[-1:], run.history.validations[-1:]
    parts = [
        *([f"epoch {progress.epoch}"] if progress.epoch else []),
        *([f"{format_duration(progress.elapsed_seconds)} elapsed"] if progress.elapsed_seconds else []),
        *(f"validation loss {value:.3f}" for _, value in curve_points(validations, "loss")),
        *([f"best at {best.step:,}"] if best else []),
        *(f"{value:,.0f} tokens/s" for _, value in curve_points(reports, "tokens_per_second")),
        *(f"learning rate {format_tick(value)}" for _, value in curve_points(reports, "learning_rate")),
        *(f"gradient norm {format_tick(value)}" for _, value in curve_points(reports, "gradient_norm")),
    ]
    lines = accumulate(parts, lambda line, part: f"{line} · {part}", initial="")
    fitting = [line for line in lines if len(line) < width]
    return Text("  " + fitting[-1].removeprefix(" · "), AXIS_STYLE)


def dashboard_messages(runs: Sequence[RunMonitor], width: int, room: int) -> list[Text]:
    """Return diagnoses and states below a blank line; in a low terminal only the latest, in two lines each."""
    lines_each, limit = (2, 4) if room < LOW_TERMINAL else (room, room // 3)
    lines = []
    for number, run in enumerate(runs):
        messages = [_diagnosis_message(finding) for finding in run.history.findings]
        if state := _state_message(run):
            messages.append(("", state))
        for title, text in messages:
            lines += _message_lines(number, title, text, width, lines_each)
    return [Text(), *lines[-limit:]] if lines else []


def _message_lines(number: int, title: str, text: str, width: int, limit: int) -> list[Text]:
    """Wrap a message after the marker of its run, with the title highlighted."""
    wrapped = textwrap.wrap(
        escape_unprintable(title + text), max(2, width - 2), max_lines=limit, placeholder=" …", break_on_hyphens=False
    )
    lines = [Text(f"  {line}") for line in wrapped]
    lines[0] = Text().append(f"{run_marker(number)} ", run_color(number)).append_text(lines[0][2:])
    lines[0].stylize(WARNING_STYLE, 2, 2 + len(title))
    return lines


def _diagnosis_message(finding: LogRecord) -> tuple[str, str]:
    cause, advice = finding.get("cause", ""), finding.get("advice", "")
    text = f" {finding.get('observation', '')}."
    text += f" Likely cause: {cause}. What to change: {advice}." if cause and advice else ""
    return f"! {finding['diagnosis']} at step {finding['step']:,}:", text


def _state_message(run: RunMonitor) -> str:
    """Return why nothing new comes; "" if the run is training or finished."""
    progress, folder = run.progress(), shlex.quote(str(run.folder))
    resume = f"weft train --resume {folder}"
    match progress.state:
        case "waiting":
            return f"Nothing is in {folder} yet." if run.plan is None else "Started; no step is logged yet."
        case "silent":
            silent = format_duration(progress.silent_seconds)
            return f"Nothing was logged for {silent}. If the run was stopped, resume it: {resume}"
        case "patience":
            return "Stopped because validation no longer improved."
        case "broken":
            return f"Stopped at a number that is not finite. Resume from the last good weights: {resume}"
    return ""


def sample_lines(samples: Sequence[ValidationSample], turn: int, width: int, room: int) -> list[Text]:
    """Return as many samples as fit into `room` lines, starting with number `turn`."""
    lines: list[Text] = []
    for number in range(len(samples)):
        sample = samples[(turn + number) % len(samples)]
        fewest = max(2, len({output.run for output in sample.outputs}))  # of several runs, one output of each
        block = _sample_block(sample, max(fewest, min(MAX_OUTPUTS, room - len(lines) - 3)), width)
        if len(lines) + len(block) <= room:
            lines += block
    return lines


def _sample_block(sample: ValidationSample, count: int, width: int) -> list[Text]:
    """Return a blank line, source, reference and outputs."""
    text_width = width - SAMPLE_LABEL_WIDTH - 1
    block = [Text()]
    for label, text in ((" source", sample.source), (" reference", sample.reference)):
        line = Text().append(label.ljust(SAMPLE_LABEL_WIDTH), AXIS_STYLE)
        block.append(line.append(truncate_text(text, text_width)))
    for output in select_outputs(sample.outputs, count):
        line = Text().append(f" {run_marker(output.run, validation=True)} ", run_color(output.run))
        line.append(f"{output.step:,}".ljust(SAMPLE_LABEL_WIDTH - 3), AXIS_STYLE)
        block.append(line.append(truncate_text(output.text, text_width), "bold"))
    return block


def truncate_text(text: str, width: int) -> str:
    """Shorten a text to `width` cells and escape characters that a terminal could interpret."""
    shown = escape_unprintable(text[: width + 1])
    return shown if cell_len(shown) <= width else set_cell_size(shown, width - 1).rstrip() + "…"


def panel_grid(panels: Sequence[CurvePanel], width: int, height: int) -> Iterator[Text]:
    """Yield a row of large panels and, if there is room, a row of small ones; all have the same x-axis."""
    if not panels or width < SMALL_PANEL_WIDTH:
        return
    last_step = max(curve.points[-1][0] for panel in panels for curve in panel.curves)
    small = [panel for panel in panels if panel.name in TRAINING_PANELS]
    large = [panel for panel in panels if panel.name not in TRAINING_PANELS]
    count = max(1, width // LARGE_PANEL_WIDTH)
    has_two_rows = height >= 2 * MIN_PANEL_HEIGHT + 2
    small_height = max(MIN_PANEL_HEIGHT, round(SMALL_PANEL_SHARE * height)) if has_two_rows else 0
    if height - small_height >= MIN_PANEL_HEIGHT:
        yield from _panel_row(large[:count] or small[:count], last_step, width, height - small_height)
    if has_two_rows:
        others = [*small, *large[count:]][: max(1, width // SMALL_PANEL_WIDTH)]
        yield from _panel_row(others, last_step, width, small_height)


def _panel_row(panels: Sequence[CurvePanel], last_step: int, width: int, height: int) -> Iterator[Text]:
    if not panels:
        return
    panel_width = width // len(panels)
    blocks: Iterable[Sequence[Text]] = [plot_panel(panel, last_step, panel_width - 1, height) for panel in panels]
    for lines in zip_longest(*blocks, fillvalue=Text()):
        row = Text()
        for line in lines:
            row.append_text(line).append(" " * (panel_width - line.cell_len))
        row.rstrip()
        yield row
