"""What reads the frames of a model that has no decoder."""

from pathlib import Path

import torch
from torch import Tensor

from weft.core.errors import UserError
from weft.core.marks import END
from weft.core.padded import Padded
from weft.core.state import Scores, State
from weft.core.types import Make, Vocabulary
from weft.model.model import Model
from weft.search.role import Given, Language, Reading
from weft.store.model_folder import Trained, load_model


def reading_of(trained: Trained, make: Make[Reading], place: str) -> Reading | None:
    """The reading, made for this model; None for a model with a decoder, whose steps are searched.

    place: where it stands in the recipe, for telling what is wrong with it.
    """
    if trained.model.has_decoder or trained.model.lattice is None:
        return None
    target, device = trained.target_tokenizer, next(trained.model.parameters()).device
    vocabulary = target.vocabulary()

    def language_model(folder: str) -> Language:
        return load_language(Path(folder).expanduser(), vocabulary, device)

    try:
        return make(Given(trained.model.lattice.blank, vocabulary, target.encode, language_model))
    except UserError as error:
        raise UserError(f"{place}: {error}") from error


def load_language(folder: Path, vocabulary: Vocabulary, device: torch.device) -> Language:
    """The language model in a run or model folder, which must know all pieces of the vocabulary."""
    trained = load_model(folder)
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
    numbers = torch.tensor([theirs[piece] for piece in vocabulary], device=device)
    return language_of(trained.model.to(device), numbers)


def language_of(model: Model, numbers: Tensor) -> Language:
    """Its step function and first state, with tokens as they are here: `numbers` [V] says what they are there."""
    nothing = Padded.of([[END]]).to(numbers.device)

    def step(tokens: Tensor, state: State) -> tuple[Scores, State]:
        said, after = model.step(numbers[tokens.to(numbers.device)], state)
        return Scores(said.log_probs[:, numbers], said.attention), after

    with torch.no_grad():
        return Language(step, model.start(model.encode(nothing)))
