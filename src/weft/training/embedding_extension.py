"""Extend the vocabulary of a trained model.

A new token's row, in an embedding or in the output layer, is the mean of the rows of the old tokens that spelled
it; its optimizer state is zero.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import torch
from torch import Tensor

from weft.checkpoints.trained_model import TrainedModel, copy_weights, model_weights
from weft.config.inference_config import InferenceConfig
from weft.config.serialization import to_dict
from weft.core.codec import Codec
from weft.core.errors import UserError
from weft.core.lazy import Reiterable
from weft.core.special_tokens import NUM_SPECIAL_TOKENS
from weft.models.build import build_model
from weft.text.shared_spans import replace_shared_spans
from weft.text.tokenizer import Tokenizer, is_tokenizer
from weft.text.vocabulary_extension import ExtendedTokenizer, extend_tokenizer
from weft.training.warm_start import split_state_key

CodecT = TypeVar("CodecT", bound=Codec, covariant=True)

MAX_TOKENS_SHOWN = 12  # in a description
DEFAULT_NEW_TOKENS, NEW_TOKEN_SHARE = 100, 0.1  # the default maximum is the larger of count and share of the old tokens
EXTENDED_WEIGHTS = Path("the model with new tokens")  # names the weights in error messages


class ExtendedSide(NamedTuple, Generic[CodecT]):
    """The codec of a side. old_ids: for each new token, the old ids that spelled it."""

    codec: CodecT
    old_ids: tuple[tuple[int, ...], ...] = ()

    @property
    def old_size(self) -> int:
        return self.codec.size - len(self.old_ids)


class ExtendedTokenizers(NamedTuple):
    source: ExtendedSide[Codec]
    target: ExtendedSide[Tokenizer]

    def side_of(self, weight: str) -> ExtendedSide[Codec]:
        """Return the side whose tokens the rows of a weight belong to, by its name."""
        return self.source if weight.startswith("source.") else self.target

    def descriptions(self) -> list[str]:
        """Describe the new tokens in at most a line per side."""
        source, target = self.source.codec, self.target.codec
        if target is source:
            return describe_new_tokens("new tokens", target, self.target)
        first = describe_new_tokens("new source tokens", source, self.source) if is_tokenizer(source) else []
        return [*first, *describe_new_tokens("new target tokens", target, self.target)]


def describe_new_tokens(name: str, tokenizer: Tokenizer, side: ExtendedSide[Codec]) -> list[str]:
    tokens = tokenizer.tokens(range(side.old_size, tokenizer.size))
    more = " ..." if len(tokens) > MAX_TOKENS_SHOWN else ""
    return [f"{name}: {len(tokens):,} ({' '.join(tokens[:MAX_TOKENS_SHOWN])}{more})"] if tokens else []


def choose_tokenizers(
    trained: TrainedModel, pairs: Iterable[tuple[str, str]], extend: int | None
) -> ExtendedTokenizers:
    """Return the tokenizers of the model, with at most `extend` new tokens (None: unknown letters and words only)."""
    obstacle = extension_obstacle(trained.recipe)
    if extend and obstacle is not None:
        raise UserError(
            f"--extend-vocabulary {extend}: the vocabulary of this model is fixed, since {obstacle}: omit it"
        )
    if extend == 0 or obstacle is not None:
        return ExtendedTokenizers(ExtendedSide(trained.source_tokenizer), ExtendedSide(trained.target_tokenizer))
    limit = extend or max(DEFAULT_NEW_TOKENS, round(NEW_TOKEN_SHARE * trained.target_tokenizer.size))
    return extend_tokenizers(trained, pairs, limit, merges=extend is not None)


def extension_obstacle(recipe: InferenceConfig) -> str | None:
    """Return why the vocabulary of this recipe's model cannot be extended; None if it can."""
    slots = to_dict(recipe.model)
    if "char-cnn" in (slots["source"]["type"], slots["target"]["type"]):
        return "its embeddings are computed from a fixed set of characters (type: char-cnn)"
    if slots["frame_head"] is not None and slots["frame_head"]["type"] != "ctc":
        return f"its frame head has a place for each token (type: {slots['frame_head']['type']})"
    return None


