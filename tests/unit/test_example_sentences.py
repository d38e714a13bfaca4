"""Sentences to try a model with."""

import json
from pathlib import Path

import pytest

from weft.serve.example_sentences import MAX_LENGTH, SENTENCES, example_sentences, validation_sentences
from weft.text.sentences import LANGUAGE_CODE


def write_metrics(folder: Path, sources: object) -> Path:
    (folder / "metrics.json").write_text(json.dumps({"validation": {"examples": sources}}), "utf-8")
    return folder


def test_validation_sentences_are_short_and_different(tmp_path: Path) -> None:
    sources = [{"source": text} for text in ("a cat", "a dog sees", "a cat", " ", "a" * (MAX_LENGTH + 1))]
    assert validation_sentences(write_metrics(tmp_path, sources)) == ("a dog sees", "a cat")


@pytest.mark.parametrize(
    "content", ["[]", "{", '{"validation": 3}', '{"validation": {"examples": [1, {"source": 2}]}}']
)
def test_folder_without_validation_sentences_has_none(tmp_path: Path, content: str) -> None:
    assert validation_sentences(tmp_path) == ()
    (tmp_path / "metrics.json").write_text(content, "utf-8")
    assert validation_sentences(tmp_path) == ()


def test_languages_have_examples() -> None:
    assert example_sentences("en-GB") == example_sentences("en") == (SENTENCES["en"],)
    assert example_sentences("zh_Hant") == (SENTENCES["zh"],)
    assert example_sentences("xx") == ()
    assert all(LANGUAGE_CODE.fullmatch(code) and len(text) <= MAX_LENGTH for code, text in SENTENCES.items())
