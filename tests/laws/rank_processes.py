"""Train small models on two ranks, each a process, and save the weights and statistics for comparison."""

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
import torch.distributed as dist
from safetensors.torch import save_file
from torch import nn
from torch._C._distributed_c10d import FileStore
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

from laws.objective_context import OBJECTIVE_CONTEXT
from laws.variants import MODELS, batch
from system.commands import CONTEXT, TIMEOUT
from weft.checkpoints.trained_model import model_weights
from weft.config.recipe import TrainingConfig
from weft.core.padded import Padded
from weft.data.batches import Batch
from weft.losses.cross_entropy import CrossEntropyLoss
from weft.losses.objective import Loss
from weft.models.model import Model
from weft.optim.optimizers import SGD
from weft.training.distributed import MultiRank, RankGroup
from weft.training.fsdp import FSDPStrategy
from weft.training.parallel_strategy import DDPStrategy, TrainingStrategy, wrap_ddp
from weft.training.run_components import make_strategy
from weft.training.train_step import UpdateStats, train_step

UPDATES = [  # batches per update; one batch has a single pair, so that the second rank has none
    [batch((4, 6), (3, 2), (5, 5), seed=1), batch((7, 3), (2, 2), seed=2)],
    [batch((3, 3), (6, 4), (2, 5), (4, 4), seed=3), batch((5, 4), seed=4)],
    [batch((6, 6), (5, 2), seed=5)],
]


def run_two_ranks(
    work: Callable[[RankGroup, Path, TrainingConfig, Sequence[str]], None],
    folder: Path,
    settings: TrainingConfig,
    names: Sequence[str],
) -> None:
    """Run `work` in two processes, one per rank."""
    processes = [CONTEXT.Process(target=_run_rank, args=(number, work, folder, settings, names)) for number in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(TIMEOUT)
    codes = [process.exitcode for process in processes]
    for process in processes:
        process.kill()
    assert codes == [0, 0]


def _run_rank(
    number: int,
    work: Callable[[RankGroup, Path, TrainingConfig, Sequence[str]], None],
    folder: Path,
    settings: TrainingConfig,
    names: Sequence[str],
) -> None:
    torch.set_num_threads(1)
    store = FileStore(str(folder / "store"), 2)
    dist.init_process_group("gloo", store=store, rank=number, world_size=2)
    short_group, long_group = (dist.new_group(backend="gloo") for _ in range(2))
    ranks = MultiRank(
        torch.device("cpu"),
        number,
        2,
        local_rank=number,
        short_group=short_group,
        long_group=long_group,
        launch_store=store,
    )
    work(ranks, folder, settings, names)
    dist.destroy_process_group()


def train_models(ranks: RankGroup, folder: Path, settings: TrainingConfig, names: Sequence[str]) -> None:
    """Train the named models; rank 0 writes NAME.safetensors."""
    for name in names:
        strategy = build_strategy(name, ranks, settings)
        statistics = train(strategy)
        weights = strategy.gather(model_weights(strategy.model)) | {
            "sums": torch.tensor([[s.loss, s.count, s.gradient_norm] for s in statistics])
        }
        if ranks.rank == 0:
            save_file({key: weight.contiguous() for key, weight in weights.items()}, folder / f"{name}.safetensors")


def build_strategy(name: str, ranks: RankGroup, settings: TrainingConfig) -> TrainingStrategy:
    model = MODELS[name]().float().train()
    return make_strategy(ranks, settings, model, CrossEntropyLoss(OBJECTIVE_CONTEXT))


def train(strategy: TrainingStrategy) -> list[UpdateStats]:
    """Run the updates, with gradients large enough to be clipped."""
    optimizer = SGD(strategy.model.parameters(), momentum=0.9)
    return [
        train_step(
            strategy,
            optimizer,
            [rank_rows(pairs, strategy.ranks) for pairs in batches],
            step=step,
            learning_rate=0.1,
            clip_norm=0.5,
        )
        for step, batches in enumerate(UPDATES, 1)
    ]


def rank_rows(pairs: Batch, ranks: RankGroup) -> Batch:
    """Return the rows of a rank, distributed as `Batches` does."""
    rows = range(len(pairs.corpus_indices))[ranks.rank :: ranks.world_size]
    selected = list(rows) or [0]
    source, target = (Padded(side.data[selected], side.mask[selected]) for side in (pairs.source, pairs.target))
    return Batch(source, target, tuple(pairs.corpus_indices[row] for row in selected), weight=float(len(rows) > 0))


class SecondRankLoss:
    """Cross-entropy, plus a weight on which only the loss of the second rank depends."""

    def __init__(self, ranks: RankGroup):
        self.cross_entropy, self.ranks = CrossEntropyLoss(OBJECTIVE_CONTEXT), ranks

    def __call__(self, model: Model, batch: Batch, step: int | None = None) -> Loss:
        loss = self.cross_entropy(model, batch, step)
        more = model.get_parameter("more").sum() if self.ranks.rank else 0.0
        return Loss(loss.total + more, loss.count, loss.parts)


def train_rank_specific_weight(ranks: RankGroup, folder: Path, settings: TrainingConfig, names: Sequence[str]) -> None:
    """Save the gradient of a weight that only the second rank uses as `more`."""
    model = MODELS[names[0]]().float().train()
    model.register_parameter("more", nn.Parameter(torch.zeros(1)))
    strategy = make_strategy(ranks, settings, model, SecondRankLoss(ranks))
    strategy.backward(rank_rows(UPDATES[0][0], ranks), 1, last=True, scale=1.0)
    gradient = model.get_parameter("more").grad
    if ranks.rank == 0 and gradient is not None:
        save_file({"more": gradient}, folder / "more.safetensors")


def count_gradient_sums(ranks: RankGroup, folder: Path, settings: TrainingConfig, names: Sequence[str]) -> None:
    """Save how often gradients are reduced in each of the three batches of an update as `counts`."""
    strategy = build_strategy(names[0], ranks, settings)
    reductions = count_reductions(strategy)
    counts = []
    for number in (1, 2, 3):
        strategy.backward(rank_rows(UPDATES[0][0], ranks), 1, last=number == 3, scale=1.0)
        counts.append(reductions())
    if ranks.rank == 0:
        save_file({"counts": torch.tensor(counts)}, folder / "counts.safetensors")


def count_reductions(strategy: TrainingStrategy) -> Callable[[], int]:
    """Return a function that returns the number of gradient reductions since its last call."""
    calls: list[int] = []
    if isinstance(strategy, DDPStrategy):
        strategy.wrapped = wrap_ddp(strategy.loss_module, find_unused=False)
        strategy.wrapped.register_comm_hook(calls, counting_hook)
    elif isinstance(strategy, FSDPStrategy):
        for weight in strategy.model.parameters():
            weight.register_post_accumulate_grad_hook(lambda _: calls.append(1))  # type: ignore[no-untyped-call]

    def reductions_since_last_call() -> int:
        count = len(calls)
        calls.clear()
        return count

    return reductions_since_last_call


def counting_hook(calls: list[int], bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    calls.append(1)
    assert dist.group.WORLD is not None
    return allreduce_hook(dist.group.WORLD, bucket)