def extend_tokenizers(
    trained: TrainedModel, pairs: Iterable[tuple[str, str]], limit: int, *, merges: bool
) -> ExtendedTokenizers:
    """Extend each tokenizer by at most `limit` new tokens; one that serves both sides learns from both."""
    source, target = trained.source_tokenizer, trained.target_tokenizer
    if target.tag_ids:  # as in training, tags replace the spans that both sides share
        lines_of_both = pairs
        pairs = Reiterable(lambda: map(replace_shared_spans, lines_of_both))

    def extended(tokenizer: Tokenizer, lines: Callable[[], Iterator[str]]) -> ExtendedTokenizer:
        return extend_tokenizer(tokenizer, Reiterable(lines), limit, merges=merges)

    if is_tokenizer(source) and trained.recipe.text.joint:
        joint, old_ids = extended(source, lambda: (line for pair in pairs for line in pair))
        other = joint if target is source else joint.reversed()
        return ExtendedTokenizers(ExtendedSide(joint, old_ids), ExtendedSide(other, old_ids))
    new_source = ExtendedSide(source)
    if is_tokenizer(source):
        new_source = ExtendedSide(*extended(source, lambda: (line for line, _ in pairs)))
    return ExtendedTokenizers(new_source, ExtendedSide(*extended(target, lambda: (line for _, line in pairs))))


def extend_model(trained: TrainedModel, sides: ExtendedTokenizers) -> TrainedModel:
    """Return the model with a row for each new token: the mean of the rows of the old tokens that spelled it."""
    recipe, source, target = trained.recipe, sides.source.codec, sides.target.codec
    model = build_model(recipe.model, source.vocabulary(), target.vocabulary(), joint=recipe.text.joint)
    extended, weights = model_weights(model), {}
    for name, weight in model_weights(trained.model).items():
        weights[name] = weight
        if weight.shape != extended[name].shape:
            side = sides.side_of(name)
            first = first_row_id(weight, side)
            means = [weight[[token - first for token in ids]].mean(0) for ids in side.old_ids]
            weights[name] = insert_rows(weight, side, torch.stack(means))
    copy_weights(model, weights, EXTENDED_WEIGHTS)
    return TrainedModel(model.eval(), source, target, recipe, trained.metrics)


def extend_optimizer_state(
    state: Mapping[str, Tensor],
    names: Sequence[str],
    trained: TrainedModel,
    extended: TrainedModel,
    sides: ExtendedTokenizers,
) -> dict[str, Tensor]:
    """Return the optimizer state with zeros in the rows of new tokens. names: of the trainable weights, in order."""
    old, new = model_weights(trained.model), model_weights(extended.model)
    result = dict(state)
    for key, tensor in state.items():
        name = names[split_state_key(key)[1]]
        if tensor.dim() > 0 and old[name].shape != new[name].shape:
            side = sides.side_of(name)
            result[key] = insert_rows(tensor, side, tensor.new_zeros(len(side.old_ids), *tensor.shape[1:]))
    return result


def insert_rows(weight: Tensor, side: ExtendedSide[Codec], rows: Tensor) -> Tensor:
    """Insert rows after those of the old tokens; rows behind them, such as that of the CTC blank, stay last."""
    end = side.old_size - first_row_id(weight, side)
    return torch.cat([weight[:end], rows, weight[end:]])


def first_row_id(weight: Tensor, side: ExtendedSide[Codec]) -> int:
    """Return the id of the first row: a frame head with a blank has no rows for the special tokens."""
    return 0 if len(weight) == side.old_size else NUM_SPECIAL_TOKENS
