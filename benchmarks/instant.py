"""Models with no loop over the output beside one that steps, on a task where outputs are aligned and on one where not.

From the root of the repository:

    python -m benchmarks.instant --text TEXT --out FOLDER --minutes 5
    python -m benchmarks.instant --text TEXT --out FOLDER --minutes 5 --multi30k FOLDER --json instant.json

Aligned: the lines of TEXT in small letters are given their capitals back, character by character. Not aligned:
Multi30k, German to English in small letters, by joint pieces. Every model is trained for the same time on the same
pairs, of at most so many tokens as the fixed-size network has places for, and writes the same lines with no beam. The
row `unchanged` is the source itself. Tokens a second are those that are written, end marks included.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Annotated, Any, NamedTuple

import typer
from benchmarks.ending import JsonFile, run_command, write_json
from benchmarks.machine import machine

import weft
from weft.core.errors import UserError
from weft.data.text_files import read_lines
from weft.metrics.corpus_metrics import evaluate
from weft.models.model import count_parameters

TESTED, VALIDATED = 1000, 500  # lines of the text that are not trained on
FEWEST = 10_000  # lines of a text
CHARACTERS, PIECES = 99, 39  # a line at most


class Task(NamedTuple):
    """What is learned: a recipe without its model, and the lines that are written in the end."""

    name: str
    recipe: dict[str, Any]
    limit: int  # tokens of a side, END counted
    sources: Sequence[str]
    references: Sequence[str]
    metrics: Sequence[str]


class Row(NamedTuple):
    """A model's line in the table; `unchanged` has no weights and takes no time."""

    task: str
    model: str
    weights: int | None
    tokens_per_second: float | None
    scores: dict[str, float]


# --- Tasks -----------------------------------------------------------------------------------------------------------


def case_restoration(text: Path, folder: Path) -> Task:
    """Files of the distinct short lines of a text, shuffled; the tokenizer of the source puts them in small letters."""
    lines = list(dict.fromkeys(line for line in read_lines(text) if line.strip() and len(line) <= CHARACTERS))
    if len(lines) < FEWEST:
        raise UserError(
            f"{text}: has {len(lines):,} different lines of at most {CHARACTERS} characters, but {FEWEST:,} are "
            "needed; give a longer text, with a sentence a line"
        )
    Random(1).shuffle(lines)
    tested, validated, trained = lines[:TESTED], lines[TESTED:][:VALIDATED], lines[TESTED + VALIDATED :]
    for name, part in (("train.txt", trained), ("valid.txt", validated)):
        (folder / name).write_text("".join(line + "\n" for line in part), encoding="utf-8", newline="\n")
    recipe = {
        "data": {
            "folder": str(folder),
            "train": ["train.txt", "train.txt"],
            "valid": ["valid.txt", "valid.txt"],
            "max_length": CHARACTERS,
        },
        "text": {"source": {"type": "character", "lowercase": True}, "target": "character", "joint": False},
        "train": training("wer", batch_tokens=2048),
    }
    return Task("case", recipe, CHARACTERS + 1, [line.lower() for line in tested], tested, ["wer", "cer", "exact"])


def translation(multi30k: Path) -> Task:
    """German to English, scored on the test set of 2016."""
    sources, references = (list(read_lines(multi30k / f"test_2016_flickr.{side}")) for side in ("de", "en"))
    recipe = {
        "data": {
            "folder": str(multi30k),
            "train": ["train.de", "train.en"],
            "valid": ["val.de", "val.en"],
            "max_length": PIECES,
        },
        "text": {"source": {"type": "bpe", "vocab_size": 2000, "lowercase": True}, "joint": True},
        "train": training("bleu", batch_tokens=1024),
    }
    lines = [line.lower() for line in references]
    return Task("translation", recipe, PIECES + 1, [line.lower() for line in sources], lines, ["bleu", "chrf"])


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
    """The settings of a recipe in which the models differ."""
    embedding, lstm = {"dim": 64, "scale": True}, {"type": "lstm", "dim": 192}
    encoder = {"type": "recurrent", "cell": lstm, "layers": 2, "dropout": 0.2}
    dense = {"type": "dense", "max_length": limit, "hidden_dims": [256], "length_prediction": "classifier"}
    return {
        "LSTM -> Dense": instant({"source": embedding, "encoder": encoder, "frame_head": "aligned"}),
        "Dense -> Dense": instant({"source": embedding | {"dim": 24}, "encoder": "identity", "frame_head": dense}),
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


def instant(parts: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": {**parts, "target": "none", "decoder": "none"},
        "objective": {"type": "position-cross-entropy", "label_smoothing": 0.0},
        "translate": {"frame_decoder": "position-wise"},
    }


# --- Measurement -----------------------------------------------------------------------------------------------------


def rows(task: Task, minutes: float, folder: Path) -> Iterator[Row]:
    """What each model makes of a task, as soon as it is known."""
    yield Row(task.name, "unchanged", None, None, scores(task, task.sources))
    for number, (name, settings) in enumerate(models(task.limit).items(), start=1):
        run = weft.train(task.recipe | settings, out=folder / f"{task.name}-{number}", minutes=minutes)
        yield measured(task, name, run)


def measured(task: Task, name: str, run: Path) -> Row:
    translator = weft.load(run)
    began = time.perf_counter()
    translations = translator.translate(task.sources)
    seconds = time.perf_counter() - began
    tokens = sum(len(one.alternatives[0].tokens) for one in translations)
    outputs = [one.text for one in translations]
    return Row(task.name, name, count_parameters(translator.trained.model), tokens / seconds, scores(task, outputs))


def scores(task: Task, outputs: Sequence[str]) -> dict[str, float]:
    found = evaluate(outputs, [[line] for line in task.references], task.metrics)
    return {score.name: score.value for score in found}


def render(measurements: Sequence[Row]) -> str:
    """A table in Markdown for each task."""
    tables = []
    for task in dict.fromkeys(row.task for row in measurements):
        of_task = [row for row in measurements if row.task == task]
        names = list(of_task[0].scores)
        heads = ["| " + " | ".join([task, *names, "tokens/s", "weights"]) + " |", "|---" * (3 + len(names)) + "|"]
        tables.append("\n".join([*heads, *(table_line(row) for row in of_task)]))
    return "\n\n".join(tables)


def table_line(row: Row) -> str:
    speed = "" if row.tokens_per_second is None else f"{row.tokens_per_second:,.0f}"
    weights = "" if row.weights is None else f"{row.weights / 1e6:.2f} M"
    return "| " + " | ".join([row.model, *(f"{value:.2f}" for value in row.scores.values()), speed, weights]) + " |"


def main(
    text: Annotated[Path, typer.Option(help="A text in the right case, a sentence a line.")],
    out: Annotated[Path, typer.Option(help="A folder to make, for the pairs and the runs.")],
    minutes: Annotated[float, typer.Option(min=0.05, help="Time for training each model.")] = 5.0,
    multi30k: Annotated[Path | None, typer.Option(help="Folder of train.de, train.en and so on.")] = None,
    json_file: JsonFile = None,
) -> None:
    """Compare instant decoders with one that steps."""
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
    run_command(main, "instant")
