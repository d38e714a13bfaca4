"""Checking single values, with the traps of YAML in mind. A UserError says what was wanted and what was found."""

import re
from typing import Annotated, Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from weft.config.forms import Leaf, OneOf
from weft.config.wording import fits, found, listed, nearest, wanted_value
from weft.core.errors import UserError

STRICT = ConfigDict(strict=True, allow_inf_nan=False)
EXPONENT = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+")


def adapter(leaf: Leaf) -> TypeAdapter[Any]:
    """Pydantic's checker of this type and its bounds."""
    annotation: Any = leaf.kind
    for bound in leaf.bounds:
        annotation = Annotated[annotation, bound]
    return TypeAdapter(annotation, config=STRICT)


def check_leaf(value: object, leaf: Leaf) -> Any:
    """The value in its type, or a UserError."""
    if leaf.kind is float and isinstance(value, str) and EXPONENT.fullmatch(value):
        value = float(value)  # YAML 1.1 takes 1e-3 for text: it wants 1.0e-3
    try:
        checked = adapter(leaf).validate_python(value)
    except ValidationError:
        raise UserError(f"should be {wanted_value(leaf)}, found {found(value)}{_advice(value, leaf.kind)}") from None
    if not _storable(checked):
        raise UserError(f"should be {wanted_value(leaf)} that a file can hold, found {found(value)}")
    return checked


def check_one_of(value: object, form: OneOf) -> Any:
    """The value if it is one of the allowed ones (True is not 1), or a UserError."""
    for allowed in form.values:
        if type(value) is type(allowed) and value == allowed:
            return allowed
    advice = nearest(value, form.values) if isinstance(value, str) else _advice(value, str)
    raise UserError(f"should be one of {listed(form.values)}, found {found(value)}{advice}")


def _storable(value: object) -> bool:
    """Whether the value survives a file: no number above 64 bits, no half of a surrogate pair."""
    match value:
        case int():
            return fits(value)
        case str():
            return value == value.encode("utf-8", "replace").decode("utf-8")
    return True


def _advice(value: object, kind: type) -> str:
    """What to do about a value that YAML reads as something else than it looks."""
    if kind is not str:
        return ""
    match value:
        case False:
            return ' (YAML reads no, off and false so; for the word, put it in quotes: "no")'
        case True:
            return ' (YAML reads yes, on and true so; for the word, put it in quotes: "yes")'
        case int() | float():
            return " (for text, put it in quotes)"
    return ""
