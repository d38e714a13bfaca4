"""The demos: download data, train for a few minutes, score and show held-out examples, draw an attention map,
print what to try next.
"""

import shlex
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from weft.config.yaml_files import dump_yaml_inline
from weft.core.formatting import format_minutes
from weft.data.datasets.catalog import MultiReferenceExample
from weft.data.datasets.download import DatasetFolder, download_dataset
from weft.data.line_hashes import hash_lines
from weft.inference.loader import load_translator
from weft.inference.translator import Translator
from weft.metrics.corpus_metrics import evaluate
from weft.metrics.references import read_tsv
from weft.training.progress import open_display
from weft.training.trainer import RunOutcome
from weft.training.training_run import resume_training, start_training

DemoName = Literal["translate", "pronounce", "spell"]
TEXT_WIDTH = 100


@dataclass(frozen=True)
class DemoTask:
    """A demo."""

    title: str
    dataset: str
    minutes: float
    references: str  # what they are
    scores: Mapping[str, str]  # metrics and how they are called here
    lengths: tuple[int, ...]  # of the examples that are shown, in words or letters
    by_letters: bool
    inputs: tuple[str, ...]  # to try next
    attention_example: str


DEMO_TASKS: Mapping[str, DemoTask] = {
    "translate": DemoTask(
        title="A small Transformer learns to translate English into Spanish.",
        dataset="tatoeba-en-es",
        minutes=8,
        references="all human translations",
        scores={"bleu": "BLEU", "chrf": "chrF"},
        lengths=(5, 7, 8, 9, 10, 12, 14),
        by_letters=False,
        inputs=("Where did you learn to cook so well?", "I saw the man with the telescope."),
        attention_example="I have never seen such a beautiful house.",
    ),
    "pronounce": DemoTask(
        title="A small Transformer learns how English words are pronounced.",
        dataset="cmudict",
        minutes=5,
        references="the nearest of their pronunciations",
        scores={"wer": "phoneme error rate, %", "exact": "words without an error, %"},
        lengths=(4, 6, 7, 8, 9, 11, 13),
        by_letters=True,
        inputs=("weft", "transformer"),
        attention_example="thoughtfulness",
    ),
    "spell": DemoTask(
        title="A small Transformer learns to correct misspelled English words.",
        dataset="codespell",
        minutes=5,
        references="their corrections",
        scores={"exact": "words corrected, %", "cer": "character error rate, %"},
        lengths=(5, 6, 8, 9, 10, 12, 14),
        by_letters=True,
        inputs=("definately", "acomodation"),
        attention_example="neccessarilly",
    ),
}


def run_demo(name: DemoName, out: Path, data: Path, minutes: float | None, device: str) -> RunOutcome:
    """Run a demo; an interrupted one is resumed when it is started again."""
    task = DEMO_TASKS[name]
    time = format_minutes(minutes or task.minutes)
    _print_status(f"{task.title} About {time} of training.\nCtrl-C stops it; the same command resumes it.\n")
    dataset = download_dataset(task.dataset, data / task.dataset, _print_status)
    outcome = _train(task, dataset, out, minutes, device)
    if outcome != "interrupted":
        translator = load_translator(out, device=device)
        table = read_tsv(dataset.test)
        examples = [MultiReferenceExample(*row) for row in zip(table.sources, table.references, strict=True)]
        _print_results(task, translator, examples)
        _draw_attention(task, translator, out)
        _print_next_commands(task, dataset, out)
    return outcome


def _train(task: DemoTask, dataset: DatasetFolder, out: Path, minutes: float | None, device: str) -> RunOutcome:
    """Do what `weft train` does with the dataset, or `weft train --resume` if the run folder exists."""
    if out.exists():
        _print_status(f"{out} exists and is resumed; for a new run, use another --out")
        with open_display() as display:
            return resume_training(out, display, device)
    time = minutes or task.minutes
    files, valid = [str(dataset.train)], f"data.valid={dump_yaml_inline([str(dataset.valid)])}"
    _print_status("\n$ " + shlex.join(["weft", "train", *files, valid, "--minutes", f"{time:g}", "--out", str(out)]))
    with open_display() as display:
        return start_training(files, out, display, settings=[valid], minutes=time, device=device)


def _print_results(task: DemoTask, translator: Translator, test: Sequence[MultiReferenceExample]) -> None:
    outputs = [translation.text for translation in translator.translate(example.source for example in test)]
    scores = evaluate(outputs, [example.targets for example in test], list(task.scores))
    _print_heading("Held-out examples, selected by length and at random")
    output_of = dict(zip(test, outputs, strict=True))
    for example in _select_examples(test, task.lengths, by_letters=task.by_letters):
        output = output_of[example]
        rows = {"source": example.source, "Weft": output or "(nothing)", "human": " / ".join(example.targets[:3])}
        print()
        for label, text in rows.items():
            print(textwrap.fill(text, TEXT_WIDTH, initial_indent=f"{label:<9}", subsequent_indent=" " * 9))
    _print_heading(f"All {len(test):,} of them, against {task.references}")
    for name, score in zip(task.scores.values(), scores, strict=True):
        print(f"{name:<24} {score.value:5.1f}   {score.signature}")


def _select_examples(
    test: Sequence[MultiReferenceExample], lengths: Sequence[int], *, by_letters: bool
) -> list[MultiReferenceExample]:
    """One example of each length, if possible with several targets, selected by a hash."""
    selected = []
    for length in lengths:
        candidates = [
            example for example in test if len(example.source if by_letters else example.source.split()) == length
        ]
        candidates = [example for example in candidates if len(example.targets) > 1] or candidates
        selected += sorted(candidates, key=lambda example: int(hash_lines([example.source])[0]))[:1]
    return selected


def _draw_attention(task: DemoTask, translator: Translator, out: Path) -> None:
    from weft.visualize.attention_weights import draw_attention

    path = out / "attention.png"
    drawn = draw_attention(translator, task.attention_example, path)
    _print_heading("Attention")
    print(f"{task.attention_example}  ->  {drawn.text}")
    print(f"The attention of each output word is drawn in {path}")


def _print_next_commands(task: DemoTask, dataset: DatasetFolder, out: Path) -> None:
    _print_heading("What to try next")
    run, (first, second) = shlex.quote(str(out)), task.inputs
    for command in (
        f"echo {shlex.quote(first)} | weft translate {run}",
        f"echo {shlex.quote(second)} | weft translate {run} --json --n-best 3",
        f"weft inspect attention {run} {shlex.quote(first)}",
        f"weft evaluate {run} {shlex.quote(str(dataset.test))}",
        f"weft train {shlex.quote(str(out / 'recipe.yaml'))} --minutes 30 --out {shlex.quote(f'{out}-longer')}",
        "weft train YOUR.en YOUR.de --minutes 30 --out runs/mine",
    ):
        print(f"  {command}")
    print(
        f"\nThe settings that were chosen, and why, are in {out / 'recipe.yaml'}.\n"
        "If `weft` is not found: . .venv/bin/activate"
    )


def _print_heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}", flush=True)


def _print_status(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
