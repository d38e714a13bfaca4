"""Dataclasses and recipes -> plain data with every default written out: the inverse of reading."""

from typing import Any

from weft.config.forms import (
    REQUIRED,
    Choice,
    Form,
    Items,
    Leaf,
    Maybe,
    OneOf,
    PartRecipe,
    Record,
    Registry,
    is_recipe,
    part_settings,
    record_settings,
    unfold,
)


def describe(value: Any, registry: Registry) -> dict[str, Any]:
    """The node that reads as this dataclass, class or partial of a class. It holds only what JSON and YAML can hold."""
    if is_recipe(value):
        kind, _ = unfold(value)
        return _recipe(value, _role_of(kind, registry), registry)
    return _record(value, registry)


def plain(value: Any, form: Form, registry: Registry) -> Any:
    """The node that reads as this value where this form is wanted."""
    match form:
        case Leaf(kind=kind):
            return kind(value)  # a default of 0 may stand where a float is wanted
        case OneOf():
            return value
        case Maybe(inner=inner):
            return None if value is None else plain(value, inner, registry)
        case Items(forms=forms, any_number=any_number):
            item_forms = forms * len(value) if any_number else forms
            return [plain(item, item_form, registry) for item, item_form in zip(value, item_forms, strict=True)]
        case Record():
            return _record(value, registry)
        case Choice(role=role):
            return _recipe(value, role, registry)


def _record(value: Any, registry: Registry) -> dict[str, Any]:
    settings = record_settings(type(value))
    return {name: plain(getattr(value, name), setting.form, registry) for name, setting in settings.items()}


def _recipe(recipe: PartRecipe, role: type, registry: Registry) -> dict[str, Any]:
    kind, arguments = unfold(recipe)
    settings = part_settings(kind)
    values = {name: setting.default for name, setting in settings.items()} | arguments
    if values.keys() != settings.keys() or REQUIRED in values.values():
        raise TypeError(f"{kind.__name__} can be written down with the settings {list(settings)}, found {arguments}")
    described = {name: plain(value, settings[name].form, registry) for name, value in values.items()}
    return {"type": _name_of(kind, role, registry), **described}


def _name_of(kind: type, role: type, registry: Registry) -> str:
    for name, known in registry[role].items():
        if known is kind:
            return name
    raise TypeError(f"{kind.__name__} is not in the registry as a {role.__name__}")


def _role_of(kind: type, registry: Registry) -> type:
    for role, names in registry.items():
        if kind in names.values():
            return role
    raise TypeError(f"{kind.__name__} is not in the registry")
