"""The progress of training runs: /v1/training."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import Annotated, TypeAlias

from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter

from weft.checkpoints.run_log import LogRecord, curve_points
from weft.core.errors import UserError
from weft.serve.schemas import ApiRecord
from weft.visualize.run_monitor import (
    RunMonitor,
    RunState,
    downsample,
    numeric_fields,
    select_outputs,
    validation_samples,
)

LOGGER = logging.getLogger("weft.serve")
CACHE_SECONDS = 1.0  # how long a response is reused
CURVE_PARTS = 200  # a curve keeps at most four points of each part
MAX_SAMPLE_OUTPUTS, MAX_SAMPLES, MAX_DIAGNOSES = 12, 10, 20
MAX_CHARACTERS = 1000  # per text
TRAINING_CURVES = ("loss", "learning_rate", "gradient_norm", "tokens_per_second", "accuracy")

ShortText: TypeAlias = Annotated[str, BeforeValidator(lambda text: str(text)[:MAX_CHARACTERS])]


class CurveRecord(ApiRecord):
    """Values by step. Long curves are reduced to the points that make the same picture."""

    steps: list[int]
    values: list[float]


class SampleOutputRecord(ApiRecord):
    """The translation of a sample at a step."""

    step: int
    text: ShortText


class SampleRecord(ApiRecord):
    """A sentence of the validation data, and its translations over time."""

    source: ShortText
    reference: ShortText
    outputs: list[SampleOutputRecord]


class DiagnosisRecord(ApiRecord):
    """A problem that was diagnosed during training."""

    model_config = ConfigDict(extra="ignore")  # the log may have more fields

    step: int
    diagnosis: ShortText
    observation: ShortText = ""
    cause: ShortText = ""
    advice: ShortText = ""


class BestScoreRecord(ApiRecord):
    """The best validation."""

    step: int
    value: float


class TrainingRunRecord(ApiRecord):
    """The progress of a training run."""

    name: str
    state: Annotated[
        RunState,
        Field(
            description="waiting: nothing was logged yet; silent: nothing new for long; patience: stopped because "
            "validation no longer improved; broken: stopped at a non-finite number."
        ),
    ]
    readable: Annotated[bool, Field(description="false if its files cannot be read; see the server's log.")]
    step: int
    total_steps: Annotated[int | None, Field(description="null if not known yet.")]
    epoch: int
    progress: Annotated[
        float | None, Field(validation_alias="fraction", description="From 0 to 1; null if not known yet.")
    ]
    elapsed_seconds: float
    remaining_seconds: float | None
    silent_seconds: Annotated[float, Field(description="Since the last line of the log.")]
    best_metric: Annotated[str | None, Field(description="The metric by which the best checkpoint is chosen.")]
    best: BestScoreRecord | None
    training: dict[str, CurveRecord]
    validation: dict[str, CurveRecord]
    samples: list[SampleRecord]
    diagnoses: list[DiagnosisRecord]


RUN_LIST = TypeAdapter(list[TrainingRunRecord])


class TrainingStatus:
    """The runs named when the server was started; no others are ever read."""

    def __init__(self, runs: Sequence[RunMonitor]):
        self.runs = tuple(runs)
        self._lock = asyncio.Lock()
        self._cached, self._cached_at = b"", 0.0

    async def json(self) -> bytes:
        """Return a list of TrainingRunRecord as JSON. However many clients ask, files are read once in a while."""
        async with self._lock:
            if not self._cached or time.monotonic() - self._cached_at > CACHE_SECONDS:
                self._cached = await asyncio.to_thread(self._read)
                self._cached_at = time.monotonic()
            return self._cached

    def _read(self) -> bytes:
        return RUN_LIST.dump_json([_read_run(run) for run in self.runs])


def _read_run(run: RunMonitor) -> TrainingRunRecord:
    """Return the record of a run, as it was before if its files cannot be read."""
    try:
        run.update()
        readable = True
    except (UserError, OSError) as error:
        LOGGER.warning("%s: cannot be read: %s", run.name, error)
        readable = False
    history = run.history
    metrics = [name for record in history.validations[-1:] for name in numeric_fields(record)]
    samples = [
        sample._replace(outputs=select_outputs(sample.outputs, MAX_SAMPLE_OUTPUTS))
        for sample in validation_samples([history])[:MAX_SAMPLES]
    ]
    return TrainingRunRecord.model_validate(
        {
            **run.progress()._asdict(),
            "name": run.name,
            "readable": readable,
            "best_metric": run.plan.best_metric if run.plan else None,
            "best": run.best(),
            "training": _curve_records(history.reports, TRAINING_CURVES),
            "validation": _curve_records(history.validations, metrics),
            "samples": samples,
            "diagnoses": history.findings[-MAX_DIAGNOSES:],
        }
    )


def _curve_records(records: Sequence[LogRecord], names: Sequence[str]) -> dict[str, CurveRecord]:
    curves = {name: downsample(curve_points(records, name), CURVE_PARTS) for name in names}
    return {
        name: CurveRecord(steps=[step for step, _ in curve], values=[value for _, value in curve])
        for name, curve in curves.items()
        if curve
    }
