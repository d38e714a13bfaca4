"""Mixed precision training with float32 master weights and loss scaling (Micikevicius et al. 2018, sections 3.1
and 3.2), and the automatic choice of the precision.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from weft.checkpoints.trained_model import model_weights
from weft.config.recipe import Recipe
from weft.config.serialization import to_dict
from weft.core.errors import UserError
from weft.data.batches import Batch
from weft.losses.objective import Loss, Objective
from weft.models.model import Model
from weft.training.distributed import RankGroup
from weft.training.parallel_strategy import TrainingStrategy
from weft.training.progress import ProgressDisplay

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
MIN_WIDTH = 64  # below this width, matrix products are too small a part of an update for half precision to pay off
BFLOAT16_CPU_FEATURES = ("avx512_bf16", "amx_bf16")
FLOAT16_LOSS_SCALES = (1.0, 2.0**-4, 2.0**-8, 2.0**-12)


def resolve_precision(recipe: Recipe, ranks: RankGroup, display: ProgressDisplay) -> Recipe:
    """Return the recipe with `auto` replaced by the precision that rank 0 chooses, and print the reason."""
    if recipe.train.precision == "bfloat16" and ranks.device.type == "cpu" and not supports_bfloat16(ranks.device):
        display.print(
            "train.precision: this CPU has no instructions for bfloat16, so training will be many times as slow as "
            "float32, which auto would choose"
        )
    if recipe.train.precision != "auto":
        return recipe
    precision, reason = ranks.on_main(lambda: choose_precision(recipe, ranks.device))
    display.print(f"train.precision: {precision}, because {reason}")
    return with_precision(recipe, precision)


def with_precision(recipe: Recipe, precision: Any) -> Recipe:
    return replace(recipe, train=replace(recipe.train, precision=precision))


def choose_precision(recipe: Recipe, device: torch.device) -> tuple[str, str]:
    """Return bfloat16 for Transformers of at least MIN_WIDTH on devices that support it, else float32, and a reason."""
    model = to_dict(recipe)["model"]
    layers = [model[slot] for slot in ("encoder", "decoder") if model[slot]["type"] != "none"]
    widths = [model[slot]["dim"] for slot in ("source", "target") if "dim" in model[slot]]
    if any(layer["type"] != "transformer" for layer in layers) or not widths:
        return "float32", "half precision is known to pay off only for Transformers"
    if min(widths) < MIN_WIDTH:
        return "float32", f"half precision does not pay off below a width of {MIN_WIDTH}"
    label = {"cpu": "CPU", "cuda": "GPU"}.get(device.type, "device")
    if not supports_bfloat16(device):
        return "float32", f"this {label} has no instructions for bfloat16"
    return "bfloat16", f"this {label} has instructions for it; weights are kept in float32"


def supports_bfloat16(device: torch.device) -> bool:
    """Return whether the device has instructions for bfloat16 products; without them they are slower than float32."""
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    if device.type != "cpu":
        return False
    features = torch.cpu.get_capabilities()
    return any(features.get(name, False) for name in BFLOAT16_CPU_FEATURES)


def check_precision(recipe: Recipe, ranks: RankGroup) -> None:
    """Raise UserError if the device or the parallel strategy does not support the precision."""
    if recipe.train.precision != "float16":
        return
    if ranks.device.type != "cuda":
        raise UserError(
            f"float16 needs a CUDA GPU, but this run computes on {ranks.device.type}: write auto, bfloat16, float32"
        )
    if ranks.world_size > 1 and recipe.train.parallel == "fsdp":
        raise UserError(
            "float16 needs loss scaling, which fsdp does not support: write bfloat16, or train.parallel: ddp"
        )


class MixedPrecisionStrategy(TrainingStrategy):
    """Master weights in float32, gradients from a half-precision copy.

    Micikevicius et al. 2018, section 3.1: before an update the master weights (`model`) are rounded into
    `compute_model`; after each batch its gradients are added to those of the masters. The copy is a function of the
    masters, so a checkpoint does not contain it.

    float16 covers 6e-8 to 65,504. Loss scaling (section 3.2) comes from the sum over some thousand tokens, instead of
    their mean; train_step tries smaller scales if a gradient overflows.
    """

    def __init__(
        self,
        ranks: RankGroup,
        model: Model,
        objective: Objective,
        dtype: torch.dtype,
        wrap: Callable[[RankGroup, Model, Objective], TrainingStrategy],
    ):
        super().__init__(ranks, model, objective)
        self.compute_model = deepcopy(model).to(dtype)
        self.compute_strategy = wrap(ranks, self.compute_model, objective)
        self.loss_scales = FLOAT16_LOSS_SCALES if dtype == torch.float16 else self.compute_strategy.loss_scales
        self.first_batch = True
        copies, masters = model_weights(self.compute_model), model_weights(model)  # saved buffers included
        self.copied_tensors = [(copy, masters[name]) for name, copy in copies.items()]

    def backward(self, batch: Batch, step: int, *, last: bool, scale: float) -> Loss:
        if self.first_batch:
            for copy, master in self.copied_tensors:
                copy.copy_(master)
        self.first_batch = last
        if last and self.ranks.world_size > 1:
            self._return_gradients()
        loss = self.compute_strategy.backward(batch, step, last=last, scale=scale)
        self._collect_gradients()
        return loss

    def _collect_gradients(self) -> None:
        """Add the gradients of the copy to those of the masters."""
        for master, weight in zip(self.model.parameters(), self.compute_model.parameters(), strict=True):
            if weight.grad is not None:
                gradient = weight.grad.to(master.dtype)
                master.grad = gradient if master.grad is None else master.grad + gradient
                weight.grad = None

    def _return_gradients(self) -> None:
        """Give the copy the gradients collected so far: DDP averages its gradients over the ranks."""
        for master, weight in zip(self.model.parameters(), self.compute_model.parameters(), strict=True):
            if master.grad is not None:
                weight.grad = master.grad.to(weight.dtype)
                master.grad = None

    def distribute(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return self.compute_strategy.distribute(tensors)
