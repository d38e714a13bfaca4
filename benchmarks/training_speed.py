"""Training speed: Weft's recipe against the same Transformer in plain torch, update by update on the same batches.

From the root of the repository:

    python -m benchmarks.training_speed                                  # random corpus, lengths as in Multi30k
    python -m benchmarks.training_speed --data FOLDER --json speed.json  # the recipe's own files in FOLDER

The peer is plain torch: nn.Transformer, nn.Embedding, nn.Dropout, F.cross_entropy over all logits.
Sizes, dropout rates, tied weights, smoothing, clipping, learning rate and batches are the recipe's; its target needs no
padding mask, so it gets none and torch may take its fast causal attention. Both sides use torch's fused Adam. Weft also
does what `weft train` does at each update and the peer does not: it checks the gradient and averages the weights.

The two alternate in one process, in reverse order in every second round, so that other load slows both equally. Tokens
are target tokens without padding, EOS included.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple, Never, TypeAlias

import numpy as np
import torch
import typer
from benchmarks.command_line import JsonFile, run_command, write_json
from benchmarks.machine import first_value, machine
from benchmarks.summary_statistics import format_range, summarize
from benchmarks.training_rounds import RoundCount, Rounds, Threads, Updates, WarmUp, measure, take_turn, use_threads
from torch import Tensor, nn
from torch.nn import functional as F

from weft.checkpoints.trained_model import model_weights
from weft.config.recipe import Recipe, load_recipe
from weft.config.recipe_catalog import RECIPES_FOLDER
from weft.config.registry import REGISTRY
from weft.config.serialization import to_dict
from weft.core.errors import UserError
from weft.core.seeds import seed_all
from weft.core.special_tokens import PAD, Vocabulary
from weft.data.batches import Batch, BatchLoader
from weft.losses.objective import ObjectiveContext
from weft.models.build import build_model
from weft.models.model import count_parameters
from weft.nn.positional_encoding import SinusoidalPositions
from weft.training.data_preparation import prepare_data
from weft.training.distributed import CPU_RANK
from weft.training.parallel_strategy import TrainingStrategy
from weft.training.progress import open_display
from weft.training.train_step import DataCursor, iterate_updates, train_step

RECIPE = RECIPES_FOLDER / "multi30k-en-de.yaml"


class Task(NamedTuple):
    """Recipe, vocabularies and training batches."""

    recipe: Recipe
    source: Vocabulary
    target: Vocabulary
    batches: list[Batch]  # one per update


# --- The two sides -------------------------------------------------------------------------------------------------


class WeftTraining:
    """Trains with the same update as `weft train`."""

    def __init__(self, task: Task):
        self.settings = settings = task.recipe.train
        seed_all(settings.seed, "weights")
        self.model = build_model(task.recipe.model, task.source, task.target, joint=task.recipe.text.joint)
        self.strategy = TrainingStrategy(
            CPU_RANK,
            self.model,
            task.recipe.objective(ObjectiveContext(not_needed, not_needed, not_needed, not_needed)),
        )
        self.optimizer = settings.optimizer(self.model.parameters())
        self.schedule = settings.schedule(settings.steps)
        self.average = settings.average() if settings.average else None

    def __call__(self, batch: Batch, step: int) -> float:
        seed_all(self.settings.seed, "step", step)
        rate, clip = self.schedule(step), self.settings.clip_norm
        sums = train_step(self.strategy, self.optimizer, [batch], step=step, learning_rate=rate, clip_norm=clip)
        if self.average is not None:
            self.average.update(step, model_weights(self.model))
        return sums.loss / sums.count


def not_needed(*_: object) -> Never:
    """Stand in for resources that cross-entropy does not use."""
    raise UserError("this objective needs texts or another model. Give a recipe with cross-entropy")


class TorchTraining:
    """Trains with the same update in plain torch."""

    def __init__(self, task: Task):
        node = to_dict(task.recipe, REGISTRY)
        settings = task.recipe.train
        torch.manual_seed(settings.seed)
        self.model = TorchTransformer(node["model"], len(task.target))
        self.smoothing: float = node["objective"]["label_smoothing"]
        self.clip = settings.clip_norm
        self.optimizer = torch.optim.Adam(self.model.parameters(), fused=True)
        self.schedule = settings.schedule(settings.steps)

    def __call__(self, batch: Batch, step: int) -> float:
        self.optimizer.param_groups[0]["lr"] = self.schedule(step)
        logits = self.model(batch)
        targets = batch.target.data.flatten()
        loss = F.cross_entropy(logits.flatten(0, 1), targets, ignore_index=PAD, label_smoothing=self.smoothing)
        torch.autograd.backward(loss)
        if self.clip is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.item()


class TorchTransformer(nn.Module):
    """nn.Transformer between embeddings and an output layer that share one weight; `node` is a recipe's model."""

    positions: Tensor

    def __init__(self, node: dict[str, Any], vocabulary: int, longest: int = 512):
        super().__init__()
        dim: int = node["source"]["dim"]
        self.scale = dim**0.5
        self.embedding = nn.Embedding(vocabulary, dim)
        nn.init.normal_(self.embedding.weight, std=dim**-0.5)
        self.register_buffer("positions", SinusoidalPositions(dim)(torch.arange(longest)[None]), persistent=False)
        self.dropout = nn.Dropout(node["source"]["dropout"])
        self.transformer = torch_transformer(node["encoder"], node["decoder"], dim)
        self.head = nn.Linear(dim, vocabulary)
        self.head.weight = self.embedding.weight

    def forward(self, batch: Batch) -> Tensor:
        """[B,T,V], the logits of every target position, padding included."""
        padding = ~batch.source.mask
        steps = batch.target.data.shape[1]
        hidden = self.transformer(
            self.embed(batch.source.data),
            self.embed(batch.decoder_input().data),
            tgt_mask=torch.ones(steps, steps, dtype=torch.bool).triu(1),
            tgt_is_causal=True,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        logits: Tensor = self.head(hidden)
        return logits

    def embed(self, ids: Tensor) -> Tensor:
        vectors: Tensor = self.dropout(self.embedding(ids) * self.scale + self.positions[:, : ids.shape[1]])
        return vectors


def torch_transformer(encoder: dict[str, Any], decoder: dict[str, Any], dim: int) -> nn.Transformer:
    """Return torch's Transformer with the sizes and dropout rates of a recipe's encoder and decoder."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="enable_nested_tensor")  # it matters only in evaluation
        transformer = nn.Transformer(
            dim,
            encoder["heads"],
            encoder["layers"],
            decoder["layers"],
            encoder["ffn_dim"],
            encoder["dropout"],
            norm_first=True,
            batch_first=True,
        )
    for part in transformer.modules():
        if isinstance(part, nn.MultiheadAttention):
            part.dropout = encoder["attention_dropout"]  # nn.Transformer uses one rate everywhere
    return transformer


def has_peer(recipe: Recipe) -> bool:
    """Whether nn.Transformer can represent the model of this recipe."""
    node: dict[str, Any] = to_dict(recipe, REGISTRY)["model"]
    required = {"type": "transformer", "norm": "pre", "activation": "relu", "rotary": False, "attention_window": None}
    encoder, decoder = node["encoder"], node["decoder"]
    return bool(
        encoder.items() >= required.items()
        and {**encoder, "layers": decoder.get("layers")} == decoder
        and node["source"] == node["target"]
        and node["source"]["scale"]
        and node["source"]["merge"] == "sum"
        and node["source"]["positions"] == {"type": "sinusoidal"}
        and node["head"].items() >= {"type": "linear", "bias": True}.items()
        and node["tie"] == "all"
    )


Side: TypeAlias = WeftTraining | TorchTraining
SIDES: Mapping[str, Callable[[Task], Side]] = {"weft": WeftTraining, "torch": TorchTraining}


# --- Data ----------------------------------------------------------------------------------------------------------


@contextmanager
def read_task(path: Path, data: Path | None, updates: int) -> Iterator[Task]:
    """Yield the recipe with its first batches, from the files in `data` or a random corpus."""
    with TemporaryDirectory() as folder:
        overrides = [f"data.folder={data}"] if data else make_corpus(Path(folder))
        recipe = load_recipe(path, [*overrides, "data.valid=[]", "data.test=[]", "train.gradient_accumulation=1"])
        with open_display() as display:
            prepared = prepare_data(recipe, None, display, CPU_RANK)
        settings = recipe.train
        batches = BatchLoader(prepared.train.cache, settings.batch_tokens, settings.seed, noise=prepared.noise)
        first = [batch for _, [batch] in islice(iterate_updates(batches, DataCursor(), 1), updates)]
        yield Task(recipe, prepared.source.vocabulary(), prepared.target.vocabulary(), first)


def make_corpus(folder: Path, pairs: int = 29_000, vocabulary: int = 8_000) -> list[str]:
    """Write sentences of random words; return the settings to use them.

    Lengths are distributed as in Multi30k with 8,000 joint pieces: log n of English is normal with mean 2.61 and
    standard deviation 0.32, log of the ratio German / English with 0.02 and 0.18.
    """
    generator = np.random.default_rng(1)
    source = generator.normal(2.61, 0.32, pairs)
    target = source + generator.normal(0.02, 0.18, pairs)
    for name, logarithms in (("train.source", source), ("train.target", target)):
        lengths = np.exp(logarithms).round().astype(int).clip(1, 60)
        words = np.split(generator.integers(vocabulary, size=lengths.sum()), lengths.cumsum()[:-1])
        lines = "".join(" ".join(map(str, row)) + "\n" for row in words)
        (folder / name).write_text(lines, encoding="utf-8")
    return [
        f"data.folder={folder}",
        f"data.cache={folder}",
        "data.train=[train.source, train.target]",
        "text.source={type: whitespace}",
        "text.target=null",
    ]


# --- Measurement ---------------------------------------------------------------------------------------------------


def peak_memory(name: str, task: Task, threads: int) -> float | None:
    """Return the peak memory in MiB of a new process that trains on the batches; None if not available."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(train_and_measure, name, task, threads).result()


def train_and_measure(name: str, task: Task, threads: int) -> float | None:
    """Read the peak from /proc; getrusage would include the parent's."""
    torch.set_num_threads(threads)
    take_turn(SIDES[name](task), task.batches, 1)
    peak = first_value(Path("/proc/self/status"), "VmHWM")
    return None if peak is None else int(peak.removesuffix(" kB")) / 1024


# --- Report --------------------------------------------------------------------------------------------------------


def make_report(rounds: Rounds, sizes: Mapping[str, int], memory: Mapping[str, float | None]) -> dict[str, Any]:
    """Summarize the rounds of each side and, if there is a peer, the ratio within each round."""
    report: dict[str, Any] = {
        name: {
            "parameters": sizes[name],
            "tokens_per_second": summarize([turn.tokens_per_second for turn in turns]),
            "seconds_per_update": median(turn.seconds_per_update for turn in turns),
            "last_loss": turns[-1].loss,
            "peak_memory_mib": memory.get(name),
        }
        for name, turns in rounds.items()
    }
    if "torch" in rounds:
        pairs = zip(rounds["weft"], rounds["torch"], strict=True)
        report["ratio"] = summarize([weft.tokens_per_second / torch.tokens_per_second for weft, torch in pairs])
    return report


HEADER = "          parameters   target tokens/s (min - max)  s/update  last loss  peak MiB"


def render(facts: Mapping[str, Any], report: Mapping[str, Any]) -> str:
    """Return the report as a plain table."""
    lines = [
        "{recipe} on {data}".format(**facts),
        "{cpu}, {cores} cores, {threads} threads, torch {torch}, Python {python}".format(**facts),
        "{rounds} rounds of {updates} updates each in alternation, after {warm_up} to warm up".format(**facts),
        "",
        HEADER,
        *(row(name, report[name]) for name in SIDES if name in report),
    ]
    if "ratio" not in report:
        return "\n".join([*lines, "", "no peer: nn.Transformer cannot represent this model"])
    ratio = f"weft / torch: {format_range(report['ratio'], '.2f')}, the median over the rounds"
    return "\n".join([*lines, "", ratio])


def row(name: str, side: Mapping[str, Any]) -> str:
    speed, peak = format_range(side["tokens_per_second"], ",.0f"), side["peak_memory_mib"]
    memory = "-" if peak is None else f"{peak:,.0f}"
    return (
        f"{name:<8}{side['parameters']:>12,}{speed:>30}{side['seconds_per_update']:>10.3f}"
        f"{side['last_loss']:>11.3f}{memory:>10}"
    )


def main(
    recipe: Annotated[Path, typer.Option(help="Recipe to train.")] = RECIPE,
    data: Annotated[Path | None, typer.Option(help="Folder of the recipe's files. Default: a random corpus.")] = None,
    rounds: RoundCount = 9,
    updates: Updates = 5,
    warm_up: WarmUp = 5,
    threads: Threads = None,
    memory: Annotated[bool, typer.Option(help="Also measure peak memory, each side in its own process.")] = True,
    json_file: JsonFile = None,
) -> None:
    """Measure the training speed of a recipe, and of plain torch if nn.Transformer can represent the model."""
    use_threads(threads)
    facts = machine() | {"recipe": recipe.stem, "data": str(data) if data else "a random corpus"}
    facts |= {"rounds": rounds, "updates": updates, "warm_up": warm_up}
    with read_task(recipe, data, warm_up + rounds * updates) as task:
        sides = {name: make(task) for name, make in SIDES.items() if name == "weft" or has_peer(task.recipe)}
        turns = measure(sides, task.batches, warm_up, updates)
        sizes = {name: count_parameters(side.model) for name, side in sides.items()}
        short_task = task._replace(batches=task.batches[:warm_up])
        peaks = {name: peak_memory(name, short_task, torch.get_num_threads()) for name in sides} if memory else {}
    report = make_report(turns, sizes, peaks)
    print(render(facts, report))
    write_json(json_file, {"setting": facts, "figures": report})


if __name__ == "__main__":
    run_command(main, "training_speed")
