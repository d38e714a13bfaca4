"""Law 5: configuration -> object -> configuration is the identity; errors name the place of a wrong setting."""

import functools
import inspect
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest
from annotated_types import Ge, Gt, Le
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from laws.variants import variants
from weft.config.recipe import Recipe, load_recipe
from weft.config.recipe_catalog import RECIPES_FOLDER
from weft.config.registry import REGISTRY
from weft.config.schema import (
    REQUIRED,
    ComponentType,
    DataclassType,
    FieldType,
    LiteralType,
    OptionalType,
    ScalarType,
    SequenceType,
    Settings,
    constructor_settings,
    dataclass_settings,
)
from weft.config.serialization import component_from_dict, from_dict, to_dict
from weft.config.yaml_files import dump_yaml, parse_yaml, read_yaml
from weft.core.errors import ConfigError

CONFIGS = sorted(RECIPES_FOLDER.glob("*.yaml"))
COMPONENTS = [(role, name) for role, components in REGISTRY.items() for name in components]
COMPONENT_NAMES = [f"{role.__name__}-{name}" for role, name in COMPONENTS]
VARIANTS = {f"{role.__name__}-{variant.name}": (role, variant.make) for role in REGISTRY for variant in variants(role)}
SETTINGS = [
    (role, name, setting) for role, name in COMPONENTS for setting in constructor_settings(REGISTRY[role][name])
]


def round_trips(node: object) -> list[object]:
    """Return the node after a round trip through YAML, and through JSON."""
    return [parse_yaml(dump_yaml(node), "a test"), json.loads(json.dumps(node))]  # type: ignore[arg-type]


def assert_complete(node: Any, settings: Settings) -> None:
    """Check that every setting is present, also in nested components."""
    assert node.keys() - {"type"} == settings.keys()
    for name, setting in settings.items():
        field_type = setting.type.inner if isinstance(setting.type, OptionalType) else setting.type
        if isinstance(field_type, DataclassType):
            assert_complete(node[name], dataclass_settings(field_type.kind))
        elif isinstance(field_type, ComponentType) and node[name] is not None:
            assert_complete(node[name], constructor_settings(REGISTRY[field_type.role][node[name]["type"]]))


@pytest.mark.parametrize("name", VARIANTS)
def test_component_config_round_trip_is_identity(name: str) -> None:
    role, make = VARIANTS[name]
    node = to_dict(make, REGISTRY)
    assert_complete(node, constructor_settings(REGISTRY[role][node["type"]]))
    for copy in (node, *round_trips(node)):
        assert to_dict(component_from_dict(copy, role, REGISTRY), REGISTRY) == node


@pytest.mark.parametrize(("role", "name"), COMPONENTS, ids=COMPONENT_NAMES)
def test_name_alone_means_default_settings(role: type, name: str) -> None:
    assert to_dict(component_from_dict(name, role, REGISTRY), REGISTRY) == to_dict(REGISTRY[role][name], REGISTRY)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_recipe_file_round_trip_is_identity(path: Path) -> None:
    node = to_dict(load_recipe(path), REGISTRY)
    assert_complete(node, dataclass_settings(Recipe))
    assert_contains(node, read_yaml(path))
    for copy in (node, *round_trips(node)):
        assert to_dict(from_dict(copy, Recipe, REGISTRY), REGISTRY) == node


def assert_contains(node: Any, written: Any) -> None:
    """Check that the node has all written values; a component written as a name has it as its type."""
    match written:
        case Mapping():
            for name in written:
                assert_contains(node[name], written[name])
        case list():
            for inner, value in zip(node, written, strict=True):
                assert_contains(inner, value)
        case str() if isinstance(node, Mapping):
            assert node["type"] == written
        case _:
            assert node == written


