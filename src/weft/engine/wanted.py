"""What else translations are to tell, and whether a model can tell it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch

from weft.core.errors import UserError
from weft.core.marks import BEGIN, FIRST_PIECE
from weft.data.padding import pad
from weft.engine.steps import source_limit, steps_of
from weft.store.model_folder import Trained


@dataclass(frozen=True)
class Wanted:
    """alignment: which words belong together. attention: where each piece looked. likeliest: so many pieces at each
    place. replace_unknown: the aligned source word, or its entry in the dictionary, for words that are not known.
    """

    alignment: bool = False
    attention: bool = False
    likeliest: int = 0
    replace_unknown: bool = False
    dictionary: Mapping[str, str] = field(default_factory=dict)

    @property
    def looks(self) -> bool:
        """Does it need to know where the model looks?"""
        return self.alignment or self.attention or self.replace_unknown


NOTHING_ELSE = Wanted()


def check_wanted(trained: Trained, wanted: Wanted, option: str) -> None:
    """Can the model tell what is wanted? option: what a person wrote to want it."""
    blind = blindness(trained) if wanted.looks else ""
    if blind:
        raise UserError(f"{option}: {blind}; leave it out")
    if wanted.replace_unknown and trained.target_tokenizer.unknown is None:
        raise UserError(
            f"{option}: the target's tokenizer spells whatever it does not know, so there is no unknown word to "
            "replace; leave it out"
        )


@torch.inference_mode()
def blindness(trained: Trained) -> str:
    """Why it cannot be told which source pieces a model looks at; empty if it can. Found by one step of the model."""
    if trained.source_tokenizer.reads == "pictures":
        return "this model reads pictures, which have no words"
    if not trained.model.has_decoder:
        return "this model has no decoder that could look at the source, so there is no attention"
    device, count = next(trained.model.parameters()).device, min(3, source_limit(trained))
    source = pad([np.full(count, FIRST_PIECE)]).to(device)
    step, state = steps_of(trained.model, source, trained.recipe.translate.ctc_weight)
    scores, _ = step(torch.tensor([BEGIN], device=device), state)
    if scores.attention is None:
        return "the decoder of this model does not look at the source, so there is no attention"
    if scores.attention.shape[1] != count + 1:
        return "the encoder of this model leaves fewer positions than it reads, so no piece can be told from another"
    return ""
