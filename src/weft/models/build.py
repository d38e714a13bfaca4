"""Build a model from its configuration: each part gets the sizes of its neighbors, and tied weights are shared."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar, cast

from torch import nn

from weft.core.errors import ConfigError, ConfigProblem
from weft.core.setting_types import Factory
from weft.core.special_tokens import Vocabulary
from weft.models.heads import LinearHead
from weft.models.interfaces import Decoder, Embedder, Encoder, FrameHead, Head, NoHead
from weft.models.model import Model
from weft.models.transformer import TransformerDecoder, TransformerEncoder
from weft.nn.embedding import TokenEmbedding

BuiltT = TypeVar("BuiltT")
TiedWeights = Literal["none", "embeddings", "output", "all"]


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The components of the slots, and which of their weights are shared.

    A decoder produces an output step by step, a frame head at once: a model has one of them, or both.
    tie: `embeddings` = source and target, `output` = target and head, `all` = the three (Press & Wolf 2017).
    """

    source: Factory[Embedder] = TokenEmbedding
    encoder: Factory[Encoder] = TransformerEncoder
    target: Factory[Embedder] = TokenEmbedding
    decoder: Factory[Decoder] = TransformerDecoder
    head: Factory[Head] = LinearHead
    frame_head: Factory[FrameHead] | None = None
    tie: TiedWeights = "none"


def build_model(
    config: ModelConfig, source_vocabulary: Vocabulary, target_vocabulary: Vocabulary, *, joint: bool
) -> Model:
    """Build the parts, each with the sizes of its neighbors. joint: whether both sides have one vocabulary."""
    classes = len(target_vocabulary)
    source = _build_slot("source", lambda: config.source(source_vocabulary))
    encoder = _build_slot("encoder", lambda: config.encoder(source.dim))
    target = _build_slot("target", lambda: config.target(target_vocabulary))
    decoder = _build_slot("decoder", lambda: config.decoder(target.dim, encoder.sizes))
    make_frame_head = config.frame_head
    if not decoder.dim and make_frame_head is None:
        text = "none, and there is no model.frame_head, so this model has no output: give it one of the two"
        raise ConfigError([ConfigProblem("model.decoder", text)])
    head = _build_slot("head", lambda: config.head(decoder.dim, classes) if decoder.dim else NoHead())
    frame_head = None
    if make_frame_head is not None:
        frame_head = _build_slot("frame_head", lambda: make_frame_head(encoder.sizes, classes))
    model = Model(source, encoder, target, decoder, head, frame_head)
    _tie_weights(model, config.tie, joint=joint)
    return model


def _build_slot(name: str, make: Callable[[], BuiltT]) -> BuiltT:
    """Call `make`; report sizes that do not fit as a problem of the slot's configuration."""
    try:
        return make()
    except ValueError as error:
        raise ConfigError([ConfigProblem(f"model.{name}", str(error))]) from error


def _tie_weights(model: Model, tie: TiedWeights, *, joint: bool) -> None:
    if tie in ("embeddings", "all"):
        if not joint:
            raise _tie_error(f"{tie} needs one vocabulary for both sides: set text.joint=true")
        _share_weight(model.target, model.source, f"{tie}: the embeddings")
    if tie in ("output", "all"):
        if not model.has_decoder:
            raise _tie_error(f"{tie} shares the weight of the head, but without a decoder there is no head: write none")
        _share_weight(model.head, model.target, f"{tie}: the target embedding and the head")


def _share_weight(part: Embedder | Head, owner: Embedder | Head, names: str) -> None:
    """Give `part` the weight of `owner`."""
    if part.weight is None or owner.weight is None:
        raise _tie_error(
            f"{names} cannot share a weight, since only an embedding of the type tokens has a vector for each token"
        )
    if part.weight.shape != owner.weight.shape:
        widths = f"{owner.weight.shape[1]} and {part.weight.shape[1]}"
        raise _tie_error(f"{names} have different widths, {widths}: make them equal, or do not tie")
    cast(nn.Module, part).register_parameter("weight", owner.weight)


def _tie_error(text: str) -> ConfigError:
    return ConfigError([ConfigProblem("model.tie", text)])
