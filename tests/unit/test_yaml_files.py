"""YAML files and overrides: parsing, error messages with positions, and writing."""

import contextlib
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from weft.config.overrides import apply_overrides
from weft.config.recipe import load_recipe
from weft.config.yaml_files import PlainData, dump_yaml, parse_yaml, read_yaml
from weft.core.errors import ConfigError, UserError

no_deadline = hypothesis_settings(deadline=None)  # the machine may be busy


def write_yaml(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "run.yaml"
    path.write_bytes(content)
    return path


def test_file_is_read_as_plain_data(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbfseed: 1\ndata: {train: [a.en, a.de], rate: 0.5, on: null}\n".replace(b"on:", b"'on':")
    assert read_yaml(write_yaml(tmp_path, content)) == {
        "seed": 1,
        "data": {"train": ["a.en", "a.de"], "rate": 0.5, "on": None},
    }


@pytest.mark.parametrize(
    "text", ["1", "-0x1f", "010", "1:30", "1_000", ".5", "1.0e3", "1e3", "no", "~", "", "'1'", "a b", "="]
)
def test_scalars_are_parsed_like_safe_load(text: str) -> None:
    assert repr(parse_yaml(text, "")) == repr(yaml.safe_load(text) if text != "=" else "=")


def test_dates_stay_strings() -> None:
    assert parse_yaml("[2024-01-01, 2024-99-99]", "") == ["2024-01-01", "2024-99-99"]


INVALID = [
    (b"", "{path}: the file is empty; it should contain settings, such as `seed: 1`"),
    (b"# nothing\n", "{path}: the file is empty"),
    (b"- a\n", "{path}: should be a mapping of settings, such as `seed: 1`, found a list"),
    (
        b"a: 1\nb:\n  c: 1\n  c: 2\n",
        '{path}, line 4, column 3: "c" occurs twice, first in line 3; remove one of the two',
    ),
    (b"a: [1, 2\nb: 1\n", "{path}, line 2, column 2: is not YAML: expected ',' or ']', but got ':'; look at"),
    (
        b"a:\n\tb: 1\n",
        "{path}, line 2, column 1: is not YAML: found character '\\t' that cannot start any token; look at",
    ),
    (b"a: 1\nb: \xff\n", "{path}, line 2: is not UTF-8; save the file in that encoding"),
    (b"a: 1\nb: \x00\n", "{path}, line 2: the character 0x0000 is not allowed in YAML"),
    (b"a: &x [1]\nb: *x\n", "{path}, line 1, column 4: anchors (&name) are not supported"),
    (b"b: *x\n", "{path}, line 1, column 4: aliases (*name) are not supported; write the value out"),
    (b"a: !!python/object/apply:os.system [ls]\n", "{path}, line 1, column 4: tags (!name) are not supported"),
    (b"a: !!int abc\n", "{path}, line 1, column 4: tags (!name) are not supported"),
    (b"no: 1\n", "{path}, line 1, column 1: the name of a setting should be text, found false; put it in quotes"),
    (b"? [a]\n: 1\n", "{path}, line 1, column 3: the name of a setting should be text, found a list"),
    (b"a: " + b"1" * 5000 + b"\n", '{path}, line 1, column 4: "11111'),
    (b'a: "\\UFFFFFFFF"\n', "{path}: is not YAML: an escape or a version in it is too large a number"),
    (b"a: " + b"[" * 100_000, "{path}, line 1, column 53: is nested more than 50 deep"),
    (b"a: 1\n---\nb: 1\n", "{path}, line 2, column 1: is not YAML: but found another document"),
    (b"#" * 1_000_001, "{path}: is too large (more than 1,000,000 bytes); is it the right file?"),
]


@pytest.mark.parametrize(("content", "text"), INVALID, ids=[text[:60] for _, text in INVALID])
def test_errors_name_the_position(tmp_path: Path, content: bytes, text: str) -> None:
    path = write_yaml(tmp_path, content)
    with pytest.raises(UserError) as caught:
        read_yaml(path)
    assert str(caught.value).startswith(text.replace("{path}", str(path)))


def test_unreadable_files_are_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no such file"):
        read_yaml(tmp_path / "none.yaml")
    (tmp_path / "spelling.yaml").touch()
    with pytest.raises(UserError, match=r"speling\.yaml: there is no such file; is it .*/spelling\.yaml\?$"):
        read_yaml(tmp_path / "speling.yaml")
    with pytest.raises(UserError, match="cannot be read: Is a directory"):
        read_yaml(tmp_path)


def test_dump_is_readable() -> None:
    shared = ["a", "b"]
    data: dict[str, Any] = {
        "b": {"x": 1e-05, "list": shared},
        "a": shared,
        "no": "no",
        "e": "1e-3",
        "deep": [{"k": None}],
    }
    assert dump_yaml(data) == ("b:\n  x: 1.0e-05\n  list: [a, b]\na: [a, b]\n'no': 'no'\ne: 1e-3\ndeep:\n- k: null\n")
    assert parse_yaml(dump_yaml(data), "") == data


@pytest.mark.parametrize("character", ["\x85", "\u2028", "\u2029", "\r", "\n", "\0", "\ufeff", "\U0001f600"])
def test_unusual_characters_survive_a_round_trip(character: str) -> None:
    data: dict[str, Any] = {character: [character, f"a{character}b", {f"{character} b": character}]}
    assert parse_yaml(dump_yaml(data), "") == data


texts = st.text(st.characters(exclude_categories=["Cs"]))
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)


@no_deadline
@given(plain)
def test_round_trip(data: Any) -> None:
    assert parse_yaml(dump_yaml(data), "") == data


@no_deadline
@given(st.text(st.sampled_from("ab:-[]{},&*!#|>'\"%@`?= \n\t\\U1~.\x00\u2028<")) | st.text())
def test_random_text_is_a_user_error_or_plain_data(text: str) -> None:
    try:
        data = parse_yaml(text, "junk")
    except UserError:
        return
    assert repr(parse_yaml(dump_yaml(data), "")) == repr(data)  # compared as text, because NaN != NaN


NODE: dict[str, Any] = {"model": {"encoder": "recurrent", "sizes": [1, 2]}, "seed": 1, "empty": None}


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("seed=2", {**NODE, "seed": 2}),
        (" seed = two words", {**NODE, "seed": "two words"}),
        ("seed=", {**NODE, "seed": None}),
        ("seed=a=b", {**NODE, "seed": "a=b"}),
        ("data.train=[a.en, a.de]", {**NODE, "data": {"train": ["a.en", "a.de"]}}),
        ("empty.a=1", {**NODE, "empty": {"a": 1}}),
        ("model.sizes.1=7", {**NODE, "model": {"encoder": "recurrent", "sizes": [1, 7]}}),
        ("model.encoder.layers=2", {**NODE, "model": {"encoder": {"type": "recurrent", "layers": 2}, "sizes": [1, 2]}}),
        ("model.encoder.type=other", {**NODE, "model": {"encoder": {"type": "other"}, "sizes": [1, 2]}}),
        ("model={encoder: x}", {**NODE, "model": {"encoder": "x"}}),
    ],
)
def test_override_returns_a_new_tree(override: str, expected: Any) -> None:
    before = dump_yaml(NODE)
    assert apply_overrides(NODE, [override]) == expected
    assert dump_yaml(NODE) == before


