"""Minimum risk, distillation and coverage losses: sampling, compatibility checks and error messages."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from laws.objective_context import OBJECTIVE_CONTEXT
from laws.variants import FRAME_HEADS, MODELS, VOCABULARY, batch
from system import toys
from unit.translators import untrained_translator
from weft.checkpoints.trained_model import TrainedModel, model_weights, save_model
from weft.config.recipe import load_recipe
from weft.core.errors import ConfigError, UserError
from weft.core.padded import Padded
from weft.core.special_tokens import EOS
from weft.losses.coverage_loss import CoverageLoss
from weft.losses.cross_entropy import cross_entropy
from weft.losses.distillation_loss import DistillationLoss
from weft.losses.minimum_risk import MinimumRiskLoss, evaluation_mode, sample_outputs
from weft.losses.word_loss import word_indices
from weft.metrics.corpus_metrics import evaluate
from weft.metrics.scores import Segments
from weft.metrics.sentence_metrics import CostName, sentence_cost
from weft.models.build import build_model
from weft.models.model import Model
from weft.text.tokenizer_training import (
    BPETokenizerTrainer,
    ByteTokenizerTrainer,
    CharacterTokenizerTrainer,
    TokenizerTrainer,
    WhitespaceTokenizerTrainer,
)
from weft.training.recipe_checks import check_recipe, check_scores_tokens, returns_attention
from weft.training.run_components import load_frozen_model

PAIRS = batch((5, 6), (3, 4))
# Variants without effect on whether attention is returned.
IRRELEVANT_VARIANTS = ("-score=", "-window=", "-bridge=", "-norm=", "-activation=", "-projected=")
DECODERS = [
    name
    for name in MODELS
    if name.startswith(("decoder", "language")) and not any(variant in name for variant in IRRELEVANT_VARIANTS)
]


@pytest.fixture
def model() -> Model:
    built: Model = MODELS["decoder-luong"]()
    return built


# --- Sentence costs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["exact", "wer", "cer", "bleu", "chrf"])
@pytest.mark.parametrize("line", ["the cat sat on the mat", "a cat sat", "", "a dog on the old mat sat"])
def test_sentence_cost_matches_the_metric(name: CostName, line: str) -> None:
    reference = "the cat sat on the mat"
    (score,) = evaluate(Segments([line], [[reference]]), [name])
    expected = score.value / 100 if score.better == "lower" else 1 - score.value / 100
    if name == "bleu" and 0 < len(line.split()) < 4:
        expected = 1 - torch.e ** (1 - 6 / 3) * (2 / 3 * 1 / 2 * 1 / 2) ** (1 / 3)  # no 4-grams; 0 trigrams: half
    assert sentence_cost(name)(line, reference) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["wer", "cer", "bleu", "chrf"])
def test_cost_of_an_empty_reference_is_at_most_1(name: CostName) -> None:
    assert sentence_cost(name)("", "") == 0.0
    assert sentence_cost(name)("three more words", "") == 1.0


# --- Sampling ------------------------------------------------------------------------------------------------------


def test_samples_follow_the_model_distribution(model: Model) -> None:
    torch.manual_seed(2)
    limit = torch.tensor([1, 0])
    sampled = sample_outputs(model, PAIRS.source, 3000, limit)
    assert set(sampled[1]) == {()}  # at the limit, EOS is the only choice
    step, _ = model.step(torch.ones(2, dtype=torch.long), model.start(model.encode(PAIRS.source)))
    allowed = step.log_probs[0].exp().index_fill(0, torch.tensor([0, 1]), 0.0)
    shares = [sampled[0].count(() if token == EOS else (token,)) / 3000 for token in range(len(VOCABULARY))]
    assert_close(torch.tensor(shares, dtype=torch.float64), allowed / allowed.sum(), atol=0.03, rtol=0)


def test_samples_depend_on_the_seed(model: Model) -> None:
    """The trainer seeds the generators before each update, so a resumed run samples the same outputs."""
    sampled = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        sampled.append(MinimumRiskLoss(OBJECTIVE_CONTEXT, samples=5).candidates(model, PAIRS))
    assert sampled[0] == sampled[1]
    assert sampled[0] != sampled[2]


def test_candidates_are_unique_and_start_with_the_reference(model: Model) -> None:
    sampled = MinimumRiskLoss(OBJECTIVE_CONTEXT, samples=8).candidates(model, PAIRS)
    for row, outputs in enumerate(sampled):
        assert list(outputs[0]) == PAIRS.target.data[row][PAIRS.target.mask[row]].tolist()[:-1]
        assert len(set(outputs)) == len(outputs) > 1


@pytest.mark.parametrize("training", [True, False])
def test_dropout_is_disabled_only_while_sampling(model: Model, training: bool) -> None:
    model.train(training)
    with evaluation_mode(model):
        assert not any(module.training for module in model.modules())
    assert all(module.training == training for module in model.modules())


def test_risk_and_cross_entropy_are_weighted(model: Model) -> None:
    torch.manual_seed(4)
    loss = MinimumRiskLoss(OBJECTIVE_CONTEXT, samples=4, cross_entropy_weight=0.25)(model, PAIRS, 1)
    assert loss.total.item() == pytest.approx(0.75 * loss.parts["risk"].item() + 0.25 * loss.parts["nll"].item())


def test_sentence_without_samples_has_no_risk(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    objective, memory = MinimumRiskLoss(OBJECTIVE_CONTEXT, include_reference=False), model.encode(PAIRS.source)
    alone = batch((5, 6))
    some = objective.risk(model, model.encode(alone.source), alone, [[(3,), (4, 5)]])
    assert some.item() > 0
    assert_close(objective.risk(model, memory, PAIRS, [[(3,), (4, 5)], []]), some)
    monkeypatch.setattr("weft.losses.minimum_risk.sample_outputs", lambda *_: [[], []])
    loss = objective(model, PAIRS, 1)
    assert loss.total.item() == loss.parts["risk"].item() == 0.0
    torch.autograd.backward(loss.total)
    assert not any(weight.grad is not None and weight.grad.any() for weight in model.parameters())


def test_validation_loss_is_cross_entropy(model: Model) -> None:
    plain = cross_entropy(model.head, model.features(PAIRS).hidden, PAIRS.target)
    teacher = replace(OBJECTIVE_CONTEXT, load_model=lambda _: MODELS["decoder-bahdanau"]())
    for objective in (
        MinimumRiskLoss(OBJECTIVE_CONTEXT),
        DistillationLoss(teacher, teacher="somewhere", label_smoothing=0.1),
    ):
        loss = objective(model, PAIRS)
        assert_close(loss.total, plain.total)
        assert loss.parts.keys() == {"nll", "accuracy"}


# --- Words ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "trainer",
    [
        CharacterTokenizerTrainer(),
        ByteTokenizerTrainer(),
        WhitespaceTokenizerTrainer(),
        BPETokenizerTrainer(vocab_size=300, min_frequency=1),
    ],
)
def test_word_indices_for_every_tokenizer(trainer: TokenizerTrainer) -> None:
    lines = ["the ölcät sat", " a  mat ", "a", ""]
    tokenizer = trainer.train(lines)
    target = Padded.from_rows([[*row, EOS] for row in tokenizer.encode(lines)])
    numbers = iter(word_indices(tokenizer.decode, target).tolist())
    tokens_by_word: dict[int, list[int]] = {}
    for row, length in zip(target.data.tolist(), target.lengths().tolist(), strict=True):
        for token in row[:length]:
            tokens_by_word.setdefault(next(numbers), []).append(token)
    words = [line.strip() for line in tokenizer.decode(tokens_by_word.values())]
    assert words == ["the", "ölcät", "sat", "a", "mat", "a", ""]


# --- Compatibility -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DECODERS)
def test_attention_support_is_detected(name: str) -> None:
    model: Model = MODELS[name]()
    expected = model.has_decoder and model.features(PAIRS).attention is not None
    assert returns_attention(model) == expected
    assert returns_attention(model.to("meta")) == expected


def test_coverage_needs_attention() -> None:
    with pytest.raises(UserError, match="does not attend to the source"):
        CoverageLoss(replace(OBJECTIVE_CONTEXT, has_attention=lambda: False))


def problems(node: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        check_recipe(load_recipe(node))
    return str(caught.value)


def test_coverage_without_attention_is_reported_by_the_recipe_check() -> None:
    node = toys.recipe(Path("nowhere"), "bahdanau")
    node["model"] = {**node["model"], "decoder": {"type": "cho", "maxout_dim": 16}}
    node["objective"] = "coverage"
    assert "objective: coverage needs attention, but this decoder does not attend" in problems(node)


def test_missing_teacher_is_reported() -> None:
    node = toys.recipe(Path("nowhere"))
    node["objective"] = "distillation"
    assert "objective.teacher: names no folder" in problems(node)
    node["objective"] = {"type": "distillation", "teacher": "runs/no such run"}
    assert "objective: runs/no such run: there is no such folder" in problems(node)


def test_teacher_without_a_decoder_is_reported_by_the_recipe_check(trained: TrainedModel, tmp_path: Path) -> None:
    node = toys.recipe(Path("nowhere"), "bahdanau")
    frame_head = {"target": "none", "decoder": "none", "frame_head": "ctc", "tie": "none"}
    recipe = load_recipe({**node, "model": {**node["model"], **frame_head}})
    pieces = trained.target_tokenizer.vocabulary()
    ctc = trained._replace(recipe=recipe, model=build_model(recipe.model, pieces, pieces, joint=True))
    save_model(tmp_path / "ctc", ctc, model_weights(ctc.model))
    node["objective"] = {"type": "distillation", "teacher": str(tmp_path / "ctc")}
    assert f"objective: {tmp_path}/ctc: that model has no decoder" in problems(node)


@pytest.fixture(scope="module")
def trained() -> TrainedModel:
    return untrained_translator("bahdanau").trained


@pytest.fixture(scope="module")
def folder(trained: TrainedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder."""
    path: Path = tmp_path_factory.mktemp("model") / "first"
    save_model(path, trained, model_weights(trained.model))
    return path


