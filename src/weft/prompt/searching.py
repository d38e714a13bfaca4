"""Switching the search while a person looks on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from weft.config.document import inline
from weft.config.reader import describe
from weft.config.registry import REGISTRY
from weft.core.errors import UserError
from weft.engine.load import check_finds, widened
from weft.engine.translator import Translator
from weft.prompt.state import State


def search_of(translator: Translator) -> dict[str, Any]:
    """The search, or the reading of a model that has no steps to search, as a recipe writes it."""
    settings = translator.settings
    found: dict[str, Any] = describe(settings.search if _role(translator) == "search" else settings.reading, REGISTRY)
    return found


def telling_all(state: State) -> State:
    """The same search, which gives all outputs that its beam has."""
    size = search_of(state.translator).get("size")
    return state if size is None or state.translator.settings.mbr.samples else with_beam(state, size)


def with_beam(state: State, size: int) -> State:
    """A beam of this size, all of whose outputs are given."""
    return replace(state, translator=widened(state.translator, size, size, state.settings))


def with_search(state: State, written: str) -> State:
    """Another search, or reading, as a recipe writes it."""
    setting = f"translate.{_role(state.translator)}={written}"
    return replace(state, translator=widened(state.translator, None, None, [*state.settings, setting]))


def with_sampling(state: State, count: int, temperature: float) -> State:
    """Outputs that are drawn at random."""
    check_finds(state.translator.trained, ["translate.search=sampling"])
    return with_search(state, inline({"type": "sampling", "best": count, "temperature": temperature}))


def with_other_draws(state: State) -> State:
    """The same sampling from another seed."""
    node = search_of(state.translator)
    if "seed" not in node:
        raise UserError(f"{node['type']} draws nothing at random, so it would say the same again: write :sample first")
    return with_search(state, inline({**node, "seed": node["seed"] + 1}))


def _role(translator: Translator) -> str:
    return "search" if translator.trained.model.has_decoder else "reading"
