"""Large vocabularies: sampled softmax and bucketed vocabulary against the full softmax, on the same data.

From the root of the repository:

    python -m benchmarks.sampled_softmax                                       # an artificial language of 100,000 words
    python -m benchmarks.sampled_softmax --data en.txt de.txt --json sampled.json

The same small Transformer is trained with each objective, from the same initial weights, on the same batches. The
trainers alternate in one process, in reverse order in every second round, so that other load slows all equally. Tokens
are target tokens without padding, EOS included. All make the same number of updates; validation perplexity always uses
the full softmax. Label smoothing is off.

The artificial language: sentences are Markov chains of word classes with few likely successors; words within a class
follow Zipf's law, and every word occurs at least once. The source is the target with every word replaced by another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
import typer
from benchmarks.command_line import JsonFile, run_command, write_json
from benchmarks.machine import machine
from benchmarks.summary_statistics import format_range
from benchmarks.training_rounds import (
    RecipeTrainer,
    RoundCount,
    Rounds,
    Threads,
    Updates,
    WarmUp,
    first_batches,
    measure,
    summarize_speeds,
    use_threads,
)
from numpy.typing import NDArray

from weft.config.recipe import Recipe, load_recipe
from weft.config.yaml_files import PlainData
from weft.training.data_preparation import PreparedData, prepare_data
from weft.training.distributed import CPU_RANK
from weft.training.progress import open_display

FULL = "full"
SPARSE = [
    "model.source.sparse=true",
    "model.target.sparse=true",
    "model.head={type: linear, sparse: true}",
    "train.optimizer=lazy-adam",
]


def variants(classes: int, bucket: int) -> dict[str, list[str]]:
    """Return the compared variants: names and recipe settings."""
    sampled = f"objective={{type: sampled-softmax, sample_size: {classes}}}"
    return {
        FULL: ["objective={type: cross-entropy, label_smoothing: 0.0}"],
        "sampled": [sampled],
        "bucketed": [f"objective={{type: bucketed-vocabulary, sample_size: {bucket}}}"],
        "sampled, lazy": [sampled, *SPARSE],
    }


# --- Data ----------------------------------------------------------------------------------------------------------

Words: TypeAlias = NDArray[np.int64]


def write_language(folder: Path, words: int, pairs: int, classes: int = 50) -> list[str]:
    """Write the artificial language as train.source and train.target; return the settings to use it."""
    generator = np.random.default_rng(1)
    lengths = generator.integers(5, 21, pairs)
    chains = draw_words(generator, draw_classes(generator, pairs, 20, classes), words, classes)
    rows = [chain[:length] for chain, length in zip(chains, lengths.tolist(), strict=True)]
    rows += np.array_split(generator.permutation(words), -(-words // 12))  # every word at least once
    rows = [rows[place] for place in generator.permutation(len(rows))]
    for side in ("source", "target"):
        lines = "".join(" ".join(f"{side[0]}{word}" for word in row.tolist()) + "\n" for row in rows)
        (folder / f"train.{side}").write_text(lines, encoding="utf-8")
    return [f"data.folder={folder}", "data.train=[train.source, train.target]", "text.source={type: whitespace}"]


def draw_classes(generator: np.random.Generator, pairs: int, longest: int, classes: int) -> Words:
    """Return Markov chains of word classes, [pairs,longest]."""
    followers = generator.dirichlet(np.full(classes, 0.1), classes).cumsum(1)  # few are likely after each
    chains = np.empty((pairs, longest), np.int64)
    chains[:, 0] = generator.integers(classes, size=pairs)
    for place in range(1, longest):
        below = followers[chains[:, place - 1]] < generator.random((pairs, 1))
        chains[:, place] = below.sum(1).clip(max=classes - 1)
    return chains


def draw_words(generator: np.random.Generator, chains: Words, words: int, classes: int) -> Words:
    """Return a word of each class; the word of rank r has probability proportional to 1 / r."""
    shares = 1 / np.arange(1, max(1, words // classes) + 1)
    ranks = np.searchsorted((shares / shares.sum()).cumsum(), generator.random(chains.shape)).clip(max=len(shares) - 1)
    drawn: Words = ranks * classes + chains
    return drawn.clip(max=words - 1)


def model_node(dim: int, layers: int) -> dict[str, PlainData]:
    embedding: dict[str, PlainData] = {"dim": dim, "positions": "sinusoidal"}
    stack: dict[str, PlainData] = {"type": "transformer", "layers": layers, "heads": 4, "ffn_dim": 4 * dim}
    return {"source": dict(embedding), "encoder": dict(stack), "target": dict(embedding), "decoder": dict(stack)}


class Task(NamedTuple):
    """A recipe without the compared settings, and its prepared data."""

    node: dict[str, PlainData]
    overrides: list[str]
    prepared: PreparedData

    def recipe(self, *settings: str) -> Recipe:
        return load_recipe(self.node, [*self.overrides, *settings])


@contextmanager
def read_task(node: dict[str, PlainData], data: tuple[Path, Path] | None, words: int, pairs: int) -> Iterator[Task]:
    """Prepare the data: two files, or the artificial language."""
    with TemporaryDirectory() as folder:
        if data is None:
            overrides = write_language(Path(folder), words, pairs)
        else:
            source, target = (path.resolve() for path in data)
            overrides = [f"data.train=['{source}', '{target}']", f"text.source={{type: word, vocab_size: {words}}}"]
        overrides += [f"data.cache={folder}", "text.joint=false", "data.validation_fraction=0.01"]
        with open_display() as display:
            prepared = prepare_data(load_recipe(node, overrides), None, display, CPU_RANK)
        yield Task(node, overrides, prepared)


# --- Report --------------------------------------------------------------------------------------------------------


def make_report(rounds: Rounds, perplexities: Mapping[str, float | None]) -> dict[str, Any]:
    """Return the speed of each trainer, its ratio to the full softmax within each round, and its perplexity."""
    return {name: {**speeds, "perplexity": perplexities[name]} for name, speeds in summarize_speeds(rounds).items()}


def render(facts: Mapping[str, Any], report: Mapping[str, Any]) -> str:
    """Return the report as a plain table."""
    return "\n".join(
        [
            "{words:,} target words, width {dim}, {layers} + {layers} layers; {batch_tokens:,} tokens per batch".format(
                **facts
            ),
            "{cpu}, {cores} cores, {threads} threads, torch {torch}, Python {python}".format(**facts),
            "{rounds} rounds of {updates} updates each in alternation, after {warm_up} to warm up".format(**facts),
            "",
            "                 target tokens/s (min - max)     times full (min - max)  perplexity",
            *(row(name, side, report[FULL]["perplexity"]) for name, side in report.items()),
        ]
    )


def row(name: str, side: Mapping[str, Any], full: float | None) -> str:
    speed, times, perplexity = (
        format_range(side["tokens_per_second"], ",.0f"),
        format_range(side["times_first"], ".2f"),
        side["perplexity"],
    )
    change = "-" if perplexity is None or full is None else f"{perplexity:,.1f} ({perplexity / full - 1:+.1%})"
    return f"{name:<14}{speed:>30}{times:>27}  {change}"


def main(
    data: Annotated[
        tuple[Path, Path] | None,
        typer.Option(help="Two text files, source and target. Default: an artificial language."),
    ] = None,
    words: Annotated[int, typer.Option(min=100, help="Maximum vocabulary size of each language.")] = 100_000,
    pairs: Annotated[int, typer.Option(min=100, help="Sentence pairs of the artificial language.")] = 100_000,
    classes: Annotated[int, typer.Option(min=1, help="Sample size of the sampled softmax.")] = 8192,
    bucket: Annotated[int, typer.Option(min=1, help="Bucket size of the bucketed vocabulary.")] = 16_384,
    dim: Annotated[int, typer.Option(min=4)] = 256,
    layers: Annotated[int, typer.Option(min=1)] = 2,
    batch_tokens: Annotated[int, typer.Option(min=1)] = 2048,
    rate: Annotated[float, typer.Option(help="Peak learning rate.")] = 1e-3,
    rounds: RoundCount = 9,
    updates: Updates = 30,
    warm_up: WarmUp = 5,
    threads: Threads = None,
    json_file: JsonFile = None,
) -> None:
    """Measure the speed and perplexity of objectives that use a part of the vocabulary."""
    use_threads(threads)
    steps = warm_up + rounds * updates
    train: dict[str, PlainData] = {
        "steps": steps,
        "batch_tokens": batch_tokens,
        "schedule": {"type": "linear", "learning_rate": rate, "warmup_steps": max(1, steps // 10)},
        "validation": {"lines": 0, "metrics": [], "best_metric": "perplexity"},
    }
    with read_task({"model": model_node(dim, layers), "train": train}, data, words, pairs) as task:
        compared = variants(classes, bucket)
        trainers = {name: RecipeTrainer(task.recipe(*settings), task.prepared) for name, settings in compared.items()}
        turns = measure(trainers, first_batches(trainers[FULL], steps), warm_up, updates)
        report = make_report(turns, {name: side.perplexity() for name, side in trainers.items()})
        size = task.prepared.target.size
    facts = machine() | {"data": [str(path) for path in data] if data else "an artificial language", "words": size}
    facts |= {"dim": dim, "layers": layers, "batch_tokens": batch_tokens, "classes": classes, "bucket": bucket}
    facts |= {"rate": rate, "rounds": rounds, "updates": updates, "warm_up": warm_up}
    print(render(facts, report))
    write_json(json_file, {"setting": facts, "figures": report})


if __name__ == "__main__":
    run_command(main, "sampled_softmax")
