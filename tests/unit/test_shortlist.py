"""Shortlists: what is in them, how they are kept, and that outputs are made of them whatever the batch."""

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch

from unit.models import BAHDANAU, CTC, FAMILIES, LANGUAGE, TRANSFORMER, saved, untrained
from weft.checkpoints.manifest import check_manifest
from weft.checkpoints.model_extras import load_shortlist, save_shortlist
from weft.checkpoints.model_folder import SHORTLIST_FILE
from weft.core.codec import BOS, EOS, PAD
from weft.core.errors import UserError
from weft.decoding.constraints.request import Request
from weft.inference import shortlist_training
from weft.inference.backends import Backend, BackendOptions, select_backend
from weft.inference.ensemble import EnsembleOptions
from weft.inference.export.ctranslate2_vocabulary import token_names
from weft.inference.loader import load_translator
from weft.inference.shortlist_training import train_shortlist
from weft.inference.translator import Translator
from weft.text.ibm1 import TranslationTable
from weft.text.lexical_shortlist import Shortlist, ShortlistSize, build_shortlist
from weft.text.tokenizer_training import BPETokenizerTrainer, CharacterTokenizerTrainer

UNKNOWN, A, B, C, D, E = range(3, 9)  # of the letters' tokenizer
PAIRS = [("ab", "de"), ("a", "d"), ("b", "e"), ("bab", "ede"), ("c", "c")]


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "train.en", tmp_path / "train.de"]
    for side, path in enumerate(paths):
        path.write_text("".join(f"{pair[side]}\n" for pair in [*PAIRS * 5, ("a", "")]), "utf-8")
    return paths


def folder_of(folder: Path, model: dict[str, Any] = TRANSFORMER, **translate: Any) -> Path:
    """Of a model with opinions, but none for marks, as after training."""
    trained = untrained(model, translate=translate)
    with torch.no_grad():
        for weight in trained.model.parameters():
            weight.mul_(0.7)
        if trained.model.has_decoder and trained.model.head.bias is not None:
            trained.model.head.bias[[PAD, BOS, UNKNOWN]] = -30.0
    return saved(folder / "model", trained)


def few() -> Shortlist:
    """Of a the letter b, of b the letter c, of c nothing but what all have: d."""
    starts = np.array([0] * (A + 1) + [1] + [2] * (E - B + 1))
    return Shortlist(np.array([BOS, EOS, UNKNOWN, D], np.int32), starts, np.array([B, C], np.int32))


def lines(count: int) -> list[str]:
    draws = Random(4)
    return ["".join(draws.choices("abc", k=draws.randint(1, 9))) for _ in range(count)]


def test_what_is_in_a_list() -> None:
    letters = CharacterTokenizerTrainer().train(["abcde"])
    assert letters.raw_tokens()[-5:] == list("abcde")
    a, b, c, d, e = range(letters.size - 5, letters.size)
    lexicon = TranslationTable(np.array([a, a, a, b]), np.array([c, d, e, e]), np.array([0.2, 0.5, 0.3, 1.0]))
    used = np.bincount([c, c, d, e, e, e], minlength=letters.size)
    found = build_shortlist(lexicon, used, letters, letters, ShortlistSize(best=2, frequent=1))
    marks = {BOS, EOS, PAD if letters.unknown_id is None else letters.unknown_id}
    assert set(found.always.tolist()) == marks | {e}
    assert found.for_token(a).tolist() == [a, d, e]  # itself, and the two likeliest
    assert found.for_row([b]).tolist() == sorted(marks | {b, e})
    assert found.for_row([a, b]).tolist() == sorted(marks | {a, b, d, e})
    assert found.covers([a, b], [d, b, EOS, e])
    assert not found.covers([b], [d])


