"""Decoders without a source: their weights, what they refuse, their completions and the perplexity they give."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from weft.checkpoints.trained_model import TrainedModel
from weft.config.recipe import load_recipe
from weft.core.codec import EOS
from weft.core.errors import ConfigError, UserError
from weft.core.padded import Padded
from weft.data.batches import Batch
from weft.decoding.forced_decoding import forced_scores
from weft.decoding.greedy import GreedySearch
from weft.inference.language_model import Completer, beam_completer, evaluate_perplexity, sampling_completer
from weft.inference.translator import Translator
from weft.losses.cross_entropy import cross_entropy
from weft.models.build import build_model
from weft.models.model import count_parameters
from weft.text.tokenizer_training import CharacterTokenizerTrainer
from weft.training.recipe_checks import check_recipe
from weft.visualize.gate_activations import gate_activations
from weft.visualize.gradient_flow import gradient_flows

TRANSFORMER: dict[str, Any] = {
    "source": "none",
    "encoder": "none",
    "target": {"dim": 8, "positions": "sinusoidal"},
    "decoder": {"type": "transformer", "layers": 2, "heads": 2, "ffn_dim": 12},
    "tie": "output",
}
LSTM: dict[str, Any] = TRANSFORMER | {"decoder": {"type": "sutskever", "cell": {"dim": 8}, "bridge": "zeros"}}
VALIDATION = {"lines": 0, "metrics": [], "best_metric": "perplexity"}


def recipe(model: dict[str, Any], **data: Any) -> dict[str, Any]:
    return {
        "data": {"train": ["text.txt"], "monolingual": True, "max_length": 12, **data},
        "model": model,
        "train": {"validation": VALIDATION},
    }


def trained(model: dict[str, Any] = TRANSFORMER, **data: Any) -> TrainedModel:
    """A language model of the letters a to e that has learned nothing yet."""
    settings = load_recipe(recipe(model, **data))
    tokenizer = CharacterTokenizerTrainer().train(["a b c d e"])
    torch.manual_seed(5)
    made = build_model(settings.model, tokenizer.vocabulary(), tokenizer.vocabulary(), joint=True).eval()
    return TrainedModel(made, tokenizer, tokenizer, settings, {})


def batch(source: list[list[int]], target: list[list[int]]) -> Batch:
    return Batch(Padded.from_rows(source), Padded.from_rows(target), tuple(range(len(source))))


@pytest.mark.parametrize("model", [TRANSFORMER, LSTM], ids=["transformer", "lstm"])
def test_every_weight_is_used(model: dict[str, Any]) -> None:
    made = trained(model).model
    pairs = batch([[EOS], [EOS]], [[3, 4, 5, EOS], [6, EOS]])
    torch.autograd.backward(cross_entropy(made.head, made.features(pairs).hidden, pairs.target).total)
    used = sum(weight.numel() for weight in made.parameters() if weight.grad is not None)
    assert used == count_parameters(made) > 0
    assert made.is_language_model


@pytest.mark.parametrize("model", [TRANSFORMER, LSTM], ids=["transformer", "lstm"])
def test_the_source_changes_nothing(model: dict[str, Any]) -> None:
    made, target = trained(model).model, [[3, 4, 5, EOS]]
    output = made.features(batch([[5, 4, 3, EOS]], target))
    assert torch.equal(output.hidden, made.features(batch([[EOS]], target)).hidden)
    assert output.attention is None


NEEDS_A_SOURCE = "model.decoder: needs a source, but model.encoder is none"
READS = {"type": "transformer", "layers": 1, "heads": 2, "ffn_dim": 12}
WRONG: list[tuple[dict[str, Any], str]] = [
    *(({"decoder": name}, NEEDS_A_SOURCE) for name in ("bahdanau", "luong", "cho", "gnmt")),
    ({"decoder": "sutskever"}, "model.decoder: bridge: linear starts from the source, but there is none"),
    ({"decoder": {"type": "sutskever", "bridge": {"type": "linear", "summary": "mean"}}}, "write bridge: zeros"),
    ({"source": {"dim": 8}}, "model.encoder: reads no source, so .* write model.source: none too"),
    ({"encoder": READS}, "model.encoder: reads a source, but model.source is none"),
    ({"encoder": "recurrent"}, "model.encoder: reads a source, but model.source is none"),
    ({"target": "none"}, "model.decoder: reads the tokens it has written, but model.target is none"),
    ({"tie": "all"}, "model.tie: all: the embeddings cannot share a weight"),
    ({"source": {"dim": 8}, "encoder": READS}, "data.monolingual: true, but this model reads a source"),
]


@pytest.mark.parametrize(("changed", "message"), WRONG)
def test_parts_that_do_not_fit_are_told(changed: dict[str, Any], message: str) -> None:
    check_recipe(load_recipe(recipe(TRANSFORMER)))
    with pytest.raises(ConfigError, match=message):
        check_recipe(load_recipe(recipe(TRANSFORMER | changed)))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("data.monolingual=false", "model.encoder: none, so a source would not be read: write data.monolingual: true"),
        ("text.joint=false", "text.joint: false, but data.monolingual has one side only"),
        ("train.validation.lines=5", "train.validation.lines: a language model translates no lines: write 0"),
        ("data.train=[]", "data.train: names no files: give one text file"),
    ],
)
def test_settings_that_do_not_fit_are_told(setting: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check_recipe(load_recipe(recipe(TRANSFORMER), [setting]))


def test_completions_begin_with_the_prompt_and_go_on_as_the_model_says() -> None:
    model = trained()
    (line,) = Completer(model, GreedySearch()).complete("ab")
    (tokens,) = model.target_tokenizer.encode([line])
    assert line.startswith("ab")
    assert 2 < len(tokens) <= 12
    logits = model.model.head(model.model.features(batch([[EOS]], [[*tokens, EOS]])).hidden[0])
    logits[:, :EOS] = -math.inf
    likeliest_tokens = logits.argmax(-1).tolist()
    assert likeliest_tokens[2 : len(tokens)] == tokens[2:]
    assert len(tokens) == 12 or likeliest_tokens[-1] == EOS


def test_the_same_seed_draws_the_same_texts_whatever_stands_beside_them() -> None:
    model = trained()
    drawn = list(sampling_completer(model, 3, 1.0, seed=1).stream(["a", "", "a"]))
    assert len(drawn) == 9
    assert drawn == list(sampling_completer(model, 3, 1.0, seed=1).stream(["a", "", "a"]))
    assert drawn[:3] == list(sampling_completer(model, 3, 1.0, seed=1).stream(["a", "b"]))[:3]
    assert drawn[:2] == sampling_completer(model, 2, 1.0, seed=1).complete("a")
    assert drawn[:3] != drawn[6:]
    assert drawn != list(sampling_completer(model, 3, 1.0, seed=2).stream(["a", "", "a"]))


def test_the_likeliest_are_different_and_begin_with_the_prompt() -> None:
    lines = beam_completer(trained(), 7).complete("ba")
    assert len(set(lines)) == 7
    assert all(line.startswith("ba") for line in lines)


def test_a_prompt_may_fill_the_line_but_no_more() -> None:
    completer = sampling_completer(trained(), 1, 1.0, seed=1)
    assert completer.complete("a" * 12) == ["a" * 12]
    with pytest.raises(UserError, match="the prompt in line 4 has 13 tokens, but this model reads at most 12"):
        completer.complete("a" * 13, 4)
    placed = TRANSFORMER | {"target": {"dim": 8, "positions": {"type": "learned", "max_length": 6}}}
    with pytest.raises(UserError, match="this model reads at most 5"):
        sampling_completer(trained(placed), 1, 1.0, seed=1).complete("a" * 6)
    assert (
        len(sampling_completer(trained(placed), 20, 1.0, seed=1).complete("ab")) == 20
    )  # and no position past the last


def test_perplexity_is_that_of_the_forced_scores(tmp_path: Path) -> None:
    model = trained()
    lines = ["a b", "", "edcba", "ab\u2028b"]
    text = tmp_path / "text.txt"
    text.write_text("".join(line + "\n" for line in lines), "utf-8")
    surprise = 0.0
    for row in model.target_tokenizer.encode(lines):
        start = model.model.start(model.model.encode(Padded.from_rows([[EOS]])))
        surprise -= forced_scores(model.model.step, start, Padded.from_rows([[*row, EOS]]))[0].score
    assert {score.name: score.value for score in evaluate_perplexity(model, text)} == pytest.approx(
        {
            "perplexity per token": math.exp(surprise / 16),
            "perplexity per word": math.exp(surprise / 9),
            "bits per character": surprise / math.log(2) / 16,
        },
        rel=1e-5,
    )


def test_many_windows_and_batches_give_the_same_perplexity(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("a b\nabcde\n\ncc\n" * 5, "utf-8")
    whole = evaluate_perplexity(trained(), text)
    node = recipe(TRANSFORMER) | {"translate": {"buffer_size": 3, "batch_tokens": 8}}
    cut = evaluate_perplexity(trained()._replace(recipe=load_recipe(node)), text)
    assert [score.value for score in cut] == pytest.approx([score.value for score in whole], rel=1e-5)
    assert [score.signature for score in cut] == [score.signature for score in whole]


def test_what_cannot_be_measured_is_told(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("", "utf-8")
    with pytest.raises(UserError, match=r"text.txt: is empty, so there are no lines to evaluate"):
        evaluate_perplexity(trained(), text)
    text.write_text("abcde\nabcdea\n", "utf-8")
    placed = TRANSFORMER | {"target": {"dim": 8, "positions": {"type": "learned", "max_length": 6}}}
    with pytest.raises(UserError, match=r"text.txt, line 2: has 6 tokens, but this model has positions for 5"):
        evaluate_perplexity(trained(placed, max_length=5), text)


def test_a_recurrent_one_can_be_looked_into() -> None:
    made = trained(LSTM)
    translator = Translator(made, GreedySearch(), made.recipe.translate)
    found = gate_activations(translator, "abc")
    assert [gate.path for gate in found] == ["decoder.input", "decoder.forget", "decoder.output"]
    assert found[0].labels == ("<begin>", "a", "b", "c")
    [flow] = gradient_flows(translator, "abc")
    assert flow.hidden.shape == (4,)
    assert flow.hidden[-1] == pytest.approx(1.0)
