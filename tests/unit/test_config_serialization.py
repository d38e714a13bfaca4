"""Configuration serialization: plain data to dataclasses and factories and back, and every error message."""

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Protocol

import pytest
from annotated_types import Ge, Gt, Le
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from weft.config.json_schema import json_schema
from weft.config.schema import constructor_settings, parse_annotation
from weft.config.serialization import component_from_dict, from_dict, to_dict
from weft.config.yaml_files import dump_yaml, parse_yaml
from weft.core.errors import ConfigError, UserError
from weft.core.setting_types import Factory, PositiveFloat, PositiveInt, Rate

no_deadline = hypothesis_settings(deadline=None)  # no failures on a busy machine


class Cell(Protocol):
    def cell(self) -> None: ...


class Encoder(Protocol):
    cells: list[Any]


class Plain:
    def __init__(self, input_dim: int, *, dim: PositiveInt = 8, peepholes: bool = False):
        self.sizes = (input_dim, dim, peepholes)

    def cell(self) -> None: ...


PEEPHOLE_CELL = functools.partial(Plain, peepholes=True)


class Residual:
    """A component that contains a component of the same role."""

    def __init__(self, input_dim: int, *, cell: Factory[Cell] = Plain):
        self.inner = cell(input_dim)

    def cell(self) -> None: ...


@dataclass(frozen=True)
class Pooled:
    """A component that is a dataclass: only its keyword-only fields can be configured."""

    input_dim: int
    widths: tuple[PositiveInt, ...] = field(default=(1, 2), kw_only=True)


class Recurrent:
    def __init__(
        self,
        input_dim: int,
        *,
        cell: Factory[Cell] = PEEPHOLE_CELL,
        layers: PositiveInt = 1,
        dropout: Rate = 0,
    ):
        self.cells = [cell(input_dim) for _ in range(layers)]
        self.dropout = dropout


class Sized:
    def __init__(self, *, width: PositiveInt, kind: Literal["narrow", "wide", 1] = "wide"):
        self.width, self.kind = width, kind


@dataclass(frozen=True)
class Span:
    low: int = 0
    high: int = 9

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError(f"low should not be above high, found {self.low} and {self.high}")


@dataclass(frozen=True, kw_only=True)
class Settings:
    files: tuple[str, ...]
    encoder: Factory[Encoder] = Recurrent
    reader: Factory[Encoder] | None = None
    stack: tuple[Factory[Cell], ...] = ()
    language: str = "en"
    seed: int = 1
    clip: PositiveFloat | None = 1.0
    share: Annotated[float, Gt(0), Le(1)] = 1
    betas: tuple[float, float] = (0.9, 0.98)
    span: Span = field(default_factory=lambda: Span(high=5))
    shuffle: bool = True


REGISTRY: Mapping[type, Mapping[str, type]] = {
    Cell: {"plain": Plain, "residual": Residual},
    Encoder: {"recurrent": Recurrent, "pooled": Pooled, "sized": Sized},
}


def settings(**node: object) -> Settings:
    return from_dict({"files": ["a"], **node}, Settings, REGISTRY)


def problems_of(node: object) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        from_dict(node, Settings, REGISTRY)
    return [str(problem) for problem in caught.value.problems]


def test_values_are_converted_to_their_types() -> None:
    read_settings = settings(files=["a", "b"], clip=2, betas=[0, 1], share=0.5)
    assert read_settings.files == ("a", "b")
    assert (read_settings.clip, type(read_settings.clip)) == (2.0, float)
    assert read_settings.betas == (0.0, 1.0)
    assert settings(clip=None).clip is None


def test_component_becomes_a_partial() -> None:
    encoder = settings(encoder={"type": "recurrent", "layers": 2, "cell": {"type": "plain", "dim": 3}}).encoder(7)
    assert [cell.sizes for cell in encoder.cells] == [(7, 3, False), (7, 3, False)]


def test_name_alone_selects_the_defaults() -> None:
    assert isinstance(settings(encoder="pooled").encoder(3), Pooled)
    assert isinstance(settings(reader="pooled").reader(3), Pooled)  # type: ignore[misc]


