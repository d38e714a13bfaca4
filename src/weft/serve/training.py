"""The training of runs, as it goes: what /v1/training answers, and the page at /training draws."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, TypeAdapter

from weft.core.errors import UserError
from weft.serve.records import Told
from weft.store.run_log import Points, Record, points
from weft.watching.panels import numbers
from weft.watching.run import State, Watched
from weft.watching.samples import Sample, chosen, samples_of
from weft.watching.thinning import thinned

LOG = logging.getLogger("weft.serve")
FRESH = 1.0  # seconds for which an answer is given again
PARTS = 200  # of a curve, of which each keeps four points at most
OUTPUTS, SAMPLES, FINDINGS = 12, 10, 20
CHARACTERS = 1000  # of a text
TRAINING = ("loss", "rate", "norm", "tokens_per_second", "accuracy")


class Curve(Told):
    """Values by step; of a long curve, those that make the same picture."""

    steps: list[int]
    values: list[float]


class SampleOutput(Told):
    """How a sample was translated at a step."""

    step: int
    text: str


class SampleTold(Told):
    """A sentence of the validation data, and what became of its translation."""

    source: str
    reference: str
    outputs: list[SampleOutput]


class Diagnosis(Told):
    """What went wrong."""

    step: int
    diagnosis: str
    what: str
    cause: str
    setting: str


class BestTold(Told):
    step: int
    value: float


class TrainingRun(Told):
    """A run: where it is, and what it has told."""

    name: str
    state: Annotated[
        State,
        Field(
            description="waiting: it tells nothing yet; silent: nothing new for long; patience: ended since validation "
            "no longer improved; broken: a number was not finite."
        ),
    ]
    readable: Annotated[bool, Field(description="false: its files cannot be read now; the server's log tells why.")]
    step: int
    steps: Annotated[int | None, Field(description="In all; null if that is not known yet.")]
    epoch: int
    share: Annotated[float | None, Field(description="Of the whole, that is done.")]
    seconds: float
    left: Annotated[float | None, Field(description="Seconds.")]
    silence: Annotated[float, Field(description="Seconds since it last told something.")]
    choose: Annotated[str | None, Field(description="By which measure the best weights are chosen.")]
    best: BestTold | None
    training: dict[str, Curve]
    validation: dict[str, Curve]
    samples: list[SampleTold]
    findings: list[Diagnosis]


ANSWER = TypeAdapter(list[TrainingRun])


class Training:
    """The runs that a server shows: those that were named when it was started, and no others."""

    def __init__(self, runs: Sequence[Watched]):
        self.runs = tuple(runs)
        self._lock = asyncio.Lock()
        self._answer, self._when = b"", 0.0

    async def tell(self) -> bytes:
        """As JSON. However many ask, the files are looked at once in a while."""
        async with self._lock:
            if not self._answer or time.monotonic() - self._when > FRESH:
                self._answer = await asyncio.to_thread(self._look)
                self._when = time.monotonic()
            return self._answer

    def _look(self) -> bytes:
        return ANSWER.dump_json([told(run, readable=look(run)) for run in self.runs])


def look(run: Watched) -> bool:
    """Whether its files can be read; if not, it stays as it was."""
    try:
        run.look()
    except (UserError, OSError) as error:
        LOG.warning("%s: cannot be read: %s", run.name, error)
        return False
    return True


def told(run: Watched, *, readable: bool) -> TrainingRun:
    progress, best = run.progress(), run.best()
    return TrainingRun(
        name=run.name,
        readable=readable,
        **progress._asdict(),
        choose=run.plan.choose if run.plan else None,
        best=None if best is None else BestTold(step=best.step, value=best.value),
        training=curves(run.history.reports, TRAINING),
        validation=curves(run.history.validations, numbers_of(run.history.validations)),
        samples=[sample_told(sample) for sample in samples_of([run])[:SAMPLES]],
        findings=[finding_told(finding) for finding in run.history.findings[-FINDINGS:]],
    )


def numbers_of(records: Sequence[Record]) -> list[str]:
    return [name for record in records[-1:] for name in numbers(record)]


def curves(records: Sequence[Record], names: Sequence[str]) -> dict[str, Curve]:
    """Those of which something is known."""
    found = {name: thinned(points(records, name), PARTS) for name in names}
    return {name: curve_told(curve) for name, curve in found.items() if curve}


def curve_told(curve: Points) -> Curve:
    return Curve(steps=[step for step, _ in curve], values=[value for _, value in curve])


def sample_told(sample: Sample) -> SampleTold:
    outputs = [SampleOutput(step=one.step, text=one.text[:CHARACTERS]) for one in chosen(sample.outputs, OUTPUTS)]
    return SampleTold(source=sample.source[:CHARACTERS], reference=sample.reference[:CHARACTERS], outputs=outputs)


def finding_told(finding: Record) -> Diagnosis:
    words = {name: str(finding.get(name, ""))[:CHARACTERS] for name in ("diagnosis", "what", "cause", "setting")}
    return Diagnosis(step=finding["step"], **words)
