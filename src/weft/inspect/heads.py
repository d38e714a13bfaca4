"""What each word of a translation looked at, in every layer and head: the numbers of many pictures at once."""

from typing import NamedTuple

from weft.control.request import Request
from weft.engine.translator import Translator
from weft.inspect.attention import SPANS, Unit, source_spans
from weft.inspect.grid import Numbers
from weft.inspect.looking import across, look
from weft.inspect.translating import source_tokenizer
from weft.text.words import merged


class Heads(NamedTuple):
    """The names of both sides, the end mark last, and weights [T,S] between them.

    given: what the decoder itself gives out (a Transformer: the mean of its last layer). layers: of each, its heads.
    """

    text: str
    source: tuple[str, ...]
    target: tuple[str, ...]
    given: Numbers
    layers: list[list[Numbers]]
    remarks: tuple[str, ...]


def heads_of(translator: Translator, sentence: str | Request, unit: Unit = "words") -> Heads:
    """Translate the sentence, feed the translation to the model, and see where every head looks."""
    tokenizer, looked = source_tokenizer(translator), look(translator, sentence, None, None)
    fed, trained = looked.translated.fed, translator.trained
    source = source_spans(looked, tokenizer, unit)
    target = SPANS[unit](fed.target, trained.target_tokenizer)
    layers = [
        [merged(head.double().cpu().numpy(), target, source) for head in layer] for layer in across(trained.model, fed)
    ]
    return Heads(
        looked.translated.translation.text,
        tuple(span.name for span in source),
        tuple(span.name for span in target),
        merged(looked.weights, target, source),
        layers,
        fed.remarks,
    )
