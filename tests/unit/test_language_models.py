"""Language models: weights, recipe checks, completions and perplexity."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from weft.checkpoints.trained_model import TrainedModel
from weft.config.recipe import load_recipe
from weft.core.errors import ConfigError, UserError
from weft.core.padded import Padded
from weft.core.special_tokens import EOS
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


def make_language_model(model: dict[str, Any] = TRANSFORMER, **data: Any) -> TrainedModel:
    """Return an untrained language model of the letters a to e."""
    settings = load_recipe(recipe(model, **data))
    tokenizer = CharacterTokenizerTrainer().train(["a b c d e"])
    torch.manual_seed(5)
    network = build_model(settings.model, tokenizer.vocabulary(), tokenizer.vocabulary(), joint=True).eval()
    return TrainedModel(network, tokenizer, tokenizer, settings, {})


def batch(source: list[list[int]], target: list[list[int]]) -> Batch:
    return Batch(Padded.from_rows(source), Padded.from_rows(target), tuple(range(len(source))))


@pytest.mark.parametrize("model", [TRANSFORMER, LSTM], ids=["transformer", "lstm"])
def test_every_weight_is_used(model: dict[str, Any]) -> None:
    network = make_language_model(model).model
    pairs = batch([[EOS], [EOS]], [[3, 4, 5, EOS], [6, EOS]])
    torch.autograd.backward(cross_entropy(network.head, network.features(pairs).hidden, pairs.target).total)
    used = sum(weight.numel() for weight in network.parameters() if weight.grad is not None)
    assert used == count_parameters(network) > 0
    assert network.is_language_model


@pytest.mark.parametrize("model", [TRANSFORMER, LSTM], ids=["transformer", "lstm"])
def test_source_has_no_effect(model: dict[str, Any]) -> None:
    network, target = make_language_model(model).model, [[3, 4, 5, EOS]]
    output = network.features(batch([[5, 4, 3, EOS]], target))
    assert torch.equal(output.hidden, network.features(batch([[EOS]], target)).hidden)
    assert output.attention is None


NEEDS_A_SOURCE = "model.decoder: needs a source, but model.encoder is none"
READS = {"type": "transformer", "layers": 1, "heads": 2, "ffn_dim": 12}
INVALID: list[tuple[dict[str, Any], str]] = [
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


@pytest.mark.parametrize(("changed", "message"), INVALID)
def test_incompatible_model_slots_are_reported(changed: dict[str, Any], message: str) -> None:
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
def test_incompatible_settings_are_reported(setting: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check_recipe(load_recipe(recipe(TRANSFORMER), [setting]))


def test_completion_continues_the_prompt_greedily() -> None:
    model = make_language_model()
    (line,) = Completer(model, GreedySearch()).complete("ab")
    (tokens,) = model.target_tokenizer.encode([line])
    assert line.startswith("ab")
    assert 2 < len(tokens) <= 12
    logits = model.model.head(model.model.features(batch([[EOS]], [[*tokens, EOS]])).hidden[0])
    logits[:, :EOS] = -math.inf
    likeliest_tokens = logits.argmax(-1).tolist()
    assert likeliest_tokens[2 : len(tokens)] == tokens[2:]
    assert len(tokens) == 12 or likeliest_tokens[-1] == EOS


def test_samples_are_determined_by_the_seed_and_independent_of_other_prompts() -> None:
    model = make_language_model()
    samples = list(sampling_completer(model, 3, 1.0, seed=1).stream(["a", "", "a"]))
    assert len(samples) == 9
    assert samples == list(sampling_completer(model, 3, 1.0, seed=1).stream(["a", "", "a"]))
    assert samples[:3] == list(sampling_completer(model, 3, 1.0, seed=1).stream(["a", "b"]))[:3]
    assert samples[:2] == sampling_completer(model, 2, 1.0, seed=1).complete("a")
    assert samples[:3] != samples[6:]
    assert samples != list(sampling_completer(model, 3, 1.0, seed=2).stream(["a", "", "a"]))


def test_beam_completions_are_distinct_and_begin_with_the_prompt() -> None:
    lines = beam_completer(make_language_model(), 7).complete("ba")
    assert len(set(lines)) == 7
    assert all(line.startswith("ba") for line in lines)


def test_prompt_is_limited_to_the_maximum_length() -> None:
    completer = sampling_completer(make_language_model(), 1, 1.0, seed=1)
    assert completer.complete("a" * 12) == ["a" * 12]
    with pytest.raises(UserError, match="the prompt in line 4 has 13 tokens, but this model reads at most 12"):
        completer.complete("a" * 13, 4)
    learned = TRANSFORMER | {"target": {"dim": 8, "positions": {"type": "learned", "max_length": 6}}}
    with pytest.raises(UserError, match="this model reads at most 5"):
        sampling_completer(make_language_model(learned), 1, 1.0, seed=1).complete("a" * 6)
    assert (
        len(sampling_completer(make_language_model(learned), 20, 1.0, seed=1).complete("ab")) == 20
    )  # no position beyond the last one


def test_perplexity_equals_the_forced_scores(tmp_path: Path) -> None:
    model = make_language_model()
    lines = ["a b", "", "edcba", "ab\u2028b"]
    text = tmp_path / "text.txt"
    text.write_text("".join(line + "\n" for line in lines), "utf-8")
    nll = 0.0
    for row in model.target_tokenizer.encode(lines):
        start = model.model.start(model.model.encode(Padded.from_rows([[EOS]])))
        nll -= forced_scores(model.model.step, start, Padded.from_rows([[*row, EOS]]))[0].score
    assert {score.name: score.value for score in evaluate_perplexity(model, text)} == pytest.approx(
        {
            "perplexity per token": math.exp(nll / 16),
            "perplexity per word": math.exp(nll / 9),
            "bits per character": nll / math.log(2) / 16,
        },
        rel=1e-5,
    )


def test_perplexity_does_not_depend_on_batching(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("a b\nabcde\n\ncc\n" * 5, "utf-8")
    whole = evaluate_perplexity(make_language_model(), text)
    node = recipe(TRANSFORMER) | {"translate": {"buffer_size": 3, "batch_tokens": 8}}
    batched = evaluate_perplexity(make_language_model()._replace(recipe=load_recipe(node)), text)
    assert [score.value for score in batched] == pytest.approx([score.value for score in whole], rel=1e-5)
    assert [score.signature for score in batched] == [score.signature for score in whole]


def test_invalid_evaluation_text_is_reported(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("", "utf-8")
    with pytest.raises(UserError, match=r"text.txt: is empty, so there are no lines to evaluate"):
        evaluate_perplexity(make_language_model(), text)
    text.write_text("abcde\nabcdea\n", "utf-8")
    learned = TRANSFORMER | {"target": {"dim": 8, "positions": {"type": "learned", "max_length": 6}}}
    with pytest.raises(UserError, match=r"text.txt, line 2: has 6 tokens, but this model has positions for 5"):
        evaluate_perplexity(make_language_model(learned, max_length=5), text)


def test_recurrent_language_model_can_be_inspected() -> None:
    trained = make_language_model(LSTM)
    translator = Translator(trained, GreedySearch(), trained.recipe.translate)
    found = gate_activations(translator, "abc")
    assert [gate.path for gate in found] == ["decoder.input", "decoder.forget", "decoder.output"]
    assert found[0].labels == ("<begin>", "a", "b", "c")
    [flow] = gradient_flows(translator, "abc")
    assert flow.hidden.shape == (4,)
    assert flow.hidden[-1] == pytest.approx(1.0)