def test_teacher_is_frozen_and_has_the_same_tokenizers(trained: TrainedModel, folder: Path) -> None:
    teacher = load_frozen_model(folder, trained)
    assert not teacher.training
    assert not any(weight.requires_grad for weight in teacher.parameters())
    objective = DistillationLoss(replace(OBJECTIVE_CONTEXT, load_model=lambda _: teacher), teacher=str(folder))
    assert not isinstance(objective, nn.Module)  # so the teacher's weights are not taken for the student's
    other = CharacterTokenizerTrainer().train(["other words"])
    with pytest.raises(UserError, match="first: the target tokenizer of that model differs from that of this run"):
        load_frozen_model(folder, trained._replace(target_tokenizer=other))


def test_teacher_must_score_every_target_token(folder: Path) -> None:
    ctc: Model = FRAME_HEADS["ctc"]()
    with pytest.raises(UserError, match="first: that model has no decoder, so it does not predict next tokens"):
        check_scores_tokens(ctc, 10, folder)
    model: Model = MODELS["decoder-luong"]()
    check_scores_tokens(model, 10, folder)
    model.target.max_length = 10
    check_scores_tokens(model, 9, folder)
    with pytest.raises(UserError, match=r"target positions for 10 tokens, EOS included, but data\.max_length is 10"):
        check_scores_tokens(model, 10, folder)