def nodes(field_type: FieldType) -> st.SearchStrategy[Any]:
    """Return a strategy for all values that a user may write for a setting of this type."""
    match field_type:
        case ScalarType(kind=kind):
            return numbers(field_type) if kind in (int, float) else {bool: st.booleans(), str: TEXTS}[kind]
        case LiteralType(values=values):
            return st.sampled_from(values)
        case OptionalType(inner=inner):
            return st.none() | nodes(inner)
        case SequenceType(items=items, is_variadic=is_variadic):
            return st.lists(nodes(items[0]), max_size=3) if is_variadic else st.tuples(*map(nodes, items)).map(list)
        case DataclassType(kind=kind):
            return mappings(dataclass_settings(kind))
        case ComponentType(role=role):
            return st.sampled_from(sorted(REGISTRY[role])).flatmap(functools.partial(component_nodes, role))


TEXTS = st.text(st.characters(codec="utf-8"), max_size=5) | st.sampled_from(
    ["no", "1e-3", "~", "2001-01-01", "", "a: b"]
)


def numbers(scalar: ScalarType) -> st.SearchStrategy[Any]:
    """Return a strategy for numbers of at most 64 bits within the bounds."""
    limits: dict[str, Any] = {"min_value": -(2**62), "max_value": 2**62}
    for bound in scalar.bounds:
        match bound:
            case Ge(ge=value):
                limits |= {"min_value": value}
            case Gt(gt=value):
                limits |= {"min_value": value, "exclude_min": True}
            case Le(le=value):
                limits |= {"max_value": value}
            case _:
                limits |= {"max_value": bound.lt, "exclude_max": True}
    return st.integers(**limits) if scalar.kind is int else st.floats(**limits)


def mappings(settings: Settings) -> st.SearchStrategy[dict[str, Any]]:
    optional = {name: nodes(setting.type) for name, setting in settings.items()}
    return st.fixed_dictionaries({}, optional=optional)


def component_nodes(role: type, name: str) -> st.SearchStrategy[Any]:
    full = mappings(constructor_settings(REGISTRY[role][name])).map(lambda settings: {"type": name, **settings})
    return st.just(name) | full


@hypothesis_settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(nodes(DataclassType(Recipe)))
def test_random_recipe_round_trip_is_identity(written: dict[str, Any]) -> None:
    node = to_dict(from_dict(written, Recipe, REGISTRY), REGISTRY)
    assert_complete(node, dataclass_settings(Recipe))
    assert_contains(node, written)
    for copy in round_trips(node):
        assert to_dict(from_dict(copy, Recipe, REGISTRY), REGISTRY) == node


@pytest.mark.parametrize(("role", "name"), COMPONENTS, ids=COMPONENT_NAMES)
def test_sizes_are_positional_and_settings_keyword_only(role: type, name: str) -> None:
    component = REGISTRY[role][name]
    for parameter in inspect.signature(component).parameters.values():
        assert parameter.annotation is not REQUIRED
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            assert parameter.default is not REQUIRED
        else:
            assert parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD  # no *args, no **kwargs
            assert parameter.default is REQUIRED
    assert constructor_settings(component).keys() <= inspect.signature(component).parameters.keys()


def records(kind: type) -> list[type]:
    """Return the dataclass and those nested in it."""
    inner = [
        setting.type.kind for setting in dataclass_settings(kind).values() if isinstance(setting.type, DataclassType)
    ]
    return [kind, *(nested for record in inner for nested in records(record))]


@pytest.mark.parametrize("kind", records(Recipe), ids=lambda kind: kind.__name__)
def test_config_dataclasses_are_frozen_and_have_defaults(kind: type) -> None:
    assert is_dataclass(kind)
    assert kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert all(field.kw_only for field in fields(kind))
    assert all(setting.default is not REQUIRED for setting in dataclass_settings(kind).values())


def problems(node: object, role: type | None = None) -> list[tuple[str, str]]:
    with pytest.raises(ConfigError) as caught:
        from_dict(node, Recipe, REGISTRY) if role is None else component_from_dict(node, role, REGISTRY)
    return [(problem.place, problem.text) for problem in caught.value.problems]


