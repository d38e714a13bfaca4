"""How good the weights are on sentences they were not trained on."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import torch

from weft.config.recipe import Recipe
from weft.data.batches import Batches
from weft.engine.several import Beside
from weft.engine.translator import Translator
from weft.metric.evaluate import evaluate_lines
from weft.metric.lines import Lines
from weft.objective.role import Objective
from weft.search.guides.listed import ListedWords
from weft.search.role import Reading
from weft.store.model_folder import Trained
from weft.training.diagnosis.outputs import habits

LOSSES = ("loss", "perplexity", "accuracy")


@dataclass(frozen=True)
class Validator:
    """Loss and accuracy over all validation pairs, and metrics over real translations of the first of them."""

    objective: Objective
    batches: Batches
    pairs: list[tuple[str, str]]  # those that are translated
    recipe: Recipe
    reading: Reading | None  # of a model without a decoder
    words: ListedWords | None  # of which a decoder's outputs are made
    beside: Beside  # of a model that translates with a language model

    def __call__(self, trained: Trained) -> dict[str, Any]:
        trained.model.eval()
        try:
            return self._losses(trained) | self._translations(trained)
        finally:
            trained.model.train()

    @torch.no_grad()
    def _losses(self, trained: Trained) -> dict[str, Any]:
        device = next(trained.model.parameters()).device
        total = count = 0.0
        parts: Counter[str] = Counter()
        for batch in self.batches.epoch(0):
            loss = self.objective(trained.model, batch.to(device))
            total, count = total + loss.total.item(), count + loss.count.item()
            parts.update({name: part.item() for name, part in loss.parts.items()})
        means = {"loss": total / count, **{name: part / count for name, part in parts.items()}}
        if "nll" in means:
            means["perplexity"] = math.exp(min(700.0, means.pop("nll")))
        return means

    def _translations(self, trained: Trained) -> dict[str, Any]:
        if not self.pairs:
            return {}
        settings = self.recipe.train.validation
        translator = Translator(
            trained, settings.search(), self.recipe.translate, self.reading, self.words, self.beside
        )
        sources = [source for source, _ in self.pairs]
        outputs = [translation.text for translation in translator.translate(sources)]
        lines = Lines(outputs, [[target] for _, target in self.pairs], sources)
        scores = evaluate_lines(lines, settings.metrics)
        examples = [{"source": s, "target": t, "output": o} for (s, t), o in zip(self.pairs[:3], outputs, strict=False)]
        return {score.name: score.value for score in scores} | {"habits": habits(lines), "examples": examples}
