"""What the objective of a run is given when it is made."""

from pathlib import Path

import torch

from weft.core.errors import UserError
from weft.core.watch import watching
from weft.data.cache import TokenCache
from weft.model.model import Model
from weft.nn.memory import Memory
from weft.objective.role import Given
from weft.store.model_folder import Trained, load_model


def given(trained: Trained, data: TokenCache) -> Given:
    """For the objective of a model that is trained on this data."""
    target = trained.target_tokenizer

    def load(folder: str) -> Model:
        device = next(trained.model.parameters()).device
        return load_frozen(Path(folder).expanduser(), trained).to(device)

    return Given(
        target.decode,
        load,
        counts=data.target_counts,
        seed=trained.recipe.train.seed,
        looks=lambda: looks(trained.model),
    )


def load_frozen(folder: Path, trained: Trained) -> Model:
    """The model in a folder, which stays as it is; its ids must mean what they mean to the one that is trained."""
    found = load_model(folder)
    for side, theirs, ours in (
        ("source", found.source_tokenizer, trained.source_tokenizer),
        ("target", found.target_tokenizer, trained.target_tokenizer),
    ):
        if theirs.fingerprint != ours.fingerprint:
            raise UserError(
                f"{folder}: the {side} tokenizer of that model is not the one of this run, so they speak of different "
                "pieces. Tokenizers are equal where data.train, text and train.seed are: take those of the recipe that "
                f"made {folder}."
            )
    check_steps(found.model, trained.recipe.data.max_length, folder)
    return found.model.requires_grad_(False)


def check_steps(model: Model, longest: int, folder: Path) -> None:
    """Can the model say something of every token of every pair? Else it would be told in the middle of the run."""
    if not model.has_decoder:
        raise UserError(f"{folder}: that model has no decoder, so it says nothing of a next token: name one that has")
    for side, limit in (("source", model.source.limit), ("target", model.target.limit)):
        if limit is not None and limit < longest + 1:
            raise UserError(
                f"{folder}: that model has {side} positions for {limit} tokens, END counted, but data.max_length is "
                f"{longest}: write {limit - 1} there, or less"
            )


@torch.no_grad()
def looks(model: Model) -> bool:
    """Does the decoder tell where it looks? It is asked for one step; on the meta device this computes nothing."""
    if not model.has_decoder:
        return False
    like, sizes = next(model.parameters()), model.encoder.sizes
    positions = 1 if sizes.keys else 0
    keys, values = (like.new_zeros(1, positions, width) for width in (sizes.keys, sizes.values))
    final = tuple(tuple(tuple(like.new_zeros(1, width) for width in parts) for parts in ways) for ways in sizes.final)
    memory = Memory(keys, values, torch.ones(1, positions, dtype=torch.bool, device=like.device), final)
    with watching():  # where no kernel is taken that needs numbers to start with
        output, _ = model.decoder(like.new_zeros(1, 1, model.target.dim), model.decoder.start(memory))
    return output.attention is not None
