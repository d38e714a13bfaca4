"""`weft demo`: download data, train for a few minutes, score and show held-out examples, draw an attention map, and
print what to try next.
"""

import shlex
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from weft.cli.datasets import training_command
from weft.cli.options import DeviceOption, parse_minutes

if TYPE_CHECKING:
    from weft.data.datasets.download import DatasetFolder
    from weft.inference.translator import Translator
    from weft.metrics.references import EvaluationSet
    from weft.training.trainer import RunOutcome

TEXT_WIDTH = 100


@dataclass(frozen=True)
class DemoTask:
    """A demo."""

    title: str
    dataset: str
    references: str  # what they are
    scores: Mapping[str, str]  # metrics and how they are called here
    lengths: tuple[int, ...]  # of the examples that are shown, in words or letters
    by_letters: bool
    inputs: tuple[str, str]  # to try next
    attention_example: str
    has_languages: bool = False  # so that its model can be served


DEMO_TASKS: Mapping[str, DemoTask] = {
    "translate": DemoTask(
        title="A small Transformer learns to translate English into Spanish.",
        dataset="tatoeba-en-es",
        references="all human translations",
        scores={"bleu": "BLEU", "chrf": "chrF"},
        lengths=(5, 7, 8, 9, 10, 12, 14),
        by_letters=False,
        inputs=("Where did you learn to cook so well?", "I saw the man with the telescope."),
        attention_example="I have never seen such a beautiful house.",
        has_languages=True,
    ),
    "pronounce": DemoTask(
        title="A small Transformer learns how English words are pronounced.",
        dataset="cmudict",
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
        references="their corrections",
        scores={"exact": "words corrected, %", "cer": "character error rate, %"},
        lengths=(5, 6, 8, 9, 10, 12, 14),
        by_letters=True,
        inputs=("definately", "acomodation"),
        attention_example="neccessarilly",
    ),
}


def demo(
    task: Annotated[
        Literal["translate", "pronounce", "spell"],
        typer.Argument(help="English to Spanish; English words to phonemes; misspelled words to correct ones."),
    ] = "translate",
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="The run folder to create or resume. Default: runs/demo-TASK.")
    ] = None,
    data: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder of the datasets.")] = Path("data"),
    minutes: Annotated[
        float | None, typer.Option(parser=parse_minutes, metavar="N", help="The training time. Default: 5 or 8.")
    ] = None,
    device: DeviceOption = "auto",
) -> None:
    """Download real data, train a model in a few minutes, and show what it can do."""
    from weft.core.formatting import format_minutes
    from weft.data.datasets.catalog import DATASETS
    from weft.data.datasets.download import download_dataset
    from weft.inference.loader import load_translator
    from weft.metrics.references import read_tsv

    settings, run = DEMO_TASKS[task], out or Path("runs") / f"demo-{task}"
    entry = DATASETS[settings.dataset]
    time = minutes or entry.minutes
    about = f"{settings.title} About {format_minutes(time)} of training."
    _print_status(f"{about}\nCtrl-C stops it; the same command resumes it.\n")
    dataset = download_dataset(entry, data / settings.dataset, _print_status)
    if _train(dataset, run, time, device) == "interrupted":
        raise typer.Exit(130)
    translator = load_translator(run, device=device)
    _print_results(settings, translator, read_tsv(dataset.test))
    _draw_attention(settings, translator, run)
    _print_next_commands(settings, dataset, run)


def _train(dataset: "DatasetFolder", out: Path, minutes: float, device: str) -> "RunOutcome":
    """Do what `weft train` does with the dataset, or `weft train --resume` if the run folder exists."""
    from weft.training.progress import open_display
    from weft.training.training_run import resume_training, start_training

    if out.exists():
        _print_status(f"{out} exists and is resumed; for a new run, use another --out")
        with open_display() as display:
            return resume_training(out, display, device)
    command = training_command(dataset, minutes, out)
    _print_status(f"\n$ {shlex.join(command)}")
    _, _, file, valid, *_ = command
    with open_display() as display:
        return start_training([file], out, display, settings=[valid], minutes=minutes, device=device)


def _print_results(task: DemoTask, translator: "Translator", test: "EvaluationSet") -> None:
    from weft.metrics.corpus_metrics import evaluate
    from weft.metrics.scores import Segments

    outputs = [translation.text for translation in translator.translate(test.sources, split=False)]
    _print_heading("Held-out examples, selected by length and at random")
    for number in _select_examples(task, test):
        print()
        texts = test.sources[number], outputs[number] or "(nothing)", " / ".join(test.references[number][:3])
        for label, text in zip(("source", "Weft", "human"), texts, strict=True):
            print(textwrap.fill(text, TEXT_WIDTH, initial_indent=f"{label:<9}", subsequent_indent=" " * 9))
    _print_heading(f"All {len(outputs):,} of them, against {task.references}")
    scores = evaluate(Segments(outputs, test.references), list(task.scores))
    for name, score in zip(task.scores.values(), scores, strict=True):
        print(f"{name:<24} {score.value:5.1f}   {score.signature}")


def _select_examples(task: DemoTask, test: "EvaluationSet") -> list[int]:
    """The number of an example of each length, if possible with several references, selected by a hash."""
    from weft.data.hashes import hash_lines

    hashes, selected = hash_lines(test.sources), []
    sizes = [len(source if task.by_letters else source.split()) for source in test.sources]
    for length in task.lengths:
        candidates = [number for number, size in enumerate(sizes) if size == length]
        candidates = [number for number in candidates if len(test.references[number]) > 1] or candidates
        selected += sorted(candidates, key=lambda number: int(hashes[number]))[:1]
    return selected


def _draw_attention(task: DemoTask, translator: "Translator", out: Path) -> None:
    from weft.visualize.attention_weights import draw_attention

    path = out / "attention.png"
    drawn = draw_attention(translator, task.attention_example, path)
    _print_heading("Attention")
    print(f"{task.attention_example}  ->  {drawn.text}")
    print(f"The attention of each output word is drawn in {path}")


def _print_next_commands(task: DemoTask, dataset: "DatasetFolder", out: Path) -> None:
    _print_heading("What to try next")
    run, (first, second) = shlex.quote(str(out)), task.inputs
    serve = [f"weft serve {run}"] if task.has_languages else []
    for command in (
        *serve,
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
