"""What a model makes of lines that it was not trained on."""

from __future__ import annotations

from typing import NamedTuple

from weft.config.reader import describe
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.core.types import Make
from weft.engine.translator import Translator
from weft.metric.breakdown import Class, by_length, even_starts, word_lengths
from weft.metric.compare import Comparison, Sentences, Settings, compare
from weft.metric.evaluate import METRICS, count
from weft.metric.material import Material, System
from weft.report.run.held import Held
from weft.search.role import Reading, Search

USUAL = ("bleu", "chrf")  # where the recipe names none
OF_SENTENCES = "chrf"


class Lengths(NamedTuple):
    """A metric by the length of lines."""

    title: str
    classes: list[Class]


class Measured(NamedTuple):
    """Outputs, their scores, those of single sentences, and scores by length. cut: lines longer than is read.

    search: how outputs were found. before: what differed from that when the run itself validated.
    """

    held: Held
    comparison: Comparison
    sentences: Sentences
    lengths: Lengths
    cut: int
    search: str
    before: str


def measure(translator: Translator, held: Held, name: str) -> Measured:
    """Translate the lines. name: what the model is called."""
    recipe = translator.trained.recipe
    sources, references = [source for source, _ in held.pairs], [[target] for _, target in held.pairs]
    translations = translator.translate(sources)
    material = Material([System(name, [one.text for one in translations])], references, sources)
    comparison = compare(material, Settings(metrics=metrics_of(recipe)))
    pictures = translator.trained.source_tokenizer.reads == "pictures"
    return Measured(
        held,
        comparison,
        comparison.sentences(OF_SENTENCES),
        lengths_of(comparison, pictures=pictures),
        sum(one.cut for one in translations),
        *searches(recipe, held, decoder=translator.trained.model.has_decoder),
    )


def metrics_of(recipe: Recipe) -> tuple[str, ...]:
    """Those of validation, what chose the best model first."""
    settings = recipe.train.validation
    first = [settings.choose] if settings.choose in METRICS else []
    return tuple(dict.fromkeys([*first, *settings.metrics])) or USUAL


def lengths_of(comparison: Comparison, *, pictures: bool) -> Lengths:
    """By the words of the source; by letters where lines are words, and by the reference where sources are pictures."""
    material, metric = comparison.material, comparison.metric()
    references = [row[0] for row in material.references]
    of, lines = ("reference", references) if pictures else ("source", list(material.sources or references))
    words = word_lengths(lines)
    unit, lengths = ("words", words) if sum(words) > 2 * len(words) else ("letters", [len(line) for line in lines])
    counts = [count(one, [metric])[metric] for one in material.lines()]
    title = f"the metric {metric} by the length of the {of}, in {unit}"
    return Lengths(title, by_length(counts, lengths, even_starts(lengths)))


def searches(recipe: Recipe, held: Held, *, decoder: bool) -> tuple[str, str]:
    """How outputs are found; and how they were in validation, where the curves would differ from the scores."""
    own, settings = recipe.translate, recipe.train.validation
    now = searched(own.search if decoder else own.reading) if own.mbr.samples == 0 else "minimum Bayes risk"
    then = searched(settings.search if decoder else settings.reading)
    if not settings.lines or (now == then and len(held.pairs) == settings.lines and held.name == "valid"):
        return now, ""
    return now, f"Validations during training: the first {settings.lines:,} lines at most; search: {then}."


def searched(make: Make[Search] | Make[Reading]) -> str:
    """A search or a reading in a word or two."""
    node = describe(make, REGISTRY)
    return f"{node['type']} of {node['size']}" if "size" in node else str(node["type"])
