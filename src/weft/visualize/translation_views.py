"""What can be shown of a translation: the views of the playground that a model supports, found by tracing it once."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import torch

from weft.core.tracing import trace_tensors
from weft.decoding.constraints.request import Request
from weft.inference.capabilities import attention_obstacle
from weft.inference.translation import Translation
from weft.inference.translator import Translator
from weft.visualize.position_embeddings import SIDE_MODULES
from weft.visualize.translation_trace import HIDDEN_STATE, group_by_module, trace_features, trace_translation

ViewName: TypeAlias = Literal["attention", "search", "gates", "positions", "frames"]


class ViewableTranslation(NamedTuple):
    """A translation, and the views that exist for it."""

    translation: Translation
    views: tuple[ViewName, ...]


@torch.inference_mode()
def translate_with_views(translator: Translator, request: Request) -> ViewableTranslation:
    """Translate a line, and return which views its model and search have."""
    trained, model = translator.trained, translator.trained.model
    with trace_tensors() as searched:
        translation, example = trace_translation(translator, request)
    traced = trace_features(model, example)
    cells = [module for module, tensors in group_by_module(traced).items() if HIDDEN_STATE in tensors]
    available: dict[ViewName, bool] = {
        "attention": not attention_obstacle(trained),
        "search": model.has_decoder and "search.tokens" in searched,
        "gates": any(module.split(".")[0] in SIDE_MODULES.values() for module in cells),
        "positions": any(f"{side}.positions" in traced for side in SIDE_MODULES),
        "frames": model.frame_head is not None,
    }
    return ViewableTranslation(translation, tuple(name for name, is_available in available.items() if is_available))
