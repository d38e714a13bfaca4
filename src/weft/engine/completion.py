"""How a text goes on, by a language model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import torch

from weft.core.errors import UserError
from weft.core.marks import END
from weft.core.padded import Padded
from weft.core.state import Hypothesis
from weft.data.lines import one_line
from weft.engine.load import load_trained
from weft.search.beam import Beam
from weft.search.prefix import after_prefix
from weft.search.rankings import NoPenalty
from weft.search.role import Search
from weft.search.sampling import Sampling
from weft.store.model_folder import Trained

BEAM = 5  # wide, or as wide as there are completions wanted


@dataclass(frozen=True)
class Completer:
    """A language model with a search, which finds as many completions of a line as it is asked for."""

    trained: Trained
    search: Search

    def stream(self, prompts: Iterable[str]) -> Iterator[str]:
        """The completions of each prompt, one after the other, each with its prompt before it."""
        return chain.from_iterable(self.complete(prompt, number) for number, prompt in enumerate(prompts, 1))

    def complete(self, prompt: str, number: int = 1) -> list[str]:
        """The completions of the prompt that stands in line `number`."""
        (tokens,) = self.trained.target_tokenizer.encode([prompt])
        longest = longest_line(self.trained)
        if len(tokens) > longest:
            told = f"has {len(tokens)} pieces, but this model knows lines of at most {longest}"
            raise UserError(f"the prompt in line {number} {told}: give a shorter one")
        found = self._search(tokens, longest - len(tokens), number)
        lines = self.trained.target_tokenizer.decode([*tokens, *hypothesis.tokens] for hypothesis in found)
        return [one_line(line) for line in lines]

    @torch.inference_mode()
    def _search(self, tokens: list[int], room: int, number: int) -> list[Hypothesis]:
        model = self.trained.model
        device = next(model.parameters()).device
        nothing = model.start(model.encode(Padded.of([[END]]).to(device)))
        prefix = torch.tensor(tokens, dtype=torch.long, device=device)
        step, begun = after_prefix(model.step, nothing, prefix)
        [found] = self.search(step, begun, prefix.new_tensor([room]), prefix.new_tensor([number]))
        return found


def sampled(trained: Trained, count: int, temperature: float, seed: int) -> Completer:
    """Draws `count` completions of each line: with the same seed, the same ones."""
    return Completer(trained, Sampling(best=count, temperature=temperature, seed=seed))


def likeliest(trained: Trained, count: int) -> Completer:
    """Finds the `count` completions of each line that are the most probable, by beam search."""
    return Completer(trained, Beam(size=max(BEAM, count), best=count, length_penalty=NoPenalty, stop="limit"))


def load_language_model(path: Path, device: str) -> Trained:
    """The model in a run or model folder, if it is one that can complete a text."""
    trained = load_trained(path, device)
    if not trained.model.is_language_model:
        raise UserError(
            f"{path} is no language model: it translates, and needs a source for that (weft translate MODEL). "
            "How to train a language model is in configs/language-model.yaml"
        )
    if trained.target_tokenizer.order != "forward":
        raise UserError(
            f"{path} says lines from their end to their beginning (text.target_order: backward), so it cannot go on "
            "with the beginning of one"
        )
    return trained


def longest_line(trained: Trained) -> int:
    """The most pieces of a line: what the model was trained on, if its positions reach so far."""
    known, placed = trained.recipe.data.max_length, trained.model.target.limit
    return known if placed is None else min(known, placed - 1)
