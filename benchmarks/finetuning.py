"""What a model gains on new text by fine-tuning, and what it loses at home: with and without old text mixed in.

From the root of the repository; FOLDER is made, with the data and the runs, and used again if it is there:

    OMP_NUM_THREADS=1 python -m benchmarks.finetuning MULTI30K FOLDER --json tuning.json

Captions of Multi30k, English to German. At home are those that name no sport (SPORT, by words of the English line); a
model is trained on these alone. The new domain is the others, of which 2,000 are for fine-tuning. 500 more, and all of
the test set of 2016 that are about sport, test it; the rest of the test set is the test at home. Intervals are 95 %,
by bootstrap.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from benchmarks.command_line import JsonFile, log, run_command, write_json
from benchmarks.machine import machine

import weft
from weft.config.yaml_files import PlainData
from weft.data.corpus import Corpus
from weft.data.datasets.download import write_tsv
from weft.metrics.corpus_metrics import evaluate_with_intervals
from weft.metrics.score_report import format_score_value, score_to_dict
from weft.metrics.scores import MetricScore, Segments

SPORT = frozenset(
    re.findall(
        "[a-z]+",
        "soccer football baseball basketball tennis hockey volleyball rugby golf ball player players team teams "
        "game match race racing racer skateboard skateboarder skateboarding ski skier skiing skis snowboard "
        "snowboarder snowboarding surf surfer surfing surfboard bicycle bike biker bikes cyclist cyclists gymnast "
        "athlete swim swimmer swimming wrestling wrestlers karate boxing boxer referee batter pitcher goal goalie "
        "jersey uniform uniforms sport sports racket bat skating skater skates kayak rodeo",
    )
)
LEARNED, TESTED = 2000, 500  # new pairs of the training data
METRICS = ("bleu", "chrf")
MIXES = {"fine-tuned": 0.0, "fine-tuned, an old pair mixed in for each new one": 1.0}
PART: dict[str, PlainData] = {"type": "transformer", "layers": 3, "heads": 4, "ffn_dim": 256, "dropout": 0.2}
EMBEDDING: dict[str, PlainData] = {"type": "tokens", "dim": 128, "positions": "sinusoidal", "dropout": 0.2}

Pair = tuple[str, str]


class Domains(NamedTuple):
    """The files of each, in a folder."""

    folder: Path

    def files(self, name: str) -> str:
        return str(self.folder / f"{name}.tsv")


def main(
    multi30k: Annotated[Path, typer.Argument(help="The folder with train.en, train.de and the others.")],
    folder: Annotated[Path, typer.Argument(help="Made, or used again.")],
    steps: Annotated[int, typer.Option(help="Of the model at home.")] = 1500,
    json: JsonFile = None,
) -> None:
    """Train a model at home, fine-tune it on another domain, and score all of them on both."""
    domains = Domains(folder / "data")
    if not domains.folder.exists():
        write_domains(multi30k, domains)
    base = folder / "base"
    if not base.exists():
        log("the model at home")
        weft.train(home_recipe(domains, steps), out=base)
    models = {"at home": base}
    for name, mix in MIXES.items():
        models[name] = folder / f"tuned-{mix:g}"
        if not models[name].exists():
            log(name)
            files = [domains.files("new-train")]
            settings = [f"data.valid=[{domains.files('new-valid')}]"]
            weft.finetune(base, files, out=models[name], mix=mix, overrides=settings)
    scores = {name: scored(model, domains) for name, model in models.items()}
    print("\n".join(table(scores)))
    write_json(json, {"machine": machine(), "scores": {name: records(rows) for name, rows in scores.items()}})


def write_domains(multi30k: Path, domains: Domains) -> None:
    """Captions without sport, and captions of it; what tests stands in no other file."""
    domains.folder.mkdir(parents=True)
    train, valid, test = (pairs_of(multi30k, name) for name in ("train", "val", "test_2016_flickr"))
    new = [pair for pair in train if is_sport(pair)]
    files = {
        "home-train": [pair for pair in train if not is_sport(pair)],
        "home-valid": [pair for pair in valid if not is_sport(pair)],
        "home-test": [pair for pair in test if not is_sport(pair)],
        "new-train": new[:LEARNED],
        "new-valid": [pair for pair in valid if is_sport(pair)],
        "new-test": [*new[LEARNED : LEARNED + TESTED], *(pair for pair in test if is_sport(pair))],
    }
    for name, pairs in files.items():
        write_tsv(Path(domains.files(name)), pairs)


def pairs_of(multi30k: Path, name: str) -> list[Pair]:
    return list(Corpus([str(multi30k / f"{name}.{language}") for language in ("en", "de")]).pairs())


def is_sport(pair: Pair) -> bool:
    return not SPORT.isdisjoint(re.findall("[a-z]+", pair[0].lower()))


def home_recipe(domains: Domains, steps: int) -> dict[str, PlainData]:
    """A Transformer that one core trains in some minutes."""
    return {
        "data": {"train": [domains.files("home-train")], "valid": [domains.files("home-valid")]},
        "text": {"source": {"type": "bpe", "vocab_size": 4000}},
        "model": {"source": EMBEDDING, "encoder": PART, "target": EMBEDDING, "decoder": PART, "tie": "all"},
        "objective": {"type": "cross-entropy", "label_smoothing": 0.1},
        "train": {
            "steps": steps,
            "batch_tokens": 2048,
            "schedule": {"type": "warmup-stable-decay", "learning_rate": 4e-3, "warmup_steps": 200, "decay_ratio": 0.6},
            "average": {"type": "exponential", "decay": 0.995},
            "validation": {"every": 250, "lines": 300, "search": "greedy"},
        },
        "translate": {"search": "greedy"},
    }


def scored(model: Path, domains: Domains) -> dict[str, list[MetricScore]]:
    """Of a model, on the test of each domain."""
    translator = weft.load(model)
    scores = {}
    for domain in ("new", "home"):
        pairs = list(Corpus([domains.files(f"{domain}-test")]).pairs())
        sources = [source for source, _ in pairs]
        outputs = [translation.text for translation in translator.translate(sources)]
        scores[domain] = evaluate_with_intervals(Segments(outputs, [[target] for _, target in pairs], sources), METRICS)
    return scores


def table(scores: dict[str, dict[str, list[MetricScore]]]) -> list[str]:
    """For docs/results.md."""
    headings = ["model", *(f"{metric}, {domain}" for domain in ("sport", "home") for metric in METRICS)]
    rows = [
        [name, *(format_score_value(score).strip() for domain in ("new", "home") for score in row[domain])]
        for name, row in scores.items()
    ]
    return ["| " + " | ".join(cells) + " |" for cells in [headings, ["---"] * len(headings), *rows]]


def records(row: Mapping[str, Sequence[MetricScore]]) -> dict[str, Any]:
    return {domain: [score_to_dict(score) for score in scores] for domain, scores in row.items()}


if __name__ == "__main__":
    run_command(main, "finetuning")
