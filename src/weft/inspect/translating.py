"""Translating one sentence, to look at what happened inside."""

from dataclasses import replace
from typing import NamedTuple

from torch import Tensor

from weft.core.errors import UserError
from weft.core.marks import END
from weft.core.padded import Padded
from weft.core.state import Hypothesis, State, Step
from weft.core.watch import watching
from weft.data.batches import Batch
from weft.engine.translator import Translation, Translator
from weft.model.model import Model
from weft.search.role import Search


class Translated(NamedTuple):
    """A translation, the hypothesis that it is the text of, and the ids of both sides, END last."""

    translation: Translation
    hypothesis: Hypothesis
    source: list[int]
    target: list[int]

    def title(self) -> tuple[str, ...]:
        return self.translation.source, f"→ {self.translation.text}"

    def remarks(self) -> tuple[str, ...]:
        """That the end of the sentence is missing, if it is."""
        read = len(self.source) - 1
        return (f"the model reads {read} pieces at most: the rest was left out",) if self.translation.cut else ()


class Keeping:
    """A search that keeps what it found: a `Translation` has the text of a hypothesis, not its ids and attention."""

    def __init__(self, search: Search):
        self.search = search
        self.found: list[Hypothesis] = []

    def __call__(self, step: Step, state: State, limit: Tensor) -> list[list[Hypothesis]]:
        found = self.search(step, state, limit)
        self.found.extend(hypothesis for hypotheses in found for hypothesis in hypotheses)
        return found


def translate(translator: Translator, sentence: str) -> Translated:
    """Translate the sentence, and keep the best hypothesis."""
    if not sentence.strip():
        raise UserError('the sentence is empty: write one in quotation marks, as "A man sleeps."')
    keeping = Keeping(translator.search)
    [translation] = replace(translator, search=keeping).translate([sentence])
    if not keeping.found:
        raise UserError("the model finds no translation possible: its weights are broken; train it again")
    best = keeping.found[0]
    ids = translator.trained.source_tokenizer.encode([sentence])[0]
    return Translated(translation, best, [*ids[: translator.source_limit()], END], [*best.tokens, END])


def watch_features(model: Model, source: list[int], target: list[int]) -> dict[str, list[Tensor]]:
    """Everything that is noted while the model reads the source and is fed the target."""
    device = next(model.parameters()).device
    with watching() as seen:
        model.features(Batch(Padded.of([source]), Padded.of([target]), (0,)).to(device))
    return seen
