"""Where a recipe says something else than the constructors that it calls would do by themselves."""

from collections.abc import Iterator
from typing import Any

from weft.config.describe import plain
from weft.config.forms import (
    REQUIRED,
    Choice,
    Maybe,
    Record,
    Registry,
    Setting,
    is_recipe,
    part_settings,
    record_settings,
    unfold,
)


def departures(value: Any, registry: Registry) -> set[str]:
    """The dotted places of a dataclass whose values are not the defaults, as train.steps or model.encoder.layers.

    Below a type that is not the default one, what counts are the defaults of that type.
    """
    return set(_record(value, "", registry))


def _record(value: Any, place: str, registry: Registry) -> Iterator[str]:
    for name, setting in record_settings(type(value)).items():
        yield from _setting(getattr(value, name), setting, f"{place}{name}", registry)


def _setting(value: Any, setting: Setting, place: str, registry: Registry) -> Iterator[str]:
    match setting.form:
        case Maybe(inner=inner) if value is not None:
            default = REQUIRED if setting.default is None else setting.default
            yield from _setting(value, Setting(inner, default), place, registry)
        case Record():
            yield from _record(value, f"{place}.", registry)
        case Choice():
            yield from _part(value, setting.default, place, registry)
        case form:
            if setting.default is REQUIRED or plain(value, form, registry) != plain(setting.default, form, registry):
                yield place


def _part(value: Any, default: Any, place: str, registry: Registry) -> Iterator[str]:
    kind, arguments = unfold(value)
    usual, others = unfold(default) if is_recipe(default) else (None, {})
    if kind is not usual:
        yield f"{place}.type"
    changed = others if kind is usual else {}
    for name, (form, own) in part_settings(kind).items():
        setting = Setting(form, changed.get(name, own))
        yield from _setting(arguments.get(name, own), setting, f"{place}.{name}", registry)
