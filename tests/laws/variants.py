"""Small variants of every part in the registry, found through the constructors' signatures.

A part is varied one setting at a time: each value of a Literal, both values of a bool, each part of a role. Parts that
are no slot of a model (cells, scores ...) are varied in turn inside a host that has them. So whoever adds a part or an
option to the registry has it under every law, without writing a test.
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
from weft.core.codec import SPECIAL_TOKENS
from weft.core.errors import ConfigError
from weft.core.padded import Padded
from weft.data.batches import Batch
from weft.models.build import ModelConfig, build_model
from weft.models.model import Model
from weft.models.slots import Decoder, Embedder, Encoder, FrameHead
from weft.nn.attention import AttentionWindow
from weft.nn.attention_scores import AttentionScore
from weft.nn.bridges import Bridge
from weft.nn.cells.cell import RecurrentCell
from weft.nn.positional_encoding import PositionalEncoding

SMALL: dict[str, Any] = {
    "dim": 8,
    "ffn_dim": 12,
    "layers": 2,
    "attention_layers": 2,  # of the layers
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
UNFIT = {
    ("target", "none"),  # of which no decoder can be fed
    ("source", "pixels"),  # which takes columns, no ids: see tests/unit/test_picture_encoder.py
    ("target", "pixels"),
    ("decoder", "none"),  # which takes no steps: see FRAME_HEADS
}
VOCABULARY = (*SPECIAL_TOKENS, "a", "be", "be▁a", "see", "dee", "zed", "▁", "ä")


class Variant(NamedTuple):
    name: str
    make: Callable[..., Any]


def settings_of(part: type) -> dict[str, Any]:
    """The annotations of what a user may write for a part."""
    hints = get_type_hints(part.__init__)  # type: ignore[misc]
    parameters = inspect.signature(part).parameters.values()
    return {one.name: hints[one.name] for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY}


def small(part: type) -> partial[Any]:
    """The part with small sizes, and so its own parts."""
    chosen: dict[str, Any] = {}
    for name, hint in settings_of(part).items():
        if name in SMALL and not may_be_none(hint):
            chosen[name] = SMALL[name]
        elif (role := role_in(hint)) is not None and not may_be_none(hint):
            default = inspect.signature(part).parameters[name].default
            chosen[name] = small(default if default in REGISTRY[role].values() else next(iter(REGISTRY[role].values())))
    return partial(part, **chosen)


def role_in(hint: Any) -> type | None:
    """Encoder in Make[Encoder] or Make[Encoder] | None."""
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    roles = [get_args(option)[-1] for option in options if get_origin(option) is not None and get_args(option)]
    return next((role for role in roles if role in REGISTRY), None)


def variants(role: type) -> Iterator[Variant]:
    """Every part of a role: small, and then with each setting changed in turn."""
    for name, part in REGISTRY[role].items():
        yield Variant(name, small(part))
        for setting, hint in settings_of(part).items():
            for value_name, value in [*values(hint), *sizes_that_may_be_none(setting, hint)]:
                if kind_of(value) == kind_of(usual(part, setting)):
                    continue
                yield Variant(f"{name}-{setting}={value_name}", partial(small(part), **{setting: value}))


def usual(part: type, setting: str) -> Any:
    """What the small part has where nothing is said."""
    chosen = small(part).keywords
    return chosen[setting] if setting in chosen else inspect.signature(part).parameters[setting].default


def kind_of(value: Any) -> Any:
    """Of parts, the class; all else stands for itself."""
    return value.func if isinstance(value, partial) else value


def may_be_none(hint: Any) -> bool:
    return type(None) in get_args(hint)


def sizes_that_may_be_none(setting: str, hint: Any) -> list[tuple[str, Any]]:
    """The small size of a setting that has none by default, such as a reach."""
    return [(str(SMALL[setting]), SMALL[setting])] if setting in SMALL and may_be_none(hint) else []


def values(hint: Any) -> list[tuple[str, Any]]:
    if get_origin(hint) is Literal:
        return [(str(value), value) for value in get_args(hint)]
    if hint is bool:
        return [("yes", True), ("no", False)]
    if get_origin(hint) is tuple and (role := role_in(get_args(hint)[0])) is not None:
        return [(name, (small(part),)) for name, part in REGISTRY[role].items()]
    role = role_in(hint)
    return [] if role is None else [(name, small(part)) for name, part in REGISTRY[role].items()]


def models() -> Iterator[Variant]:
    """Whole models: each variant of a slot among plain neighbours, and each variant of a part inside its host."""
    for slot, role in (("source", Embedder), ("encoder", Encoder), ("target", Embedder), ("decoder", Decoder)):
        for variant in variants(role):
            if (slot, variant.name) not in UNFIT:
                yield Variant(f"{slot}-{variant.name}", whole(slot, variant.make))
    for inner, (slot, host_role, host, setting) in HOSTS.items():
        for variant in variants(inner):
            hosted = partial(small(REGISTRY[host_role][host]), **{setting: variant.make})
            yield Variant(f"{host}-{setting}={variant.name}", whole(slot, hosted))
    for variant in variants(Decoder):
        slots = replace(language_model(), decoder=variant.make)
        if fits(slots):
            yield Variant(f"language-model-{variant.name}", partial(make, slots))


def whole(slot: str, part: Callable[..., Any]) -> Callable[[], Model]:
    """A model with this part in this slot, and the first neighbours that fit."""
    for base in bases():
        changed: Any = {slot: part}
        slots = replace(base, **changed)
        if fits(slots):
            break
    return partial(make, slots)  # which tells what does not fit, if nothing does


def fits(slots: ModelConfig) -> bool:
    try:
        with torch.device("meta"):
            build_model(slots, VOCABULARY, VOCABULARY, joint=True)
    except ConfigError:
        return False
    return True


def bases() -> Iterator[ModelConfig]:
    """Recurrent encoders of several kinds, for bridges that copy what they end with, both ways 4 + 4 wide; and none."""
    plain = small(REGISTRY[Embedder]["tokens"])
    decoder = small(REGISTRY[Decoder]["transformer"])
    for layers in (1, 2):
        for name in ("gru", "lstm"):
            cell = partial(small(REGISTRY[RecurrentCell][name]), dim=4)
            encoder = partial(small(REGISTRY[Encoder]["recurrent"]), cell=cell, layers=layers)
            yield ModelConfig(source=plain, encoder=encoder, target=plain, decoder=decoder)
    lstm = small(REGISTRY[RecurrentCell]["lstm"])
    one_way = partial(small(REGISTRY[Encoder]["recurrent"]), cell=lstm, layers=1, directions="backward")
    yield ModelConfig(source=plain, encoder=one_way, target=plain, decoder=decoder)  # whose cell a decoder may share
    yield language_model()


def language_model() -> ModelConfig:
    """A decoder without a source."""
    return ModelConfig(
        source=REGISTRY[Embedder]["none"],
        encoder=REGISTRY[Encoder]["none"],
        target=small(REGISTRY[Embedder]["tokens"]),
        decoder=small(REGISTRY[Decoder]["transformer"]),
    )


def make(slots: ModelConfig) -> Model:
    """The model in float64, where what should be equal is equal."""
    torch.manual_seed(7)
    model = build_model(slots, VOCABULARY, VOCABULARY, joint=True).double().eval()
    with torch.no_grad():
        for weight in model.parameters():  # so that none is zero, and what it does is seen
            weight.add_(0.2 * torch.randn_like(weight))
    return model


def frame_heads() -> Iterator[Variant]:
    """Models without a decoder, with each variant of a frame head."""
    base = replace(next(bases()), target=REGISTRY[Embedder]["none"], decoder=REGISTRY[Decoder]["none"])
    for variant in variants(FrameHead):
        yield Variant(variant.name, partial(make, replace(base, frame_head=variant.make)))


def plain_first(names: Iterable[str]) -> list[Any]:
    """Names of variants; those with a setting changed are for the slow tests."""
    return [pytest.param(name, marks=pytest.mark.slow) if "=" in name else name for name in names]


MODELS = {variant.name: variant.make for variant in models()}
FRAME_HEADS = {variant.name: variant.make for variant in frame_heads()}


def batch(*lengths: tuple[int, int], seed: int = 3) -> Batch:
    """A batch of random pairs of these lengths."""
    draws = torch.Generator().manual_seed(seed)

    def row(length: int) -> list[int]:
        return [*torch.randint(3, len(VOCABULARY), (length - 1,), generator=draws).tolist(), 2]

    rows = [(row(source), row(target)) for source, target in lengths]
    indices = tuple(range(len(rows)))
    return Batch(
        Padded.from_rows([source for source, _ in rows]), Padded.from_rows([target for _, target in rows]), indices
    )


def as_pictures(pairs: Batch) -> Batch:
    """The same with a picture for each source: of every token four columns, with ink in the row of its id."""
    ids, mask = (tensor.repeat_interleave(4, dim=1) for tensor in pairs.source)
    ink = 255 * torch.nn.functional.one_hot(ids, len(VOCABULARY))
    return pairs._replace(source=Padded(ink.to(torch.uint8), mask))
