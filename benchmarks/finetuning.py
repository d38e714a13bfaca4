"""Fine-tuning on a new domain: quality on the new domain and on the original one, with and without original data.

From the root of the repository; FOLDER receives the data and the runs, and existing ones are reused:

    OMP_NUM_THREADS=1 python -m benchmarks.finetuning MULTI30K FOLDER --json tuning.json

Captions of Multi30k, English to German. The original domain (`home`) is the captions without words of SPORT in English,
the new domain (`new`) the others. The base model is trained on the original domain only. Fine-tuning uses 2,000
captions of the new domain. The test set of the new domain is 500 more training captions and the matching part of
test_2016_flickr; the rest of test_2016_flickr is the test set of the original domain. Intervals are 95 % bootstrap
intervals.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from benchmarks.command_line import JsonFile, log, run_command, write_json
from benchmarks.machine import machine
from benchmarks.markdown import table

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
TRAIN_PAIRS, TEST_PAIRS = 2000, 500  # of the new domain, from Multi30k's training set
METRICS = ("bleu", "chrf")
DOMAINS = {"new": "sport", "home": "old domain"}  # with their titles in the table
MIXES = {"fine-tuned": 0.0, "fine-tuned, with an old pair for each new one": 1.0}
LAYERS: dict[str, PlainData] = {"type": "transformer", "layers": 3, "heads": 4, "ffn_dim": 256, "dropout": 0.2}
EMBEDDING: dict[str, PlainData] = {"type": "tokens", "dim": 128, "positions": "sinusoidal", "dropout": 0.2}

Pair = tuple[str, str]


def split_file(folder: Path, name: str) -> str:
    return str(folder / "data" / f"{name}.tsv")


def write_domains(multi30k: Path, folder: Path) -> None:
    """Write the splits of both domains; they are disjoint."""
    (folder / "data").mkdir(parents=True)
    train, valid, test = (read_pairs(multi30k, name) for name in ("train", "val", "test_2016_flickr"))
    new = [pair for pair in train if is_sport(pair)]
    splits = {
        "home-train": [pair for pair in train if not is_sport(pair)],
        "home-valid": [pair for pair in valid if not is_sport(pair)],
        "home-test": [pair for pair in test if not is_sport(pair)],
        "new-train": new[:TRAIN_PAIRS],
        "new-valid": [pair for pair in valid if is_sport(pair)],
        "new-test": [*new[TRAIN_PAIRS : TRAIN_PAIRS + TEST_PAIRS], *(pair for pair in test if is_sport(pair))],
    }
    for name, pairs in splits.items():
        write_tsv(Path(split_file(folder, name)), pairs)


def read_pairs(multi30k: Path, split: str) -> list[Pair]:
    return list(Corpus([str(multi30k / f"{split}.{language}") for language in ("en", "de")]).pairs())


def is_sport(pair: Pair) -> bool:
    return not SPORT.isdisjoint(re.findall("[a-z]+", pair[0].lower()))


def base_recipe(folder: Path, steps: int) -> dict[str, PlainData]:
    """Return the recipe of a Transformer that one core trains in a few minutes."""
    return {
        "data": {"train": [split_file(folder, "home-train")], "valid": [split_file(folder, "home-valid")]},
        "text": {"source": {"type": "bpe", "vocab_size": 4000}},
        "model": {"source": EMBEDDING, "encoder": LAYERS, "target": EMBEDDING, "decoder": LAYERS, "tie": "all"},
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


def evaluate_run(run: Path, folder: Path) -> dict[str, list[MetricScore]]:
    """Score a model on the test set of each domain."""
    translator = weft.load(run)
    scores = {}
    for domain in DOMAINS:
        pairs = list(Corpus([split_file(folder, f"{domain}-test")]).pairs())
        sources = [source for source, _ in pairs]
        outputs = [translation.text for translation in translator.translate(sources, split=False)]
        scores[domain] = evaluate_with_intervals(Segments(outputs, [[target] for _, target in pairs], sources), METRICS)
    return scores


def render(scores: Mapping[str, Mapping[str, Sequence[MetricScore]]]) -> str:
    """Return the Markdown table of docs/results.md."""
    header = ["model", *(f"{metric}, {title}" for title in DOMAINS.values() for metric in METRICS)]
    rows = [
        [name, *(format_score_value(score).strip() for domain in DOMAINS for score in domains[domain])]
        for name, domains in scores.items()
    ]
    return table(header, rows)


def as_json(domains: Mapping[str, Sequence[MetricScore]]) -> dict[str, Any]:
    return {domain: [score_to_dict(score) for score in scores] for domain, scores in domains.items()}


def main(
    multi30k: Annotated[Path, typer.Argument(help="Folder of Multi30k's files, such as train.en and train.de.")],
    folder: Annotated[Path, typer.Argument(help="Folder for the data and the runs; existing ones are reused.")],
    steps: Annotated[int, typer.Option(min=1, help="Training steps of the base model.")] = 1500,
    json_file: JsonFile = None,
) -> None:
    """Train a base model, fine-tune it on another domain, and score all models on both domains."""
    if not (folder / "data").exists():
        write_domains(multi30k, folder)
    base = folder / "base"
    if not base.exists():
        log("training the base model")
        weft.train(base_recipe(folder, steps), out=base)
    models = {"before": base}
    for name, mix in MIXES.items():
        run = models[name] = folder / f"tuned-{mix:g}"
        if not run.exists():
            log(name)
            settings = [f"data.valid=[{split_file(folder, 'new-valid')}]"]
            weft.finetune(base, [split_file(folder, "new-train")], out=run, mix=mix, overrides=settings)
    scores = {name: evaluate_run(run, folder) for name, run in models.items()}
    print(render(scores), end="")
    write_json(json_file, {"machine": machine(), "scores": {name: as_json(row) for name, row in scores.items()}})


if __name__ == "__main__":
    run_command(main, "finetuning")
