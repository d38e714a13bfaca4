"""Scores of a trained model on Multi30k, English to German, with its training time and speed.

From the root of the repository:

    python -m benchmarks.evaluate_multi30k RUN FOLDER              # test_2016_flickr
    python -m benchmarks.evaluate_multi30k RUN FOLDER --split val --json scores.json

Three scores: BLEU and chrF by sacrebleu on cased text, and BLEU on lower-cased Moses tokens, as in most papers on
Multi30k.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer
from benchmarks.command_line import JsonFile, run_command, write_json
from benchmarks.multi30k import read_split

import weft
from weft.core.errors import UserError
from weft.data.text_files import read_lines
from weft.metrics.corpus_metrics import evaluate
from weft.metrics.score_report import format_scores
from weft.metrics.scores import MetricScore, Segments


def score(outputs: Sequence[str], references: Sequence[str]) -> list[MetricScore]:
    """Return the three scores of German lines with one reference each."""
    cased = evaluate(Segments(outputs, [[line] for line in references]), ["bleu", "chrf"])
    return [*cased, published_bleu(outputs, references)]


def published_bleu(outputs: Sequence[str], references: Sequence[str]) -> MetricScore:
    """Return BLEU on lower-cased Moses tokens."""
    from sacrebleu.metrics.bleu import BLEU

    tokenize = moses()
    metric = BLEU(tokenize="none", force=True)  # force: do not warn about tokenized text
    result = metric.corpus_score([tokenize(line) for line in outputs], [[tokenize(line) for line in references]])
    return MetricScore(
        "bleu, lower-cased Moses tokens", result.score, "higher", f"{metric.get_signature()}|moses:sacremoses"
    )


def moses() -> Callable[[str], str]:
    """Return a function that lower-cases a German line and separates its tokens by spaces."""
    try:
        from sacremoses import MosesTokenizer
    except ImportError as error:
        raise UserError("sacremoses is not installed: pip install 'weft[bench]'") from error
    tokenizer = MosesTokenizer(lang="de")
    return lambda line: str(tokenizer.tokenize(line.lower(), return_str=True, escape=False))


def training_facts(run: Path) -> dict[str, float]:
    """Read updates, minutes with validation, and median target tokens per second from the run's log."""
    reports = [record for record in read_log(run / "log.jsonl") if "tokens_per_second" in record]
    if not reports:
        raise UserError(f"{run / 'log.jsonl'}: contains no progress records. Give the run folder (its --out)")
    return {
        "updates": reports[-1]["step"],
        "minutes": reports[-1]["seconds"] / 60,
        "tokens_per_second": median(record["tokens_per_second"] for record in reports),
    }


def read_log(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in read_lines(path)]


def main(
    run: Annotated[Path, typer.Argument(help="Run folder of an English-German model.")],
    folder: Annotated[Path, typer.Argument(help="Folder of Multi30k's files, such as val.en and val.de.")],
    split: Annotated[str, typer.Option(help="test_2016_flickr or val.")] = "test_2016_flickr",
    beam: Annotated[int, typer.Option(min=1)] = 5,
    json_file: JsonFile = None,
) -> None:
    """Score a run on a split of Multi30k."""
    moses()  # fail before the translation, not after it
    facts = training_facts(run)
    sources, references = read_split(folder, split, "en", "de")
    outputs = [translation.text for translation in weft.load(run, beam=beam).translate(sources, split=False)]
    scores = score(outputs, references)
    print(f"{run} on {split}: {len(outputs):,} lines, beam {beam}")
    print("{updates:,} updates in {minutes:.1f} minutes, {tokens_per_second:,.0f} target tokens/s".format(**facts))
    print(format_scores(scores))
    report = {"split": split, "beam": beam, "training": facts, "scores": [score._asdict() for score in scores]}
    write_json(json_file, report)


if __name__ == "__main__":
    run_command(main, "evaluate_multi30k")
