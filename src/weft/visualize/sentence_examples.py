"""Example sentences of a page: which lines are shown, and the edits between each output and its nearest reference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from weft.checkpoints.run_log import TrainingHistory
from weft.metrics.bleu import bleu_word_splitter
from weft.metrics.comparison import Comparison, SentenceScores
from weft.metrics.edit_distance import EditKind, EditTable
from weft.metrics.error_rates import closest_reference
from weft.metrics.scores import DEFAULT_OPTIONS, FloatArray, MetricOptions
from weft.visualize.run_monitor import select_outputs, validation_samples

MAX_HISTORY_STEPS = 6  # of a sentence over time


class EditSpan(NamedTuple):
    """Consecutive words with the same edit, or one substituted word.

    text: words of the output, or of the reference if they are missing in the output. space: whether a space precedes.
    """

    kind: EditKind
    space: bool
    text: str
    reference: str = ""  # the word that was substituted


class SentenceExample(NamedTuple):
    """A line, counted from 1, with the name, the score and the output of each system."""

    line: int
    source: str | None
    references: Sequence[str]
    outputs: list[tuple[str, str, list[EditSpan]]]


def find_edits(output: str, references: Sequence[str], options: MetricOptions) -> list[EditSpan]:
    """Return the edits that turn the nearest reference into the output; the options define words and equality."""
    split, fold = bleu_word_splitter(options), str.lower if options.lowercase else str

    def words(line: str) -> list[str]:
        return [fold(word) for word in split(line)]

    reference = closest_reference(output, references, words)
    expected, written = _spaced_words(reference, split), _spaced_words(output, split)
    edits = []
    for edit in EditTable(words(reference), words(output)).edits():
        if edit.kind == "delete":
            edits.append(EditSpan("delete", *next(expected)))
        elif edit.kind == "insert":
            edits.append(EditSpan("insert", *next(written)))
        else:
            edits.append(EditSpan(edit.kind, *next(written), reference=next(expected)[1]))
    return list(_merge_edits(edits))


def _spaced_words(line: str, split: Callable[[str], list[str]]) -> Iterator[tuple[bool, str]]:
    """Yield each word of a line and whether a space precedes it; a word that the tokenizer changed gets one."""
    end = 0
    for word in split(line):
        start = line.find(word, end)
        yield start != end, word
        end = start + len(word) if start >= 0 else end


def _merge_edits(edits: Iterable[EditSpan]) -> Iterator[EditSpan]:
    """Join neighbors of the same kind, except substitutions."""
    for kind, group in groupby(edits, key=lambda edit: edit.kind):
        if kind == "substitute":
            yield from group
        else:
            first, *others = group
            yield EditSpan(kind, first.space, first.text + "".join(" " * edit.space + edit.text for edit in others))


def worst_lines(sentences: SentenceScores, count: int) -> list[int]:
    """Return the lines with the worst mean over the systems, worst first."""
    return _smallest(sentences.goodness().mean(0), count)


def best_lines(sentences: SentenceScores, count: int) -> list[int]:
    """Return the lines with the best mean over the systems, best first."""
    return _smallest(-sentences.goodness().mean(0), count)


def median_lines(sentences: SentenceScores, count: int) -> list[int]:
    """Return the lines nearest to the median, worse ones first."""
    goodness = sentences.goodness().mean(0)
    nearest = _smallest(np.abs(goodness - np.median(goodness)), count)
    return sorted(nearest, key=lambda line: float(goodness[line]))


def improved_lines(sentences: SentenceScores, system: int, baseline: int, count: int) -> list[int]:
    """Return the lines on which a system is better than the baseline, largest difference first."""
    difference = sentences.goodness()[system] - sentences.goodness()[baseline]
    return [line for line in _smallest(-difference, count) if difference[line] > 0]


def _smallest(values: FloatArray, count: int) -> list[int]:
    return [int(line) for line in np.argsort(values, kind="stable")[:count]]


def sentence_examples(comparison: Comparison, sentences: SentenceScores, lines: Iterable[int]) -> list[SentenceExample]:
    data, options = comparison.data, comparison.settings.options
    return [
        SentenceExample(
            line + 1,
            None if data.sources is None else data.sources[line],
            data.references[line],
            [
                (system.name, f"{score:.1f}", find_edits(system.outputs[line], data.references[line], options))
                for system, score in zip(data.systems, sentences.scores[:, line], strict=True)
            ],
        )
        for line in lines
    ]


def sentence_histories(history: TrainingHistory) -> list[tuple[str, str, list[tuple[int, list[EditSpan]]]]]:
    """Return source, reference and outputs at a few steps for each sentence that validations logged."""
    histories = []
    for sample in validation_samples([history]):
        outputs = select_outputs(sample.outputs, MAX_HISTORY_STEPS)
        edits = [(output.step, find_edits(output.text, [sample.reference], DEFAULT_OPTIONS)) for output in outputs]
        histories.append((sample.source, sample.reference, edits))
    return histories
