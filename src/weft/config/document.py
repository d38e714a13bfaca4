"""Plain data in YAML files: what `yaml.safe_load` reads, without its traps of tags, aliases and double keys."""

from pathlib import Path
from typing import Protocol, TypeAlias

import yaml
from yaml.constructor import SafeConstructor
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.reader import ReaderError

from weft.config.wording import found, quoted
from weft.core.bounded import read_bounded
from weft.core.errors import UserError
from weft.data.lines import no_such_file

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"

LARGEST = 1_000_000  # bytes: a configuration is a page or two; more is another file given by mistake
DEEPEST = 50
UNUSUAL_BREAKS = "\x85\u2028\u2029"  # the library loses them in keys unless they are escaped
PREFIX = "tag:yaml.org,2002:"


def read_document(path: Path) -> dict[str, Plain]:
    """The settings of a YAML file."""
    document = parse(_text(path), str(path))
    if document is None:
        raise UserError(f"{path}: the file is empty; it should hold settings, such as `seed: 1`")
    if not isinstance(document, dict):
        raise UserError(f"{path}: should be a mapping of settings, such as `seed: 1`, found {found(document)}")
    return document


def _text(path: Path) -> str:
    try:
        content = read_bounded(path, LARGEST)
    except FileNotFoundError:
        raise no_such_file(path) from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}, line {line}: is not UTF-8; save the file in that encoding") from None


def parse(text: str, name: str) -> Plain:
    """The plain data of a YAML text; `name` is what messages call the text."""
    try:
        _check_events(text, name)
        node = yaml.compose(text, yaml.SafeLoader)
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise UserError(f"{name}, line {line}: the character {error.character:#06x} may not stand in YAML") from None
    except yaml.MarkedYAMLError as error:
        advice = "look at the indentation (spaces, never tabs), the quotes and the brackets there"
        raise _wrong(
            name, error.problem_mark or error.context_mark, f"is not YAML: {error.problem}; {advice}"
        ) from None
    except (ValueError, OverflowError):  # the library lets these through
        raise UserError(f"{name}: is not YAML: an escape or a version in it is too large a number") from None
    return None if node is None else _value(node, name)


def as_text(data: Plain) -> str:
    """Readable YAML that `parse` reads as the same data: keys in their order, lists of plain values on one line."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def inline(data: Plain) -> str:
    """The same on one line, for the value of an override or a setting."""
    text = yaml.safe_dump(data, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**6)
    return text.removesuffix("...\n").strip()


class _Dumper(yaml.SafeDumper):
    """Blocks for mappings; no aliases, since `parse` refuses them."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 (the library's signature)
        return True

    def represent_plain_list(self, data: list[Plain]) -> SequenceNode:
        flow = not any(isinstance(item, list | dict) for item in data)
        return self.represent_sequence(f"{PREFIX}seq", data, flow_style=flow)

    def represent_text(self, data: str) -> ScalarNode:
        unusual = any(letter in data for letter in UNUSUAL_BREAKS)
        return self.represent_scalar(f"{PREFIX}str", data, style='"' if unusual else None)


_Dumper.add_representer(list, _Dumper.represent_plain_list)
_Dumper.add_representer(str, _Dumper.represent_text)


def _check_events(text: str, name: str) -> None:
    """Refuse what plain data has no need of, before anything is built from it."""
    depth = 0
    for event in yaml.parse(text, yaml.SafeLoader):
        match event:
            case yaml.AliasEvent():
                raise _wrong(name, event.start_mark, "aliases (*name) are not read; write the value out")
            case yaml.NodeEvent() if event.anchor is not None:
                raise _wrong(name, event.start_mark, "anchors (&name) are not read; write the value where it is needed")
            case yaml.ScalarEvent(tag=str()) | yaml.CollectionStartEvent(tag=str()):
                raise _wrong(name, event.start_mark, "tags (!name) are not read; write the plain value")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise _wrong(name, event.start_mark, f"is nested more than {DEEPEST} deep")


def _value(node: Node, name: str) -> Plain:
    if isinstance(node, ScalarNode):
        return _scalar(node, name)
    if isinstance(node, MappingNode):
        return _mapping(node, name)
    return [_value(item, name) for item in node.value]


def _mapping(node: MappingNode, name: str) -> dict[str, Plain]:
    lines: dict[str, int] = {}
    values: dict[str, Plain] = {}
    for key_node, value_node in node.value:
        key = _key(key_node, name)
        if key in values:
            text = f"{quoted(key)} stands twice, first in line {lines[key]}; remove one of the two"
            raise _wrong(name, key_node.start_mark, text)
        lines[key] = key_node.start_mark.line + 1
        values[key] = _value(value_node, name)
    return values


def _key(node: Node, name: str) -> str:
    key = _value(node, name)
    if isinstance(key, str):
        return key
    text = f"the name of a setting should be text, found {found(key)}; put it in quotes if it is meant so"
    raise _wrong(name, node.start_mark, text)


def _scalar(node: ScalarNode, name: str) -> Plain:
    """As safe_load reads it, but for dates, which stay text: no setting is a date."""
    constructor = SafeConstructor()
    try:
        match node.tag.removeprefix(PREFIX):
            case "null":
                return None
            case "bool":
                return bool(constructor.construct_yaml_bool(node))
            case "int":
                return int(constructor.construct_yaml_int(node))
            case "float":
                return float(constructor.construct_yaml_float(node))
    except ValueError:
        raise _wrong(name, node.start_mark, f"{quoted(node.value)} is not a number that can be read") from None
    return str(node.value)


class _Mark(Protocol):
    line: int
    column: int


def _wrong(name: str, mark: _Mark | None, text: str) -> UserError:
    where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    return UserError(f"{name}{where}: {text}")
