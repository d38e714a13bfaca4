"""Several models on one test set: BLEU with its interval, chrF, speed, size, and BLEU by source length.

From the root of the repository, the reference model first:

    python -m benchmarks.ladder FOLDER runs/sutskever runs/cho runs/bahdanau runs/luong runs/gnmt
    python -m benchmarks.ladder FOLDER RUN... --split val --source de --target en --json ladder.json

Scores ignore case. Intervals are 95 % bootstrap intervals with 1,000 samples; p is that of the paired bootstrap test
(Koehn 2004) against the reference model, on the same samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from benchmarks.command_line import JsonFile, run_command, write_json
from benchmarks.evaluate_multi30k import training_facts
from benchmarks.markdown import table
from benchmarks.multi30k import read_split

import weft
from weft.metrics.comparison import ComparisonSettings, score_systems
from weft.metrics.references import ComparisonData, SystemOutput, system_names
from weft.metrics.scores import MetricOptions, MetricScore
from weft.models.model import count_parameters

LENGTHS = {"all": (1, None), "1-10": (1, 10), "11-20": (11, 20), "21+": (21, None)}  # source words
SETTINGS = ComparisonSettings(metrics=("bleu", "chrf"), options=MetricOptions(lowercase=True), test="bootstrap")


class LadderScores(NamedTuple):
    """Scores of a model; p is None for the reference model."""

    lines: int
    bleu: float
    interval: float
    p: float | None
    chrf: float


class Row(NamedTuple):
    """A row of the table; scores by length class, without classes that have no lines."""

    name: str
    minutes: float
    tokens_per_second: float
    parameters: int
    scores: Mapping[str, LadderScores]


def compare(outputs: Mapping[str, Sequence[str]], references: Sequence[str]) -> dict[str, LadderScores]:
    """Score each model and compare it with the first."""
    systems = [SystemOutput(name, lines) for name, lines in outputs.items()]
    results = score_systems(ComparisonData(systems, [[reference] for reference in references]), SETTINGS)
    return {
        bleu.system: LadderScores(
            len(references), bleu.score.value, half_interval(bleu.score), bleu.p, chrf.score.value
        )
        for bleu, chrf in zip(results["bleu"], results["chrf"], strict=True)
    }


def half_interval(score: MetricScore) -> float:
    return 0.0 if score.interval is None else score.interval.half_width()


def by_length(
    sources: Sequence[str], references: Sequence[str], outputs: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, LadderScores]]:
    """Score the models on the lines of each length class that has any."""
    word_counts = [len(source.split()) for source in sources]
    scores = {}
    for name, (shortest, longest) in LENGTHS.items():
        lines = [
            number
            for number, count in enumerate(word_counts)
            if shortest <= count and (longest is None or count <= longest)
        ]
        if lines:
            chosen = {model: [translations[number] for number in lines] for model, translations in outputs.items()}
            scores[name] = compare(chosen, [references[number] for number in lines])
    return scores


def render(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table."""
    classes = [name for name in LENGTHS if name != "all"]
    header = ["model", "BLEU", "p", "chrF", *(f"BLEU {name}" for name in classes), "tokens/s", "weights", "minutes"]
    lines = []
    for row in rows:
        scores = row.scores["all"]
        lines.append(
            [
                row.name,
                f"{scores.bleu:.1f} ± {scores.interval:.1f}",
                "" if scores.p is None else f"{scores.p:.3f}",
                f"{scores.chrf:.1f}",
                *(f"{row.scores[name].bleu:.1f}" if name in row.scores else "" for name in classes),
                f"{row.tokens_per_second:,.0f}",
                f"{row.parameters / 1e6:.1f} M",
                f"{row.minutes:.0f}",
            ]
        )
    return table(header, lines)


def main(
    folder: Annotated[Path, typer.Argument(help="Folder of Multi30k's files, such as val.de and val.en.")],
    runs: Annotated[list[Path], typer.Argument(help="Run folders; the first is the reference.")],
    split: Annotated[str, typer.Option(help="test_2016_flickr or val.")] = "test_2016_flickr",
    source: Annotated[str, typer.Option(help="Source language.")] = "de",
    target: Annotated[str, typer.Option(help="Target language.")] = "en",
    json_file: JsonFile = None,
) -> None:
    """Compare runs on a split of Multi30k."""
    names = system_names(runs)
    facts = {name: training_facts(run) for name, run in zip(names, runs, strict=True)}
    sources, references = read_split(folder, split, source, target)
    outputs: dict[str, list[str]] = {}
    weights = {}
    for name, run in zip(names, runs, strict=True):
        translator = weft.load(run)
        weights[name] = count_parameters(translator.trained.model)
        outputs[name] = [translation.text for translation in translator.translate(sources, split=False)]
    scores = by_length(sources, references, outputs)
    rows = [
        Row(
            name,
            facts[name]["minutes"],
            facts[name]["tokens_per_second"],
            weights[name],
            {length: models[name] for length, models in scores.items()},
        )
        for name in names
    ]
    print(render(rows), end="")
    report = [{**row._asdict(), "scores": {n: s._asdict() for n, s in row.scores.items()}} for row in rows]
    write_json(json_file, report)


if __name__ == "__main__":
    run_command(main, "ladder")
