"""Non-autoregressive models against an autoregressive one, on an aligned task and on translation.

From the root of the repository:

    python -m benchmarks.non_autoregressive --text TEXT --out FOLDER --minutes 5
    python -m benchmarks.non_autoregressive --text TEXT --out FOLDER --multi30k FOLDER --json figures.json

Aligned task: restore the capitals of the lower-cased lines of TEXT, character by character. Translation: Multi30k,
German to English, lower-cased, with joint subwords. Every model is trained for the same time on the same pairs, which
are no longer than the output of the fixed-size network, and decodes the same lines greedily. The row `unchanged` is the
source itself. Tokens per second count output tokens, EOS included.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Annotated, Any, NamedTuple

import typer
from benchmarks.command_line import JsonFile, run_command, write_json
from benchmarks.machine import machine

import weft
from weft.core.errors import UserError
from weft.data.text_files import read_lines
from weft.metrics.corpus_metrics import evaluate
from weft.metrics.scores import Segments
from weft.models.model import count_parameters

TEST_LINES, VALID_LINES = 1000, 500  # held-out lines of the text
MIN_LINES = 10_000  # of the text
MAX_CHARACTERS, MAX_PIECES = 99, 39  # per line


class Task(NamedTuple):
    """A task: a recipe without its model, and the test lines."""

    name: str
    recipe: dict[str, Any]
    limit: int  # tokens per side, EOS included
    sources: Sequence[str]
    references: Sequence[str]
    metrics: Sequence[str]


class Row(NamedTuple):
    """A table row; `unchanged` has neither weights nor a speed."""

    task: str
    model: str
    weights: int | None
    tokens_per_second: float | None
    scores: dict[str, float]


# --- Tasks -----------------------------------------------------------------------------------------------------------


def case_restoration(text: Path, folder: Path) -> Task:
    """Write the distinct short lines of a text, shuffled; the source tokenizer lower-cases them."""
    lines = list(dict.fromkeys(line for line in read_lines(text) if line.strip() and len(line) <= MAX_CHARACTERS))
    if len(lines) < MIN_LINES:
        raise UserError(
            f"{text}: has {len(lines):,} different lines of at most {MAX_CHARACTERS} characters, but {MIN_LINES:,} are "
            "needed; give a longer text, with a sentence a line"
        )
    Random(1).shuffle(lines)
    tested, validated, trained = lines[:TEST_LINES], lines[TEST_LINES:][:VALID_LINES], lines[TEST_LINES + VALID_LINES :]
    for name, part in (("train.txt", trained), ("valid.txt", validated)):
        (folder / name).write_text("".join(line + "\n" for line in part), encoding="utf-8", newline="\n")
    recipe = {
        "data": {
            "folder": str(folder),
            "train": ["train.txt", "train.txt"],
            "valid": ["valid.txt", "valid.txt"],
            "max_length": MAX_CHARACTERS,
        },
        "text": {"source": {"type": "character", "lowercase": True}, "target": "character", "joint": False},
        "train": training("wer", batch_tokens=2048),
    }
    return Task("case", recipe, MAX_CHARACTERS + 1, [line.lower() for line in tested], tested, ["wer", "cer", "exact"])


def translation(multi30k: Path) -> Task:
    """German to English, scored on the test set of 2016."""
    sources, references = (list(read_lines(multi30k / f"test_2016_flickr.{side}")) for side in ("de", "en"))
    recipe = {
        "data": {
            "folder": str(multi30k),
            "train": ["train.de", "train.en"],
            "valid": ["val.de", "val.en"],
            "max_length": MAX_PIECES,
        },
        "text": {"source": {"type": "bpe", "vocab_size": 2000, "lowercase": True}, "joint": True},
        "train": training("bleu", batch_tokens=1024),
    }
    lines = [line.lower() for line in references]
    return Task("translation", recipe, MAX_PIECES + 1, [line.lower() for line in sources], lines, ["bleu", "chrf"])


def training(choose: str, *, batch_tokens: int) -> dict[str, Any]:
    return {
        "batch_tokens": batch_tokens,
        "schedule": {"type": "warmup-stable-decay", "learning_rate": 2e-3, "warmup_steps": 100, "decay_ratio": 0.6},
        "validation": {
            "every": 200,
            "lines": 200,
            "metrics": [choose],
            "best_metric": choose,
            "search": "greedy",
            "frame_decoder": "position-wise",
        },
    }


# --- Models ----------------------------------------------------------------------------------------------------------


def models(limit: int) -> dict[str, dict[str, Any]]:
    """Return the recipe settings that differ between the models."""
    embedding, lstm = {"dim": 64, "scale": True}, {"type": "lstm", "dim": 192}
    encoder = {"type": "recurrent", "cell": lstm, "layers": 2, "dropout": 0.2}
    dense = {"type": "dense", "max_length": limit, "hidden_dims": [256], "length_prediction": "classifier"}
    return {
        "LSTM -> Dense": non_autoregressive({"source": embedding, "encoder": encoder, "frame_head": "aligned"}),
        "Dense -> Dense": non_autoregressive(
            {"source": embedding | {"dim": 24}, "encoder": "identity", "frame_head": dense}
        ),
        "LSTM -> LSTM, stepping": {
            "model": {
                "source": embedding,
                "encoder": encoder | {"layers": 1},
                "target": embedding,
                "decoder": {"type": "luong", "cell": lstm, "dim": 192, "dropout": 0.2},
            },
            "objective": {"type": "cross-entropy", "label_smoothing": 0.0},
            "translate": {"search": "greedy"},
        },
    }


def non_autoregressive(parts: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": {**parts, "target": "none", "decoder": "none"},
        "objective": {"type": "position-cross-entropy", "label_smoothing": 0.0},
        "translate": {"frame_decoder": "position-wise"},
    }


# --- Measurement -----------------------------------------------------------------------------------------------------


def rows(task: Task, minutes: float, folder: Path) -> Iterator[Row]:
    """Train and score each model; yield each row as soon as it is known."""
    yield Row(task.name, "unchanged", None, None, scores(task, task.sources))
    for number, (name, settings) in enumerate(models(task.limit).items(), start=1):
        run = weft.train(task.recipe | settings, out=folder / f"{task.name}-{number}", minutes=minutes)
        yield measure_run(task, name, run)


def measure_run(task: Task, name: str, run: Path) -> Row:
    translator = weft.load(run)
    began = time.perf_counter()
    translations = translator.translate(task.sources, split=False)
    seconds = time.perf_counter() - began
    tokens = sum(len(translation.alternatives[0].tokens) for translation in translations)
    outputs = [translation.text for translation in translations]
    return Row(task.name, name, count_parameters(translator.trained.model), tokens / seconds, scores(task, outputs))


def scores(task: Task, outputs: Sequence[str]) -> dict[str, float]:
    found = evaluate(Segments(outputs, [[line] for line in task.references]), task.metrics)
    return {score.name: score.value for score in found}


def render(measurements: Sequence[Row]) -> str:
    """Return a Markdown table for each task."""
    tables = []
    for task in dict.fromkeys(row.task for row in measurements):
        task_rows = [row for row in measurements if row.task == task]
        names = list(task_rows[0].scores)
        heads = ["| " + " | ".join([task, *names, "tokens/s", "weights"]) + " |", "|---" * (3 + len(names)) + "|"]
        tables.append("\n".join([*heads, *(table_line(row) for row in task_rows)]))
    return "\n\n".join(tables)


def table_line(row: Row) -> str:
    speed = "" if row.tokens_per_second is None else f"{row.tokens_per_second:,.0f}"
    weights = "" if row.weights is None else f"{row.weights / 1e6:.2f} M"
    return "| " + " | ".join([row.model, *(f"{value:.2f}" for value in row.scores.values()), speed, weights]) + " |"


def main(
    text: Annotated[Path, typer.Option(help="Text with correct case, one sentence per line.")],
    out: Annotated[Path, typer.Option(help="New folder for the pairs and the runs.")],
    minutes: Annotated[float, typer.Option(min=0.05, help="Time for training each model.")] = 5.0,
    multi30k: Annotated[Path | None, typer.Option(help="Folder of train.de, train.en and so on.")] = None,
    json_file: JsonFile = None,
) -> None:
    """Compare non-autoregressive models with an autoregressive one."""
    try:
        out.mkdir(parents=True)
    except FileExistsError:
        raise UserError(f"{out}: is there already; name a new folder") from None
    tasks = [case_restoration(text, out), *([] if multi30k is None else [translation(multi30k)])]
    measurements = [row for task in tasks for row in rows(task, minutes, out)]
    print(render(measurements))
    setting = {"text": str(text), "minutes": minutes} | machine()
    write_json(json_file, {"setting": setting, "figures": [row._asdict() for row in measurements]})


if __name__ == "__main__":
    run_command(main, "non_autoregressive")
