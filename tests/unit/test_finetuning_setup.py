"""Fine-tuning: vocabulary extension, optimizer state, frozen slots and the recipe."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from weft.checkpoints.trained_model import TrainedModel, model_weights
from weft.config.recipe import load_recipe
from weft.core.errors import ConfigError
from weft.core.special_tokens import NUM_SPECIAL_TOKENS
from weft.data.corpus import Corpus
from weft.models.build import build_model
from weft.models.model import freeze_slots, trainable_parameters
from weft.text.tokenizer_training import CharacterTokenizerTrainer
from weft.training.commented_recipe import CommentedRecipe
from weft.training.embedding_extension import (
    extend_model,
    extend_optimizer_state,
    extend_tokenizers,
    extension_obstacle,
)
from weft.training.finetuning import FinetuningFolder, add_p_values, format_before_and_after
from weft.training.finetuning_recipe import FinetuningOptions, NewData, make_finetuning_recipe, original_fingerprints
from weft.training.recipe_checks import check_recipe
from weft.training.trainer import trainable_weights
from weft.training.warm_start import renumber_optimizer_state

LAYERS: dict[str, Any] = {"type": "transformer", "layers": 1, "heads": 2, "ffn_dim": 8}
MODEL: dict[str, Any] = {"source": {"dim": 4}, "encoder": LAYERS, "target": {"dim": 4}, "decoder": LAYERS}
CTC: dict[str, Any] = {**MODEL, "target": "none", "decoder": "none", "frame_head": "ctc"}
PAIRS = [("aab", "bbä"), ("öö", "ää")]


def trained(model: dict[str, Any], *, joint: bool = True) -> TrainedModel:
    text: dict[str, Any] = {"source": "character", "joint": joint}
    recipe = load_recipe({"model": model, "text": text, "data": {"train": ["x.tsv"]}})
    tokenizer = CharacterTokenizerTrainer().train(["abc"])
    other = tokenizer if joint else CharacterTokenizerTrainer().train(["ab"])
    torch.manual_seed(1)
    built = build_model(recipe.model, tokenizer.vocabulary(), other.vocabulary(), joint=joint)
    return TrainedModel(built, tokenizer, other, recipe, {})


def test_new_rows_are_means_of_the_rows_of_former_tokens() -> None:
    old = trained({**MODEL, "tie": "all"})
    sides = extend_tokenizers(old, PAIRS, 9, merges=False)
    assert sides.descriptions() == ["new tokens: 2 (ä ö)"]
    new = extend_model(old, sides)
    before, after = model_weights(old.model), model_weights(new.model)
    unknown = old.target_tokenizer.unknown_id
    for name, weight in before.items():
        assert after[name][: len(weight)].equal(weight)
        assert all(row.equal(weight[unknown]) for row in after[name][len(weight) :])
    assert {name for name in before if len(before[name]) != len(after[name])} == {"source.weight", "head.bias"}


def test_separate_vocabularies_are_extended_independently() -> None:
    sides = extend_tokenizers(trained(MODEL, joint=False), PAIRS, 9, merges=False)
    assert sides.descriptions() == ["new source tokens: 1 (ö)", "new target tokens: 1 (ä)"]
    assert sides.side_of("source.weight") is sides.source
    assert sides.side_of("head.weight") is sides.target


def test_ctc_blank_stays_the_last_class() -> None:
    old = trained(CTC)
    new = extend_model(old, extend_tokenizers(old, PAIRS, 9, merges=False))
    before, after = (trained.model.frame_head.output.weight for trained in (old, new))  # type: ignore[union-attr]
    assert after[-1].equal(before[-1])
    assert after[: len(before) - 1].equal(before[:-1])
    unknown = old.target_tokenizer.unknown_id
    assert unknown is not None
    assert after[len(before) - 1].equal(before[unknown - NUM_SPECIAL_TOKENS])


def test_optimizer_moments_of_new_rows_are_zero() -> None:
    old = trained(MODEL)
    sides = extend_tokenizers(old, PAIRS, 9, merges=False)
    new = extend_model(old, sides)
    names = list(trainable_parameters(old.model))
    number = names.index("source.weight")
    ones = torch.ones_like(old.model.source.weight)  # type: ignore[arg-type]
    moments = {f"{number}.exp_avg": ones, f"{number}.step": torch.tensor(7.0), "1.exp_avg": torch.ones(3)}
    found = extend_optimizer_state(moments, names, old, new, sides)
    assert found[f"{number}.exp_avg"].sum(1).tolist() == [4.0] * len(ones) + [0.0] * 2
    assert found[f"{number}.step"] == 7.0
    assert names[1] not in ("source.weight", "head.weight")
    assert found["1.exp_avg"].equal(torch.ones(3))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"source": {"type": "char-cnn"}}, "char-cnn"),
        ({"decoder": "none", "frame_head": "ctc"}, None),
        ({"decoder": "none", "frame_head": "aligned"}, "aligned"),
    ],
    ids=str,
)
def test_models_with_extensible_vocabularies(changes: dict[str, Any], reason: str | None) -> None:
    obstacle = extension_obstacle(load_recipe({"model": {**MODEL, **changes}}))
    assert obstacle is None if reason is None else reason in (obstacle or "")


def test_optimizer_state_is_renumbered_without_frozen_weights() -> None:
    moments: dict[str, Tensor] = {key: torch.tensor(0.0) for key in ("0.step", "1.step", "rows.2.mean", "2.exp_avg")}
    found = renumber_optimizer_state(moments, ["a", "b", "c"], ["a", "c"])
    assert found.keys() == {"0.step", "rows.1.mean", "1.exp_avg"}
    assert found["1.exp_avg"] is moments["2.exp_avg"]


def test_weights_tied_to_a_frozen_slot_are_frozen() -> None:
    model = trained({**MODEL, "tie": "all"}).model
    freeze_slots(model, ["head"])
    names = trainable_parameters(model).keys()
    assert "source.weight" not in names
    assert "head.bias" not in names
    assert any(name.startswith("decoder.") for name in names)
    assert trainable_weights(model).keys() == names


@pytest.mark.parametrize(
    ("model", "slots", "message"),
    [
        (MODEL, ["frame_head"], "the frame_head of this model has no weights"),
        (CTC, ["head"], "the head of this model has no weights"),
        (CTC, ["source", "encoder", "frame_head"], "everything is frozen"),
    ],
)
def test_invalid_freeze_setting_is_reported(model: dict[str, Any], slots: list[str], message: str) -> None:
    objective = "ctc" if "frame_head" in model else "cross-entropy"
    node: dict[str, Any] = {
        "model": model,
        "objective": objective,
        "train": {"freeze": slots},
        "data": {"train": ["x.tsv"]},
    }
    with pytest.raises(ConfigError) as caught:
        check_recipe(load_recipe(node))
    assert [problem.place for problem in caught.value.problems if message in problem.text] == ["train.freeze"]


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (
            {
                "run/config.yaml": "",
                "run/data.json": '{"fingerprints": {"data.train": "a"}, "splits": [], "fixed_settings": {}}',
            },
            True,
        ),
        ({"run/data.json": '{"some": "other data"}'}, False),  # an unrelated file in the folder of a copied model
        ({"run/data.json": "not even JSON"}, False),
        ({"run/config.yaml": "", "run/data.json": '{"fingerprints": [1, 2]}'}, False),
        ({"run/config.yaml": "", "run/data.json": "damaged"}, False),
        ({"run/config.yaml": ""}, False),
        ({}, False),
    ],
)
def test_original_fingerprints_are_read_only_from_run_folders(
    files: dict[str, str], found: bool, tmp_path: Path
) -> None:
    (tmp_path / "run" / "best").mkdir(parents=True)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    expected = {"data.train": "a"} if found else {}
    assert original_fingerprints(tmp_path / "run" / "best") == original_fingerprints(tmp_path / "run") == expected


def commented_recipe(
    pairs: int, options: FinetuningOptions, *, steps: int | None = 4000, valid: Corpus | None = None
) -> CommentedRecipe:
    node: dict[str, Any] = {
        "train": {"steps": steps, "minutes": None if steps else 5, "batch_tokens": 1000},
        "data": {"train": ["a"]},
    }
    node["train"] |= {"schedule": {"learning_rate": 0.01}, "average": {"type": "snapshots"}}
    new = NewData(("new.tsv",), Corpus(["new.tsv"]), pairs, 0.0, valid)
    return make_finetuning_recipe(load_recipe(node), "old", FinetuningFolder(Path("run")), options, new, [], 10.0)


@pytest.mark.parametrize(
    ("pairs", "mix", "steps", "chosen"),
    [
        (1000, 0.0, 4000, 100),
        (1000, 1.0, 4000, 200),
        (10, 0.0, 4000, 50),
        (10**6, 0.0, 4000, 2000),
        (10**4, 0.0, None, 1000),
    ],
)
def test_number_of_steps_depends_on_the_data_and_the_original_run(
    pairs: int, mix: float, steps: int | None, chosen: int
) -> None:
    finetuning = commented_recipe(pairs, FinetuningOptions(mix=mix), steps=steps)
    train = finetuning.recipe.train
    assert (train.steps, train.minutes) == (chosen, None)
    assert f"{chosen:,} updates" in finetuning.reasons
    assert train.schedule(chosen)(chosen // 10) == 0.002
    assert train.initial_model == "run/initial_model"


def test_overrides_replace_the_chosen_settings() -> None:
    chosen = commented_recipe(1000, FinetuningOptions(settings=("train.steps=7", "train.clip_norm=null")))
    assert chosen.recipe.train.steps == 7
    assert chosen.recipe.train.clip_norm is None
    assert "updates" not in chosen.reasons
    timed = commented_recipe(1000, FinetuningOptions(minutes=3.0)).recipe.train
    assert (timed.steps, timed.minutes) == (None, 3.0)


def test_table_marks_worse_scores() -> None:
    before = {
        "original": [
            {"name": "wer", "value": 10.0, "better": "lower"},
            {"name": "bleu", "value": 1, "better": "higher"},
        ]
    }
    after = {
        "original": [
            {"name": "wer", "value": 12.5, "better": "lower", "p": 0.01},
            {"name": "bleu", "value": 0.5, "better": "higher", "p": 0.3},
        ]
    }
    lines = format_before_and_after(before, after, {"original": "valid.tsv"}, 0.5).split("\n")
    assert lines[0] == "mixed in: 0.5 original pairs per new pair"
    assert lines[3].split() == ["wer", "10.00", "12.50", "+2.50", "worse", "(p", "=", "0.0100)"]
    assert lines[4].split() == ["bleu", "1.00", "0.50", "-0.50", "no", "significant", "difference"]


def test_p_values_are_those_of_a_paired_bootstrap(tmp_path: Path) -> None:
    path = tmp_path / "valid.tsv"
    path.write_text("".join(f"s{number}\tword{number} x\n" for number in range(40)))
    references = [f"word{number} x" for number in range(40)]
    scores = [{"name": "exact", "value": 0.0}]

    def p_value(before: list[str], after: list[str]) -> float:
        (score,) = add_p_values(scores, Corpus([str(path)]), before, after)
        p: float = score["p"]
        return p

    assert p_value(references, ["wrong"] * 20 + references[20:]) < 0.05
    assert p_value(references, ["wrong", *references[1:]]) > 0.05
    assert add_p_values(scores, Corpus([str(path)]), [], []) == scores


@pytest.mark.parametrize("valid", [None, Corpus(["valid.tsv"])])
def test_validation_stops_early_and_says_if_there_is_none(valid: Corpus | None) -> None:
    chosen = commented_recipe(100, FinetuningOptions(), valid=valid)
    settings = chosen.recipe.train.validation
    assert (settings.patience, settings.at_start) == ((None, False) if valid is None else (3, True))
    assert ("100 new pairs are too few to hold some out" in chosen.reasons) == (valid is None)
