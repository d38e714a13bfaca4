"""Plain data -> frozen dataclasses and recipes. The constructor is the schema.

    encoder: {type: recurrent, layers: 4}   ->   functools.partial(Recurrent, layers=4)

A node changes the default: `cell: {dim: 5}` keeps the default's type and its other settings, while a node that names a
type starts from that type's own defaults.
"""

import functools
from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from weft.config.describe import describe
from weft.config.forms import (
    REQUIRED,
    Choice,
    Form,
    Items,
    Leaf,
    Maybe,
    OneOf,
    Record,
    Registry,
    Settings,
    is_recipe,
    part_settings,
    record_settings,
    unfold,
)
from weft.config.leaves import check_leaf, check_one_of
from weft.config.wording import found, listed, nearest, quoted, wanted
from weft.core.errors import ConfigError, Problem, UserError

Wanted = TypeVar("Wanted")

__all__ = ["describe", "read", "read_part"]


def read(node: object, kind: type[Wanted], registry: Registry) -> Wanted:
    """The dataclass `kind` that the node writes down, or a ConfigError with every problem of it."""
    value: Wanted = _read(node, Record(kind), registry)
    return value


def read_part(node: object, role: type, registry: Registry) -> functools.partial[Any]:
    """The recipe of one part: `recurrent` or `{type: recurrent, layers: 4}`."""
    recipe: functools.partial[Any] = _read(node, Choice(role), registry)
    return recipe


def _read(node: object, form: Form, registry: Registry) -> Any:
    reader = _Reader(registry)
    value = reader.value(node, form, "", REQUIRED)
    if reader.problems:
        raise ConfigError(reader.problems)
    return value


class _Reader:
    """One reading, and the problems found so far. What stands in a wrong place is read as None."""

    def __init__(self, registry: Registry):
        self.registry = registry
        self.problems: list[Problem] = []

    def value(self, node: object, form: Form, place: str, default: Any) -> Any:
        match form:
            case Leaf() | OneOf():
                return self.leaf(node, form, place)
            case Maybe(inner=inner):
                return None if node is None else self.some(node, inner, place, default)
            case Items():
                return self.items(node, form, place)
            case Record():
                return self.record(node, form, place, default)
            case Choice():
                return self.recipe(node, form, place, default)

    def some(self, node: object, form: Form, place: str, default: Any) -> Any:
        """A value where null may stand too; who writes none for it is told."""
        before = len(self.problems)
        value = self.value(node, form, place, default)
        if len(self.problems) > before and isinstance(node, str) and node.lower() == "none":
            text = self.problems.pop().text
            return self.problem(place, f"{text}; for none, write null")
        return value

    def leaf(self, node: object, form: Leaf | OneOf, place: str) -> Any:
        try:
            return check_leaf(node, form) if isinstance(form, Leaf) else check_one_of(node, form)
        except UserError as error:
            return self.problem(place, str(error))

    def items(self, node: object, form: Items, place: str) -> Any:
        if not isinstance(node, list | tuple):
            return self.unfit(node, form, place)
        forms = form.forms * len(node) if form.any_number else form.forms
        if len(forms) != len(node):
            return self.problem(place, f"should be {wanted(form, self.registry)}, found a list of {len(node)}")
        values = [
            self.value(item, wanted_item, _below(place, str(number)), REQUIRED)
            for number, (item, wanted_item) in enumerate(zip(node, forms, strict=True))
        ]
        return form.container(values)

    def record(self, node: object, form: Record, place: str, default: Any) -> Any:
        if not isinstance(node, Mapping):
            return self.unfit(node, form, place)
        settings = record_settings(form.kind)
        kept = {name: getattr(default, name) for name in settings} if type(default) is form.kind else {}
        before = len(self.problems)
        arguments = self.arguments(node, _with_defaults(settings, kept), place)
        if len(self.problems) > before:
            return None
        try:
            return form.kind(**{**kept, **arguments})
        except (ValueError, UserError) as error:  # __post_init__ may check what single fields cannot show
            return self.problem(place, str(error))

    def recipe(self, node: object, form: Choice, place: str, default: Any) -> Any:
        if isinstance(node, str):
            return self.part(node, {}, form, place)
        if not isinstance(node, Mapping):
            return self.unfit(node, form, place)
        if "type" in node:
            return self.part(node["type"], {name: node[name] for name in node if name != "type"}, form, place)
        if not is_recipe(default):
            return self.problem(place, f'says no "type"; it should be one of {listed(self.registry[form.role])}')
        kind, kept = unfold(default)
        arguments = self.arguments(node, _with_defaults(part_settings(kind), kept), place)
        return functools.partial(kind, **{**kept, **arguments})

    def part(self, name: object, node: Mapping[Any, object], form: Choice, place: str) -> Any:
        """The class of this name with the node's settings."""
        known = self.registry[form.role]
        if not isinstance(name, str):
            return self.problem(_below(place, "type"), f"should be one of {listed(known)}, found {found(name)}")
        if name not in known:
            return self.problem(place, f"unknown type {quoted(name)}{nearest(name, known)} (types: {listed(known)})")
        kind = known[name]
        return functools.partial(kind, **self.arguments(node, part_settings(kind), place))

    def arguments(self, node: Mapping[Any, object], settings: Settings, place: str) -> dict[str, Any]:
        """What the node says about these settings; names that it should not and names that it should have."""
        for name in node:
            if name not in settings:
                self.unknown(name, settings, place)
        for name, setting in settings.items():
            if name not in node and setting.default is REQUIRED:
                self.problem(_below(place, name), f"is missing; it should be {wanted(setting.form, self.registry)}")
        return {
            name: self.value(node[name], setting.form, _below(place, name), setting.default)
            for name, setting in settings.items()
            if name in node
        }

    def unknown(self, name: object, names: Collection[str], place: str) -> None:
        if not isinstance(name, str):
            self.problem(place, f"the name of a setting should be text, found {found(name)} (put it in quotes)")
            return
        known = f"settings here: {', '.join(names)}" if names else "there are no settings here"
        self.problem(place, f"unknown setting {quoted(name)}{nearest(name, names)} ({known})")

    def unfit(self, node: object, form: Form, place: str) -> None:
        self.problem(place, f"should be {wanted(form, self.registry)}, found {found(node)}")

    def problem(self, place: str, text: str) -> None:
        self.problems.append(Problem(place, text))


def _with_defaults(settings: Settings, kept: Mapping[str, Any]) -> Settings:
    return {name: setting._replace(default=kept.get(name, setting.default)) for name, setting in settings.items()}


def _below(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
