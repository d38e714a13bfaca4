"""Log records and run folders for tests."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from weft.config.yaml_files import PlainData, dump_yaml

EXAMPLE = {"source": "a man sleeps", "target": "ein Mann schläft"}


def report(step: int, loss: float = 3.0, **others: Any) -> dict[str, Any]:
    fields = {
        "epoch": 1,
        "learning_rate": 1e-3,
        "gradient_norm": 0.5,
        "tokens_per_second": 5000.0,
        "seconds": float(step),
        "seconds_left": 60.0,
    }
    return {"step": step, "loss": loss, **fields, **others}


def validation(step: int, bleu: float = 10.0, output: str = "ein Mann", **others: Any) -> dict[str, Any]:
    fields = {"loss": 3.5, "accuracy": 50.0, "bleu": bleu, "examples": [{**EXAMPLE, "output": output}]}
    return {"step": step, "validation": {**fields, **others}}


def finding(step: int, diagnosis: str = "overfitting") -> dict[str, Any]:
    fields = {"observation": "the loss rose", "cause": "too little data", "advice": "a higher dropout"}
    return {"step": step, "diagnosis": diagnosis, **fields}


def write_run(
    folder: Path, records: Sequence[dict[str, Any]], steps: int | None = 100, patience: int | None = None
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    plan: PlainData = {"train": {"steps": steps, "validation": {"best_metric": "bleu", "patience": patience}}}
    (folder / "config.yaml").write_text(dump_yaml(plan), "utf-8")
    write_log(folder, records)
    return folder


def write_log(folder: Path, records: Sequence[dict[str, Any]]) -> None:
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    (folder / "log.jsonl").write_text(text, "utf-8")
