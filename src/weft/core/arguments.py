"""Checks of arguments, for the command line and for Python alike: messages name a flag there, a parameter here."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from weft.core.errors import UserError

OptionName: TypeAlias = Callable[[str], str]  # what a message calls an option: "--n-best" or "n_best"

MIN_MINUTES = 0.01  # of a training run
PARAMETERS = {"metric": "metrics", "set": "overrides"}  # parameters that are not called like their flags


def flag_name(option: str) -> str:
    """Return the flag of an option."""
    return f"--{option.replace('_', '-')}"


def parameter_name(option: str) -> str:
    """Return the parameter of an option in Python."""
    return PARAMETERS.get(option, option)


def refuse_options(situation: str, options: Mapping[str, object], purpose: str) -> None:
    """Raise UserError if any of these options is set; options: values by name, false if not set."""
    names = [name for name, value in options.items() if value]
    if names:
        raise UserError(f"{situation}: omit {', '.join(names)}, which {'is' if len(names) == 1 else 'are'} {purpose}.")


def require_option(needed: str, value: object, options: Mapping[str, object]) -> None:
    """Raise UserError if any of these options is set without the one that they need; value: of that one."""
    for name, other in options.items():
        if other and not value:
            raise UserError(f"{name} needs {needed}: add it, or omit {name}.")


def check_type(name: str, value: object, types: tuple[type, ...], expected: str) -> None:
    """Raise TypeError unless the value has one of the types; True and False are no numbers."""
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise TypeError(f"{name}: expected {expected}, got {type(value).__name__}")


def check_path(name: str, value: object) -> Path:
    """Return the value as a path; raise TypeError if it is none."""
    check_type(name, value, (str, Path), "a path (str or Path)")
    return Path(str(value))


def check_paths(name: str, value: object) -> list[Path]:
    """Return one path, or a sequence of them, as a list; raise TypeError otherwise."""
    if isinstance(value, str | Path):
        return [Path(value)]
    check_type(name, value, (Sequence,), "a path or a sequence of paths")
    items: Iterable[object] = value if isinstance(value, Sequence) else ()
    return [check_path(f"{name}[{number}]", item) for number, item in enumerate(items)]


def check_strings(name: str, value: object) -> list[str]:
    """Return a sequence of strings as a list; raise TypeError for anything else, a single string included."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TypeError(f"{name}: expected a sequence of str, got {type(value).__name__}")
    for number, item in enumerate(value):
        check_type(f"{name}[{number}]", item, (str,), "str")
    return list(value)


def check_number(name: str, value: object, minimum: float) -> None:
    """Raise TypeError unless the value is a number or None, and UserError if it is too small, infinite or NaN."""
    if value is None:
        return
    check_type(name, value, (int, float), "a number")
    if not (isinstance(value, int | float) and minimum <= value < float("inf")):
        raise UserError(f"{name}={value}: should be at least {minimum:g}")


def check_integer(name: str, value: object, minimum: int) -> None:
    """Raise TypeError unless the value is an integer or None, and UserError if it is too small."""
    if value is not None:
        check_type(name, value, (int,), "int")
        check_number(name, value, minimum)


def check_numbers(name: str, value: object) -> None:
    """Raise TypeError unless the value is a sequence of numbers."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TypeError(f"{name}: expected a sequence of numbers, got {type(value).__name__}")
    for number, item in enumerate(value):
        check_type(f"{name}[{number}]", item, (int, float), "a number")


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Raise TypeError unless the value is a string, and UserError if it is none of the choices."""
    check_type(name, value, (str,), "str")
    if value not in choices:
        raise UserError(f"{name}={value!r}: should be one of {', '.join(map(repr, choices))}")


def check_device(device: object) -> None:
    """Raise TypeError unless the device is a string, and UserError if it cannot be used."""
    from weft.core.hardware import select_device

    check_type("device", device, (str,), "str")
    select_device(str(device), "device=")


def check_decoding_overrides(overrides: object) -> list[str]:
    """Return the settings that change the search of a trained model; raise UserError for others."""
    checked = check_strings("overrides", overrides)
    for override in checked:
        if not override.startswith("translate.") or "=" not in override:
            raise UserError(
                f"overrides: {override!r}: only settings below translate. can be changed for a trained model, such as "
                '"translate.length_penalty=1"'
            )
    return checked
