"""YAML files as plain data: as `yaml.safe_load`, but tags, aliases and duplicate keys are errors. Does not import
torch.
"""

from pathlib import Path
from typing import TypeAlias

import yaml
from yaml.constructor import SafeConstructor
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.reader import ReaderError

from weft.config.value_checks import describe_found
from weft.core.errors import UserError
from weft.core.files import read_bounded
from weft.core.formatting import quote
from weft.data.text_files import missing_file_error

PlainData: TypeAlias = "bool | int | float | str | list[PlainData] | dict[str, PlainData] | None"

MAX_CONFIG_BYTES = 1_000_000  # a configuration has a page or two; more is another file given by mistake
MAX_DEPTH = 50
UNICODE_LINE_BREAKS = "\x85\u2028\u2029"  # PyYAML loses them in keys unless they are escaped
YAML_TAG_PREFIX = "tag:yaml.org,2002:"


def read_yaml(path: Path) -> dict[str, PlainData]:
    """Return the settings in a YAML file; raise UserError if it is not a mapping."""
    try:
        content = read_bounded(path, MAX_CONFIG_BYTES)
    except FileNotFoundError:
        raise missing_file_error(path) from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}, line {line}: is not UTF-8; save the file in that encoding") from None
    document = parse_yaml(text, str(path))
    if document is None:
        raise UserError(f"{path}: the file is empty; it should contain settings, such as `seed: 1`")
    if not isinstance(document, dict):
        raise UserError(f"{path}: should be a mapping of settings, such as `seed: 1`, found {describe_found(document)}")
    return document


def parse_yaml(text: str, name: str) -> PlainData:
    """Return the plain data of a YAML text; messages call it `name`."""
    try:
        _check_events(text, name)
        node = yaml.compose(text, yaml.SafeLoader)
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise UserError(f"{name}, line {line}: the character {error.character:#06x} is not allowed in YAML") from None
    except yaml.MarkedYAMLError as error:
        advice = "look at the indentation (spaces, never tabs), the quotes and the brackets there"
        mark = error.problem_mark or error.context_mark
        raise _yaml_error(name, mark, f"is not YAML: {error.problem}; {advice}") from None
    except (ValueError, OverflowError):  # which PyYAML does not catch
        raise UserError(f"{name}: is not YAML: an escape or a version in it is too large a number") from None
    return None if node is None else _node_value(node, name)


def dump_yaml(data: PlainData) -> str:
    """Return readable YAML: keys in their order, lists of scalars on one line."""
    return yaml.dump(data, Dumper=_PlainDumper, sort_keys=False, allow_unicode=True, width=100)


def dump_yaml_inline(data: PlainData) -> str:
    """Return YAML on one line, for the value of an override or a setting."""
    text = yaml.safe_dump(data, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**6)
    return text.removesuffix("...\n").strip()


class _PlainDumper(yaml.SafeDumper):
    """Writes blocks for mappings, and no aliases, which `parse_yaml` rejects."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 (interface)
        return True

    def represent_plain_list(self, data: list[PlainData]) -> SequenceNode:
        flow = not any(isinstance(item, list | dict) for item in data)
        return self.represent_sequence(f"{YAML_TAG_PREFIX}seq", data, flow_style=flow)

    def represent_text(self, data: str) -> ScalarNode:
        needs_escapes = any(letter in data for letter in UNICODE_LINE_BREAKS)
        return self.represent_scalar(f"{YAML_TAG_PREFIX}str", data, style='"' if needs_escapes else None)


_PlainDumper.add_representer(list, _PlainDumper.represent_plain_list)
_PlainDumper.add_representer(str, _PlainDumper.represent_text)


def _check_events(text: str, name: str) -> None:
    """Reject what plain data does not need, before anything is built from it."""
    depth = 0
    for event in yaml.parse(text, yaml.SafeLoader):
        mark = event.start_mark
        match event:
            case yaml.AliasEvent():
                raise _yaml_error(name, mark, "aliases (*name) are not supported; write the value out")
            case yaml.NodeEvent() if event.anchor is not None:
                raise _yaml_error(name, mark, "anchors (&name) are not supported; write the value where it is needed")
            case yaml.ScalarEvent(tag=str()) | yaml.CollectionStartEvent(tag=str()):
                raise _yaml_error(name, mark, "tags (!name) are not supported; write the plain value")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise _yaml_error(name, mark, f"is nested more than {MAX_DEPTH} deep")


def _node_value(node: Node, name: str) -> PlainData:
    """Return what safe_load returns, except that dates stay text: no setting is a date."""
    if isinstance(node, MappingNode):
        return _node_mapping(node, name)
    if isinstance(node, SequenceNode):
        return [_node_value(item, name) for item in node.value]
    if node.tag.removeprefix(YAML_TAG_PREFIX) not in ("null", "bool", "int", "float"):
        return str(node.value)
    try:
        value: PlainData = SafeConstructor().construct_object(node)
    except ValueError:
        raise _yaml_error(name, node.start_mark, f"{quote(node.value)} is not a number that can be read") from None
    return value


def _node_mapping(node: MappingNode, name: str) -> dict[str, PlainData]:
    lines: dict[str, int] = {}
    values: dict[str, PlainData] = {}
    for key_node, value_node in node.value:
        key, mark = _node_value(key_node, name), key_node.start_mark
        if not isinstance(key, str):
            found = describe_found(key)
            text = f"the name of a setting should be text, found {found}; put it in quotes if it is meant so"
            raise _yaml_error(name, mark, text)
        if key in values:
            text = f"{quote(key)} occurs twice, first in line {lines[key]}; remove one of the two"
            raise _yaml_error(name, mark, text)
        lines[key] = mark.line + 1
        values[key] = _node_value(value_node, name)
    return values


def _yaml_error(name: str, mark: yaml.Mark | None, text: str) -> UserError:
    where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    return UserError(f"{name}{where}: {text}")
