"""Which numbers a run computes with: those of 32 bits, or of 16 over masters of 32 (masters.py)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import torch

from weft.config.reader import describe
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.core.errors import ConfigError, Problem
from weft.training.progress import Display
from weft.training.ranks import Ranks

TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
NARROW = 64  # from this width on products take so much of an update that halving their numbers pays
CPU_FEATURES = ("avx512_bf16", "amx_bf16")
SLOW = "for which this CPU has no instructions: it will be many times as slow as float32, which auto would take"


class Choice(NamedTuple):
    precision: str
    reason: str


def settled(recipe: Recipe, ranks: Ranks, display: Display) -> Recipe:
    """The recipe with `auto` replaced by what the first rank chooses, which is told with its reason."""
    asked, device = recipe.train.precision, ranks.device
    if asked == "bfloat16" and device.type == "cpu" and not multiplies_bfloat16(device):
        display.say(f"train.precision: bfloat16, {SLOW}")
    if asked != "auto":
        return recipe
    precision, reason = ranks.first(lambda: chosen(recipe, device))
    display.say(f"train.precision: {precision}, because {reason}")
    return with_precision(recipe, precision)


def with_precision(recipe: Recipe, precision: Any) -> Recipe:
    return replace(recipe, train=replace(recipe.train, precision=precision))


def chosen(recipe: Recipe, device: torch.device) -> Choice:
    """bfloat16 for Transformers that are not narrow, where the device multiplies such numbers; else float32."""
    model = describe(recipe, REGISTRY)["model"]
    layers = [model[slot] for slot in ("encoder", "decoder") if model[slot]["type"] != "none"]
    widths = [model[slot]["dim"] for slot in ("source", "target") if "dim" in model[slot]]
    if any(one["type"] != "transformer" for one in layers) or not widths:
        return Choice("float32", "smaller numbers are known to pay for Transformers alone")
    if min(widths) < NARROW:
        return Choice("float32", f"smaller numbers do not pay below a width of {NARROW}")
    if not multiplies_bfloat16(device):
        return Choice("float32", f"this {where(device)} has no instructions for bfloat16")
    return Choice("bfloat16", f"this {where(device)} has instructions for it; weights are kept in float32")


def multiplies_bfloat16(device: torch.device) -> bool:
    """Has the device instructions for such products? Without them they are slower than those of float32."""
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    if device.type != "cpu":
        return False
    there = torch.cpu.get_capabilities()
    return any(there.get(feature, False) for feature in CPU_FEATURES)


def where(device: torch.device) -> str:
    return {"cpu": "CPU", "cuda": "GPU"}.get(device.type, "device")


def check_precision(recipe: Recipe, ranks: Ranks) -> None:
    """Raise a ConfigError if this precision cannot be had here."""
    if recipe.train.precision != "float16":
        return
    if ranks.device.type != "cuda":
        text = (
            f"float16 is for CUDA GPUs, and this run computes on {ranks.device.type}: write auto, bfloat16 or float32"
        )
        raise ConfigError([Problem("train.precision", text)])
    if ranks.size > 1 and recipe.train.parallel == "fsdp":
        text = "float16 needs gradients that are scaled, which fsdp has not: write bfloat16, or train.parallel: ddp"
        raise ConfigError([Problem("train.precision", text)])
