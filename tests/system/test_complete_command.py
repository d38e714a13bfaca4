"""`weft complete` and `weft evaluate` with language models."""

import json
from pathlib import Path

import pytest

from system import toys
from system.commands import Result, weft
from weft import load_language_model
from weft.models.interfaces import NoEncoder

WORDS = {*toys.ARTICLES, *toys.ADJECTIVES, *toys.NOUNS, *toys.VERBS}


def output_lines(result: Result) -> list[str]:
    assert (result.code, result.err) == (0, "")
    return result.lines


def test_completions_follow_the_toy_grammar(language_model: Path) -> None:
    completed = output_lines(weft("complete", language_model, "the", "red", "--samples", "20"))
    assert len(completed) == 20
    assert all(line.startswith("the red ") for line in completed)
    assert {word for line in completed for word in line.split()} <= WORDS
    third_words = [line.split()[2] for line in completed]
    assert sum(word in toys.NOUNS for word in third_words) >= 12
    assert len(set(completed)) > 10


def test_seed_determines_samples(language_model: Path) -> None:
    def samples(*options: str) -> list[str]:
        return output_lines(weft("complete", language_model, *options, stdin=b"the\n\na wet\n"))

    default = samples()
    assert len(default) == 3
    assert default == samples("--seed", "1", "--temperature", "1")
    assert default != samples("--seed", "2")
    assert samples("--samples", "2")[::2] == default
    assert output_lines(weft("complete", language_model, "the")) == default[:1]
    assert samples("--temperature", "0.0001") == samples("--temperature", "0.0001", "--seed", "2")


def test_python_and_command_agree(language_model: Path) -> None:
    from_python = load_language_model(language_model, samples=2, temperature=0.8, seed=5).complete("the")
    assert from_python == output_lines(
        weft("complete", language_model, "the", "--samples", "2", "--temperature", "0.8", "--seed", "5")
    )


def test_beam_search_finds_probable_lines(language_model: Path, tmp_path: Path) -> None:
    best = output_lines(weft("complete", language_model, "the cat", "--beam-search", "--samples", "3"))
    assert len(set(best)) == 3
    assert all(line.startswith("the cat") for line in best)
    assert perplexity(language_model, best[:1], tmp_path) < perplexity(language_model, ["cat the"], tmp_path)


def test_empty_prompt_is_completed(language_model: Path) -> None:
    (line,) = output_lines(weft("complete", language_model, ""))
    assert line.split()[0] in WORDS


def perplexity(model: Path, text: list[str], folder: Path) -> float:
    (folder / "text.txt").write_text("".join(line + "\n" for line in text), "utf-8")
    scores = json.loads("\n".join(output_lines(weft("evaluate", model, folder / "text.txt", "--json"))))
    assert [score["name"] for score in scores] == ["perplexity per token", "perplexity per word", "bits per character"]
    return float(scores[0]["value"])


def test_perplexity_equals_validation_perplexity(language_model: Path, corpus: Path, tmp_path: Path) -> None:
    text = (corpus / "valid.src").read_text("utf-8").split("\n")[:-1]
    value = perplexity(language_model, text, tmp_path)
    metrics = json.loads((language_model / "best" / "metrics.json").read_text("utf-8"))
    assert value == pytest.approx(metrics["validation"]["perplexity"], rel=1e-4)
    assert value < 6 < perplexity(language_model, [" ".join(reversed(line.split())) for line in text], tmp_path)


def test_language_model_is_shown_and_resumed(language_model: Path, corpus: Path, tmp_path: Path) -> None:
    shown = output_lines(weft("show", language_model))
    assert any(line.split()[:2] == ["encoder", NoEncoder.__name__] for line in shown)
    node = toys.language_recipe(corpus, "lstm")
    node["text"] = {"source": {"type": "bpe", "vocab_size": 90, "byte_fallback": False, "dropout": 0.1}}
    node["train"]["steps"] = 8
    recipe = toys.write_recipe(tmp_path / "lstm.yaml", node)
    trained = weft("train", recipe, "--out", tmp_path / "run")
    assert trained.code == 0, trained.err
    assert "lines kept" in trained.err
    resumed = weft("train", "--resume", tmp_path / "run")
    assert resumed.code == 0, resumed.err
    assert len(output_lines(weft("complete", tmp_path / "run", "the r"))) == 1
