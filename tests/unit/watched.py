"""Run folders that tell what a test wants them to."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from weft.config.document import Plain, as_text

EXAMPLE = {"source": "a man sleeps", "target": "ein Mann schläft"}


def report(step: int, loss: float = 3.0, **others: Any) -> dict[str, Any]:
    told = {"epoch": 1, "rate": 1e-3, "norm": 0.5, "tokens_per_second": 5000.0, "seconds": float(step), "left": 60.0}
    return {"step": step, "loss": loss, **told, **others}


def validation(step: int, bleu: float = 10.0, output: str = "ein Mann", **others: Any) -> dict[str, Any]:
    told = {"loss": 3.5, "accuracy": 50.0, "bleu": bleu, "examples": [{**EXAMPLE, "output": output}]}
    return {"step": step, "valid": {**told, **others}}


def finding(step: int, diagnosis: str = "drift") -> dict[str, Any]:
    told = {"what": "the loss rose", "cause": "too little data", "setting": "a higher dropout"}
    return {"step": step, "diagnosis": diagnosis, **told}


def write_run(
    folder: Path, records: Sequence[dict[str, Any]], steps: int | None = 100, patience: int | None = None
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    plan: Plain = {"train": {"steps": steps, "validation": {"choose": "bleu", "patience": patience}}}
    (folder / "config.yaml").write_text(as_text(plan), "utf-8")
    write_log(folder, records)
    return folder


def write_log(folder: Path, records: Sequence[dict[str, Any]]) -> None:
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    (folder / "log.jsonl").write_text(text, "utf-8")
