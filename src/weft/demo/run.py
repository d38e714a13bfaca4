"""Fetch a corpus, train on it with nothing configured, score and show what was held out, draw one, say what next."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from weft.config.document import inline
from weft.core.numbers import spoken_minutes
from weft.corpora.fetch import get
from weft.corpora.folder import CorpusFolder
from weft.corpora.splits import Example
from weft.demo.show import heading, pick, show_example
from weft.demo.tasks import TASKS, Task
from weft.engine.load import load_translator
from weft.engine.translator import Translator
from weft.metric.evaluate import evaluate
from weft.metric.examples import read_table
from weft.training.loop import End
from weft.training.progress import display
from weft.training.start import go_on, start

Name = Literal["translate", "pronounce", "spell"]


def run_demo(name: Name, out: Path, data: Path, minutes: float | None, device: str) -> End:
    """The whole demo; what was interrupted goes on when it is started again."""
    task = TASKS[name]
    time = spoken_minutes(minutes or task.minutes)
    say(f"{task.title} About {time} of training.\nCtrl-C stops it; started again, it goes on.\n")
    corpus = get(task.corpus, data / task.corpus, say)
    end = train(task, corpus, out, minutes, device)
    if end != "interrupted":
        translator = load_translator(out, device=device)
        table = read_table(corpus.test)
        examples = [Example(*row) for row in zip(table.sources, table.references, strict=True)]
        show_results(task, translator, examples)
        draw_picture(task, translator, out)
        show_next(task, corpus, out)
    return end


def train(task: Task, corpus: CorpusFolder, out: Path, minutes: float | None, device: str) -> End:
    """What `weft train` does with the files of the corpus, or `weft train --resume` with a run that is there."""
    if out.exists():
        say(f"{out} is there already, and goes on as it was begun; for a new one, give another --out")
        with display() as shown:
            return go_on(out, shown, device)
    time = minutes or task.minutes
    files, valid = [str(corpus.train)], f"data.valid={inline([str(corpus.valid)])}"
    say("\n$ " + shlex.join(["weft", "train", *files, valid, "--minutes", f"{time:g}", "--out", str(out)]))
    with display() as shown:
        return start(files, out, shown, settings=[valid], minutes=time, device=device)


def show_results(task: Task, translator: Translator, test: Sequence[Example]) -> None:
    """Translate what was held out, show some, and score it all."""
    outputs = [made.text for made in translator.translate(example.source for example in test)]
    scores = evaluate(outputs, [example.targets for example in test], [score.metric for score in task.scores])
    heading("Some lines that were held out, picked by length and by chance")
    made = dict(zip(test, outputs, strict=True))
    for example in pick(test, task.lengths, by_letters=task.by_letters):
        show_example(example, made[example])
    heading(f"All {len(test):,} of them, against {task.people}")
    for shown, score in zip(task.scores, scores, strict=True):
        print(f"{shown.name:<24} {score.value:5.1f}   {score.signature}")


def draw_picture(task: Task, translator: Translator, out: Path) -> None:
    if task.picture is None:
        return
    from weft.inspect.attention import draw

    place = out / "attention.png"
    drawn = draw(translator, task.picture, place)
    heading("What each word looked at")
    print(f"{task.picture}  ->  {drawn.translation}")
    print(f"The attention between them is drawn in {place}")


def show_next(task: Task, corpus: CorpusFolder, out: Path) -> None:
    """Commands to type."""
    heading("What to try next")
    run = shlex.quote(str(out))
    for command in (
        *(f"echo {shlex.quote(line)} | weft translate {run}" for line in task.tries[:1]),
        *(f"echo {shlex.quote(line)} | weft translate {run} --json --best 3" for line in task.tries[1:]),
        f"weft inspect attention {run} {shlex.quote(task.tries[0])}",
        f"weft evaluate {run} {shlex.quote(str(corpus.test))}",
        f"weft train {shlex.quote(str(out / 'recipe.yaml'))} --minutes 30 --out {shlex.quote(f'{out}-longer')}",
        "weft train YOUR.en YOUR.de --minutes 30 --out runs/mine",
    ):
        print(f"  {command}")
    print(f"\nWhat was chosen, and why, is in {out / 'recipe.yaml'}.\nIf `weft` is not found: . .venv/bin/activate")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
