"""What reads the frames of a model that has no decoder; and the words that one with a decoder is held to."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from weft.core.errors import UserError
from weft.core.marks import END
from weft.core.padded import Padded
from weft.core.state import Scores, State
from weft.core.types import Make
from weft.model.model import Model
from weft.search.guides.listed import ListedWords
from weft.search.role import Given, Language, Reading
from weft.search.words import Encode, read_words
from weft.store.model_folder import Trained, load_model
from weft.text.tokenizer import Tokenizer


def reading_of(trained: Trained, make: Make[Reading], place: str) -> Reading | None:
    """The reading, made for this model; None for a model with a decoder, whose steps are searched.

    place: where it stands in the recipe, for telling what is wrong with it.
    """
    if trained.model.has_decoder or trained.model.lattice is None:
        return None
    target, device = trained.target_tokenizer, next(trained.model.parameters()).device

    def language_model(folder: str) -> Language:
        found, numbers = load_language_model(Path(folder).expanduser(), target, device)
        return language_of(found.model, numbers)

    try:
        return make(Given(trained.model.lattice.blank, target.vocabulary(), spelling(target), language_model))
    except UserError as error:
        raise UserError(f"{place}: {error}") from error


def words_of(trained: Trained, file: str | None) -> ListedWords | None:
    """The words of the file that translate.words names, as this model spells them."""
    if file is None:
        return None
    if not trained.model.has_decoder:
        raise UserError(
            "translate.words: holds the steps of a decoder to a list of words, but this model has none: set "
            "translate.reading to prefix-beam, and its words"
        )
    target = trained.target_tokenizer
    try:
        return ListedWords(read_words(Path(file).expanduser(), spelling(target), target.size))
    except UserError as error:
        raise UserError(f"translate.words: {error}") from error


def spelling(target: Tokenizer) -> Encode:
    """Lines to ids; a line that cannot be written without the unknown piece has none."""

    def encode(lines: Sequence[str]) -> list[list[int]]:
        return [[] if target.unknown in row else row for row in target.encode(lines)]

    return encode


def load_language_model(folder: Path, target: Tokenizer, device: torch.device) -> tuple[Trained, Tensor]:
    """The language model in a run or model folder, which must know all pieces of the target, and their numbers there.

    The numbers are [V]: what each of the target's ids is to the language model.
    """
    trained, vocabulary = load_model(folder), target.vocabulary()
    if not trained.model.is_language_model:
        raise UserError(f"{folder} is no language model: how to train one is in configs/language-model.yaml")
    theirs = {piece: number for number, piece in enumerate(trained.target_tokenizer.vocabulary())}
    missing = [piece for piece in vocabulary if piece not in theirs]
    if missing:
        some = ", ".join(missing[:5]) + (" ..." if len(missing) > 5 else "")
        raise UserError(
            f"the language model in {folder} lacks {len(missing)} of the pieces that this model writes ({some}): train "
            "it on the target side of the same data, with the same text settings"
        )
    if trained.target_tokenizer.order != target.order:
        there, here = trained.target_tokenizer.order, target.order
        raise UserError(
            f"the language model in {folder} says lines {there}, but this model {here}: train it with "
            f"text.target_order: {here}"
        )
    trained.model.to(device)
    return trained, torch.tensor([theirs[piece] for piece in vocabulary], device=device)


def language_of(model: Model, numbers: Tensor) -> Language:
    """Its step function and first state, with tokens as they are here: `numbers` [V] says what they are there."""
    nothing = Padded.of([[END]]).to(numbers.device)

    def step(tokens: Tensor, state: State) -> tuple[Scores, State]:
        said, after = model.step(numbers[tokens.to(numbers.device)], state)
        return Scores(said.log_probs[:, numbers], said.attention), after

    with torch.no_grad():
        return Language(step, model.start(model.encode(nothing)))