def test_a_model_learns_and_keeps_one(tmp_path: Path, files: list[Path]) -> None:
    folder = folder_of(tmp_path)
    learned = train_shortlist(folder, files, ShortlistSize(best=1, frequent=0), 100)
    assert "learned from 25 pairs" in str(learned)
    check_manifest(folder)
    kept = load_shortlist(folder)
    target = load_translator(folder).trained.target_tokenizer
    (row,) = target.encode(["abc"])
    assert set("".join(target.decode([[piece] for piece in kept.for_row(row)]))) >= set("abcde")
    assert not kept.covers(row[2:], target.encode(["d"])[0])  # c becomes c alone
    again = train_shortlist(folder, files, ShortlistSize(best=2, frequent=3), 5)
    assert again.pairs == 5
    assert load_shortlist(folder).listed.tolist() == again.shortlist.listed.tolist()


def test_what_training_leaves_out_as_too_long_is_left_out(tmp_path: Path, files: list[Path]) -> None:
    folder = folder_of(tmp_path)
    limit = load_translator(folder).trained.recipe.data.max_length
    for path, line in zip(files, ("a" * limit, "e" * limit), strict=True):
        path.write_text(f"{line}\n{line}{line[0]}\n{line}\n", "utf-8")
    assert train_shortlist(folder, files, ShortlistSize(best=1, frequent=0), 100).pairs == 2
    for path in files:
        path.write_text("a" * (limit + 1) + "\n", "utf-8")
    with pytest.raises(UserError, match=f"at most {limit} .*nothing to learn"):
        train_shortlist(folder, files, ShortlistSize(best=1, frequent=0), 100)


