"""Settings given on the command line: `model.encoder.layers=6`."""

from collections.abc import Iterable
from typing import cast

from weft.config.document import DEEPEST, Plain, parse
from weft.config.wording import found, quoted
from weft.core.errors import ConfigError, Problem, UserError


def apply_overrides(node: dict[str, Plain], overrides: Iterable[str]) -> dict[str, Plain]:
    """A new tree with each override made in turn (its value is YAML), or a ConfigError with all that cannot be."""
    tree: Plain = node
    problems = []
    for override in overrides:
        place, equals, text = override.partition("=")
        try:
            tree = _changed(tree, _names(place.strip(), equals), parse(text, "the value"))
        except UserError as error:
            problems.append(Problem(place.strip(), str(error)))
    if problems:
        raise ConfigError(problems)
    return cast(dict[str, Plain], tree)


def advised(error: ConfigError, overrides: Iterable[str]) -> ConfigError:
    """The same problems, and how to begin a part anew where an override gave it a type that lacks its settings."""
    types = dict(override.split(".type=", 1) for override in overrides if ".type=" in override)
    return ConfigError(
        [
            problem._replace(text=f"{problem.text}; to begin anew: {problem.place}={{type: {types[problem.place]}}}")
            if problem.place in types
            else problem
            for problem in error.problems
        ]
    )


def _names(place: str, equals: str) -> list[str]:
    names = place.split(".")
    if not equals or not all(names):
        raise UserError("an override should look like model.encoder.layers=6")
    if len(names) > DEEPEST:
        raise UserError(f"is nested more than {DEEPEST} deep")
    return names


def _changed(node: Plain, names: list[str], value: Plain) -> Plain:
    """The node with the value at the end of the path that the names are."""
    if not names:
        return value
    name, *rest = names
    match node:
        case list():
            number = _number(name, node)
            return [*node[:number], _changed(node[number], rest, value), *node[number + 1 :]]
        case dict():
            return {**node, name: _changed(node.get(name), rest, value)}
        case None:
            return {name: _changed(None, rest, value)}
        case str():
            return {"type": node, name: _changed(None, rest, value)}  # `encoder: recurrent` names a type
    raise UserError(f"there is nothing to set below {found(node)}")


def _number(name: str, items: list[Plain]) -> int:
    """The place in the list that the name means."""
    numbers = [str(number) for number in range(len(items))]
    if name not in numbers:
        raise UserError(f"{quoted(name)} is no item of this list of {len(items)}; items are counted from 0")
    return numbers.index(name)