def test_mapping_without_a_type_changes_the_default() -> None:
    (cell,) = settings(encoder={"cell": {"dim": 5}}).encoder(7).cells
    assert cell.sizes == (7, 5, True)  # the default's peepholes stay
    assert settings(span={"low": 2}).span == Span(2, 5)


def test_mapping_with_a_type_uses_defaults_of_the_type() -> None:
    (cell,) = settings(encoder={"cell": {"type": "plain", "dim": 5}}).encoder(7).cells
    assert cell.sizes == (7, 5, False)


def test_components_of_the_same_role_can_be_nested() -> None:
    recipe = component_from_dict({"type": "residual", "cell": {"type": "residual", "cell": {"dim": 2}}}, Cell, REGISTRY)
    assert recipe(1).inner.inner.sizes == (1, 2, False)


def test_exponent_notation_is_a_number() -> None:
    assert settings(clip=parse_yaml("1e-3", "")).clip == 0.001
    assert settings(betas=["1E2", ".5e1"]).betas == (100.0, 5.0)


INVALID_SETTINGS: list[tuple[dict[Any, Any], str]] = [
    ({"seed": "four"}, 'seed: should be a whole number, found "four"'),
    ({"seed": True}, "seed: should be a whole number, found true"),
    ({"seed": 1.0}, "seed: should be a whole number, found 1.0"),
    ({"seed": None}, "seed: should be a whole number, found nothing"),
    ({"seed": {}}, "seed: should be a whole number, found a mapping"),
    ({"seed": 1 << 70}, "seed: should be a whole number that a file can hold, found a number of more than 64 bits"),
    ({"clip": 0}, "clip: should be a number above 0, found 0"),
    ({"clip": "1e999"}, "clip: should be a number above 0, found Infinity"),
    ({"clip": "0.5"}, 'clip: should be a number above 0, found "0.5"'),
    ({"clip": 10**400}, "clip: should be a number above 0, found a number of more than 64 bits"),
    ({"share": 1.5}, "share: should be a number above 0 and at most 1, found 1.5"),
    ({"shuffle": "true"}, 'shuffle: should be true or false, found "true"'),
    ({"shuffle": 1}, "shuffle: should be true or false, found 1"),
    (
        {"language": False},
        'language: should be text, found false (YAML reads no, off and false so; for the word, put it in quotes: "no")',
    ),
    (
        {"language": True},
        'language: should be text, found true (YAML reads yes, on and true so; for the word, put it in quotes: "yes")',
    ),
    ({"language": 12}, "language: should be text, found 12 (for text, put it in quotes)"),
    ({"language": "\ud800"}, 'language: should be text that a file can hold, found "\\ud800"'),
    ({"files": "a"}, 'files: should be a list (each item text), found "a"'),
    ({"files": ["a", 2]}, "files.1: should be text, found 2 (for text, put it in quotes)"),
    ({"betas": [1]}, "betas: should be a list of 2 (a number, a number), found a list of 1"),
    ({"betas": [0.9, "x"]}, 'betas.1: should be a number, found "x"'),
    ({"span": 4}, "span: should be a mapping of settings, found 4"),
    ({"span": {"low": 7}}, "span: low should not be above high, found 7 and 5"),
    ({"sede": 1}, 'unknown setting "sede"; did you mean "seed"? (settings here: files, encoder, reader, stack, '),
    ({1: 1}, "the name of a setting should be text, found 1 (put it in quotes)"),
    ({"span": {"hihg": 1}}, 'span: unknown setting "hihg"; did you mean "high"? (settings here: low, high)'),
    (
        {"encoder": "recurent"},
        'encoder: unknown type "recurent"; did you mean "recurrent"? (types: "recurrent", "pooled", "sized")',
    ),
    ({"encoder": {"type": 3}}, 'encoder.type: should be one of "recurrent", "pooled", "sized", found 3'),
    (
        {"encoder": {"type": "recurrent", "layers": 0}},
        "encoder.layers: should be a whole number of at least 1, found 0",
    ),
    ({"encoder": {"input_dim": 3}}, 'encoder: unknown setting "input_dim" (settings here: cell, layers, dropout)'),
    ({"encoder": {"dropout": 1}}, "encoder.dropout: should be a number of at least 0 and below 1, found 1"),
    ({"encoder": {"cell": {"dim": "x"}}}, 'encoder.cell.dim: should be a whole number of at least 1, found "x"'),
    (
        {"encoder": None},
        'encoder: should be one of "recurrent", "pooled", "sized", or a mapping with such a type and its settings, '
        "found nothing",
    ),
    ({"encoder": "sized"}, "encoder.width: is missing; it should be a whole number of at least 1"),
    (
        {"encoder": {"type": "sized", "width": 1, "kind": "wid"}},
        'encoder.kind: should be one of "narrow", "wide", 1, found "wid"; did you mean "wide"?',
    ),
    (
        {"encoder": {"type": "sized", "width": 1, "kind": True}},
        'encoder.kind: should be one of "narrow", "wide", 1, found',
    ),
    ({"reader": {"layers": 1}}, 'reader: has no "type"; it should be one of "recurrent", "pooled", "sized"'),
    ({"reader": "none"}, 'reader: unknown type "none" (types: "recurrent", "pooled", "sized"); for none, write null'),
    ({"clip": "None"}, 'clip: should be a number above 0, found "None"; for none, write null'),
    ({"stack": ["plain", {"type": "plain", "dim": 0}]}, "stack.1.dim: should be a whole number of at least 1, found 0"),
    ({"stack": [{"dim": 2}]}, 'stack.0: has no "type"; it should be one of "plain", "residual"'),
]