@pytest.mark.parametrize(("role", "name", "setting"), SETTINGS, ids=lambda value: str(value))
def test_wrong_value_and_misspelled_setting_are_reported(role: type, name: str, setting: str) -> None:
    ((place, text),) = problems({"type": name, setting: [[]]}, role)
    assert place in (setting, f"{setting}.0")
    assert "should be" in text
    misspelled = setting + setting[-1]
    ((place, text),) = problems({"type": name, misspelled: 1}, role)
    assert place == ""
    assert f'unknown setting "{misspelled}"; did you mean "{setting}"?' in text


def node_with(place: str, value: object) -> object:
    """Return a node with the value at this dotted place."""
    name, _, rest = place.partition(".")
    return {name: node_with(rest, value) if rest else value}


LEARNED = {"type": "learned", "max_length": 0}
BAHDANAU = {"type": "bahdanau", "cell": {"dim": -1}}
WRONG_SETTINGS = [
    ("train.steps", "x", "train.steps", 'a whole number of at least 1, found "x"'),
    ("train.steps", 0, "train.steps", "a whole number of at least 1, found 0"),
    ("train.steps", True, "train.steps", "a whole number of at least 1, found true"),
    ("train.steps", 2.5, "train.steps", "a whole number of at least 1, found 2.5"),
    ("train.clip_norm", float("inf"), "train.clip_norm", "a number above 0"),
    ("train.optimizer.beta1", 1.0, "train.optimizer.beta1", "at least 0 and below 1, found 1.0"),
    ("train.schedule", "cosin", "train.schedule", 'unknown type "cosin"; did you mean "cosine"?'),
    ("train.schedule", {"type": "cosine", "min_lr_rati": 0}, "train.schedule", 'did you mean "min_lr_ratio"?'),
    ("train.validation.patience", 0.5, "train.validation.patience", "a whole number of at least 1, found 0.5"),
    ("train.validation.metrics", "bleu", "train.validation.metrics", 'a list (each item text), found "bleu"'),
    ("trian", {}, "", 'unknown setting "trian"; did you mean "train"?'),
    ("data.train", [1, "b"], "data.train.0", "text, found 1 (for text, put it in quotes)"),
    ("data.fields", ["a"], "data.fields", "a list of 2 (text, text), found a list of 1"),
    ("text.source", {"type": "bpe", "normalization": "nfd"}, "text.source.normalization", 'did you mean "nfc"?'),
    ("text.source", {"type": "unigram", "dropout": 0.1}, "text.source", 'unknown setting "dropout"'),
    ("text.joint", "yes", "text.joint", 'true or false, found "yes"'),
    ("model.encoder.layer", 3, "model.encoder", 'unknown setting "layer"; did you mean "layers"?'),
    ("model.encoder", "transfomer", "model.encoder", 'did you mean "transformer"?'),
    ("model.encoder", 3, "model.encoder", '"none", or a mapping with such a type'),
    ("model.source.positions", LEARNED, "model.source.positions.max_length", "a whole number of at least 1, found 0"),
    ("model.decoder", BAHDANAU, "model.decoder.cell.dim", "a whole number of at least 1, found -1"),
    ("model.tie", "some", "model.tie", 'one of "none", "embeddings", "output", "all", found "some"'),
    ("translate.search.length_penalty", 3, "translate.search.length_penalty", 'one of "none", "average", "gnmt"'),
    ("translate.search", None, "translate.search", "found nothing"),
]


@pytest.mark.parametrize(("where", "value", "place", "words"), WRONG_SETTINGS, ids=lambda value: str(value)[:40])
def test_error_names_place_of_wrong_setting(where: str, value: object, place: str, words: str) -> None:
    ((actual_place, text),) = problems(node_with(where, value))
    assert actual_place == place
    assert words in text


def test_all_problems_are_reported_at_once() -> None:
    node = {
        "trian": {},
        "data": {"train": "a"},
        "model": {"encoder": {"layer": 3}, "decoder": BAHDANAU, "tie": "some"},
        "train": {"steps": "x", "schedule": {"type": "cosine", "warmup_steps": -1}},
    }
    places = [place for place, _ in problems(node)]
    assert sorted(places) == [
        "",
        "data.train",
        "model.decoder.cell.dim",
        "model.encoder",
        "model.tie",
        "train.schedule.warmup_steps",
        "train.steps",
    ]
