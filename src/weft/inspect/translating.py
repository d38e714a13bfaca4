"""Translating one sentence, to look at what happened inside."""

from dataclasses import replace
from typing import NamedTuple

from torch import Tensor

from weft.control.request import Request
from weft.core.errors import UserError
from weft.core.frames import Frames
from weft.core.marks import END
from weft.core.padded import Padded
from weft.core.state import Hypothesis, State, Step
from weft.core.watch import watching
from weft.data.batches import Batch
from weft.data.padding import pad
from weft.engine.translation import Translation
from weft.engine.translator import Translator
from weft.model.model import Model
from weft.search.role import Reading, Search
from weft.text.reader import is_tokenizer
from weft.text.tokenizer import Tokenizer

NO_SENTENCE = 'the sentence is empty: write one in quotation marks, as "A man sleeps."'
NO_PICTURE = "this model reads pictures, and none is named: give the path of one"


class Fed(NamedTuple):
    """What a model is watched with: both sides with their ends; and what a picture of it says of them."""

    source: Padded  # ids [1,S], or the columns of a picture [1,S,height]
    target: list[int]
    title: tuple[str, ...]
    remarks: tuple[str, ...]


class Translated(NamedTuple):
    """A translation, the hypothesis that it is the text of, and what the model is fed to do the same again."""

    translation: Translation
    hypothesis: Hypothesis
    fed: Fed


class Keeping:
    """A search that keeps what it found: a `Translation` has the text of a hypothesis, not its ids and attention."""

    def __init__(self, search: Search):
        self.search = search
        self.found: list[Hypothesis] = []

    def __call__(self, step: Step, state: State, limit: Tensor, lines: Tensor) -> list[list[Hypothesis]]:
        found = self.search(step, state, limit, lines)
        self.found.extend(hypothesis for hypotheses in found for hypothesis in hypotheses)
        return found

    def rank(self, hypothesis: Hypothesis) -> float:
        return self.search.rank(hypothesis)

    @property
    def can_require(self) -> bool:
        return self.search.can_require


class KeepingRead:
    """The same of a reading."""

    def __init__(self, reading: Reading):
        self.reading = reading
        self.found: list[Hypothesis] = []

    def __call__(self, frames: Frames, limit: Tensor) -> list[list[Hypothesis]]:
        found = self.reading(frames, limit)
        self.found.extend(hypothesis for hypotheses in found for hypothesis in hypotheses)
        return found


def translate(translator: Translator, sentence: str | Request) -> Translated:
    """Translate the sentence, and keep the best hypothesis; a request may say how it begins, or what stands in it."""
    text = Request.of(sentence).text
    source, remarks = source_of(translator, text)
    translation, found = translate_and_keep(translator, sentence)
    if not found:
        raise UserError("the model finds no translation possible: its weights are broken; train it again")
    best = found[0]
    fed = Fed(source, [*best.tokens, END], (text, f"→ {translation.text}"), remarks)
    return Translated(translation, best, fed)


def source_of(translator: Translator, line: str) -> tuple[Padded, tuple[str, ...]]:
    """What the model reads of a sentence, or of the picture whose path the line is; and that it was cut, if it was."""
    reader, limit = translator.trained.source_tokenizer, translator.source_limit()
    if not line.strip():
        raise UserError(NO_SENTENCE if is_tokenizer(reader) else NO_PICTURE)
    [row] = reader.encode_rows([line]).split()
    units = "pieces" if is_tokenizer(reader) else "columns"
    left_out = f"the model reads {limit} {units} at most: the rest was left out"
    return pad([row[:limit]]), (left_out,) if len(row) > limit else ()


def translate_and_keep(translator: Translator, sentence: str | Request) -> tuple[Translation, list[Hypothesis]]:
    """The translation, and the hypotheses that the search or the reading has found, best first."""
    if translator.reading is None:
        keeping = Keeping(translator.search)
        [translation] = replace(translator, search=keeping).translate([sentence])
        return translation, keeping.found
    read = KeepingRead(translator.reading)
    [translation] = replace(translator, reading=read).translate([sentence])
    return translation, read.found


def source_tokenizer(translator: Translator) -> Tokenizer:
    """The tokenizer of a model that reads text."""
    tokenizer = translator.trained.source_tokenizer
    if not is_tokenizer(tokenizer):
        raise UserError(
            "this model reads pictures, and this is drawn of sentences only. What it sees in a picture is drawn by "
            "weft inspect attention, if it has a decoder, and by weft inspect frames, if it has a lattice."
        )
    return tokenizer


def read(translator: Translator, sentence: str) -> Fed:
    """The sentence as a language model is fed it: as a target, without a source."""
    [ids] = translator.trained.target_tokenizer.encode([sentence])
    limit = translator.trained.model.target.limit
    if limit is not None and len(ids) >= limit:
        raise UserError(f"the sentence has {len(ids)} pieces, but this model knows at most {limit - 1}: shorten it")
    return Fed(Padded.of([[END]]), [*ids, END], (sentence,), ())


def watch_features(model: Model, fed: Fed) -> dict[str, list[Tensor]]:
    """Everything that is noted while the model reads the source and, if it has a decoder, is fed the target."""
    batch = Batch(fed.source, Padded.of([fed.target]), (0,)).to(next(model.parameters()).device)
    with watching() as seen:
        if model.has_decoder:
            model.features(batch)
        else:
            model.frames(batch.source)
    return seen