@pytest.mark.parametrize(("node", "text"), INVALID_SETTINGS)
def test_error_message_names_the_setting(node: dict[Any, Any], text: str) -> None:
    (problem,) = problems_of({"files": ["a"], **node})
    assert problem.startswith(text)


@pytest.mark.parametrize("node", [{"encoder": "none"}, {"seed": "none"}, {"reader": "nine"}])
def test_null_is_suggested_only_for_optional_settings(node: dict[str, Any]) -> None:
    (problem,) = problems_of({"files": ["a"], **node})
    assert "null" not in problem


def test_all_problems_are_reported_together() -> None:
    problems = problems_of({"seed": "x", "encoder": {"layers": 0, "cell": {"dmi": 1}}, "stack": [0, "plane"]})
    assert [problem.split(":")[0] for problem in problems] == [
        "files",
        "encoder.cell",
        "encoder.layers",
        "stack.0",
        "stack.1",
        "seed",
    ]


def test_list_instead_of_mapping_is_reported() -> None:
    assert problems_of([1]) == ["should be a mapping of settings, found a list"]


def test_long_value_is_shortened_in_the_message() -> None:
    (problem,) = problems_of({"files": [], "seed": "x" * 10_000})
    assert len(problem) < 150


def test_to_dict_includes_every_default() -> None:
    described = {
        "files": ["a"],
        "encoder": {
            "type": "recurrent",
            "cell": {"type": "plain", "dim": 8, "peepholes": True},
            "layers": 1,
            "dropout": 0.0,
        },
        "reader": None,
        "stack": [],
        "language": "en",
        "seed": 1,
        "clip": 1.0,
        "share": 1.0,
        "betas": [0.9, 0.98],
        "span": {"low": 0, "high": 5},
        "shuffle": True,
    }
    assert repr(to_dict(settings(encoder="recurrent"), REGISTRY)) == repr(described)  # 0 and 0.0 differ


def test_to_dict_of_a_component() -> None:
    assert to_dict(Plain, REGISTRY) == {"type": "plain", "dim": 8, "peepholes": False}
    assert to_dict(functools.partial(Plain, dim=2), REGISTRY)["dim"] == 2


@pytest.mark.parametrize(
    "recipe", [functools.partial(Plain, 3), functools.partial(Plain, input_dim=3), functools.partial(len), Sized, dict]
)
def test_to_dict_rejects_unserializable_factories(recipe: Any) -> None:
    with pytest.raises(TypeError):
        to_dict(recipe, REGISTRY)


