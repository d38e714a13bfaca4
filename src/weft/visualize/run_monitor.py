"""Follow training runs from outside: progress, state, best score, validation samples and downsampled curves.

Everything is read from the files of a run, which are never written.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from weft.checkpoints.manifest import MANIFEST_FILE
from weft.checkpoints.run_log import (
    LOG_FILE,
    BestValidation,
    CurvePoints,
    LogFollower,
    LogRecord,
    RunEnd,
    TrainingHistory,
    best_validation,
    curve_points,
    find_run_end,
)
from weft.config.yaml_files import read_yaml
from weft.core.errors import UserError
from weft.core.files import similar_path

CONFIG_FILE = "config.yaml"
RUN_FOLDER_HINT = "Give the folder of a run (the --out of weft train)."
MIN_SILENT_SECONDS = 60.0  # without a new line in the log
SILENT_GAPS = 3  # plus this many times the longest gap between two reports so far
LOG_RATIO = 30.0  # curves whose largest value is this many times their smallest may get a logarithmic axis

RunState: TypeAlias = Literal["waiting", "training", "silent"] | RunEnd
END_STATES = get_args(RunEnd)


class RunPlan(NamedTuple):
    """The settings that determine the end of a run. steps: None until a time budget has been converted into steps."""

    steps: int | None
    best_metric: str
    patience: int | None


class RunProgress(NamedTuple):
    """How far a run is. fraction: 0 to 1, None if unknown; silent_seconds: since the last line of the log."""

    state: RunState
    step: int
    epoch: int
    total_steps: int | None
    fraction: float | None
    elapsed_seconds: float
    remaining_seconds: float | None
    silent_seconds: float


class RunMonitor:
    """Follows one run, whose folder may not exist yet."""

    def __init__(self, name: str, folder: Path):
        self.name, self.folder = name, folder
        self.plan: RunPlan | None = None
        self._log = LogFollower(folder / LOG_FILE)
        self._config_time = -1  # modification time of the configuration that was read; -1: there was none
        self._log_time = 0.0

    @property
    def history(self) -> TrainingHistory:
        return self._log.history

    def update(self) -> bool:
        """Read what is new; return whether anything is."""
        has_new_plan, has_new_lines = self._update_plan(), self._log.update()
        try:
            self._log_time = self._log.log.stat().st_mtime
        except OSError:
            self._log_time = 0.0
        return has_new_plan or has_new_lines

    def _update_plan(self) -> bool:
        """Read the configuration again if it was written again: a time budget becomes a number of steps."""
        config = self.folder / CONFIG_FILE
        modified = config.stat().st_mtime_ns if config.is_file() else -1
        if modified == self._config_time:
            return False
        self.plan, self._config_time = None if modified < 0 else read_run_plan(config), modified
        return True

    def best(self) -> BestValidation | None:
        return best_validation(self.history.validations, self.plan.best_metric) if self.plan else None

    def progress(self) -> RunProgress:
        reports, steps = self.history.reports, self.plan.steps if self.plan else None
        silent = max(0.0, time.time() - self._log_time) if self._log_time else 0.0
        state = self._state(silent)
        if not reports:
            return RunProgress(state, 0, 0, steps, None, 0.0, None, silent)
        last = reports[-1]
        step, elapsed, estimate = last["step"], last.get("seconds", 0.0), last.get("seconds_left")
        remaining = None
        if estimate is not None and state not in END_STATES:
            remaining = max(0.0, estimate - (silent if state == "training" else 0.0))
        fraction = step / steps if steps else elapsed / (elapsed + estimate) if estimate else None
        return RunProgress(state, step, last.get("epoch", 0), steps, fraction, elapsed, remaining, silent)

    def _state(self, silent_seconds: float) -> RunState:
        history, plan = self.history, self.plan
        if not (history.reports or history.validations or history.findings):
            return "waiting"
        end = find_run_end(history, *plan) if plan else None
        if end is not None:
            return end
        times = [seconds for _, seconds in curve_points(history.reports, "seconds")]
        longest_gap = max((later - earlier for earlier, later in pairwise(times)), default=0.0)
        return "silent" if silent_seconds > MIN_SILENT_SECONDS + SILENT_GAPS * longest_gap else "training"


def read_run_plan(config: Path) -> RunPlan:
    match read_yaml(config):
        case {
            "train": {
                "steps": int() | None as steps,
                "validation": {"best_metric": str() as best_metric, "patience": int() | None as patience},
            }
        }:
            return RunPlan(steps, best_metric, patience)
    raise UserError(f"{config}: is not the configuration of a run. {RUN_FOLDER_HINT}")


def monitor_runs(folders: Sequence[Path]) -> list[RunMonitor]:
    """Return a monitor for each folder, named after the folder, or by its path if two folders have the same name."""
    for number, folder in enumerate(folders):
        if folder.is_file():
            raise UserError(f"{folder}: is a file. {RUN_FOLDER_HINT}")
        if (folder / MANIFEST_FILE).is_file():
            raise UserError(f"{folder}: is a model folder, which has no log. {RUN_FOLDER_HINT}")
        if folder.resolve() in [other.resolve() for other in folders[:number]]:
            raise UserError(f"{folder} is given twice: give each run once.")
    short = [folder.resolve().name for folder in folders]
    names = short if len(set(short)) == len(short) else [str(folder) for folder in folders]
    return [RunMonitor(name, folder) for name, folder in zip(names, folders, strict=True)]


def check_runs_started(runs: Sequence[RunMonitor]) -> None:
    """Raise UserError if the folder of a run does not exist or is not a run folder."""
    for run in runs:
        if not run.folder.exists():
            raise UserError(f"{run.folder}: there is no such folder. {RUN_FOLDER_HINT}{similar_path(run.folder)}")
        if run.plan is None and run.progress().state == "waiting":
            raise UserError(
                f"{run.folder} is not a run folder: it has no {CONFIG_FILE} and no {LOG_FILE}. {RUN_FOLDER_HINT}"
            )


class SampleOutput(NamedTuple):
    """The translation of a sample by one of several runs, at a step."""

    run: int
    step: int
    text: str


class ValidationSample(NamedTuple):
    """A sentence of the validation data with all its outputs, ordered by run, then by step."""

    source: str
    reference: str
    outputs: list[SampleOutput]


def validation_samples(histories: Sequence[TrainingHistory]) -> list[ValidationSample]:
    """Return the sentences that validations logged; a sentence that several runs translated is one sample."""
    samples: dict[tuple[str, str], ValidationSample] = {}
    for number, history in enumerate(histories):
        for validation in history.validations:
            for example in validation.get("examples", []):
                match example:
                    case {"source": str() as source, "target": str() as reference, "output": str() as text}:
                        sample = samples.setdefault((source, reference), ValidationSample(source, reference, []))
                        sample.outputs.append(SampleOutput(number, validation["step"], text))
    return list(samples.values())


def select_outputs(outputs: Sequence[SampleOutput], count: int) -> list[SampleOutput]:
    """Return at most `count` outputs: evenly spaced ones of a single run, or the last of each of several runs."""
    runs = dict.fromkeys(output.run for output in outputs)
    if len(runs) > 1:
        return [[output for output in outputs if output.run == run][-1] for run in runs][:count]
    if count == 1 or len(outputs) <= count:
        return list(outputs[-count:])
    return [outputs[round(number * (len(outputs) - 1) / (count - 1))] for number in range(count)]


def downsample(curve: CurvePoints, parts: int) -> CurvePoints:
    """Divide the steps into equal parts; keep the first, lowest, highest and last point of each.

    No peak is lost, and where a part is as wide as a pixel the drawn curve stays the same.
    """
    if len(curve) <= 4 * parts:
        return curve
    steps, values = np.array(curve).T
    edges = steps[0] + np.arange(1, parts) * (steps[-1] - steps[0] + 1) / parts
    kept: CurvePoints = []
    for part in np.split(np.arange(len(curve)), np.searchsorted(steps, edges)):
        if len(part):
            extremes = part[values[part].argmin()], part[values[part].argmax()]
            kept += [curve[index] for index in sorted({part[0], *extremes, part[-1]})]
    return kept


def numeric_fields(record: LogRecord) -> list[str]:
    return [name for name, value in record.items() if isinstance(value, float)]


def format_tick(value: float) -> str:
    """Format a number for an axis, as 0.25, 12, 4.5k or 2e-4."""
    for unit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:.3g}{suffix}"
    if value != 0 and abs(value) < 1e-2:
        digits, _, power = f"{value:.1e}".partition("e")
        return f"{digits.removesuffix('.0')}e{int(power)}"
    return f"{value:.3g}"
