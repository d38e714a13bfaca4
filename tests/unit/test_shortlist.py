"""Lexical shortlists: contents, training, storage, and decoding with them."""

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch

from unit.models import BAHDANAU, CTC, FAMILIES, LANGUAGE, TRANSFORMER, save_model_folder, untrained_model
from weft.checkpoints.manifest import check_manifest
from weft.checkpoints.model_folder import SHORTLIST_FILE, load_shortlist, save_shortlist
from weft.core.errors import UserError
from weft.core.special_tokens import BOS, EOS, PAD
from weft.decoding.constraints.request import Request
from weft.inference import shortlist_training
from weft.inference.backends import Backend, BackendOptions, select_backend
from weft.inference.ensemble import EnsembleOptions
from weft.inference.export.ctranslate2_converter import token_names
from weft.inference.loader import load_translator
from weft.inference.shortlist_training import train_shortlist
from weft.inference.translator import Translator
from weft.text.ibm1 import TranslationTable
from weft.text.lexical_shortlist import Shortlist, ShortlistSize, build_shortlist
from weft.text.tokenizer_training import BPETokenizerTrainer, CharacterTokenizerTrainer

UNK, A, B, C, D, E = range(3, 9)  # token ids of the character tokenizer
PAIRS = [("ab", "de"), ("a", "d"), ("b", "e"), ("bab", "ede"), ("c", "c")]


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "train.en", tmp_path / "train.de"]
    for side, path in enumerate(paths):
        path.write_text("".join(f"{pair[side]}\n" for pair in [*PAIRS * 5, ("a", "")]), "utf-8")
    return paths


def model_folder(folder: Path, model: dict[str, Any] = TRANSFORMER, **translate: Any) -> Path:
    """Save an untrained model that never predicts special tokens, as if trained."""
    trained = untrained_model(model, translate=translate)
    with torch.no_grad():
        for weight in trained.model.parameters():
            weight.mul_(0.7)
        if trained.model.has_decoder and trained.model.head.bias is not None:
            trained.model.head.bias[[PAD, BOS, UNK]] = -30.0
    return save_model_folder(folder / "model", trained)


def small_shortlist() -> Shortlist:
    """Return a shortlist of b for a, c for b, nothing for c, and d for every token."""
    starts = np.array([0] * (A + 1) + [1] + [2] * (E - B + 1))
    return Shortlist(np.array([BOS, EOS, UNK, D], np.int32), starts, np.array([B, C], np.int32))


def random_lines(count: int) -> list[str]:
    draws = Random(4)
    return ["".join(draws.choices("abc", k=draws.randint(1, 9))) for _ in range(count)]


def test_shortlist_contents() -> None:
    letters = CharacterTokenizerTrainer().train(["abcde"])
    assert letters.raw_tokens()[-5:] == list("abcde")
    a, b, c, d, e = range(letters.size - 5, letters.size)
    lexicon = TranslationTable(np.array([a, a, a, b]), np.array([c, d, e, e]), np.array([0.2, 0.5, 0.3, 1.0]))
    used = np.bincount([c, c, d, e, e, e], minlength=letters.size)
    found = build_shortlist(lexicon, used, letters, letters, ShortlistSize(best=2, frequent=1))
    special_tokens = {BOS, EOS, PAD if letters.unknown_id is None else letters.unknown_id}
    assert set(found.always.tolist()) == special_tokens | {e}
    assert found.for_token(a).tolist() == [a, d, e]  # itself and the two most probable
    assert found.for_row([b]).tolist() == sorted(special_tokens | {b, e})
    assert found.for_row([a, b]).tolist() == sorted(special_tokens | {a, b, d, e})
    assert found.covers([a, b], [d, b, EOS, e])
    assert not found.covers([b], [d])


