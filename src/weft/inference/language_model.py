"""Language models: completion of a text, and perplexity of a text."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import torch
from torch import Tensor

from weft.checkpoints.trained_model import TrainedModel
from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.core.special_tokens import EOS
from weft.data.batches import Batch
from weft.data.text_files import read_lines, replace_line_breaks
from weft.decoding.beam import BeamSearch
from weft.decoding.constraints.prefix import continue_prefix
from weft.decoding.length_penalty import NoLengthPenalty
from weft.decoding.sampling import Sampling
from weft.decoding.search import Search
from weft.inference.backends import batch_by_length
from weft.inference.evaluation import missing_references_message
from weft.inference.loader import load_model_on_device
from weft.metrics.references import is_tsv
from weft.metrics.scores import MetricScore
from weft.models.interfaces import Head
from weft.text.tokenizer import Tokenizer

COMPLETION_BEAM = 5  # the smallest beam
CHUNK_LENGTH = 128  # positions whose logits are in memory at once


@dataclass(frozen=True)
class Completer:
    """Completes lines with a language model and a search."""

    trained: TrainedModel
    search: Search

    def stream(self, prompts: Iterable[str]) -> Iterator[str]:
        """The completions of each prompt, one after the other, each with its prompt."""
        return chain.from_iterable(self.complete(prompt, number) for number, prompt in enumerate(prompts, 1))

    @torch.inference_mode()
    def complete(self, prompt: str, number: int = 1) -> list[str]:
        """The completions of the prompt in line `number`."""
        (tokens,) = self.trained.target_tokenizer.encode([prompt])
        trained_length, limit = self.trained.recipe.data.max_length, self.trained.max_target_length
        max_length = trained_length if limit is None else min(trained_length, limit)
        if len(tokens) > max_length:
            problem = f"has {len(tokens)} tokens, but this model reads at most {max_length}"
            raise UserError(f"the prompt in line {number} {problem}: give a shorter one")
        model, device = self.trained.model, self.trained.device
        start = model.start(model.encode(Padded.from_rows([[EOS]]).to(device)))
        prefix = torch.tensor(tokens, dtype=torch.long, device=device)
        step, state = continue_prefix(model.step, start, prefix)
        remaining, line = prefix.new_tensor([max_length - len(tokens)]), prefix.new_tensor([number])
        [found] = self.search(step, state, remaining, line)
        texts = self.trained.target_tokenizer.decode([*tokens, *hypothesis.tokens] for hypothesis in found)
        return [replace_line_breaks(text) for text in texts]


def sampling_completer(trained: TrainedModel, count: int, temperature: float, seed: int) -> Completer:
    """Samples `count` completions of each line."""
    return Completer(trained, Sampling(n_best=count, temperature=temperature, seed=seed))


def beam_completer(trained: TrainedModel, count: int) -> Completer:
    """Finds the `count` most probable completions of each line by beam search."""
    size = max(COMPLETION_BEAM, count)
    return Completer(trained, BeamSearch(size=size, n_best=count, length_penalty=NoLengthPenalty, stop_rule="limit"))


def load_language_model(path: Path, device: str) -> TrainedModel:
    """Load the model in a run or model folder; raise UserError if it cannot complete a text."""
    trained = load_model_on_device(path, device)
    if not trained.model.is_language_model:
        raise UserError(
            f"{path} is not a language model: it translates, and needs a source (weft translate MODEL). "
            "Train a language model with: weft train language-model"
        )
    if trained.target_tokenizer.order != "forward":
        raise UserError(
            f"{path} generates lines from right to left (text.target_order: backward), so it cannot complete the "
            "beginning of one"
        )
    return trained


def is_single_text(files: Sequence[Path]) -> bool:
    """Whether this is one text file, on which only a language model can be evaluated."""
    return len(files) == 1 and not is_tsv(files[0])


def load_for_perplexity(text: Path, path: Path, device: str) -> TrainedModel:
    """Load a model to evaluate it on a text alone; raise UserError if it is not a language model."""
    trained = load_model_on_device(path, device)
    if not trained.model.is_language_model:
        raise UserError(missing_references_message(text))
    return trained


def evaluate_perplexity(trained: TrainedModel, text: Path) -> list[MetricScore]:
    """The perplexity of a text, line ends included."""
    total, counts, lines = 0.0, Counter[str](), iter(read_lines(text))
    limit = trained.max_target_length
    while window := list(islice(lines, trained.recipe.translate.buffer_size)):
        rows = trained.target_tokenizer.encode(window)
        for number, row in enumerate(rows, counts["lines"] + 1):
            if limit is not None and len(row) > limit:  # truncation would make the text look easier
                problem = f"has {len(row)} tokens, but this model has positions for {limit}"
                raise UserError(f"{text}, line {number}: {problem}: split the line")
        total += negative_log_likelihood(trained, rows)
        counts.update(count_units(window, rows, trained.target_tokenizer))
    if not counts:
        raise UserError(f"{text}: is empty, so there are no lines to evaluate")
    return perplexity_scores(total, counts)


def count_units(lines: Sequence[str], rows: Sequence[Sequence[int]], tokenizer: Tokenizer) -> dict[str, int]:
    """The lines, tokens, words and characters of a text; the end of a line counts as one of each."""
    unknown = tokenizer.unknown_id
    return {
        "lines": len(lines),
        "tokens": sum(len(row) + 1 for row in rows),
        "words": sum(len(line.split()) + 1 for line in lines),
        "characters": sum(len(line) + 1 for line in lines),
        "unknown": 0 if unknown is None else sum(row.count(unknown) for row in rows),
    }


def perplexity_scores(nll: float, counts: Counter[str]) -> list[MetricScore]:
    """exp(nll / tokens), exp(nll / words) and nll / log 2 / characters, with nll = -log p of the text.

    Models with different tokenizers can be compared by the last two, as long as no token is unknown.
    """
    unknown = f"|unknown:{counts['unknown'] / counts['tokens']:.2%}" if counts["unknown"] else ""
    values = {
        "tokens": ("perplexity per token", math.exp(min(700.0, nll / counts["tokens"]))),
        "words": ("perplexity per word", math.exp(min(700.0, nll / counts["words"]))),
        "characters": ("bits per character", nll / math.log(2) / counts["characters"]),
    }
    return [
        MetricScore(name, value, "lower", f"{unit}:{counts[unit]}{unknown}") for unit, (name, value) in values.items()
    ]


@torch.inference_mode()
def negative_log_likelihood(trained: TrainedModel, rows: Sequence[Sequence[int]]) -> float:
    """-log p of lines of token ids, EOS included."""
    model, total = trained.model, 0.0
    for numbers in batch_by_length(range(len(rows)), rows, trained.recipe.translate.batch_tokens):
        source = Padded.from_rows([[EOS]] * len(numbers))
        target = Padded.from_rows([[*rows[number], EOS] for number in numbers])
        batch = Batch(source, target, tuple(numbers)).to(trained.device)
        hidden, mask = model.features(batch).hidden, batch.target.mask
        total += _token_nll(model.head, hidden[mask], batch.target.data[mask]).sum().item()
    return total


def _token_nll(head: Head, hidden: Tensor, targets: Tensor) -> Tensor:
    """-log p of each target [M] given the hidden state before it [M,D], in chunks; as the cross-entropy loss has it."""
    chunks = []
    for states, ids in zip(torch.split(hidden, CHUNK_LENGTH), torch.split(targets, CHUNK_LENGTH), strict=True):
        logits = head(states)
        log_normalizer = logits.amax(1) - logits.softmax(-1).amax(1).log()  # the largest p is never near 0
        chunks.append(log_normalizer - logits.gather(1, ids[:, None])[:, 0])
    return torch.cat(chunks)