def test_overrides_are_applied_in_order() -> None:
    assert apply_overrides({}, ["a.b=1", "a.c=2", "a.b=3"]) == {"a": {"b": 3, "c": 2}}


def test_settings_unknown_to_a_new_type_suggest_starting_over() -> None:
    settings: dict[str, PlainData] = {"translate": {"search": {"type": "beam", "size": 4, "stop_rule": "limit"}}}
    with pytest.raises(ConfigError) as caught:
        load_recipe(settings, ["translate.search.type=greedy", "train.setps=3"])
    advice = "; to start over: translate.search={type: greedy}"
    problems = caught.value.problems
    of_search, others = (
        [problem.text for problem in problems if ("search" in problem.place) == in_search] for in_search in (1, 0)
    )
    assert [text.split(" (")[0] for text in of_search] == ['unknown setting "size"', 'unknown setting "stop_rule"']
    assert all(text.endswith(advice) for text in of_search)
    assert not any("anew" in text for text in others)


def test_all_invalid_overrides_are_reported_together() -> None:
    overrides = [
        "seed",
        "=1",
        "a..b=1",
        "seed.x=1",
        "model.sizes.2=1",
        "model.sizes.x=1",
        "seed=[1",
        ".".join("a" * 51) + "=1",
    ]
    with pytest.raises(ConfigError) as caught:
        apply_overrides(NODE, overrides)
    assert [str(problem) for problem in caught.value.problems[:6]] == [
        "seed: an override should look like model.encoder.layers=6",
        "an override should look like model.encoder.layers=6",
        "a..b: an override should look like model.encoder.layers=6",
        "seed.x: there is nothing to set below 1",
        'model.sizes.2: "2" is no item of this list of 2; items are counted from 0',
        'model.sizes.x: "x" is no item of this list of 2; items are counted from 0',
    ]
    assert str(caught.value.problems[6]).startswith(
        "seed: the value, line 1, column 3: is not YAML: expected ',' or ']'"
    )
    assert caught.value.problems[7].text == "is nested more than 50 deep"


@no_deadline
@given(st.lists(st.text() | st.from_regex(r"[a-c.0-9]{1,6}=[\[\]{}a0: ,]{0,5}", fullmatch=True), max_size=5))
def test_random_overrides_are_a_configuration_error_or_a_tree(overrides: list[str]) -> None:
    with contextlib.suppress(ConfigError):
        assert isinstance(apply_overrides(NODE, overrides), dict)