def test_shortlist_is_trained_and_saved_with_the_model(tmp_path: Path, files: list[Path]) -> None:
    folder = model_folder(tmp_path)
    learned = train_shortlist(folder, files, ShortlistSize(best=1, frequent=0), 100)
    assert "learned from 25 pairs" in str(learned)
    check_manifest(folder)
    shortlist = load_shortlist(folder)
    target = load_translator(folder).trained.target_tokenizer
    (row,) = target.encode(["abc"])
    assert set("".join(target.decode([[piece] for piece in shortlist.for_row(row)]))) >= set("abcde")
    assert not shortlist.covers(row[2:], target.encode(["d"])[0])  # c is translated only as c
    again = train_shortlist(folder, files, ShortlistSize(best=2, frequent=3), 5)
    assert again.pairs == 5
    assert load_shortlist(folder).listed.tolist() == again.shortlist.listed.tolist()


def test_pairs_longer_than_max_length_are_skipped(tmp_path: Path, files: list[Path]) -> None:
    folder = model_folder(tmp_path)
    limit = load_translator(folder).trained.recipe.data.max_length
    for path, line in zip(files, ("a" * limit, "e" * limit), strict=True):
        path.write_text(f"{line}\n{line}{line[0]}\n{line}\n", "utf-8")
    assert train_shortlist(folder, files, ShortlistSize(best=1, frequent=0), 100).pairs == 2
    for path in files:
        path.write_text("a" * (limit + 1) + "\n", "utf-8")
    with pytest.raises(UserError, match=f"at most {limit} .*nothing to learn"):
        train_shortlist(folder, files, ShortlistSize(best=1, frequent=0), 100)


