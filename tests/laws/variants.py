"""Small variants of every part in the registry, found through the constructors' signatures.

A part is varied one setting at a time: each value of a Literal, both values of a bool, each part of a role. So whoever
adds a part or an option to the registry has it under every law, without writing a test.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from types import UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import torch

from weft.config.registry import REGISTRY
from weft.core.padded import Padded
from weft.data.batches import Batch
from weft.model.build import Slots, build
from weft.model.model import Model
from weft.model.roles import Decoder, Embed, Encoder
from weft.nn.cells import Cell

SMALL: dict[str, Any] = {"dim": 8, "hidden": 12, "layers": 2, "heads": 2, "maxout": 6, "limit": 40, "dropout": 0.0}
VOCABULARY = 11


class Variant(NamedTuple):
    name: str
    make: Callable[..., Any]


def settings_of(part: type) -> dict[str, Any]:
    """The annotations of what a user may write for a part."""
    hints = get_type_hints(part.__init__)  # type: ignore[misc]
    parameters = inspect.signature(part).parameters.values()
    return {one.name: hints[one.name] for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY}


def small(part: type) -> Callable[..., Any]:
    """The part with small sizes, and so its own parts."""
    chosen: dict[str, Any] = {}
    for name, hint in settings_of(part).items():
        if name in SMALL:
            chosen[name] = SMALL[name]
        elif (role := role_in(hint)) is not None and type(None) not in get_args(hint):
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
            for value_name, value in values(hint):
                yield Variant(f"{name}-{setting}={value_name}", partial(small(part), **{setting: value}))


def values(hint: Any) -> list[tuple[str, Any]]:
    if get_origin(hint) is Literal:
        return [(str(value), value) for value in get_args(hint)]
    if hint is bool:
        return [("yes", True), ("no", False)]
    role = role_in(hint)
    return [] if role is None else [(variant.name, variant.make) for variant in variants(role)]


def models() -> Iterator[Variant]:
    """Whole models: each variant of an embedding, encoder or decoder among plain neighbours."""
    plain = small(REGISTRY[Embed]["tokens"])
    cell = partial(small(REGISTRY[Cell]["gru"]), dim=4)  # both ways 8, so that dot products with the decoder's 8 fit
    recurrent = partial(small(REGISTRY[Encoder]["recurrent"]), cell=cell)
    base = Slots(source=plain, encoder=recurrent, target=plain, decoder=small(REGISTRY[Decoder]["transformer"]))
    for slot, role in (("source", Embed), ("encoder", Encoder), ("target", Embed), ("decoder", Decoder)):
        for variant in variants(role):
            changed: Any = {slot: variant.make}
            yield Variant(f"{slot}-{variant.name}", partial(make, replace(base, **changed)))


def make(slots: Slots) -> Model:
    """The model in float64, where what should be equal is equal."""
    torch.manual_seed(7)
    return build(slots, VOCABULARY, VOCABULARY, joint=True).double().eval()


MODELS = {variant.name: variant.make for variant in models()}


def batch(*lengths: tuple[int, int], seed: int = 3) -> Batch:
    """A batch of random pairs of these lengths."""
    draws = torch.Generator().manual_seed(seed)

    def row(length: int) -> list[int]:
        return [*torch.randint(3, VOCABULARY, (length - 1,), generator=draws).tolist(), 2]

    rows = [(row(source), row(target)) for source, target in lengths]
    indices = tuple(range(len(rows)))
    return Batch(Padded.of([source for source, _ in rows]), Padded.of([target for _, target in rows]), indices)
