"""Validate weights: loss, perplexity and accuracy over all validation pairs; metrics over translations of the
first of them.
"""

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import torch

from weft.checkpoints.trained_model import TrainedModel
from weft.config.recipe import Recipe
from weft.data.batches import BatchLoader
from weft.decoding.constraints.word_trie import WordListConstraint
from weft.decoding.search import FrameDecoder
from weft.inference.ensemble import Ensemble
from weft.inference.translator import Translator
from weft.losses.objective import Objective
from weft.metrics.corpus_metrics import evaluate, language_options
from weft.metrics.scores import Segments
from weft.training.diagnostics import output_statistics

LOSS_METRICS = ("loss", "perplexity", "accuracy")


@dataclass(frozen=True)
class Validator:
    """Computes the scores of a model on the validation data. pairs: those that are translated."""

    objective: Objective
    batches: BatchLoader
    pairs: list[tuple[str, str]]
    recipe: Recipe
    frame_decoder: FrameDecoder | None  # for models without a decoder
    word_list: WordListConstraint | None
    ensemble: Ensemble  # with the language model of shallow fusion, if there is one

    def __call__(self, trained: TrainedModel) -> dict[str, Any]:
        trained.model.eval()
        try:
            return self._losses(trained) | self._translations(trained)
        finally:
            trained.model.train()

    @torch.no_grad()
    def _losses(self, trained: TrainedModel) -> dict[str, Any]:
        total = count = 0.0
        parts: Counter[str] = Counter()
        for batch in self.batches.epoch(0):
            loss = self.objective(trained.model, batch.to(trained.device))
            total, count = total + loss.total.item(), count + loss.count.item()
            parts.update({name: part.item() for name, part in loss.parts.items()})
        means = {"loss": total / count, **{name: part / count for name, part in parts.items()}}
        if "nll" in means:
            means["perplexity"] = math.exp(min(700.0, means.pop("nll")))
        return means

    def _translations(self, trained: TrainedModel) -> dict[str, Any]:
        if not self.pairs:
            return {}
        settings = self.recipe.train.validation
        translator = Translator(
            trained, settings.search(), self.recipe.translate, self.frame_decoder, self.word_list, self.ensemble
        )
        sources = [source for source, _ in self.pairs]
        outputs = [translation.text for translation in translator.translate(sources, split=False)]
        lines = Segments(outputs, [[target] for _, target in self.pairs], sources)
        scores = {
            score.name: score.value
            for score in evaluate(lines, settings.metrics, language_options(self.recipe.data.languages))
        }
        examples = [{"source": s, "target": t, "output": o} for (s, t), o in zip(self.pairs[:3], outputs, strict=False)]
        return scores | {"output_statistics": output_statistics(lines), "examples": examples}
