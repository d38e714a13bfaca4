"""Which engine is chosen, and what is told of it."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep
from typing import Any

import pytest
import torch

from unit.models import BAHDANAU, TRANSFORMER, saved, untrained
from weft.choosing.look import Facts, Side
from weft.choosing.rules import Situation
from weft.choosing.rules import choose as choose_recipe
from weft.config.document import Plain
from weft.config.load import load_recipe
from weft.config.reader import describe
from weft.config.registry import REGISTRY
from weft.core.errors import UserError
from weft.engine.choice import Wish, choose
from weft.engine.ctranslate2 import CTranslate2
from weft.engine.library import open_library
from weft.engine.load import load_translator
from weft.engine.role import Engine
from weft.engine.translator import Translator
from weft.engine.widening import BEAM, search_of
from weft.export.described import Described
from weft.export.onnx.refusals import refused_slots
from weft.export.refusals import refusals
from weft.export.same_search import differences, nearest_search
from weft.text.learners import Character

AUTO = Wish("auto", None, None, ())
CONFIGS = Path(__file__).parents[2] / "configs"


def model_folder(folder: Path, model: dict[str, Any] = TRANSFORMER, **translate: Any) -> Path:
    return saved(folder / "model", untrained(model, translate=translate))


def load(folder: Path) -> Engine:
    return load_translator(folder, device="cpu")


def test_the_faster_engine_is_taken_where_it_can_be(tmp_path: Path) -> None:
    folder = model_folder(tmp_path)
    chosen = choose(folder, AUTO, lambda: load(folder))
    assert isinstance(chosen.engine, CTranslate2)
    assert chosen.told.startswith("ctranslate2, in float32")


def test_every_reason_for_torch_is_told(tmp_path: Path) -> None:
    folder = model_folder(tmp_path, BAHDANAU, search={"type": "beam", "stop": "limit"}, block_repeats=3)
    chosen = choose(folder, AUTO._replace(needs=("--json is asked for",)), lambda: load(folder))
    assert isinstance(chosen.engine, Translator)
    told = ("--json", "model.encoder is recurrent", "translate.block_repeats is 3", "translate.search.stop is limit")
    assert [word for word in told if word not in chosen.told] == []


def test_an_engine_that_cannot_is_no_engine(tmp_path: Path) -> None:
    folder = model_folder(tmp_path, BAHDANAU)
    for wish, word in (
        (AUTO._replace(engine="ctranslate2"), "--engine ctranslate2"),
        (AUTO._replace(precision="int8"), "--precision int8"),
        (Wish("torch", "int8", None, ()), "--precision int8"),
    ):
        with pytest.raises(UserError, match=word):
            choose(folder, wish, lambda: load(folder))


@pytest.mark.parametrize(
    ("wish", "of_torch", "fast"),
    [
        (AUTO, True, False),
        (AUTO, False, True),  # torch was built without it
        (AUTO._replace(device="cpu"), True, True),
        (AUTO._replace(device="cuda"), True, False),
        (AUTO._replace(engine="ctranslate2"), True, True),
        (AUTO._replace(precision="float32"), True, True),
    ],
)
def test_where_there_is_a_gpu(
    wish: Wish, of_torch: bool, fast: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """torch is taken for it, where it can use it and nobody asked for something else."""
    monkeypatch.setattr("ctranslate2.get_cuda_device_count", lambda: 1)
    monkeypatch.setattr("torch.cuda.is_available", lambda: of_torch)
    folder = model_folder(tmp_path)
    assert isinstance(choose(folder, wish, lambda: load(folder)).engine, CTranslate2) == fast


def test_a_line_that_cannot_be_decided_goes_to_torch_which_is_loaded_once(tmp_path: Path) -> None:
    folder = model_folder(tmp_path)  # untrained, so that it says marks
    loaded: list[Engine] = []

    def load_once() -> Engine:
        loaded.append(load(folder))
        return loaded[-1]

    lines = ["abc", "", "edcba", "aab", "cdcde"] * 3
    engine = choose(folder, AUTO, load_once).engine.line_by_line()
    assert [one.text for one in engine.stream(lines)] == [one.text for one in load(folder).stream(lines)]
    assert len(loaded) == 1


def test_threads_that_ask_at_once_share_what_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, opened, loaded = model_folder(tmp_path), list[Any](), list[Engine]()

    def slowly(make: Callable[..., Any], made: list[Any]) -> Callable[..., Any]:
        def make_slowly(*given: Any) -> Any:
            sleep(0.1)
            made.append(make(*given))
            return made[-1]

        return make_slowly

    monkeypatch.setattr("weft.engine.library.open_library", slowly(open_library, opened))
    engine = choose(folder, AUTO, slowly(lambda: load(folder), loaded)).engine
    with ThreadPoolExecutor(4) as threads:
        said = [*threads.map(lambda line: next(iter(engine.stream([line]))).text, ["abc", "edcba", "aab", "cdcde"])]
    assert len(said) == 4
    assert (len(opened), len(loaded)) == (1, 1)
    assert next(iter(engine.line_by_line().stream(["abc"]))).text == said[0]
    assert len(opened) == 1


def test_torch_keeps_its_threads(tmp_path: Path) -> None:
    """What is trained or translated by torch afterwards is not slower: not even by lines that came to their limit."""
    folder = model_folder(tmp_path, length_factor=0.1, length_extra=2)
    torch.set_num_threads(3)
    assert torch.get_num_threads() == 3  # asked once, a thread is not set again by torch
    engine = choose(folder, AUTO, lambda: load(folder)).engine
    assert len(list(engine.stream(["abc", "edcba"]))) == 2
    assert torch.get_num_threads() == 3


SAME: dict[str, dict[str, Any]] = {
    "greedy": {"type": "greedy"},
    "beam": {"type": "beam", "size": 4},
    "another average": {"type": "beam", "length_penalty": {"type": "average", "alpha": 0.6}},
    "a beam of one": {"type": "beam", "size": 1, "length_penalty": "gnmt", "stop": "limit"},
}
OTHER: dict[str, dict[str, Any]] = {
    "sampling": {"search": {"type": "sampling"}},
    "gnmt": {"search": {"type": "beam", "length_penalty": "gnmt"}},
    "no length": {"search": {"type": "beam", "length_penalty": {"type": "average", "alpha": 0.0}}},
    "coverage": {"search": {"type": "beam", "coverage_penalty": 0.2}},
    "greedy kept": {"search": {"type": "beam", "keep_greedy": True}},
    "diverse": {"search": {"type": "diverse", "size": 4, "groups": 2}},
    "risk": {"mbr": {"samples": 4}},
    "fusion": {"fusion": {"model": "somewhere"}},
    "least": {"least_extra": 2},
    "words": {"words": "words.txt"},
}


def translate_of(**translate: Any) -> dict[str, Any]:
    described: dict[str, Any] = describe(load_recipe({"translate": translate}), REGISTRY)["translate"]
    return described


@pytest.mark.parametrize("kind", SAME)
def test_searches_that_are_the_same(kind: str) -> None:
    translate = translate_of(search=SAME[kind])
    assert differences(translate, search_of(translate, None)) == []


@pytest.mark.parametrize("kind", OTHER)
def test_searches_that_differ(kind: str) -> None:
    translate = translate_of(**OTHER[kind])
    assert len(differences(translate, search_of(translate, None))) == 1


def test_a_beam_that_is_asked_for_is_that_of_a_recipe() -> None:
    known = translate_of(search={"type": "beam", "size": 3})["search"]
    assert search_of(translate_of(search="greedy"), 3) == known
    assert {**known, **BEAM} == known
    assert nearest_search(known) == (3, 1.0)


def test_of_a_search_that_differs_the_nearest_is_taken() -> None:
    """As exported programs have it."""
    for search, nearest in (
        ({"type": "beam", "size": 3, "length_penalty": "gnmt"}, (3, 1.0)),
        ({"type": "beam", "size": 3, "length_penalty": "none"}, (3, 0.0)),
        ({"type": "diverse", "size": 4, "groups": 2}, (4, 1.0)),
        ("sampling", (1, 1.0)),
    ):
        assert nearest_search(translate_of(search=search)["search"]) == nearest


def side(kind: str) -> Side:
    sides = {"sentences": (12.0, 60.0, 3.0), "words": (1.0, 7.0, 1.0), "symbols": (6.0, 12.0, 90.0)}
    words, letters, uses = sides[kind]
    made = Side(words=words, letters=letters, kinds=40, uses=uses, spaceless=0.0, alphabet=frozenset("ab"))
    assert made.kind == kind
    return made


@pytest.mark.parametrize("pairs", [300, 30_000, 2_000_000])
def test_recipes_that_are_chosen_for_sentences_can_go(pairs: int) -> None:
    assert against(chosen_recipe("sentences", pairs)) == []


@pytest.mark.parametrize("kind", ["words", "symbols"])
def test_of_letters_only_the_search_is_another(kind: str) -> None:
    assert against(chosen_recipe(kind, 30_000)) == ["translate.search.stop is top"]


@pytest.mark.parametrize("kind", ["sentences", "words", "symbols"])
def test_recipes_that_are_chosen_can_be_exported(kind: str) -> None:
    """Whatever their search: to CTranslate2, and to ONNX."""
    described = described_of(chosen_recipe(kind, 30_000))
    assert refusals(described) + refused_slots(described.model) == []


def chosen_recipe(kind: str, pairs: int) -> dict[str, Plain]:
    facts = Facts(pairs=pairs, source=side(kind), target=side(kind))
    node: dict[str, Plain] = {}
    for place, value, _ in choose_recipe(Situation(facts, 10.0, 1e11, ("a", "b"), has_validation=True)):
        section, _, setting = place.partition(".")
        part = node.setdefault(section, {})
        assert isinstance(part, dict)
        part[setting] = value
    return node


def test_the_recipe_of_multi30k_can_go() -> None:
    assert against(CONFIGS / "multi30k-en-de.yaml") == []


def against(recipe: dict[str, Plain] | Path) -> list[str]:
    described = described_of(recipe)
    translate = described.config["translate"]
    return refusals(described) + differences(translate, search_of(translate, None))


def described_of(recipe: dict[str, Plain] | Path) -> Described:
    tokenizer = Character().learn(["ab"])
    return Described(Path(), describe(load_recipe(recipe), REGISTRY), tokenizer, tokenizer)
