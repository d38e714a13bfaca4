"""Two ranks in two processes, which train small models on their rows of given batches and leave the weights."""

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
import torch.distributed as dist
from safetensors.torch import save_file
from torch import nn
from torch._C._distributed_c10d import FileStore
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

from laws.given import GIVEN
from laws.variants import MODELS, batch
from system.commands import CONTEXT, PATIENCE
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
from weft.training.run_components import make_strategy
from weft.training.strategy import DDPStrategy, TrainingStrategy, wrap_ddp
from weft.training.train_step import UpdateStats, train_step

UPDATES = [  # the batches of each; one has but one pair, so that the second rank has none
    [batch((4, 6), (3, 2), (5, 5), seed=1), batch((7, 3), (2, 2), seed=2)],
    [batch((3, 3), (6, 4), (2, 5), (4, 4), seed=3), batch((5, 4), seed=4)],
    [batch((6, 6), (5, 2), seed=5)],
]


def on_two(
    work: Callable[[RankGroup, Path, TrainingConfig, Sequence[str]], None],
    folder: Path,
    settings: TrainingConfig,
    names: Sequence[str],
) -> None:
    """Let two processes do the work, each as a rank."""
    processes = [CONTEXT.Process(target=_be_rank, args=(number, work, folder, settings, names)) for number in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(PATIENCE)
    codes = [process.exitcode for process in processes]
    for process in processes:
        process.kill()
    assert codes == [0, 0]


def _be_rank(
    number: int,
    work: Callable[[RankGroup, Path, TrainingConfig, Sequence[str]], None],
    folder: Path,
    settings: TrainingConfig,
    names: Sequence[str],
) -> None:
    torch.set_num_threads(1)
    store = FileStore(str(folder / "store"), 2)
    dist.init_process_group("gloo", store=store, rank=number, world_size=2)
    brisk, patient = (dist.new_group(backend="gloo") for _ in range(2))
    ranks = MultiRank(
        torch.device("cpu"),
        number,
        2,
        local_rank=number,
        short_group=brisk,
        long_group=patient,
        launch_store=store,
    )
    work(ranks, folder, settings, names)
    dist.destroy_process_group()


def train_each(ranks: RankGroup, folder: Path, settings: TrainingConfig, names: Sequence[str]) -> None:
    """Each model with these names; the first rank writes NAME.safetensors."""
    for name in names:
        spread = spread_of(name, ranks, settings)
        trained = train(spread)
        weights = spread.gather(model_weights(spread.model)) | {
            "sums": torch.tensor([[s.loss, s.count, s.gradient_norm] for s in trained])
        }
        if ranks.rank == 0:
            save_file({key: weight.contiguous() for key, weight in weights.items()}, folder / f"{name}.safetensors")


def spread_of(name: str, ranks: RankGroup, settings: TrainingConfig) -> TrainingStrategy:
    model = MODELS[name]().float().train()
    return make_strategy(ranks, settings, model, CrossEntropyLoss(GIVEN))


def train(spread: TrainingStrategy) -> list[UpdateStats]:
    """Some updates, with gradients so large that they are clipped."""
    optimizer = SGD(spread.model.parameters(), momentum=0.9)
    return [
        train_step(
            spread,
            optimizer,
            [rows_of(one, spread.ranks) for one in batches],
            step=step,
            learning_rate=0.1,
            clip_norm=0.5,
        )
        for step, batches in enumerate(UPDATES, 1)
    ]


def rows_of(whole: Batch, ranks: RankGroup) -> Batch:
    """The rows of a rank, as `Batches` gives them."""
    rows = range(len(whole.indices))[ranks.rank :: ranks.world_size]
    taken = list(rows) or [0]
    source, target = (Padded(side.data[taken], side.mask[taken]) for side in (whole.source, whole.target))
    return Batch(source, target, tuple(whole.indices[row] for row in taken), weight=float(len(rows) > 0))


class OnSecond:
    """Cross-entropy, and on the second rank one weight more, on which the loss of the first does not depend."""

    def __init__(self, ranks: RankGroup):
        self.plain, self.ranks = CrossEntropyLoss(GIVEN), ranks

    def __call__(self, model: Model, batch: Batch, step: int | None = None) -> Loss:
        loss = self.plain(model, batch, step)
        more = model.get_parameter("more").sum() if self.ranks.rank else 0.0
        return Loss(loss.total + more, loss.count, loss.parts)


def train_unlike(ranks: RankGroup, folder: Path, settings: TrainingConfig, names: Sequence[str]) -> None:
    """Gradients of a weight that only the second rank uses: into `more`."""
    model = MODELS[names[0]]().float().train()
    model.register_parameter("more", nn.Parameter(torch.zeros(1)))
    spread = make_strategy(ranks, settings, model, OnSecond(ranks))
    spread.backward(rows_of(UPDATES[0][0], ranks), 1, last=True, scale=1.0)
    gradient = model.get_parameter("more").grad
    if ranks.rank == 0 and gradient is not None:
        save_file({"more": gradient}, folder / "more.safetensors")


def count_sums(ranks: RankGroup, folder: Path, settings: TrainingConfig, names: Sequence[str]) -> None:
    """How often gradients are sent during each of the three batches of an update: into `counts`."""
    spread = spread_of(names[0], ranks, settings)
    sent = counting(spread)
    counts = []
    for number in (1, 2, 3):
        spread.backward(rows_of(UPDATES[0][0], ranks), 1, last=number == 3, scale=1.0)
        counts.append(sent())
    if ranks.rank == 0:
        save_file({"counts": torch.tensor(counts)}, folder / "counts.safetensors")


def counting(spread: TrainingStrategy) -> Callable[[], int]:
    """How often gradients were sent since it was asked last."""
    calls: list[int] = []
    if isinstance(spread, DDPStrategy):
        spread.wrapped = wrap_ddp(spread.loss_module, find_unused=False)
        spread.wrapped.register_comm_hook(calls, counted)
    elif isinstance(spread, FSDPStrategy):
        for weight in spread.model.parameters():
            weight.register_post_accumulate_grad_hook(lambda _: calls.append(1))  # type: ignore[no-untyped-call]

    def since() -> int:
        count = len(calls)
        calls.clear()
        return count

    return since


def counted(calls: list[int], bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    calls.append(1)
    assert dist.group.WORLD is not None
    return allreduce_hook(dist.group.WORLD, bucket)
