"""The spelling benchmark: no test word is in the training data, and any correct word counts."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import spelling
from benchmarks.spelling import Case, ExcludedPairs, GenerationSettings
from benchmarks.summary_statistics import Proportion

import weft
from unit.translators import untrained_translator
from weft.core.errors import UserError
from weft.data.corpus import Corpus
from weft.data.datasets.catalog import CODESPELL
from weft.data.datasets.download import DatasetFolder
from weft.inference.translation import EMPTY_OUTPUT, Translation
from weft.inference.translator import Translator
from weft.text.tokenizer_training import CharacterTokenizerTrainer

FREQUENT = ["the 23135851162", "receipt 2500000", "believe 90000000", "quay 1200"]


@pytest.fixture
def corpus(tmp_path: Path) -> DatasetFolder:
    folder = tmp_path / "codespell"
    folder.mkdir()
    files = {
        "train": "teh\tthe\nreciept\treceipt\nbeleive\tbelieve\nHte\tthe\n",
        "valid": "recept\treceipt\nhte\tthe\n",
        "test": "beleve\tbelieve\n",
    }
    for name, text in files.items():
        (folder / f"{name}.tsv").write_text(text, "utf-8")
    return DatasetFolder(replace(CODESPELL, name="small"), folder)


def test_every_misspelling_is_one_case(tmp_path: Path) -> None:
    (tmp_path / "set.txt").write_text("receipt: receit reciet\n\nthere: ther ther\n", "utf-8")
    cases = [Case("receit", ("receipt",)), Case("reciet", ("receipt",)), *[Case("ther", ("there",))] * 2]
    assert spelling.read_testset(tmp_path / "set.txt") == cases
    (tmp_path / "test.tsv").write_text("receit\treceipt\nther\tthere\ttheir\n", "utf-8")
    assert spelling.read_held_out_list(tmp_path / "test.tsv") == [cases[0], Case("ther", ("there", "their"))]


def test_frequent_words_are_misspelled_more_often() -> None:
    frequencies = spelling.read_frequencies(FREQUENT)
    copies = {word.text: word.copies for word in spelling.words_to_learn(frequencies, {"quay", "rare"}, 2)}
    assert copies == {"the": 1114, "believe": 121, "quay": 8, "rare": 8}


def test_test_words_are_removed_from_training_data(
    corpus: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spelling, "download_lines", lambda wheel: iter(FREQUENT))
    held_out = {"hte", "beleve", "te"}
    data = tmp_path / "data"
    spelling.write_data(data, corpus, held_out, GenerationSettings(words=3, errors=1.0))
    train = list(Corpus([data / "train.tsv"]).pairs())
    assert train[:3] == [("teh", "the"), ("reciept", "receipt"), ("beleive", "believe")]
    assert not held_out & {wrong.casefold() for wrong, _ in train}
    assert list(Corpus([data / "valid.tsv"]).pairs()) == [("recept", "receipt")]
    excluded = ExcludedPairs(**json.loads((data / "excluded.json").read_text("utf-8")))
    assert excluded.of_list == 1
    assert excluded.of_noise == 1114 + 121 + 29 - (len(train) - 3) > 0
    leaked = [wrong for wrong, _ in train].count("reciept")
    spelling.check_no_leak(data / "train.tsv", held_out, tmp_path / "set.txt")
    with pytest.raises(UserError, match=rf"{leaked} misspellings are in "):
        spelling.check_no_leak(data / "train.tsv", {"reciept"}, tmp_path / "set.txt")


def test_any_correct_word_is_accepted() -> None:
    cases = [Case("a", ("b", "c")), Case("d", ("e",))]
    outputs = [
        Translation(wrong, (EMPTY_OUTPUT._replace(text=text),)) for (wrong, _), text in zip(cases, "cd", strict=True)
    ]
    assert spelling.count_right(cases, outputs) == Proportion(1, 2)


def test_character_model_is_also_scored_with_a_word_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subword_model = untrained_translator("transformer")
    words = tmp_path / "words.txt"
    words.write_text("cat\n", "utf-8")
    letters = CharacterTokenizerTrainer().train(["the cat"])
    character_model = replace(subword_model, trained=subword_model.trained._replace(target_tokenizer=letters))
    loaded_overrides: list[Sequence[str]] = []

    def load(run: Path, *, beam: int | None = None, overrides: Sequence[str] = ()) -> Translator:
        loaded_overrides.append(overrides)
        return character_model if run.name == "letters" else subword_model

    monkeypatch.setattr(spelling, "count_all", lambda translator, tests: {})
    monkeypatch.setattr(weft, "load", load)
    names = [name for run in ("letters", "words") for name, _ in spelling.score(Path(run), {}, words)]
    assert names == ["letters", "letters, word list, beam 20", "words"]
    assert loaded_overrides == [(), [f"translate.word_list={words}"], ()]
