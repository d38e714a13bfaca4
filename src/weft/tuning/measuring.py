"""What a model is worth on new data and at home."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from weft.data.corpus import Corpus
from weft.engine.load import load_trained, load_translator
from weft.engine.perplexity import counted, scores, surprise_of
from weft.metric.evaluate import evaluate_with_intervals
from weft.metric.lines import Lines
from weft.metric.score import Score
from weft.store.model_folder import Trained, recipe_of

LINES = 1000  # at most, of each
METRICS = ("bleu", "chrf")  # where the recipe names none
COMPARABLE = ("perplexity per word", "bits per character")  # whatever the pieces


def measure(folder: Path, corpora: Mapping[str, Corpus], device: str) -> dict[str, list[Score]]:
    """The scores of the model in a folder on the first lines of each corpus, with its own search."""
    pairs = {name: list(islice(corpus.pairs(), LINES)) for name, corpus in corpora.items()}
    if recipe_of(folder).data.one_sided:
        trained = load_trained(folder, device)
        return {name: foreseen(trained, [line for _, line in some]) for name, some in pairs.items()}
    translator = load_translator(folder, device=device)
    metrics = translator.trained.recipe.train.validation.metrics or METRICS
    found = {}
    for name, some in pairs.items():
        sources = [source for source, _ in some]
        outputs = [translation.text for translation in translator.translate(sources)]
        found[name] = evaluate_with_intervals(Lines(outputs, [[target] for _, target in some], sources), metrics)
    return found


def foreseen(trained: Trained, lines: list[str]) -> list[Score]:
    """How well a language model foresees them."""
    rows = trained.target_tokenizer.encode(lines)
    counts = Counter(counted(lines, rows, trained.target_tokenizer))
    return [score for score in scores(surprise_of(trained, rows), counts) if score.name in COMPARABLE]
