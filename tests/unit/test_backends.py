"""Backend selection: which backend is chosen, and the reason that is reported."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep
from typing import Any

import pytest
import torch

from unit.models import BAHDANAU, TRANSFORMER, save_model_folder, untrained_model
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
    return save_model_folder(folder / "model", untrained_model(model, translate=translate))


def load(folder: Path) -> Backend:
    return load_translator(folder, device="cpu")


def test_ctranslate2_is_chosen_if_it_supports_the_model(tmp_path: Path) -> None:
    folder = model_folder(tmp_path)
    chosen = select_backend(folder, AUTO, lambda: load(folder))
    assert isinstance(chosen.backend, CTranslate2Backend)
    assert chosen.reason.startswith("ctranslate2, float32")


def test_every_reason_for_torch_is_reported(tmp_path: Path) -> None:
    folder = model_folder(tmp_path, BAHDANAU, search={"type": "beam", "stop_rule": "limit"}, no_repeat_ngram_size=3)
    chosen = select_backend(folder, AUTO._replace(torch_requirements=("--json is asked for",)), lambda: load(folder))
    assert isinstance(chosen.backend, Translator)
    reasons = (
        "--json",
        "model.encoder is recurrent",
        "translate.no_repeat_ngram_size is 3",
        "translate.search.stop_rule is limit",
    )
    assert [word for word in reasons if word not in chosen.reason] == []


def test_unsupported_backend_or_precision_is_refused(tmp_path: Path) -> None:
    folder = model_folder(tmp_path, BAHDANAU)
    for options, word in (
        (AUTO._replace(backend="ctranslate2"), "--backend ctranslate2"),
        (AUTO._replace(precision="int8"), "--precision int8"),
        (BackendOptions("torch", "int8", None, ()), "--precision int8"),
    ):
        with pytest.raises(UserError, match=word):
            select_backend(folder, options, lambda: load(folder))


@pytest.mark.parametrize(
    ("options", "torch_has_cuda", "expect_ctranslate2"),
    [
        (AUTO, True, False),
        (AUTO, False, True),  # torch without CUDA support
        (AUTO._replace(device="cpu"), True, True),
        (AUTO._replace(device="cuda"), True, False),
        (AUTO._replace(backend="ctranslate2"), True, True),
        (AUTO._replace(precision="float32"), True, True),
    ],
)
def test_backend_selection_with_a_gpu(
    options: BackendOptions,
    torch_has_cuda: bool,
    expect_ctranslate2: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """torch is chosen if it can use the GPU and the options do not say otherwise."""
    monkeypatch.setattr("ctranslate2.get_cuda_device_count", lambda: 1)
    monkeypatch.setattr("torch.cuda.is_available", lambda: torch_has_cuda)
    folder = model_folder(tmp_path)
    backend = select_backend(folder, options, lambda: load(folder)).backend
    assert isinstance(backend, CTranslate2Backend) == expect_ctranslate2


def test_undecidable_lines_fall_back_to_torch_which_is_loaded_once(tmp_path: Path) -> None:
    folder = model_folder(tmp_path)  # untrained, so it outputs special tokens
    loaded: list[Backend] = []

    def load_once() -> Backend:
        loaded.append(load(folder))
        return loaded[-1]

    lines = ["abc", "", "edcba", "aab", "cdcde"] * 3
    backend = select_backend(folder, AUTO, load_once).backend.unbuffered()
    assert [result.text for result in backend.stream(lines)] == [result.text for result in load(folder).stream(lines)]
    assert len(loaded) == 1


def test_concurrent_threads_share_the_loaded_backends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, opened, loaded = model_folder(tmp_path), list[Any](), list[Backend]()

    def slowly(make: Callable[..., Any], made: list[Any]) -> Callable[..., Any]:
        def make_slowly(*arguments: Any) -> Any:
            sleep(0.1)
            made.append(make(*arguments))
            return made[-1]

        return make_slowly

    monkeypatch.setattr("weft.inference.ctranslate2_backend.open_ctranslate2", slowly(open_ctranslate2, opened))
    backend = select_backend(folder, AUTO, slowly(lambda: load(folder), loaded)).backend
    with ThreadPoolExecutor(4) as threads:
        outputs = [*threads.map(lambda line: next(iter(backend.stream([line]))).text, ["abc", "edcba", "aab", "cdcde"])]
    assert len(outputs) == 4
    assert (len(opened), len(loaded)) == (1, 1)
    assert next(iter(backend.unbuffered().stream(["abc"]))).text == outputs[0]
    assert len(opened) == 1


def test_number_of_torch_threads_is_unchanged(tmp_path: Path) -> None:
    """Later work in torch is not slowed down, not even after lines that reach the length limit."""
    folder = model_folder(tmp_path, max_length_factor=0.1, max_length_extra=2)
    torch.set_num_threads(3)
    assert torch.get_num_threads() == 3  # once queried, torch does not change it by itself
    backend = select_backend(folder, AUTO, lambda: load(folder)).backend
    assert len(list(backend.stream(["abc", "edcba"]))) == 2
    assert torch.get_num_threads() == 3


SUPPORTED: dict[str, dict[str, Any]] = {
    "greedy": {"type": "greedy"},
    "beam": {"type": "beam", "size": 4},
    "another average": {"type": "beam", "length_penalty": {"type": "average", "alpha": 0.6}},
    "a beam of one": {"type": "beam", "size": 1, "length_penalty": "gnmt", "stop_rule": "limit"},
}
UNSUPPORTED: dict[str, dict[str, Any]] = {
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


def translate_config(**translate: Any) -> dict[str, Any]:
    config: dict[str, Any] = to_dict(load_recipe({"translate": translate}), REGISTRY)["translate"]
    return config


@pytest.mark.parametrize("kind", SUPPORTED)
def test_supported_search_has_no_differences(kind: str) -> None:
    assert ctranslate2_differences(translate_config(search=SUPPORTED[kind])) == []


@pytest.mark.parametrize("kind", UNSUPPORTED)
def test_unsupported_search_has_one_difference(kind: str) -> None:
    assert len(ctranslate2_differences(translate_config(**UNSUPPORTED[kind]))) == 1


def test_beam_option_equals_the_same_beam_in_a_recipe() -> None:
    greedy, beam = translate_config(search="greedy"), translate_config(search={"type": "beam", "size": 3})
    assert {**beam["search"], **DEFAULT_BEAM} == beam["search"]
    assert ctranslate2_differences(greedy, 3) == ctranslate2_differences(beam) == []
    assert closest_ctranslate2_search(greedy, 3) == closest_ctranslate2_search(beam) == (3, 1.0)
    assert closest_ctranslate2_search(beam, 1)[0] == 1


def test_unsupported_search_maps_to_the_closest_supported_one() -> None:
    """Exported programs use it."""
    for search, nearest in (
        ({"type": "beam", "size": 3, "length_penalty": "gnmt"}, (3, 1.0)),
        ({"type": "beam", "size": 3, "length_penalty": "none"}, (3, 0.0)),
        ({"type": "diverse", "size": 4, "groups": 2}, (4, 1.0)),
        ("sampling", (1, 1.0)),
    ):
        assert closest_ctranslate2_search(translate_config(search=search)) == nearest


def side_profile(kind: str) -> SideProfile:
    sides = {"sentences": (12.0, 60.0, 3.0), "words": (1.0, 7.0, 1.0), "symbols": (6.0, 12.0, 90.0)}
    words, letters, uses = sides[kind]
    profile = SideProfile(
        words=words, letters=letters, distinct_words=40, uses_per_word=uses, spaceless=0.0, alphabet=frozenset("ab")
    )
    assert profile.kind == kind
    return profile


@pytest.mark.parametrize("pairs", [300, 30_000, 2_000_000])
def test_recipes_chosen_for_sentences_support_ctranslate2(pairs: int) -> None:
    assert ctranslate2_problems(chosen_recipe("sentences", pairs)) == []


@pytest.mark.parametrize("kind", ["words", "symbols"])
def test_recipes_chosen_for_characters_differ_only_in_the_search(kind: str) -> None:
    assert ctranslate2_problems(chosen_recipe(kind, 30_000)) == ["translate.search.stop_rule is top"]


@pytest.mark.parametrize("kind", ["sentences", "words", "symbols"])
def test_chosen_recipes_can_be_exported(kind: str) -> None:
    """To CTranslate2 and ONNX, whatever their search."""
    model = model_folder_of(chosen_recipe(kind, 30_000))
    assert unsupported_by_ctranslate2(model) + unsupported_by_onnx(model) == []


def chosen_recipe(kind: str, pairs: int) -> dict[str, PlainData]:
    profile = CorpusProfile(pairs=pairs, source=side_profile(kind), target=side_profile(kind))
    node: dict[str, PlainData] = {}
    for place, value, _ in choose_text_settings(AutoconfigInputs(profile, 10.0, 1e11, ("a", "b"), has_validation=True)):
        section, _, setting = place.partition(".")
        part = node.setdefault(section, {})
        assert isinstance(part, dict)
        part[setting] = value
    return node


def test_multi30k_recipe_supports_ctranslate2() -> None:
    assert ctranslate2_problems(RECIPES_FOLDER / "multi30k-en-de.yaml") == []


def ctranslate2_problems(recipe: dict[str, PlainData] | Path) -> list[str]:
    model = model_folder_of(recipe)
    return unsupported_by_ctranslate2(model) + ctranslate2_differences(model.config["translate"])


def model_folder_of(recipe: dict[str, PlainData] | Path) -> ModelFolder:
    tokenizer = CharacterTokenizerTrainer().train(["ab"])
    return ModelFolder(Path(), to_dict(load_recipe(recipe), REGISTRY), tokenizer, tokenizer)
