"""A loss, a gradient or a weight that is no longer a finite number: the run ends."""

from __future__ import annotations

from pathlib import Path

from weft.training.diagnosis.finding import Finding


def not_finite(step: int) -> Finding:
    """At the update `step`, which was not made."""
    return Finding(
        "not-finite",
        f"step {step}: the loss or its gradient is no longer a finite number, and the run has stopped",
        "The learning rate is probably too high",
        "Start again in another --out with half of train.schedule.peak, a longer train.schedule.warmup, or "
        "train.clip=1: this run would only come to the same step again",
    )


def last_words(finding: Finding, checkpoints: Path) -> str:
    """What a run that cannot go on ends with."""
    kept = f"\nCheckpoints from before are in {checkpoints}." if checkpoints.exists() else ""
    return f"{finding.what}.\n{finding.cause}. {finding.setting}.{kept}"