cells = st.recursive(
    st.sampled_from(["plain", "residual"])
    | st.fixed_dictionaries(
        {"type": st.just("plain")}, optional={"dim": st.integers(1, 99), "peepholes": st.booleans()}
    ),
    lambda inner: st.fixed_dictionaries({"type": st.just("residual"), "cell": inner}),
    max_leaves=3,
)
encoders = st.fixed_dictionaries(
    {},
    optional={"cell": cells, "layers": st.integers(1, 9), "dropout": st.floats(0, 1, exclude_max=True)},
)
valid_settings = st.fixed_dictionaries(
    {"files": st.lists(st.text(st.characters(exclude_categories=["Cs"])))},
    optional={
        "encoder": encoders,
        "reader": st.none() | encoders.map(lambda node: {"type": "recurrent", **node}),
        "stack": st.lists(cells, max_size=3),
        "clip": st.none() | st.floats(0, exclude_min=True, allow_infinity=False),
        "seed": st.integers(-(2**63) + 1, 2**63 - 1),
    },
)


@hypothesis_settings(deadline=None, max_examples=50)
@given(valid_settings)
def test_round_trip_is_the_identity(node: dict[str, Any]) -> None:
    described = to_dict(from_dict(node, Settings, REGISTRY), REGISTRY)
    assert to_dict(from_dict(described, Settings, REGISTRY), REGISTRY) == described
    assert json.loads(json.dumps(described, allow_nan=False)) == described
    assert parse_yaml(dump_yaml(described), "") == described


names = st.sampled_from(
    ["files", "encoder", "type", "cell", "recurrent", "residual", "layers", "stack", "span", "betas"]
)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | names | st.binary() | st.dates()
junk = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names | st.text() | st.integers(), inner, max_size=5),
    max_leaves=20,
)


@no_deadline
@given(junk)
def test_arbitrary_data_is_read_or_rejected(node: object) -> None:
    try:
        described = to_dict(from_dict(node, Settings, REGISTRY), REGISTRY)
    except UserError as error:
        str(error).encode()
    else:
        json.dumps(described, allow_nan=False)


def test_unsupported_annotations_are_rejected() -> None:
    for annotation in (
        int | str,
        dict[str, int],
        Annotated[str, Ge(1)],
        Annotated[int, "doc"],
        bytes,
        tuple,
        list[int],
    ):
        with pytest.raises(TypeError):
            parse_annotation(annotation)


def test_only_keyword_only_parameters_are_settings() -> None:
    assert list(constructor_settings(Recurrent)) == ["cell", "layers", "dropout"]
    assert list(constructor_settings(Pooled)) == ["widths"]
    assert list(constructor_settings(dict)) == []


def test_json_schema() -> None:
    schema = json_schema(Settings, REGISTRY)
    assert schema["required"] == ["files"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["files"] == {"type": "array", "items": {"type": "string"}}
    assert schema["properties"]["clip"] == {
        "anyOf": [{"type": "number", "exclusiveMinimum": 0.0}, {"type": "null"}],
        "default": 1.0,
    }
    assert schema["properties"]["betas"]["minItems"] == 2
    assert schema["properties"]["encoder"]["anyOf"] == [
        {"$ref": "#/$defs/Encoder"},
        {"$ref": "#/$defs/Encoder.recurrent"},
    ]
    assert schema["$defs"]["Encoder"]["oneOf"][:2] == [
        {"enum": ["recurrent", "pooled", "sized"]},
        {"$ref": "#/$defs/Encoder.recurrent", "required": ["type"]},
    ]
    assert schema["$defs"]["Encoder.sized"] == {
        "type": "object",
        "properties": {
            "type": {"const": "sized"},
            "width": {"type": "integer", "minimum": 1},
            "kind": {"enum": ["narrow", "wide", 1], "default": "wide"},
        },
        "additionalProperties": False,
        "required": ["width"],
    }
    json.dumps(schema, allow_nan=False)


def test_every_schema_reference_is_defined() -> None:
    schema = json_schema(Settings, REGISTRY)
    references = set(json.dumps(schema).split('"$ref": "#/$defs/')[1:])
    assert {reference.split('"')[0] for reference in references} == set(schema["$defs"])
