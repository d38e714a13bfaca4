"""Several models on one test set: BLEU with its interval, chrF, speed, size, and BLEU by the length of the source.

From the root of the repository, the model to compare with first:

    python -m benchmarks.ladder FOLDER runs/sutskever runs/cho runs/bahdanau runs/luong runs/gnmt
    python -m benchmarks.ladder FOLDER RUN... --split val --source de --target en --json ladder.json

All is lower-cased. Intervals hold 95 % of the scores of 1,000 samples of the lines; p is the paired bootstrap's (Koehn
2004) for the difference to the first model, on the same samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from benchmarks.command_line import JsonFile, run_command, write_json
from benchmarks.evaluate_multi30k import training_facts

import weft
from weft.data.text_files import read_lines
from weft.metrics.comparison import ComparisonSettings, score_systems
from weft.metrics.references import ComparisonData, SystemOutput, read_references
from weft.metrics.scores import MetricOptions, MetricScore
from weft.models.model import count_parameters

LENGTHS = {"all": (1, None), "1-10": (1, 10), "11-20": (11, 20), "21+": (21, None)}  # words of the source
SETTINGS = ComparisonSettings(metrics=("bleu", "chrf"), options=MetricOptions(lowercase=True), test="bootstrap")


class Scored(NamedTuple):
    """A model on some lines; p is None for the model that the others are compared with."""

    lines: int
    bleu: float
    interval: float
    p: float | None
    chrf: float


class Row(NamedTuple):
    """A model's line in the table."""

    name: str
    minutes: float
    tokens_per_second: float
    parameters: int
    scores: Mapping[str, Scored]


def compare(outputs: Mapping[str, Sequence[str]], references: Sequence[str]) -> dict[str, Scored]:
    """The scores of each model, and whether it differs from the first."""
    systems = [SystemOutput(name, lines) for name, lines in outputs.items()]
    results = score_systems(ComparisonData(systems, [[reference] for reference in references]), SETTINGS)
    return {
        bleu.system: Scored(len(references), bleu.score.value, half_of(bleu.score), bleu.p, chrf.score.value)
        for bleu, chrf in zip(results["bleu"], results["chrf"], strict=True)
    }


def half_of(score: MetricScore) -> float:
    """Of its interval: what stands after ±."""
    return 0.0 if score.interval is None else score.interval.half_width()


def by_length(
    sources: Sequence[str], references: Sequence[str], outputs: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, Scored]]:
    """For each class of lengths the scores of each model."""
    found = {}
    for name, (shortest, longest) in LENGTHS.items():
        lines = [
            number
            for number, source in enumerate(sources)
            if shortest <= len(source.split()) and (longest is None or len(source.split()) <= longest)
        ]
        chosen = {model: [written[number] for number in lines] for model, written in outputs.items()}
        found[name] = compare(chosen, [references[number] for number in lines])
    return found


def render(rows: Sequence[Row]) -> str:
    """A table in Markdown."""
    heads = [f"BLEU {name}" for name in LENGTHS if name != "all"]
    lines = [
        "| " + " | ".join(["model", "BLEU", "p", "chrF", *heads, "tokens/s", "weights", "minutes"]) + " |",
        "|---" * (7 + len(heads)) + "|",
    ]
    for row in rows:
        whole = row.scores["all"]
        cells = [
            row.name,
            f"{whole.bleu:.1f} ± {whole.interval:.1f}",
            "" if whole.p is None else f"{whole.p:.3f}",
            f"{whole.chrf:.1f}",
            *(f"{row.scores[name].bleu:.1f}" for name in LENGTHS if name != "all"),
            f"{row.tokens_per_second:,.0f}",
            f"{row.parameters / 1e6:.1f} M",
            f"{row.minutes:.0f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(
    folder: Annotated[Path, typer.Argument(help="The folder with Multi30k's files, such as val.de and val.en.")],
    runs: Annotated[list[Path], typer.Argument(help="Run folders; the others are compared with the first.")],
    split: Annotated[str, typer.Option(help="test_2016_flickr or val.")] = "test_2016_flickr",
    source: Annotated[str, typer.Option(help="The language that the models read.")] = "de",
    target: Annotated[str, typer.Option(help="The language that they write.")] = "en",
    json_file: JsonFile = None,
) -> None:
    """Compare runs on a split of Multi30k."""
    facts = {run.name: training_facts(run) for run in runs}
    read = folder / f"{split}.{source}"
    sources = list(read_lines(read))
    references = [line for (line,) in read_references([folder / f"{split}.{target}"], len(sources), read)]
    outputs: dict[str, list[str]] = {}
    weights = {}
    for run in runs:
        translator = weft.load(run)
        weights[run.name] = count_parameters(translator.trained.model)
        outputs[run.name] = [translation.text for translation in translator.translate(sources)]
    scores = by_length(sources, references, outputs)
    rows = [
        Row(
            name,
            facts[name]["minutes"],
            facts[name]["tokens_per_second"],
            weights[name],
            {length: scores[length][name] for length in LENGTHS},
        )
        for name in outputs
    ]
    print(render(rows))
    report = [{**row._asdict(), "scores": {n: s._asdict() for n, s in row.scores.items()}} for row in rows]
    write_json(json_file, report)


if __name__ == "__main__":
    run_command(main, "ladder")