def test_result_does_not_depend_on_portion_size(
    tmp_path: Path, files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = model_folder(tmp_path)
    for path, texts in zip(files, (["a", "c", "abc", "b"], ["d", "c", "dec", "e"]), strict=True):
        path.write_text("\n".join(texts), "utf-8")
    whole = train_shortlist(folder, files, ShortlistSize(best=1, frequent=0), 100)
    monkeypatch.setattr(shortlist_training, "LINES_PER_CALL", 3)
    monkeypatch.setattr(shortlist_training, "LINKS_PER_PORTION", 1)
    portioned = train_shortlist(folder, files, ShortlistSize(best=1, frequent=0), 100)
    assert portioned.shortlist.listed.tolist() == whole.shortlist.listed.tolist()
    assert portioned[1:] == whole[1:]
    monkeypatch.setattr(shortlist_training, "SAMPLED_LINES", 2)
    rows = load_translator(folder).trained.target_tokenizer.encode(["a", "abc"])  # the first and third line of four
    sizes = [len(whole.shortlist.for_row(row)) for row in rows]
    assert train_shortlist(folder, files, ShortlistSize(best=1, frequent=0), 100).mean_size == np.mean(sizes)


@pytest.mark.parametrize("family", ["transformer", "bahdanau"])
@pytest.mark.parametrize("beam", [1, 3])
def test_outputs_use_only_shortlisted_tokens_in_any_batch(family: str, beam: int, tmp_path: Path) -> None:
    folder = model_folder(tmp_path, FAMILIES[family])
    save_shortlist(folder, small_shortlist())
    translator = load_translator(folder, beam=beam, shortlist=True)
    sources = random_lines(40)
    together = translator.translate(sources)
    alone = [translator.translate([line])[0] for line in sources]
    assert [output.text for output in together] == [output.text for output in alone]
    assert [output.score for output in together] == pytest.approx([output.score for output in alone], abs=1e-4)
    translations_of = {"a": "b", "b": "c", "c": ""}
    for line, output in zip(sources, together, strict=True):
        assert set(output.text) <= {"d", *"".join(translations_of[letter] for letter in line)}
    assert [output.text for output in load_translator(folder, beam=beam).translate(sources)] != [
        output.text for output in together
    ]


def test_shortlist_of_the_whole_vocabulary_changes_nothing(tmp_path: Path) -> None:
    folder = model_folder(tmp_path)
    everything = np.arange(load_translator(folder).trained.target_tokenizer.size, dtype=np.int32)
    save_shortlist(folder, Shortlist(everything, np.zeros(10, np.int64), everything[:0]))
    with_it, without = (
        load_translator(folder, shortlist=enabled).translate(random_lines(20)) for enabled in (True, False)
    )
    assert [output.text for output in with_it] == [output.text for output in without]
    assert [output.score for output in with_it] == pytest.approx([output.score for output in without], abs=1e-4)


def test_required_phrases_need_not_be_in_the_shortlist(tmp_path: Path) -> None:
    folder = model_folder(tmp_path)
    save_shortlist(folder, small_shortlist())
    constrained, _ = load_translator(folder, beam=3, shortlist=True).translate([Request("c", include=(("ae",),)), "c"])
    assert "ae" in constrained.text


@pytest.mark.parametrize("beam", [1, 3])
def test_both_backends_produce_the_same_outputs(beam: int, tmp_path: Path) -> None:
    folder = model_folder(tmp_path)
    save_shortlist(folder, small_shortlist())
    translator = load_translator(folder, beam=beam, shortlist=True)
    options = BackendOptions("ctranslate2", None, beam, (), shortlist=True)
    sources = ["", *random_lines(60)]
    chosen = select_backend(folder, options, lambda: translator)
    assert "with a shortlist" in chosen.reason
    torch_outputs, ctranslate2_outputs = translator.translate(sources), list(chosen.backend.stream(sources))
    assert [output.text for output in ctranslate2_outputs] == [output.text for output in torch_outputs]
    assert len({output.text for output in torch_outputs}) > 4


def test_shortlist_is_enabled_by_the_recipe(tmp_path: Path) -> None:
    folder = model_folder(tmp_path, shortlist=True)
    save_shortlist(folder, small_shortlist())

    def load() -> Backend:
        return load_translator(folder, beam=1)

    sources = random_lines(10)
    texts = [
        [
            output.text
            for output in select_backend(folder, BackendOptions(name, None, 1, ()), load).backend.stream(sources)
        ]
        for name in BACKENDS
    ]
    assert texts[0] == texts[1]
    assert set("".join(texts[0])) <= set("bcd")


BACKENDS: tuple[Any, ...] = ("torch", "ctranslate2")


def test_token_names_are_distinct_and_without_whitespace() -> None:
    for trainer, texts in (
        (CharacterTokenizerTrainer(), ["a b▁c\td"]),
        (BPETokenizerTrainer(vocab_size=300, min_frequency=1), ["a ▁ab ab\tx <pad>"]),
    ):
        names = token_names(trainer.train(texts))
        assert len(set(names)) == len(names)
        assert [name for name in names if not name or any(letter.isspace() for letter in name)] == []


def test_invalid_use_is_reported(tmp_path: Path, files: list[Path]) -> None:
    folder = model_folder(tmp_path)
    with pytest.raises(UserError, match=r"has no shortlist.*weft shortlist"):
        load_translator(folder, shortlist=True)
    with pytest.raises(UserError, match=r"has no shortlist.*weft shortlist"):
        select_backend(folder, BackendOptions("auto", None, None, (), shortlist=True), lambda: load_translator(folder))
    save_shortlist(folder, small_shortlist())
    with pytest.raises(UserError, match="a shortlist cannot be combined with an ensemble"):
        load_translator(folder, shortlist=True, ensemble=EnsembleOptions((folder,)))
    for kind, model, message in (("read", LANGUAGE, "reads no text"), ("frames", CTC, "has no decoder")):
        (tmp_path / kind).mkdir()
        with pytest.raises(UserError, match=message):
            train_shortlist(model_folder(tmp_path / kind, model), files, ShortlistSize(1, 1), 9)
    files[1].write_text("\n" * 26, "utf-8")
    with pytest.raises(UserError, match="nothing to learn"):
        train_shortlist(folder, files, ShortlistSize(1, 1), 9)
    for content in (b"", b"not one"):
        (folder / SHORTLIST_FILE).write_bytes(content)
        with pytest.raises(UserError, match=r"is not a readable safetensors file.*copy"):
            load_shortlist(folder)


def test_shortlist_of_a_recurrent_model(tmp_path: Path, files: list[Path]) -> None:
    folder = model_folder(tmp_path, BAHDANAU)
    train_shortlist(folder, files, ShortlistSize(best=1, frequent=0), 100)
    translator = load_translator(folder, shortlist=True)
    assert isinstance(translator, Translator)
    assert translator.shortlist is not None
    assert len(translator.translate(["ab"])) == 1
