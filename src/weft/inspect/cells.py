"""A sentence through the cells of a recurrent model, step by step."""

from typing import NamedTuple

from torch import Tensor

from weft.control.request import Request
from weft.core.errors import UserError
from weft.core.marks import BEGIN
from weft.engine.translator import Translator
from weft.inspect.grid import Numbers
from weft.inspect.translating import Fed, read, source_tokenizer, translate, watch_features
from weft.text.tokenizer import Tokenizer
from weft.text.words import pieces_of

HIDDEN, CELL, RECURRENCE = "h", "c", "recurrence"  # as cells note them; an LSTM alone has a c


class Steps(NamedTuple):
    """What a cell noted, in the order of its steps, and the piece that was read at each position of the sentence."""

    place: str  # as encoder.0.backward
    labels: tuple[str, ...]
    notes: dict[str, list[Tensor]]  # gates and states: [1,D] for each step

    def in_sentence_order(self, values: Numbers) -> Numbers:
        """values [T,...] of each step, as values of each position: a backward cell reads the last one first."""
        return values[::-1].copy() if "backward" in self.place.split(".") else values


class Followed(NamedTuple):
    """What a model was fed, and the steps of every cell that took part: the encoder's first, the lowest first."""

    fed: Fed
    cells: list[Steps]


def follow(translator: Translator, sentence: str | Request) -> Followed:
    """Translate the sentence, feed the translation to the model, and watch its cells; a language model reads it."""
    model, tokenizers = translator.trained.model, (source_tokenizer(translator), translator.trained.target_tokenizer)
    fed = (
        read(translator, Request.of(sentence).text) if model.is_language_model else translate(translator, sentence).fed
    )
    seen = watch_features(model, fed)
    labels = labels_of(fed, *tokenizers)
    cells = [
        Steps(place, labels[place.split(".")[0]], notes)
        for place, notes in by_place(seen).items()
        if HIDDEN in notes and place.split(".")[0] in labels  # what is inside a chain has no labels of its own
    ]
    if not cells:
        raise UserError(
            "this model has no recurrent cells, as a Transformer has none: there are no gates and no states that go "
            "from step to step. What it looks at is drawn by weft inspect attention."
        )
    return Followed(fed, cells)


def by_place(seen: dict[str, list[Tensor]]) -> dict[str, dict[str, list[Tensor]]]:
    """encoder.0.forward.reset -> the note "reset" of the place encoder.0.forward."""
    places: dict[str, dict[str, list[Tensor]]] = {}
    for path, tensors in seen.items():
        place, _, name = path.rpartition(".")
        places.setdefault(place, {})[name] = tensors
    return places


def labels_of(fed: Fed, source: Tokenizer, target: Tokenizer) -> dict[str, tuple[str, ...]]:
    """The pieces that each side reads: the sentence with its end mark, or the translation after the begin mark."""
    read = pieces_of(fed.source.data[0].tolist(), source)
    written = pieces_of([BEGIN, *fed.target[:-1]], target)
    return {"encoder": tuple(span.name for span in read), "decoder": tuple(span.name for span in written)}
