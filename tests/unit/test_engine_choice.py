"""Which engine is chosen, and what is told of it."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep
from typing import Any

import pytest
import torch

from unit.models import BAHDANAU, TRANSFORMER, saved, untrained
from weft.checkpoints.model_folder import ModelFolder
from weft.config.recipe import load_recipe
from weft.config.recipe_catalog import RECIPES_FOLDER
from weft.config.registry import REGISTRY
from weft.config.serialization import to_dict
from weft.config.yaml_files import PlainData
from weft.core.errors import UserError
from weft.inference.backends import Backend, BackendOptions, select_backend
from weft.inference.capabilities import (
    DEFAULT_BEAM,
    closest_ctranslate2_search,
    ctranslate2_differences,
    unsupported_by_ctranslate2,
    unsupported_by_onnx,
)
from weft.inference.ctranslate2_backend import CTranslate2Backend, open_ctranslate2
from weft.inference.loader import load_translator
from weft.inference.translator import Translator
from weft.text.tokenizer_training import CharacterTokenizerTrainer
from weft.training.autoconfig import AutoconfigInputs, choose_text_settings
from weft.training.corpus_profile import CorpusProfile, SideProfile

AUTO = BackendOptions("auto", None, None, ())


def model_folder(folder: Path, model: dict[str, Any] = TRANSFORMER, **translate: Any) -> Path:
    return saved(folder / "model", untrained(model, translate=translate))


def load(folder: Path) -> Backend:
    return load_translator(folder, device="cpu")


def test_the_faster_engine_is_taken_where_it_can_be(tmp_path: Path) -> None:
    folder = model_folder(tmp_path)
    chosen = select_backend(folder, AUTO, lambda: load(folder))
    assert isinstance(chosen.backend, CTranslate2Backend)
    assert chosen.reason.startswith("ctranslate2, float32")


def test_every_reason_for_torch_is_told(tmp_path: Path) -> None:
    folder = model_folder(tmp_path, BAHDANAU, search={"type": "beam", "stop_rule": "limit"}, no_repeat_ngram_size=3)
    chosen = select_backend(folder, AUTO._replace(torch_requirements=("--json is asked for",)), lambda: load(folder))
    assert isinstance(chosen.backend, Translator)
    told = (
        "--json",
        "model.encoder is recurrent",
        "translate.no_repeat_ngram_size is 3",
        "translate.search.stop_rule is limit",
    )
    assert [word for word in told if word not in chosen.reason] == []


def test_an_engine_that_cannot_is_no_engine(tmp_path: Path) -> None:
    folder = model_folder(tmp_path, BAHDANAU)
    for wish, word in (
        (AUTO._replace(backend="ctranslate2"), "--backend ctranslate2"),
        (AUTO._replace(precision="int8"), "--precision int8"),
        (BackendOptions("torch", "int8", None, ()), "--precision int8"),
    ):
        with pytest.raises(UserError, match=word):
            select_backend(folder, wish, lambda: load(folder))


@pytest.mark.parametrize(
    ("wish", "of_torch", "fast"),
    [
        (AUTO, True, False),
        (AUTO, False, True),  # torch was built without it
        (AUTO._replace(device="cpu"), True, True),
        (AUTO._replace(device="cuda"), True, False),
        (AUTO._replace(backend="ctranslate2"), True, True),
        (AUTO._replace(precision="float32"), True, True),
    ],
)
def test_where_there_is_a_gpu(
    wish: BackendOptions, of_torch: bool, fast: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """torch is taken for it, where it can use it and nobody asked for something else."""
    monkeypatch.setattr("ctranslate2.get_cuda_device_count", lambda: 1)
    monkeypatch.setattr("torch.cuda.is_available", lambda: of_torch)
    folder = model_folder(tmp_path)
    assert isinstance(select_backend(folder, wish, lambda: load(folder)).backend, CTranslate2Backend) == fast


def test_a_line_that_cannot_be_decided_goes_to_torch_which_is_loaded_once(tmp_path: Path) -> None:
    folder = model_folder(tmp_path)  # untrained, so that it says marks
    loaded: list[Backend] = []

    def load_once() -> Backend:
        loaded.append(load(folder))
        return loaded[-1]

    lines = ["abc", "", "edcba", "aab", "cdcde"] * 3
    engine = select_backend(folder, AUTO, load_once).backend.unbuffered()
    assert [one.text for one in engine.stream(lines)] == [one.text for one in load(folder).stream(lines)]
    assert len(loaded) == 1


def test_threads_that_ask_at_once_share_what_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, opened, loaded = model_folder(tmp_path), list[Any](), list[Backend]()

    def slowly(make: Callable[..., Any], made: list[Any]) -> Callable[..., Any]:
        def make_slowly(*given: Any) -> Any:
            sleep(0.1)
            made.append(make(*given))
            return made[-1]

        return make_slowly

    monkeypatch.setattr("weft.inference.ctranslate2_backend.open_ctranslate2", slowly(open_ctranslate2, opened))
    engine = select_backend(folder, AUTO, slowly(lambda: load(folder), loaded)).backend
    with ThreadPoolExecutor(4) as threads:
        said = [*threads.map(lambda line: next(iter(engine.stream([line]))).text, ["abc", "edcba", "aab", "cdcde"])]
    assert len(said) == 4
    assert (len(opened), len(loaded)) == (1, 1)
    assert next(iter(engine.unbuffered().stream(["abc"]))).text == said[0]
    assert len(opened) == 1


def test_torch_keeps_its_threads(tmp_path: Path) -> None:
    """What is trained or translated by torch afterwards is not slower: not even by lines that came to their limit."""
    folder = model_folder(tmp_path, max_length_factor=0.1, max_length_extra=2)
    torch.set_num_threads(3)
    assert torch.get_num_threads() == 3  # asked once, a thread is not set again by torch
    engine = select_backend(folder, AUTO, lambda: load(folder)).backend
    assert len(list(engine.stream(["abc", "edcba"]))) == 2
    assert torch.get_num_threads() == 3


SAME: dict[str, dict[str, Any]] = {
    "greedy": {"type": "greedy"},
    "beam": {"type": "beam", "size": 4},
    "another average": {"type": "beam", "length_penalty": {"type": "average", "alpha": 0.6}},
    "a beam of one": {"type": "beam", "size": 1, "length_penalty": "gnmt", "stop_rule": "limit"},
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
    "least": {"min_length_extra": 2},
    "words": {"word_list": "words.txt"},
}


def translate_of(**translate: Any) -> dict[str, Any]:
    described: dict[str, Any] = to_dict(load_recipe({"translate": translate}), REGISTRY)["translate"]
    return described


@pytest.mark.parametrize("kind", SAME)
def test_searches_that_are_the_same(kind: str) -> None:
    assert ctranslate2_differences(translate_of(search=SAME[kind])) == []


@pytest.mark.parametrize("kind", OTHER)
def test_searches_that_differ(kind: str) -> None:
    assert len(ctranslate2_differences(translate_of(**OTHER[kind]))) == 1


def test_a_beam_that_is_asked_for_is_that_of_a_recipe() -> None:
    greedy, known = translate_of(search="greedy"), translate_of(search={"type": "beam", "size": 3})
    assert {**known["search"], **DEFAULT_BEAM} == known["search"]
    assert ctranslate2_differences(greedy, 3) == ctranslate2_differences(known) == []
    assert closest_ctranslate2_search(greedy, 3) == closest_ctranslate2_search(known) == (3, 1.0)
    assert closest_ctranslate2_search(known, 1)[0] == 1


def test_of_a_search_that_differs_the_nearest_is_taken() -> None:
    """As exported programs have it."""
    for search, nearest in (
        ({"type": "beam", "size": 3, "length_penalty": "gnmt"}, (3, 1.0)),
        ({"type": "beam", "size": 3, "length_penalty": "none"}, (3, 0.0)),
        ({"type": "diverse", "size": 4, "groups": 2}, (4, 1.0)),
        ("sampling", (1, 1.0)),
    ):
        assert closest_ctranslate2_search(translate_of(search=search)) == nearest


def side(kind: str) -> SideProfile:
    sides = {"sentences": (12.0, 60.0, 3.0), "words": (1.0, 7.0, 1.0), "symbols": (6.0, 12.0, 90.0)}
    words, letters, uses = sides[kind]
    made = SideProfile(
        words=words, letters=letters, distinct_words=40, uses_per_word=uses, spaceless=0.0, alphabet=frozenset("ab")
    )
    assert made.kind == kind
    return made


@pytest.mark.parametrize("pairs", [300, 30_000, 2_000_000])
def test_recipes_that_are_chosen_for_sentences_can_go(pairs: int) -> None:
    assert against(chosen_recipe("sentences", pairs)) == []


@pytest.mark.parametrize("kind", ["words", "symbols"])
def test_of_letters_only_the_search_is_another(kind: str) -> None:
    assert against(chosen_recipe(kind, 30_000)) == ["translate.search.stop_rule is top"]


@pytest.mark.parametrize("kind", ["sentences", "words", "symbols"])
def test_recipes_that_are_chosen_can_be_exported(kind: str) -> None:
    """Whatever their search: to CTranslate2, and to ONNX."""
    described = described_of(chosen_recipe(kind, 30_000))
    assert unsupported_by_ctranslate2(described) + unsupported_by_onnx(described) == []


def chosen_recipe(kind: str, pairs: int) -> dict[str, PlainData]:
    facts = CorpusProfile(pairs=pairs, source=side(kind), target=side(kind))
    node: dict[str, PlainData] = {}
    for place, value, _ in choose_text_settings(AutoconfigInputs(facts, 10.0, 1e11, ("a", "b"), has_validation=True)):
        section, _, setting = place.partition(".")
        part = node.setdefault(section, {})
        assert isinstance(part, dict)
        part[setting] = value
    return node


def test_the_recipe_of_multi30k_can_go() -> None:
    assert against(RECIPES_FOLDER / "multi30k-en-de.yaml") == []


def against(recipe: dict[str, PlainData] | Path) -> list[str]:
    described = described_of(recipe)
    return unsupported_by_ctranslate2(described) + ctranslate2_differences(described.config["translate"])


def described_of(recipe: dict[str, PlainData] | Path) -> ModelFolder:
    tokenizer = CharacterTokenizerTrainer().train(["ab"])
    return ModelFolder(Path(), to_dict(load_recipe(recipe), REGISTRY), tokenizer, tokenizer)
