"""A trained model with a larger vocabulary: what it knows stays, and each new piece begins as what stood for it.

The row of a new piece, in an embedding or in the output layer, is the mean of the rows of the old pieces that spelled
it: bytes, parts of the word, or the unknown piece. So the model reads new text at first about as it did before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from weft.config.reader import describe
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.core.marks import FIRST_PIECE
from weft.model.build import build
from weft.store.model_folder import Trained, fill, weights_of
from weft.text.growing import grow
from weft.text.reader import Reader, is_tokenizer
from weft.text.rereading import Rereadable
from weft.text.tokenizer import Tokenizer
from weft.training.initial import learning_names, split_key

SHOWN = 12  # new pieces that are told
HERE = Path("the model with new pieces")


class Side(NamedTuple):
    """What reads the lines of a side. spelled: for each of its new pieces, the old ids that stood in its place."""

    reader: Reader
    spelled: tuple[tuple[int, ...], ...] = ()

    @property
    def old_size(self) -> int:
        return self.reader.size - len(self.spelled)


class Sides(NamedTuple):
    """Both; target is the tokenizer of the target's side."""

    source: Side
    written: Side
    target: Tokenizer

    def of(self, weight: str) -> Side:
        """The side whose pieces a weight has rows for, by its name."""
        return self.source if weight.startswith("source.") else self.written

    def told(self) -> list[str]:
        """What is new, for a person."""
        if self.target is self.source.reader:
            return told_pieces("new pieces", self.target, self.written)
        source = self.source.reader
        first = told_pieces("new source pieces", source, self.source) if is_tokenizer(source) else []
        return [*first, *told_pieces("new target pieces", self.target, self.written)]


def told_pieces(name: str, tokenizer: Tokenizer, side: Side) -> list[str]:
    pieces = tokenizer.pieces(range(side.old_size, tokenizer.size))
    more = " ..." if len(pieces) > SHOWN else ""
    return [f"{name}: {len(pieces):,} ({' '.join(pieces[:SHOWN])}{more})"] if pieces else []


def unable(recipe: Recipe) -> str | None:
    """Why the model of this recipe cannot have more pieces, if so."""
    slots = describe(recipe.model, REGISTRY)
    if "letters" in (slots["source"]["type"], slots["target"]["type"]):
        return "its vectors are made of letters, whose number is fixed (type: letters)"
    if slots["lattice"] is not None and slots["lattice"]["type"] != "ctc":
        return f"its lattice has a place for each piece (type: {slots['lattice']['type']})"
    return None


def as_they_are(trained: Trained) -> Sides:
    target = trained.target_tokenizer
    return Sides(Side(trained.source_tokenizer), Side(target), target)


def grown_sides(trained: Trained, pairs: Iterable[tuple[str, str]], room: int, *, merges: bool) -> Sides:
    """The tokenizers with at most `room` new pieces each. One that serves both sides learns from both."""
    source, target = trained.source_tokenizer, trained.target_tokenizer
    if is_tokenizer(source) and trained.recipe.text.joint:
        new = grow(source, Rereadable(lambda: (line for pair in pairs for line in pair)), room, merges=merges)
        other = new.tokenizer if target is source else new.tokenizer.backward()
        return Sides(Side(new.tokenizer, new.spelled), Side(other, new.spelled), other)
    written = grow(target, Rereadable(lambda: (line for _, line in pairs)), room, merges=merges)
    reading = Side(source)
    if is_tokenizer(source):
        reading = Side(*grow(source, Rereadable(lambda: (line for line, _ in pairs)), room, merges=merges))
    return Sides(reading, Side(*written), written.tokenizer)


def grown_model(trained: Trained, sides: Sides) -> Trained:
    """The same model with a row for each new piece."""
    recipe = trained.recipe
    vocabularies = sides.source.reader.vocabulary(), sides.target.vocabulary()
    model = build(recipe.model, *vocabularies, joint=recipe.text.joint)
    wanted, weights = weights_of(model), {}
    for name, weight in weights_of(trained.model).items():
        side, grows = sides.of(name), weight.shape != wanted[name].shape
        weights[name] = with_rows(weight, side, mean_rows(weight, side)) if grows else weight
    fill(model, weights, HERE)
    return Trained(model.eval(), sides.source.reader, sides.target, recipe, trained.metrics)


def grown_moments(moments: Mapping[str, Tensor], trained: Trained, model: Trained, sides: Sides) -> dict[str, Tensor]:
    """An optimiser's moments with rows for the new pieces, which have no moments yet: 0."""
    names, old, new = learning_names(trained.recipe), weights_of(trained.model), weights_of(model.model)
    found = dict(moments)
    for key, moment in moments.items():
        name = names[split_key(key)[1]]
        if moment.dim() > 0 and old[name].shape != new[name].shape:
            side = sides.of(name)
            found[key] = with_rows(moment, side, moment.new_zeros(len(side.spelled), *moment.shape[1:]))
    return found


def mean_rows(weight: Tensor, side: Side) -> Tensor:
    """For each new piece the mean of the rows that spelled it."""
    first = first_id(weight, side)
    return torch.stack([weight[[token - first for token in ids]].mean(0) for ids in side.spelled])


def with_rows(weight: Tensor, side: Side, rows: Tensor) -> Tensor:
    """New rows after those of the old pieces; what stands behind these, as the row of a blank, stays the last."""
    end = side.old_size - first_id(weight, side)
    return torch.cat([weight[:end], rows, weight[end:]])


def first_id(weight: Tensor, side: Side) -> int:
    """The id whose row is the first: a lattice with a blank has none for the marks."""
    return 0 if len(weight) == side.old_size else FIRST_PIECE
