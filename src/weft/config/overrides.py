"""Settings given on the command line: `model.encoder.layers=6`."""

from collections.abc import Sequence
from typing import TypeVar, cast

from weft.config.serialization import from_dict
from weft.config.value_checks import describe_found
from weft.config.yaml_files import MAX_DEPTH, PlainData, parse_yaml
from weft.core.errors import ConfigError, ConfigProblem, UserError
from weft.core.formatting import quote

ConfigT = TypeVar("ConfigT")


def read_config(node: dict[str, PlainData], kind: type[ConfigT], overrides: Sequence[str] = ()) -> ConfigT:
    """Return the dataclass `kind` from plain data with overrides; raise ConfigError with all problems.

    Where an override gave a component a type that lacks its other settings, the message says how to reset them.
    """
    try:
        return from_dict(apply_overrides(node, overrides), kind)
    except ConfigError as error:
        types = dict(override.split(".type=", 1) for override in overrides if ".type=" in override)
        problems = []
        for place, text in error.problems:
            hint = f"; to start over: {place}={{type: {types[place]}}}" if place in types else ""
            problems.append(ConfigProblem(place, text + hint))
        raise ConfigError(problems) from error


def apply_overrides(node: dict[str, PlainData], overrides: Sequence[str]) -> dict[str, PlainData]:
    """Return the data with each override, whose value is YAML, applied; raise ConfigError with all that are invalid."""
    tree: PlainData = node
    problems = []
    for override in overrides:
        place, equals, text = override.partition("=")
        try:
            path = place.strip().split(".")
            if not equals or not all(path):
                raise UserError("an override should look like model.encoder.layers=6")
            if len(path) > MAX_DEPTH:
                raise UserError(f"is nested more than {MAX_DEPTH} deep")
            tree = _with_value(tree, path, parse_yaml(text, "the value"))
        except UserError as error:
            problems.append(ConfigProblem(place.strip(), str(error)))
    if problems:
        raise ConfigError(problems)
    return cast(dict[str, PlainData], tree)


def _with_value(node: PlainData, path: list[str], value: PlainData) -> PlainData:
    """Return the node with the value at the path."""
    if not path:
        return value
    name, *rest = path
    match node:
        case list():
            indices = [str(index) for index in range(len(node))]
            if name not in indices:
                raise UserError(f"{quote(name)} is no item of this list of {len(node)}; items are counted from 0")
            index = indices.index(name)
            return [*node[:index], _with_value(node[index], rest, value), *node[index + 1 :]]
        case dict():
            return {**node, name: _with_value(node.get(name), rest, value)}
        case None:
            return {name: _with_value(None, rest, value)}
        case str():
            return {"type": node, name: _with_value(None, rest, value)}  # `encoder: recurrent` names a type
    raise UserError(f"there is nothing to set below {describe_found(node)}")