def recipe_with_initial_model(folder: Path | str, family: str = "bahdanau") -> dict[str, Any]:
    node = toys.recipe(Path("nowhere"), family)
    node["train"]["initial_model"] = str(folder)
    return node


def test_initial_model_must_have_the_same_architecture(folder: Path) -> None:
    node = recipe_with_initial_model(folder)
    check_recipe(load_recipe(node))
    node["model"] = {**node["model"], "source": {**node["model"]["source"], "dropout": 0.3, "sparse": True}}
    check_recipe(load_recipe(node))
    node["model"] = {**node["model"], "encoder": {"type": "recurrent", "cell": {"dim": 13}}}
    message = problems(node)
    assert (
        f"train.initial_model: {folder} holds another model: model.encoder.cell.dim is 12 there and 13 here." in message
    )
    assert "config.yaml" in message


def test_initial_model_must_have_the_same_tokenizers(folder: Path) -> None:
    node = recipe_with_initial_model(folder)
    node["text"] = {"source": {"type": "character"}}
    message = problems(node)
    assert f"{folder} holds another model: text.source.type is bpe there and character here (and" in message


def test_missing_initial_model_is_reported() -> None:
    assert "train.initial_model: runs/none: there is no such folder. Give a run folder" in problems(
        recipe_with_initial_model("runs/none")
    )
