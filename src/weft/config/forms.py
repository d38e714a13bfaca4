"""What an annotation asks for, in six forms. Reading, describing and the schema each follow these forms."""

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt

Registry: TypeAlias = Mapping[type, Mapping[str, type]]  # role -> name -> class
PartRecipe: TypeAlias = "type | functools.partial[Any]"
Bound: TypeAlias = Ge | Gt | Le | Lt

REQUIRED = inspect.Parameter.empty


@dataclass(frozen=True)
class Leaf:
    """bool, int, float or str, perhaps with bounds."""

    kind: type
    bounds: tuple[Bound, ...] = ()


@dataclass(frozen=True)
class OneOf:
    """Literal["sum", "mean"]."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class Maybe:
    """X | None."""

    inner: "Form"


@dataclass(frozen=True)
class Items:
    """tuple[X, ...] and list[X] (`forms` is one), or tuple[X, Y] (`forms` has as many as there are items)."""

    container: type
    forms: tuple["Form", ...]
    any_number: bool


@dataclass(frozen=True)
class Record:
    """A nested dataclass."""

    kind: type


@dataclass(frozen=True)
class Choice:
    """Make[Role]: a class that the registry knows in this role, with its keyword-only arguments."""

    role: type


Form: TypeAlias = Leaf | OneOf | Maybe | Items | Record | Choice


class Setting(NamedTuple):
    """A thing that a user may write."""

    form: Form
    default: Any  # REQUIRED: there is none


Settings: TypeAlias = dict[str, Setting]


def form_of(annotation: Any) -> Form:
    """The form of an annotation; TypeError for one that no configuration can fill."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation in (bool, int, float, str):
        return Leaf(annotation)
    if origin is Annotated:
        return _bounded(arguments[0], arguments[1:])
    if origin is Literal:
        return OneOf(arguments)
    if origin in (Union, UnionType):
        return _maybe(arguments)
    if origin in (tuple, list) and arguments:
        return _items(origin, arguments)
    if origin is Callable and arguments[0] is Ellipsis:
        return Choice(arguments[1])
    if is_dataclass(annotation) and isinstance(annotation, type):
        return Record(annotation)
    raise TypeError(f"no configuration can fill the annotation {annotation}")


def _bounded(kind: Any, bounds: tuple[Any, ...]) -> Leaf:
    if kind not in (int, float) or not all(isinstance(bound, Bound) for bound in bounds):
        raise TypeError(f"only Ge, Gt, Le and Lt on int and float are known, found {bounds} on {kind}")
    return Leaf(kind, bounds)


def _maybe(arguments: tuple[Any, ...]) -> Maybe:
    others = [argument for argument in arguments if argument is not NoneType]
    if len(others) != 1:
        raise TypeError(f"the only union of a configuration is X | None, found one of {arguments}")
    return Maybe(form_of(others[0]))


def _items(container: type, arguments: tuple[Any, ...]) -> Items:
    any_number = container is list or arguments[-1] is Ellipsis
    return Items(container, tuple(form_of(argument) for argument in arguments if argument is not Ellipsis), any_number)


def record_settings(kind: type) -> Settings:
    """The fields of a dataclass."""
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: Setting(form_of(hints[field.name]), _default(field)) for field in fields(kind) if field.init}


def _default(field: Field[Any]) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return REQUIRED if field.default is MISSING else field.default


def part_settings(kind: type) -> Settings:
    """The keyword-only parameters of a constructor; what stands before the star is given by neighbours."""
    if is_dataclass(kind):
        named = {field.name for field in fields(kind) if field.kw_only}
        return {name: setting for name, setting in record_settings(kind).items() if name in named}
    constructor = inspect.getattr_static(kind, "__init__")
    hints = get_type_hints(constructor, include_extras=True)
    return {
        name: Setting(form_of(hints[name]), parameter.default)
        for name, parameter in inspect.signature(constructor).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }


def unfold(recipe: PartRecipe) -> tuple[type, dict[str, Any]]:
    """A recipe's class and the arguments it sets."""
    if isinstance(recipe, type):
        return recipe, {}
    if recipe.args or not isinstance(recipe.func, type):
        raise TypeError(f"a recipe is a class or a partial of one with keyword arguments, found {recipe}")
    return recipe.func, dict(recipe.keywords)


def is_recipe(value: object) -> bool:
    return isinstance(value, type | functools.partial) and value is not REQUIRED
