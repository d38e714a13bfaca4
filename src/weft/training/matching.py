"""Do the objective and the ways of translating fit what the model has: a decoder, a lattice, or both?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Never, cast

from weft.config.forms import PartRecipe, unfold
from weft.config.recipe import Recipe
from weft.core.errors import Problem, UserError
from weft.core.marks import FIRST_PIECE
from weft.core.state import State
from weft.core.types import Vocabulary
from weft.model.model import Model
from weft.objective.ctc import CTCLoss, JointLoss
from weft.objective.minimum_risk import MinimumRisk
from weft.objective.positions import PositionEntropy
from weft.objective.word_loss import WordLoss
from weft.search.role import Given, Language
from weft.search.words import read_words
from weft.store.place import find_model
from weft.text.settings import learners


class Says(NamedTuple):
    """What says an output: a decoder, a lattice with a blank or without one (None: there is none)."""

    decoder: bool
    blank: bool | None


DECODER = Says(decoder=True, blank=None)
TRAINED: dict[type, Says] = {  # by all other objectives: a decoder
    CTCLoss: Says(decoder=False, blank=True),
    JointLoss: Says(decoder=True, blank=True),
    PositionEntropy: Says(decoder=False, blank=False),
}
NAMES = {  # and what to do about a model that has it
    DECODER: ("a decoder alone", "take cross-entropy or another objective of decoders"),
    TRAINED[CTCLoss]: ("a lattice of the type ctc alone", "take the objective ctc"),
    TRAINED[JointLoss]: ("a decoder and a lattice of the type ctc", "take the objective joint-ctc"),
    TRAINED[PositionEntropy]: ("a lattice without a blank alone", "take the objective positions"),
    Says(decoder=True, blank=False): (
        "a decoder and a lattice without a blank",
        "leave one of them out, since no objective trains both",
    ),
}


def mismatches(recipe: Recipe, model: Model, vocabulary: Vocabulary) -> Iterator[Problem]:
    """Every problem of these kinds."""
    there = Says(model.has_decoder, None if model.lattice is None else model.lattice.blank)
    kind, settings = unfold(cast(PartRecipe, recipe.objective))
    trained = TRAINED.get(kind, DECODER)
    if trained != there:
        has, advice = NAMES[there]
        yield Problem("objective", f"trains {NAMES[trained][0]}, but this model has {has}: {advice}")
    if kind is MinimumRisk and not settings.get("cross_entropy") and recipe.train.start is None:
        text = (
            "is missing: minimum risk learns from the outputs that a model draws, and those of one that has learned "
            "nothing are noise. Give the folder of a trained one, or objective.cross_entropy a share"
        )
        yield Problem("train.start", text)
    if there.blank is not None and target_dropout(recipe):
        text = "splits targets anew in each epoch, so that nobody knows whether they fit into the frames: write 0"
        yield Problem("text.source.dropout" if recipe.text.target is None else "text.target.dropout", text)
    if recipe.translate.ctc_weight and there != TRAINED[JointLoss]:
        text = f"mixes a decoder with a lattice of the type ctc, but this model has {NAMES[there][0]}: write 0"
        yield Problem("translate.ctc_weight", text)
    yield from fusions(recipe, there)
    if recipe.text.target_order == "backward" and kind is WordLoss:
        text = "backward, but the objective word-loss finds words from left to right: write forward"
        yield Problem("text.target_order", text)
    if recipe.translate.words is not None:
        yield from words(recipe.translate.words, there, vocabulary)
    if not there.decoder and there.blank is not None:
        yield from readings(recipe, blank=there.blank, vocabulary=vocabulary)


def words(file: str, there: Says, vocabulary: Vocabulary) -> Iterator[Problem]:
    """Is there a decoder to hold to the words, and are there any?"""
    if not there.decoder:
        text = f"is for a decoder, but this model has {NAMES[there][0]}: set the words of translate.reading instead"
        yield Problem("translate.words", text)
        return
    try:
        read_words(Path(file).expanduser(), as_letters, len(vocabulary))
    except UserError as error:
        yield Problem("translate.words", str(error))


def as_letters(lines: Sequence[str]) -> list[list[int]]:
    """Lines as some tokenizer might spell them."""
    return [[FIRST_PIECE] * len(line) for line in lines]


def target_dropout(recipe: Recipe) -> float:
    """The share of merges that are left out of targets; a learner that cannot be made is told elsewhere."""
    try:
        return learners(recipe.text)[1].dropout
    except UserError:
        return 0.0


def fusions(recipe: Recipe, there: Says) -> Iterator[Problem]:
    """Is there a language model, where one is to be added to the steps of a decoder?"""
    fusion = recipe.translate.fusion
    if fusion.model is None:
        return
    if not there.decoder:
        text = f"adds a language model to the steps of a decoder, but this model has {NAMES[there][0]}: leave it out"
        yield Problem("translate.fusion", text)
    try:
        look_for(fusion.model)
    except UserError as error:
        yield Problem("translate.fusion.model", str(error))


def readings(recipe: Recipe, *, blank: bool, vocabulary: Vocabulary) -> Iterator[Problem]:
    """Make the readings, with all that is known without data."""
    given = Given(blank, vocabulary, as_letters, look_for)
    for place, make in (
        ("train.validation.reading", recipe.train.validation.reading),
        ("translate.reading", recipe.translate.reading),
    ):
        try:
            make(given)
        except UserError as error:
            yield Problem(place, str(error))


def look_for(folder: str) -> Language:
    """Is there a model? It is read when the words are known."""
    find_model(Path(folder).expanduser())

    def unread(*_: object) -> Never:
        raise UserError(f"{folder} has not been read yet")

    return Language(unread, State((), ()))
