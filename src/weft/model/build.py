"""The one place where the sizes of the parts meet."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar, cast

from torch import nn

from weft.core.errors import ConfigError, Problem
from weft.core.types import Make, Vocabulary
from weft.model.decoders.transformer import TransformerDecoder
from weft.model.encoders.transformer import TransformerEncoder
from weft.model.head import Linear, NoHead
from weft.model.model import Model
from weft.model.roles import Decoder, Embed, Encoder, Head, Lattice
from weft.nn.embedding import Embedding

Built = TypeVar("Built")


@dataclass(frozen=True, kw_only=True)
class Slots:
    """What fills the slots, and which of their weights are one.

    A decoder says an output step by step, a lattice says it at once: a model has one of them, or both.
    tie: `embeddings` = source and target, `output` = target and head, `all` = the three (Press & Wolf 2017).
    """

    source: Make[Embed] = Embedding
    encoder: Make[Encoder] = TransformerEncoder
    target: Make[Embed] = Embedding
    decoder: Make[Decoder] = TransformerDecoder
    head: Make[Head] = Linear
    lattice: Make[Lattice] | None = None
    tie: Literal["none", "embeddings", "output", "all"] = "none"


def build(slots: Slots, source_vocabulary: Vocabulary, target_vocabulary: Vocabulary, *, joint: bool) -> Model:
    """Make the parts, each with the sizes of its neighbours; joint = both sides have one vocabulary."""
    source = part("source", lambda: slots.source(source_vocabulary))
    encoder = part("encoder", lambda: slots.encoder(source.dim))
    target = part("target", lambda: slots.target(target_vocabulary))
    decoder = part("decoder", lambda: slots.decoder(target.dim, encoder.sizes))
    check_output(decoder, slots)
    head = part("head", lambda: slots.head(decoder.dim, len(target_vocabulary)) if decoder.dim else NoHead())
    make = slots.lattice
    lattice = None if make is None else part("lattice", lambda: make(encoder.sizes, len(target_vocabulary)))
    model = Model(source, encoder, target, decoder, head, lattice)
    tie(model, slots.tie, joint=joint)
    return model


def check_output(decoder: Decoder, slots: Slots) -> None:
    """Is there something that says an output?"""
    if not decoder.dim and slots.lattice is None:
        text = "none, and there is no model.lattice, so this model could say nothing: give it one of the two"
        raise ConfigError([Problem("model.decoder", text)])


def part(name: str, make: Callable[[], Built]) -> Built:
    """Make a part; sizes that do not fit are the configuration's problem, at its place."""
    try:
        return make()
    except ValueError as error:
        raise ConfigError([Problem(f"model.{name}", str(error))]) from error


def tie(model: Model, which: str, *, joint: bool) -> None:
    """Let slots share one weight."""
    if which in ("embeddings", "all"):
        if not joint:
            raise ConfigError(
                [Problem("model.tie", f"{which} needs one vocabulary for both sides: set text.joint=true")]
            )
        share(model.target, model.source, f"{which}: the embeddings")
    if which in ("output", "all"):
        if not model.has_decoder:
            text = f"{which} shares the weight of the head, but without a decoder there is no head: write none"
            raise ConfigError([Problem("model.tie", text)])
        share(model.head, model.target, f"{which}: the target embedding and the head")


def share(part: Embed | Head, owner: Embed | Head, what: str) -> None:
    """Give `part` the weight of `owner`."""
    if part.weight is None or owner.weight is None:
        text = f"{what} cannot share a weight, since only an embedding of the type tokens has a vector for each token"
        raise ConfigError([Problem("model.tie", text)])
    if part.weight.shape != owner.weight.shape:
        widths = f"{owner.weight.shape[1]} and {part.weight.shape[1]}"
        raise ConfigError(
            [Problem("model.tie", f"{what} have different widths, {widths}: make them equal, or do not tie")]
        )
    cast(nn.Module, part).register_parameter("weight", owner.weight)


def parameters(model: nn.Module) -> int:
    """How many numbers are learned; a shared weight counts once."""
    return sum(parameter.numel() for parameter in model.parameters())
