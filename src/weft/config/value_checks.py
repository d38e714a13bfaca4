"""Validation of single values, with the traps of YAML in mind, and descriptions of expected and found values for
error messages.
"""

import re
from dataclasses import astuple
from typing import Annotated, Any

from annotated_types import Ge, Gt, Le, Lt
from pydantic import ConfigDict, TypeAdapter, ValidationError

from weft.config.schema import (
    ComponentType,
    DataclassType,
    FieldType,
    LiteralType,
    OptionalType,
    Registry,
    ScalarType,
    SequenceType,
)
from weft.core.errors import UserError
from weft.core.formatting import did_you_mean, quote, quote_all

SCALAR_DESCRIPTIONS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
BOUND_DESCRIPTIONS = {Ge: "at least", Gt: "above", Le: "at most", Lt: "below"}
STRICT_CONFIG = ConfigDict(strict=True, allow_inf_nan=False)
EXPONENT_PATTERN = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+")


def describe_expected(field_type: FieldType, registry: Registry) -> str:
    """Describe the values of a type: "a whole number of at least 1"."""
    match field_type:
        case ScalarType():
            return _describe_scalar(field_type)
        case LiteralType(values=values):
            return f"one of {quote_all(values)}"
        case OptionalType(inner=inner):
            return f"{describe_expected(inner, registry)}, or null"
        case SequenceType(is_variadic=True, items=items):
            return f"a list (each item {describe_expected(items[0], registry)})"
        case SequenceType(items=items):
            return f"a list of {len(items)} ({', '.join(describe_expected(item, registry) for item in items)})"
        case DataclassType():
            return "a mapping of settings"
        case ComponentType(role=role):
            return f"one of {quote_all(registry[role])}, or a mapping with such a type and its settings"


def _describe_scalar(scalar: ScalarType) -> str:
    bounds = [f"{BOUND_DESCRIPTIONS[type(bound)]} {limit:g}" for bound in scalar.bounds for limit in astuple(bound)]
    noun, limits = SCALAR_DESCRIPTIONS[scalar.kind], " and ".join(bounds)
    return f"{noun} of {limits}" if limits.startswith("at ") else f"{noun} {limits}".rstrip()


def describe_found(value: object) -> str:
    """Describe a value in one line that is safe to print."""
    match value:
        case None:
            return "nothing"
        case dict():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case int() if not _fits_int64(value):
            return "a number of more than 64 bits"
        case bool() | int() | float() | str():
            return quote(value)
    return f"a {type(value).__name__}"


def type_adapter(scalar: ScalarType) -> TypeAdapter[Any]:
    """Return pydantic's validator of this type and its bounds."""
    annotation: Any = scalar.kind
    for bound in scalar.bounds:
        annotation = Annotated[annotation, bound]
    return TypeAdapter(annotation, config=STRICT_CONFIG)


def check_value(value: object, field_type: ScalarType | LiteralType) -> Any:
    """Return the value in its type; raise UserError if it does not fit."""
    return _check_scalar(value, field_type) if isinstance(field_type, ScalarType) else _check_literal(value, field_type)


def _check_scalar(value: object, scalar: ScalarType) -> Any:
    if scalar.kind is float and isinstance(value, str) and EXPONENT_PATTERN.fullmatch(value):
        value = float(value)  # YAML 1.1 reads 1e-3 as text: it expects 1.0e-3
    expected = _describe_scalar(scalar)
    try:
        checked = type_adapter(scalar).validate_python(value)
    except ValidationError:
        hint = _quoting_hint(value) if scalar.kind is str else ""
        raise UserError(f"should be {expected}, found {describe_found(value)}{hint}") from None
    if not _is_storable(checked):
        raise UserError(f"should be {expected} that a file can hold, found {describe_found(value)}")
    return checked


def _check_literal(value: object, literal: LiteralType) -> Any:
    for allowed in literal.values:
        if type(value) is type(allowed) and value == allowed:  # True is not 1
            return allowed
    hint = did_you_mean(value, literal.values) if isinstance(value, str) else _quoting_hint(value)
    raise UserError(f"should be one of {quote_all(literal.values)}, found {describe_found(value)}{hint}")


def _is_storable(value: object) -> bool:
    """Whether other programs can read the value back from a file: no number above 64 bits, no lone surrogates."""
    if isinstance(value, str):
        return value == value.encode("utf-8", "replace").decode("utf-8")
    return not isinstance(value, int) or _fits_int64(value)


def _fits_int64(number: int) -> bool:
    return number.bit_length() < 64


def _quoting_hint(value: object) -> str:
    """Return a hint about text that YAML reads as something else."""
    match value:
        case False:
            return ' (YAML reads no, off and false so; for the word, put it in quotes: "no")'
        case True:
            return ' (YAML reads yes, on and true so; for the word, put it in quotes: "yes")'
        case int() | float():
            return " (for text, put it in quotes)"
    return ""
