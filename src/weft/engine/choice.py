"""Which engine translates: the fastest of those that say the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from weft.core.errors import UserError
from weft.core.once import Once
from weft.engine.role import Engine
from weft.engine.translation import Translation
from weft.engine.widening import search_of
from weft.export.converted import Precision
from weft.export.described import Described, read_described
from weft.export.refusals import refusals
from weft.export.same_search import differences, nearest_search
from weft.store.shortlist import load_shortlist

EngineName: TypeAlias = Literal["auto", "torch", "ctranslate2"]


class Wish(NamedTuple):
    """What is asked for. needs: what of it only the torch engine has, in words. shortlist: whether it is to be used.

    device: where to compute, as a user names it.
    """

    engine: EngineName
    precision: Precision | None
    beam: int | None
    needs: tuple[str, ...]
    shortlist: bool = False
    device: str = "auto"


class Chosen(NamedTuple):
    """An engine, and why it was chosen, in words."""

    engine: Engine
    told: str


def choose(path: Path, wish: Wish, load: Callable[[], Engine]) -> Chosen:
    """The engine that the wish names, or the best one; `load` makes that of torch.

    auto takes CTranslate2 wherever its outputs are those of torch, so in float32, unless another precision is named.
    """
    if wish.engine == "torch":
        if wish.precision is not None:
            raise UserError(
                f"--precision {wish.precision} is for the engine ctranslate2: leave it out, or --engine torch"
            )
        return Chosen(load(), "torch: asked for")
    described = read_described(path)
    reasons = reasons_against(described, wish)
    if not reasons:
        return made(described, wish, load)
    if wish.engine == "ctranslate2" or wish.precision is not None:
        asked = "--engine ctranslate2" if wish.engine == "ctranslate2" else f"--precision {wish.precision}"
        raise UserError("\n".join([f"{asked}: that engine would not say the same here:", *listed(reasons)]))
    return Chosen(load(), "\n".join(["torch, since CTranslate2 would not say the same:", *listed(reasons)]))


def reasons_against(described: Described, wish: Wish) -> list[str]:
    """All reasons why CTranslate2 cannot be taken."""
    translate = described.config["translate"]
    return [
        *missing(wish),
        *elsewhere(wish),
        *wish.needs,
        *refusals(described),
        *differences(translate, search_of(translate, wish.beam)),
    ]


def missing(wish: Wish) -> list[str]:
    """What this machine lacks."""
    if find_spec("ctranslate2") is None:
        return ["the package ctranslate2 is not installed"]
    import ctranslate2

    lacking = wish.precision not in {None, *ctranslate2.get_supported_compute_types("cpu")}
    return [f"this processor does not compute in {wish.precision}"] if lacking else []


def elsewhere(wish: Wish) -> list[str]:
    """Why not to compute on the processor, where CTranslate2 does: because it is asked for, or nothing is."""
    if wish.device not in ("auto", "cpu"):
        return [f"--device {wish.device} is asked for"]
    free = wish.engine == "auto" and wish.precision is None and wish.device == "auto"
    return ["there is a GPU, which torch uses"] if free and torch_has_gpu() else []


def torch_has_gpu() -> bool:
    """torch, which takes seconds to load, is asked only where there is a GPU."""
    if find_spec("ctranslate2") is None:
        return False
    import ctranslate2

    if not ctranslate2.get_cuda_device_count():
        return False
    import torch

    return torch.cuda.is_available()


def made(described: Described, wish: Wish, load: Callable[[], Engine]) -> Chosen:
    """The engine of CTranslate2."""
    from weft.engine.ctranslate2 import CTranslate2, workers_here
    from weft.engine.library import open_library

    loaded = Once(load)

    def otherwise(lines: Sequence[str]) -> list[Translation]:
        return list(loaded().stream(lines))

    translate, precision, workers = described.config["translate"], wish.precision or "float32", workers_here()
    search = nearest_search(search_of(translate, wish.beam))
    shortlist = load_shortlist(described.folder) if wish.shortlist or described.uses_shortlist else None
    library = Once(lambda: open_library(described, precision, workers, shortlist))
    engine = CTranslate2(described, search, precision, library, otherwise, translate["window"], workers, shortlist)
    told = "" if shortlist is None else ", with a shortlist"
    return Chosen(engine, f"ctranslate2, in {precision}, {workers} at once{told}")


def listed(reasons: Sequence[str]) -> list[str]:
    return [f"  {reason}" for reason in reasons]
