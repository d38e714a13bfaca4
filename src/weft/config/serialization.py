"""Plain data <-> frozen dataclasses and component factories; the constructor is the schema.

`{type: recurrent, layers: 4}` becomes `functools.partial(RecurrentEncoder, layers=4)`. A mapping without a type changes
the default: `cell: {dim: 5}` keeps the default's type and its other settings. A mapping with a type starts from that
type's own defaults.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, cast

from weft.config.registry import REGISTRY
from weft.config.schema import (
    REQUIRED,
    ComponentType,
    DataclassType,
    FieldType,
    LiteralType,
    OptionalType,
    Registry,
    ScalarType,
    SequenceType,
    Setting,
    Settings,
    constructor_settings,
    dataclass_settings,
    is_factory,
    unwrap_factory,
)
from weft.config.value_checks import check_value, describe_expected, describe_found
from weft.core.errors import ConfigError, ConfigProblem, UserError
from weft.core.formatting import did_you_mean, quote, quote_all

ConfigT = TypeVar("ConfigT")


def to_dict(value: Any, registry: Registry = REGISTRY) -> dict[str, Any]:
    """Return a dataclass or component factory as plain data with every default written out."""
    if not is_factory(value):
        return _record_to_dict(value, registry)
    kind, _ = unwrap_factory(value)
    for role, components in registry.items():
        if kind in components.values():
            return _component_to_dict(value, role, registry)
    raise TypeError(f"{kind.__name__} is not in the registry")


def to_plain(value: Any, field_type: FieldType, registry: Registry) -> Any:
    """Return a value of this type as plain data."""
    match field_type:
        case ScalarType(kind=kind):
            return kind(value)  # the default of a float may be an int
        case LiteralType():
            return value
        case OptionalType(inner=inner):
            return None if value is None else to_plain(value, inner, registry)
        case SequenceType():
            pairs = zip(value, field_type.item_types(len(value)), strict=True)
            return [to_plain(item, item_type, registry) for item, item_type in pairs]
        case DataclassType():
            return _record_to_dict(value, registry)
        case ComponentType(role=role):
            return _component_to_dict(value, role, registry)


def _record_to_dict(value: Any, registry: Registry) -> dict[str, Any]:
    settings = dataclass_settings(type(value))
    return {name: to_plain(getattr(value, name), setting.type, registry) for name, setting in settings.items()}


def _component_to_dict(factory: Callable[..., Any], role: type, registry: Registry) -> dict[str, Any]:
    kind, arguments = unwrap_factory(factory)
    settings = constructor_settings(kind)
    values = {name: setting.default for name, setting in settings.items()} | arguments
    if values.keys() != settings.keys() or REQUIRED in values.values():
        raise TypeError(f"{kind.__name__} has the settings {list(settings)}, found {arguments}")
    plain = {name: to_plain(value, settings[name].type, registry) for name, value in values.items()}
    return {"type": registered_name(kind, role, registry), **plain}


def registered_name(kind: type, role: type, registry: Registry) -> str:
    for name, component in registry[role].items():
        if component is kind:
            return name
    raise TypeError(f"{kind.__name__} is not in the registry as a {role.__name__}")


def from_dict(node: object, kind: type[ConfigT], registry: Registry = REGISTRY) -> ConfigT:
    """Return the dataclass `kind` from plain data; raise ConfigError with all problems."""
    return cast(ConfigT, _read(node, DataclassType(kind), registry))


def component_from_dict(node: object, role: type, registry: Registry = REGISTRY) -> functools.partial[Any]:
    """Return a component factory from `recurrent` or `{type: recurrent, layers: 4}`."""
    return cast("functools.partial[Any]", _read(node, ComponentType(role), registry))


def _read(node: object, field_type: FieldType, registry: Registry) -> Any:
    reader = _ConfigReader(registry)
    value = reader.read(node, field_type, "", REQUIRED)
    if reader.problems:
        raise ConfigError(reader.problems)
    return value


class _ConfigReader:
    """Reads plain data and collects its problems; a wrong value is read as None."""

    def __init__(self, registry: Registry):
        self.registry = registry
        self.problems: list[ConfigProblem] = []

    def read(self, node: object, field_type: FieldType, place: str, default: Any) -> Any:
        match field_type:
            case ScalarType() | LiteralType():
                try:
                    return check_value(node, field_type)
                except UserError as error:
                    return self._problem(place, str(error))
            case OptionalType(inner=inner):
                return None if node is None else self._present(node, inner, place, default)
            case SequenceType():
                return self._sequence(node, field_type, place)
            case DataclassType():
                return self._record(node, field_type, place, default)
            case ComponentType():
                return self._component(node, field_type, place, default)

    def _present(self, node: object, field_type: FieldType, place: str, default: Any) -> Any:
        """Read an optional value that is not null, with a hint for those who write none."""
        before = len(self.problems)
        value = self.read(node, field_type, place, default)
        if len(self.problems) > before and isinstance(node, str) and node.lower() == "none":
            text = self.problems.pop().text
            return self._problem(place, f"{text}; for none, write null")
        return value

    def _sequence(self, node: object, field_type: SequenceType, place: str) -> Any:
        if not isinstance(node, list | tuple):
            return self._mismatch(field_type, place, describe_found(node))
        item_types = field_type.item_types(len(node))
        if len(item_types) != len(node):
            return self._mismatch(field_type, place, f"a list of {len(node)}")
        return tuple(
            self.read(item, item_type, _join_path(place, str(number)), REQUIRED)
            for number, (item, item_type) in enumerate(zip(node, item_types, strict=True))
        )

    def _record(self, node: object, field_type: DataclassType, place: str, default: Any) -> Any:
        if not isinstance(node, Mapping):
            return self._mismatch(field_type, place, describe_found(node))
        settings = dataclass_settings(field_type.kind)
        defaults = {name: getattr(default, name) for name in settings} if type(default) is field_type.kind else {}
        before = len(self.problems)
        arguments = self._arguments(node, _with_defaults(settings, defaults), place)
        if len(self.problems) > before:
            return None
        try:
            return field_type.kind(**{**defaults, **arguments})
        except (ValueError, UserError) as error:  # from __post_init__, which checks several fields together
            return self._problem(place, str(error))

    def _component(self, node: object, field_type: ComponentType, place: str, default: Any) -> Any:
        if isinstance(node, str):
            return self._typed_component(node, {}, field_type.role, place)
        if not isinstance(node, Mapping):
            return self._mismatch(field_type, place, describe_found(node))
        if "type" in node:
            settings = {name: node[name] for name in node if name != "type"}
            return self._typed_component(node["type"], settings, field_type.role, place)
        if not is_factory(default):
            names = quote_all(self.registry[field_type.role])
            return self._problem(place, f'has no "type"; it should be one of {names}')
        kind, defaults = unwrap_factory(default)
        arguments = self._arguments(node, _with_defaults(constructor_settings(kind), defaults), place)
        return functools.partial(kind, **{**defaults, **arguments})

    def _typed_component(self, name: object, node: Mapping[Any, object], role: type, place: str) -> Any:
        components = self.registry[role]
        names = quote_all(components)
        if not isinstance(name, str):
            text = f"should be one of {names}, found {describe_found(name)}"
            return self._problem(_join_path(place, "type"), text)
        if name not in components:
            return self._problem(place, f"unknown type {quote(name)}{did_you_mean(name, components)} (types: {names})")
        kind = components[name]
        return functools.partial(kind, **self._arguments(node, constructor_settings(kind), place))

    def _arguments(self, node: Mapping[Any, object], settings: Settings, place: str) -> dict[str, Any]:
        """Read the settings that the mapping has; report names that are unknown and names that are missing."""
        known = f"settings here: {', '.join(settings)}" if settings else "there are no settings here"
        for name in node:
            if not isinstance(name, str):
                found = describe_found(name)
                self._problem(place, f"the name of a setting should be text, found {found} (put it in quotes)")
            elif name not in settings:
                self._problem(place, f"unknown setting {quote(name)}{did_you_mean(name, settings)} ({known})")
        for name, setting in settings.items():
            if name not in node and setting.default is REQUIRED:
                expected = describe_expected(setting.type, self.registry)
                self._problem(_join_path(place, name), f"is missing; it should be {expected}")
        return {
            name: self.read(node[name], setting.type, _join_path(place, name), setting.default)
            for name, setting in settings.items()
            if name in node
        }

    def _mismatch(self, field_type: FieldType, place: str, found: str) -> None:
        self._problem(place, f"should be {describe_expected(field_type, self.registry)}, found {found}")

    def _problem(self, place: str, text: str) -> None:
        self.problems.append(ConfigProblem(place, text))


def _with_defaults(settings: Settings, defaults: Mapping[str, Any]) -> Settings:
    return {name: setting._replace(default=defaults.get(name, setting.default)) for name, setting in settings.items()}


def _join_path(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def non_default_settings(value: Any, registry: Registry = REGISTRY) -> set[str]:
    """Return the dotted paths of a dataclass whose values are not the defaults, as train.steps, model.encoder.layers.

    Below a component of another type than the default one, the defaults of that type count.
    """
    return set(_changed_fields(value, "", registry))


def _changed_fields(value: Any, place: str, registry: Registry) -> Iterator[str]:
    for name, setting in dataclass_settings(type(value)).items():
        yield from _changed_paths(getattr(value, name), setting, f"{place}{name}", registry)


def _changed_paths(value: Any, setting: Setting, place: str, registry: Registry) -> Iterator[str]:
    field_type, default = setting
    match field_type:
        case OptionalType(inner=inner) if value is not None:
            inner_setting = Setting(inner, REQUIRED if default is None else default)
            yield from _changed_paths(value, inner_setting, place, registry)
        case DataclassType():
            yield from _changed_fields(value, f"{place}.", registry)
        case ComponentType():
            kind, arguments = unwrap_factory(value)
            default_kind, default_arguments = unwrap_factory(default) if is_factory(default) else (None, {})
            if kind is not default_kind:
                yield f"{place}.type"
                default_arguments = {}
            for name, own in constructor_settings(kind).items():
                inner_setting = own._replace(default=default_arguments.get(name, own.default))
                yield from _changed_paths(arguments.get(name, own.default), inner_setting, f"{place}.{name}", registry)
        case _:
            if default is REQUIRED or to_plain(value, field_type, registry) != to_plain(default, field_type, registry):
                yield place
