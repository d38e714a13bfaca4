"""Placeholders and inline tags: are all of them in the translation, and is the text around them as good as without?

From the root of the repository, after training a model on a file of `weft datasets download software-strings`:

    python -m benchmarks.placeholders RUN data/software-strings/placeholders.en-de.tsv [RUN TABLE]...

A table has a source and its references in each row; the projects that it is from are not in the training data. Ways to
translate strings with placeholders:

    tags     as `weft translate` does: the model reads a tag for each span
    mask     each span becomes [X0X], [X1X], ..., as clients of LibreTranslate do, and is restored where that survived
    text     spans are text like any other
    without  the same strings without their spans: what the text around them could be

Intact: the output has each span of the source as often as the source, and no other. Nested: of the outputs for sources
with elements, those whose start and end tags are all paired. BLEU and chrF compare outputs and references without
spans.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from benchmarks.command_line import JsonFile, run_command, write_json
from benchmarks.machine import machine
from benchmarks.markdown import table

import weft
from weft.core.errors import UserError
from weft.decoding.constraints.request import Request
from weft.inference.span_translation import DEFAULT_KINDS
from weft.inference.translator import Translator
from weft.metrics.corpus_metrics import evaluate
from weft.metrics.references import EvaluationSet, read_tsv
from weft.metrics.scores import Segments
from weft.text.marked_text import MarkedText

Translate: TypeAlias = Callable[[Translator, Sequence[str]], list[str]]

MASK = "[X{}X]"
METRICS = ("bleu", "chrf")


def translate_with_tags(translator: Translator, sources: Sequence[str]) -> list[str]:
    return [translation.text for translation in translator.translate(list(sources), split=False)]


def translate_as_text(translator: Translator, sources: Sequence[str]) -> list[str]:
    requests = [Request(source, protect=()) for source in sources]
    return [translation.text for translation in translator.translate(requests, split=False)]


def translate_masked(translator: Translator, sources: Sequence[str]) -> list[str]:
    marked = [MarkedText.find(source, DEFAULT_KINDS) for source in sources]
    outputs = translate_as_text(translator, [mask_spans(text) for text in marked])
    return [unmask_spans(output, text) for output, text in zip(outputs, marked, strict=True)]


def mask_spans(marked: MarkedText) -> str:
    """Return the text with a numbered mask for each span."""
    numbers = iter(range(len(marked.spans)))
    return "".join(part if isinstance(part, str) else MASK.format(next(numbers)) for part in marked.parts())


def unmask_spans(output: str, marked: MarkedText) -> str:
    """Return the output with the spans in place of their masks, between whose characters there may be spaces."""
    for number, span in enumerate(marked.spans):
        pattern = r"\s*".join(map(re.escape, MASK.format(number)))
        output = span.text.join(re.split(pattern, output))
    return output


METHODS: Mapping[str, Translate] = {"tags": translate_with_tags, "mask": translate_masked, "text": translate_as_text}


def remove_spans(text: str) -> str:
    """Return the text without its spans and the white space that they leave."""
    parts = MarkedText.find(text, DEFAULT_KINDS).parts()
    return " ".join("".join(part if isinstance(part, str) else " " for part in parts).split())


def is_intact(source: str, output: str) -> bool:
    counts = [Counter(span.text for span in MarkedText.find(text, DEFAULT_KINDS).spans) for text in (source, output)]
    return counts[0] == counts[1]


def paired_tags(text: str) -> int:
    """Return how many start and end tags are paired."""
    return sum(span.role != "single" for span in MarkedText.find(text, DEFAULT_KINDS).spans)


def measure(translator: Translator, test: EvaluationSet) -> dict[str, dict[str, float]]:
    """Return the figures of each way to translate the strings of a table."""
    references = [tuple(map(remove_spans, row)) for row in test.references]
    figures: dict[str, dict[str, float]] = {}
    for name, translate in METHODS.items():
        outputs = translate(translator, test.sources)
        pairs = list(zip(test.sources, outputs, strict=True))
        with_tags = [(source, output) for source, output in pairs if paired_tags(source)]
        figures[name] = {
            "strings": len(pairs),
            "intact": sum(is_intact(*pair) for pair in pairs),
            "with elements": len(with_tags),
            "nested": sum(paired_tags(source) == paired_tags(output) for source, output in with_tags),
            **quality([remove_spans(output) for output in outputs], references),
        }
    plain = translate_with_tags(translator, [remove_spans(source) for source in test.sources])
    figures["without"] = quality(plain, references)
    return figures


def quality(outputs: Sequence[str], references: Sequence[tuple[str, ...]]) -> dict[str, float]:
    scores = evaluate(Segments(list(outputs), list(references)), list(METRICS))
    return {score.name: score.value for score in scores}


def format_figures(named: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    def share(row: Mapping[str, float], part: str, whole: str) -> str:
        return f"{row[part] / row[whole]:.1%}" if row.get(whole) else "-"

    rows = [
        [
            name,
            method,
            share(row, "intact", "strings"),
            share(row, "nested", "with elements"),
            *(f"{row[metric]:.1f}" for metric in METRICS),
        ]
        for name, figures in named.items()
        for method, row in figures.items()
    ]
    return table(["strings", "method", "intact", "nested", "BLEU", "chrF"], rows)


def main(
    runs_and_tables: Annotated[list[Path], typer.Argument(metavar="RUN TABLE...", help="Models, each with a table.")],
    json_file: JsonFile = None,
) -> None:
    """Measure how placeholders and inline tags survive translation."""
    if len(runs_and_tables) % 2:
        raise UserError("name a table of strings after each run: RUN TABLE [RUN TABLE]...")
    figures: dict[str, Any] = {}
    for run, file in zip(runs_and_tables[::2], runs_and_tables[1::2], strict=True):
        figures[file.name] = measure(weft.load(run), read_tsv(file))
        print(format_figures({file.name: figures[file.name]}), flush=True)
    tags = [one["tags"] for one in figures.values()]
    print(f"{sum(row['intact'] for row in tags):,} of {sum(row['strings'] for row in tags):,} strings intact with tags")
    write_json(json_file, {"setting": machine(), "figures": figures})


if __name__ == "__main__":
    run_command(main, "placeholders")