def test_portions_change_nothing(tmp_path: Path, files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_of(tmp_path)
    for path, lines in zip(files, (["a", "c", "abc", "b"], ["d", "c", "dec", "e"]), strict=True):
        path.write_text("\n".join(lines), "utf-8")
    whole = train_shortlist(folder, files, ShortlistSize(best=1, frequent=0), 100)
    monkeypatch.setattr(shortlist_training, "LINES_PER_CALL", 3)
    monkeypatch.setattr(shortlist_training, "LINKS_PER_PORTION", 1)
    parted = train_shortlist(folder, files, ShortlistSize(best=1, frequent=0), 100)
    assert parted.shortlist.listed.tolist() == whole.shortlist.listed.tolist()
    assert parted[1:] == whole[1:]
    monkeypatch.setattr(shortlist_training, "SAMPLED_LINES", 2)
    rows = load_translator(folder).trained.target_tokenizer.encode(["a", "abc"])  # the first, and the third of four
    sizes = [len(whole.shortlist.for_row(row)) for row in rows]
    assert train_shortlist(folder, files, ShortlistSize(best=1, frequent=0), 100).mean_size == np.mean(sizes)


@pytest.mark.parametrize("family", ["transformer", "bahdanau"])
@pytest.mark.parametrize("beam", [1, 3])
def test_outputs_are_made_of_the_lists_whatever_the_batch(family: str, beam: int, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, FAMILIES[family])
    save_shortlist(folder, few())
    torchs = load_translator(folder, beam=beam, shortlist=True)
    asked = lines(40)
    together = torchs.translate(asked)
    alone = [torchs.translate([line])[0] for line in asked]
    assert [one.text for one in together] == [one.text for one in alone]
    assert [one.score for one in together] == pytest.approx([one.score for one in alone], abs=1e-4)
    shown = {"a": "b", "b": "c", "c": ""}
    for line, one in zip(asked, together, strict=True):
        assert set(one.text) <= {"d", *"".join(shown[letter] for letter in line)}
    assert [one.text for one in load_translator(folder, beam=beam).translate(asked)] != [one.text for one in together]


def test_a_list_of_all_changes_nothing(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    everything = np.arange(load_translator(folder).trained.target_tokenizer.size, dtype=np.int32)
    save_shortlist(folder, Shortlist(everything, np.zeros(10, np.int64), everything[:0]))
    with_it, without = (load_translator(folder, shortlist=given).translate(lines(20)) for given in (True, False))
    assert [one.text for one in with_it] == [one.text for one in without]
    assert [one.score for one in with_it] == pytest.approx([one.score for one in without], abs=1e-4)


def test_what_a_line_asks_for_needs_no_list(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    save_shortlist(folder, few())
    one, _ = load_translator(folder, beam=3, shortlist=True).translate([Request("c", include=(("ae",),)), "c"])
    assert "ae" in one.text


@pytest.mark.parametrize("beam", [1, 3])
def test_both_engines_say_the_same(beam: int, tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    save_shortlist(folder, few())
    torchs = load_translator(folder, beam=beam, shortlist=True)
    wish = BackendOptions("ctranslate2", None, beam, (), shortlist=True)
    asked = ["", *lines(60)]
    chosen = select_backend(folder, wish, lambda: torchs)
    assert "with a shortlist" in chosen.reason
    ours, theirs = torchs.translate(asked), list(chosen.backend.stream(asked))
    assert [one.text for one in theirs] == [one.text for one in ours]
    assert len({one.text for one in ours}) > 4


def test_a_recipe_may_ask_for_it(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, shortlist=True)
    save_shortlist(folder, few())

    def load() -> Backend:
        return load_translator(folder, beam=1)

    asked = lines(10)
    texts = [
        [one.text for one in select_backend(folder, BackendOptions(name, None, 1, ()), load).backend.stream(asked)]
        for name in NAMES
    ]
    assert texts[0] == texts[1]
    assert set("".join(texts[0])) <= set("bcd")


NAMES: tuple[Any, ...] = ("torch", "ctranslate2")


def test_names_have_no_white_space_and_differ() -> None:
    for learner, texts in (
        (CharacterTokenizerTrainer(), ["a b▁c\td"]),
        (BPETokenizerTrainer(vocab_size=300, min_frequency=1), ["a ▁ab ab\tx <pad>"]),
    ):
        names = token_names(learner.train(texts))
        assert len(set(names)) == len(names)
        assert [name for name in names if not name or any(letter.isspace() for letter in name)] == []


def test_mistakes(tmp_path: Path, files: list[Path]) -> None:
    folder = folder_of(tmp_path)
    with pytest.raises(UserError, match=r"has no shortlist.*weft shortlist"):
        load_translator(folder, shortlist=True)
    with pytest.raises(UserError, match=r"has no shortlist.*weft shortlist"):
        select_backend(folder, BackendOptions("auto", None, None, (), shortlist=True), lambda: load_translator(folder))
    save_shortlist(folder, few())
    with pytest.raises(UserError, match="a shortlist cannot be combined with an ensemble"):
        load_translator(folder, shortlist=True, ensemble=EnsembleOptions((folder,)))
    for kind, model, words in (("read", LANGUAGE, "reads no text"), ("frames", CTC, "has no decoder")):
        (tmp_path / kind).mkdir()
        with pytest.raises(UserError, match=words):
            train_shortlist(folder_of(tmp_path / kind, model), files, ShortlistSize(1, 1), 9)
    files[1].write_text("\n" * 26, "utf-8")
    with pytest.raises(UserError, match="nothing to learn"):
        train_shortlist(folder, files, ShortlistSize(1, 1), 9)
    for content in (b"", b"not one"):
        (folder / SHORTLIST_FILE).write_bytes(content)
        with pytest.raises(UserError, match=r"is not a readable safetensors file.*copy"):
            load_shortlist(folder)


def test_a_recurrent_model_has_one_too(tmp_path: Path, files: list[Path]) -> None:
    folder = folder_of(tmp_path, BAHDANAU)
    train_shortlist(folder, files, ShortlistSize(best=1, frequent=0), 100)
    translator = load_translator(folder, shortlist=True)
    assert isinstance(translator, Translator)
    assert translator.shortlist is not None
    assert len(translator.translate(["ab"])) == 1
