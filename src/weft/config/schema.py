"""The types of settings, read from annotations of constructors and dataclasses: scalar, literal, optional, sequence,
nested dataclass, registered component.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt

Registry: TypeAlias = Mapping[type, Mapping[str, type]]  # role -> name -> class
Bound: TypeAlias = Ge | Gt | Le | Lt

REQUIRED = inspect.Parameter.empty


@dataclass(frozen=True)
class ScalarType:
    """bool, int, float or str, perhaps with bounds."""

    kind: type
    bounds: tuple[Bound, ...] = ()


@dataclass(frozen=True)
class LiteralType:
    """Literal["sum", "mean"]."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class OptionalType:
    """X | None."""

    inner: "FieldType"


@dataclass(frozen=True)
class SequenceType:
    """tuple[X, ...] (with one item type, is_variadic), or tuple[X, Y] (with one for each item)."""

    items: tuple["FieldType", ...]
    is_variadic: bool

    def item_types(self, length: int) -> tuple["FieldType", ...]:
        return self.items * length if self.is_variadic else self.items


@dataclass(frozen=True)
class DataclassType:
    """A nested dataclass."""

    kind: type


@dataclass(frozen=True)
class ComponentType:
    """Factory[Role]: a class that the registry knows in this role, with its keyword-only arguments."""

    role: type


FieldType: TypeAlias = ScalarType | LiteralType | OptionalType | SequenceType | DataclassType | ComponentType


class Setting(NamedTuple):
    type: FieldType
    default: Any  # REQUIRED: there is none


Settings: TypeAlias = dict[str, Setting]


def parse_annotation(annotation: Any) -> FieldType:
    """Return the type of a setting; raise TypeError for an annotation that no configuration can satisfy."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation in (bool, int, float, str):
        return ScalarType(annotation)
    if origin is Annotated:
        kind, *bounds = arguments
        if kind not in (int, float) or not all(isinstance(bound, Bound) for bound in bounds):
            raise TypeError(f"only Ge, Gt, Le and Lt on int and float are known, found {bounds} on {kind}")
        return ScalarType(kind, tuple(bounds))
    if origin is Literal:
        return LiteralType(arguments)
    if origin in (Union, UnionType):
        inner = [argument for argument in arguments if argument is not NoneType]
        if len(inner) != 1:
            raise TypeError(f"the only union in a configuration is X | None, found one of {arguments}")
        return OptionalType(parse_annotation(inner[0]))
    if origin is tuple and arguments:
        items = tuple(parse_annotation(argument) for argument in arguments if argument is not Ellipsis)
        return SequenceType(items, is_variadic=arguments[-1] is Ellipsis)
    if origin is Callable and arguments[0] is Ellipsis:
        return ComponentType(arguments[1])
    if is_dataclass(annotation) and isinstance(annotation, type):
        return DataclassType(annotation)
    raise TypeError(f"no configuration can satisfy the annotation {annotation}")


def dataclass_settings(kind: type) -> Settings:
    """Return the fields of a dataclass."""
    hints = get_type_hints(kind, include_extras=True)
    return {
        field.name: Setting(parse_annotation(hints[field.name]), _field_default(field))
        for field in fields(kind)
        if field.init
    }


def _field_default(field: Field[Any]) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return REQUIRED if field.default is MISSING else field.default


def constructor_settings(kind: type) -> Settings:
    """Return the keyword-only parameters of a constructor; those before the star are given by its neighbors."""
    if is_dataclass(kind):
        keyword_only = {field.name for field in fields(kind) if field.kw_only}
        return {name: setting for name, setting in dataclass_settings(kind).items() if name in keyword_only}
    constructor = inspect.getattr_static(kind, "__init__")
    hints = get_type_hints(constructor, include_extras=True)
    return {
        name: Setting(parse_annotation(hints[name]), parameter.default)
        for name, parameter in inspect.signature(constructor).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }


def unwrap_factory(factory: Callable[..., Any]) -> tuple[type, dict[str, Any]]:
    """Return a factory's class and the arguments that it sets."""
    if isinstance(factory, type):
        return factory, {}
    if not isinstance(factory, functools.partial) or factory.args or not isinstance(factory.func, type):
        raise TypeError(f"a factory is a class or a partial of one with keyword arguments, found {factory}")
    return factory.func, dict(factory.keywords)


def is_factory(value: object) -> bool:
    return isinstance(value, type | functools.partial) and value is not REQUIRED
