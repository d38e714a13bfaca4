"""The spelling benchmark: held-out test words, scores and the table."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import spelling
from benchmarks.spelling import Case, Made, Removed
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


@pytest.mark.parametrize(("text", "message"), [("receipt receit\n", r"line 1: .* got no colon"), ("\n", "no miss")])
def test_invalid_test_set_is_reported(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "set.txt").write_text(text, "utf-8")
    with pytest.raises(UserError, match=message):
        spelling.read_testset(tmp_path / "set.txt")


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
    spelling.write_data(data, corpus, held_out, Made(words=3, errors=1.0))
    train = list(Corpus([data / "train.tsv"]).pairs())
    assert train[:3] == [("teh", "the"), ("reciept", "receipt"), ("beleive", "believe")]
    assert not held_out & {wrong.casefold() for wrong, _ in train}
    assert list(Corpus([data / "valid.tsv"]).pairs()) == [("recept", "receipt")]
    removed = Removed(**json.loads((data / "removed.json").read_text("utf-8")))
    assert removed.of_list == 1
    assert removed.of_noise == 1114 + 121 + 29 - (len(train) - 3) > 0
    leaked = [wrong for wrong, _ in train].count("reciept")
    spelling.check_no_leak(data / "train.tsv", held_out, tmp_path / "set.txt")
    with pytest.raises(UserError, match=rf"holds {leaked} pairs whose misspelling .* asks for"):
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
    assert names == ["letters", "letters, held to a list of words, beam 20", "words"]
    assert loaded_overrides == [(), [f"translate.word_list={words}"], ()]


def test_table() -> None:
    rows = {"letters": {"Norvig": Proportion(81, 263), "more": Proportion(1, 2)}}
    shown = spelling.render(rows, {"Norvig": [Case("a", ("b",))] * 263, "more": []}).split("\n")
    assert shown[0] == "| model | Norvig, 263 misspellings | more, 0 misspellings |"
    assert shown[2] == "| Norvig 2007, as published | 75 % |  |"
    assert shown[3].startswith("| letters | 30.8 % (25.5 to 36.6) | 50.0 % ")
    assert spelling.as_json(rows, Removed(1, 2))["removed"] == {"of_list": 1, "of_noise": 2}
