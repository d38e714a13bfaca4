"""Configuration in plain words: what is wanted, what was found, and the nearest name."""

import difflib
import json
from collections.abc import Iterable

from annotated_types import Ge, Gt, Le

from weft.config.forms import Bound, Choice, Form, Items, Leaf, Maybe, OneOf, Record, Registry

LONGEST = 60  # characters of a found value that are shown
KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def wanted(form: Form, registry: Registry) -> str:
    """What may stand here: "a whole number of at least 1"."""
    match form:
        case Leaf():
            return wanted_value(form)
        case OneOf(values=values):
            return f"one of {listed(values)}"
        case Maybe(inner=inner):
            return f"{wanted(inner, registry)}, or null"
        case Items(any_number=True, forms=forms):
            return f"a list (each item {wanted(forms[0], registry)})"
        case Items(forms=forms):
            return f"a list of {len(forms)} ({', '.join(wanted(item, registry) for item in forms)})"
        case Record():
            return "a mapping of settings"
        case Choice(role=role):
            return f"one of {listed(registry[role])}, or a mapping with such a type and its settings"


def wanted_value(leaf: Leaf) -> str:
    """The type and its bounds: "a number above 0 and at most 1"."""
    words, limits = KINDS[leaf.kind], " and ".join(_limit(bound) for bound in leaf.bounds)
    if limits.startswith("at "):
        return f"{words} of {limits}"
    return f"{words} {limits}".rstrip()


def _limit(bound: Bound) -> str:
    match bound:
        case Ge(ge=value):
            return f"at least {value:g}"
        case Gt(gt=value):
            return f"above {value:g}"
        case Le(le=value):
            return f"at most {value:g}"
        case _:
            return f"below {bound.lt:g}"


def found(value: object) -> str:
    """What stands there, short enough for a line and safe to print."""
    match value:
        case None:
            return "nothing"
        case dict():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case int() if not fits(value):
            return "a number of more than 64 bits"
        case bool() | int() | float() | str():
            return quoted(value)
    return f"a {type(value).__name__}"


def quoted(value: bool | int | float | str | None) -> str:
    """A value as one would write it; letters that cannot be printed are escaped."""
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def listed(values: Iterable[bool | int | float | str | None]) -> str:
    return ", ".join(quoted(value) for value in values)


def fits(number: int) -> bool:
    """Whether other programs can read the number back: 64 bits, with the sign."""
    return number.bit_length() < 64


def nearest(name: str, names: Iterable[object]) -> str:
    """`; did you mean "layers"?` if a name is near, else nothing."""
    near = difflib.get_close_matches(name[:LONGEST], [str(known) for known in names], 1)
    return f"; did you mean {quoted(near[0])}?" if near else ""
