"""Small variants of every component in the registry, found through the signatures of the constructors.

A component is varied one setting at a time: each value of a Literal, both values of a bool, each component of a role.
Components that are not slots of a model (cells, scores ...) are varied inside a host component. So every law applies to
a new component or option in the registry without further tests.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from types import UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import pytest
import torch

from weft.config.registry import REGISTRY
from weft.core.errors import ConfigError
from weft.core.padded import Padded
from weft.core.special_tokens import SPECIAL_TOKENS
from weft.data.batches import Batch
from weft.models.build import ModelConfig, build_model
from weft.models.interfaces import Decoder, Embedder, Encoder, FrameHead
from weft.models.model import Model
from weft.nn.attention import AttentionWindow
from weft.nn.attention_scores import AttentionScore
from weft.nn.bridges import Bridge
from weft.nn.cells.cell import RecurrentCell
from weft.nn.positional_encoding import PositionalEncoding

SMALL: dict[str, Any] = {
    "dim": 8,
    "ffn_dim": 12,
    "layers": 2,
    "attention_layers": 2,  # as many as layers
    "heads": 2,
    "maxout_dim": 6,
    "summary_dim": 6,
    "max_length": 40,
    "attention_window": 2,
    "half_width": 2,
    "max_source_length": 12,
    "char_dim": 5,
    "filters": 4,
    "channels": 4,
    "max_word_length": 3,
    "upsample": 2,
    "dropout": 0.0,
}
HOSTS = {
    PositionalEncoding: ("source", Embedder, "tokens", "positions"),
    RecurrentCell: ("encoder", Encoder, "recurrent", "cell"),
    Bridge: ("decoder", Decoder, "bahdanau", "bridge"),
    AttentionScore: ("decoder", Decoder, "bahdanau", "score"),
    AttentionWindow: ("decoder", Decoder, "bahdanau", "window"),
}
EXCLUDED = {
    ("target", "none"),  # no decoder can do without it
    ("source", "pixels"),  # reads columns of pixels instead of ids: see tests/unit/test_image_encoder.py
    ("target", "pixels"),
    ("decoder", "none"),  # has no steps: see FRAME_HEADS
}
VOCABULARY = (*SPECIAL_TOKENS, "a", "be", "be▁a", "see", "dee", "zed", "▁", "ä")


class Variant(NamedTuple):
    name: str
    make: Callable[..., Any]


def setting_annotations(component: type) -> dict[str, Any]:
    """Return the annotations of the settings of a component."""
    hints = get_type_hints(component.__init__)  # type: ignore[misc]
    parameters = inspect.signature(component).parameters.values()
    return {
        parameter.name: hints[parameter.name]
        for parameter in parameters
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }


def small(component: type) -> partial[Any]:
    """Return the component with small sizes, also of the components in it."""
    keywords: dict[str, Any] = {}
    for name, hint in setting_annotations(component).items():
        if name in SMALL and not is_optional(hint):
            keywords[name] = SMALL[name]
        elif (role := role_of(hint)) is not None and not is_optional(hint):
            default = inspect.signature(component).parameters[name].default
            keywords[name] = small(
                default if default in REGISTRY[role].values() else next(iter(REGISTRY[role].values()))
            )
    return partial(component, **keywords)


def role_of(hint: Any) -> type | None:
    """Return the role in an annotation: Encoder for Make[Encoder] and Make[Encoder] | None."""
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    roles = [get_args(option)[-1] for option in options if get_origin(option) is not None and get_args(option)]
    return next((role for role in roles if role in REGISTRY), None)


def variants(role: type) -> Iterator[Variant]:
    """Yield every component of a role with small sizes, then with each setting changed in turn."""
    for name, component in REGISTRY[role].items():
        yield Variant(name, small(component))
        for setting, hint in setting_annotations(component).items():
            for value_name, value in [*setting_values(hint), *optional_sizes(setting, hint)]:
                if component_class(value) == component_class(small_default(component, setting)):
                    continue
                yield Variant(f"{name}-{setting}={value_name}", partial(small(component), **{setting: value}))


def small_default(component: type, setting: str) -> Any:
    """Return the value of a setting in the unchanged small component."""
    keywords = small(component).keywords
    return keywords[setting] if setting in keywords else inspect.signature(component).parameters[setting].default


def component_class(value: Any) -> Any:
    """Return the class of a component, and any other value itself."""
    return value.func if isinstance(value, partial) else value


def is_optional(hint: Any) -> bool:
    return type(None) in get_args(hint)


def optional_sizes(setting: str, hint: Any) -> list[tuple[str, Any]]:
    """Return the small value of a setting that may be None, such as attention_window."""
    return [(str(SMALL[setting]), SMALL[setting])] if setting in SMALL and is_optional(hint) else []


def setting_values(hint: Any) -> list[tuple[str, Any]]:
    if get_origin(hint) is Literal:
        return [(str(value), value) for value in get_args(hint)]
    if hint is bool:
        return [("yes", True), ("no", False)]
    if get_origin(hint) is tuple and (role := role_of(get_args(hint)[0])) is not None:
        return [(name, (small(component),)) for name, component in REGISTRY[role].items()]
    role = role_of(hint)
    return [] if role is None else [(name, small(component)) for name, component in REGISTRY[role].items()]


def models() -> Iterator[Variant]:
    """Yield models with each variant of a slot, and with each variant of a component inside its host."""
    for slot, role in (("source", Embedder), ("encoder", Encoder), ("target", Embedder), ("decoder", Decoder)):
        for variant in variants(role):
            if (slot, variant.name) not in EXCLUDED:
                yield Variant(f"{slot}-{variant.name}", model_with(slot, variant.make))
    for inner, (slot, host_role, host, setting) in HOSTS.items():
        for variant in variants(inner):
            host_component = partial(small(REGISTRY[host_role][host]), **{setting: variant.make})
            yield Variant(f"{host}-{setting}={variant.name}", model_with(slot, host_component))
    for variant in variants(Decoder):
        slots = replace(language_model(), decoder=variant.make)
        if is_buildable(slots):
            yield Variant(f"language-model-{variant.name}", partial(make, slots))


def model_with(slot: str, component: Callable[..., Any]) -> Callable[[], Model]:
    """Return a constructor of a model with this component in this slot and the first base config that fits."""
    for base in base_configs():
        changed: Any = {slot: component}
        slots = replace(base, **changed)
        if is_buildable(slots):
            break
    return partial(make, slots)  # raises the error if no base config fits


def is_buildable(slots: ModelConfig) -> bool:
    try:
        with torch.device("meta"):
            build_model(slots, VOCABULARY, VOCABULARY, joint=True)
    except ConfigError:
        return False
    return True


def base_configs() -> Iterator[ModelConfig]:
    """Yield configs with different recurrent encoders, since `copy` bridges need equal state sizes, and one without."""
    embedder = small(REGISTRY[Embedder]["tokens"])
    decoder = small(REGISTRY[Decoder]["transformer"])
    for layers in (1, 2):
        for name in ("gru", "lstm"):
            cell = partial(small(REGISTRY[RecurrentCell][name]), dim=4)
            encoder = partial(small(REGISTRY[Encoder]["recurrent"]), cell=cell, layers=layers)
            yield ModelConfig(source=embedder, encoder=encoder, target=embedder, decoder=decoder)
    lstm = small(REGISTRY[RecurrentCell]["lstm"])
    backward = partial(small(REGISTRY[Encoder]["recurrent"]), cell=lstm, layers=1, directions="backward")
    # a decoder may share the cell of this encoder
    yield ModelConfig(source=embedder, encoder=backward, target=embedder, decoder=decoder)
    yield language_model()


def language_model() -> ModelConfig:
    """Return the config of a decoder without a source."""
    return ModelConfig(
        source=REGISTRY[Embedder]["none"],
        encoder=REGISTRY[Encoder]["none"],
        target=small(REGISTRY[Embedder]["tokens"]),
        decoder=small(REGISTRY[Decoder]["transformer"]),
    )


def make(slots: ModelConfig) -> Model:
    """Build the model in float64, so that rounding does not hide differences."""
    torch.manual_seed(7)
    model = build_model(slots, VOCABULARY, VOCABULARY, joint=True).double().eval()
    with torch.no_grad():
        for weight in model.parameters():  # no weight is zero, so that each has an effect
            weight.add_(0.2 * torch.randn_like(weight))
    return model


def frame_heads() -> Iterator[Variant]:
    """Yield models without a decoder, with each variant of a frame head."""
    base = replace(next(base_configs()), target=REGISTRY[Embedder]["none"], decoder=REGISTRY[Decoder]["none"])
    for variant in variants(FrameHead):
        yield Variant(variant.name, partial(make, replace(base, frame_head=variant.make)))


def mark_changed_slow(names: Iterable[str]) -> list[Any]:
    """Mark the variants with a changed setting as slow."""
    return [pytest.param(name, marks=pytest.mark.slow) if "=" in name else name for name in names]


MODELS = {variant.name: variant.make for variant in models()}
FRAME_HEADS = {variant.name: variant.make for variant in frame_heads()}


def batch(*lengths: tuple[int, int], seed: int = 3) -> Batch:
    """Return a batch of random pairs with these (source, target) lengths, EOS included."""
    generator = torch.Generator().manual_seed(seed)

    def row(length: int) -> list[int]:
        return [*torch.randint(3, len(VOCABULARY), (length - 1,), generator=generator).tolist(), 2]

    rows = [(row(source), row(target)) for source, target in lengths]
    indices = tuple(range(len(rows)))
    return Batch(
        Padded.from_rows([source for source, _ in rows]), Padded.from_rows([target for _, target in rows]), indices
    )


def as_images(pairs: Batch) -> Batch:
    """Return the batch with images as sources: four columns per token, with ink in the row of its id."""
    ids, mask = (tensor.repeat_interleave(4, dim=1) for tensor in pairs.source)
    ink = 255 * torch.nn.functional.one_hot(ids, len(VOCABULARY))
    return pairs._replace(source=Padded(ink.to(torch.uint8), mask))
