"""What a fine-tuned model begins with: weights and moments with rows for new pieces, frozen parts, a gentler recipe."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from weft.checkpoints.trained_model import TrainedModel, model_weights
from weft.config.recipe import load_recipe
from weft.core.codec import NUM_SPECIAL_TOKENS
from weft.core.errors import ConfigError
from weft.data.corpus import Corpus
from weft.models.build import build_model
from weft.models.model import freeze_slots, trainable_parameters
from weft.text.tokenizer_training import CharacterTokenizerTrainer
from weft.training.derived_runs import FinetuningFolder, FinetuningOptions
from weft.training.embedding_extension import (
    extend_model,
    extend_optimizer_state,
    extend_tokenizers,
    extension_obstacle,
)
from weft.training.finetuning import format_before_and_after
from weft.training.finetuning_recipe import NewData, make_finetuning_recipe, original_fingerprints
from weft.training.recipe_checks import check_recipe
from weft.training.recipe_draft import RecipeDraft
from weft.training.trainer import trainable_weights
from weft.training.warm_start import renumber_optimizer_state

PART: dict[str, Any] = {"type": "transformer", "layers": 1, "heads": 2, "ffn_dim": 8}
MODEL: dict[str, Any] = {"source": {"dim": 4}, "encoder": PART, "target": {"dim": 4}, "decoder": PART}
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


def test_new_rows_are_means_of_those_that_spelled_the_piece_before() -> None:
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


def test_sides_of_their_own_grow_by_themselves() -> None:
    sides = extend_tokenizers(trained(MODEL, joint=False), PAIRS, 9, merges=False)
    assert sides.descriptions() == ["new source tokens: 1 (ö)", "new target tokens: 1 (ä)"]
    assert sides.side_of("source.weight") is sides.source
    assert sides.side_of("head.weight") is sides.target


def test_the_blank_of_a_lattice_stays_the_last_class() -> None:
    old = trained(CTC)
    new = extend_model(old, extend_tokenizers(old, PAIRS, 9, merges=False))
    before, after = (one.model.frame_head.output.weight for one in (old, new))  # type: ignore[union-attr]
    assert after[-1].equal(before[-1])
    assert after[: len(before) - 1].equal(before[:-1])
    unknown = old.target_tokenizer.unknown_id
    assert unknown is not None
    assert after[len(before) - 1].equal(before[unknown - NUM_SPECIAL_TOKENS])


def test_moments_of_new_rows_are_nothing() -> None:
    old = trained(MODEL)
    sides = extend_tokenizers(old, PAIRS, 9, merges=False)
    new = extend_model(old, sides)
    names = list(trainable_parameters(old.model))
    number = names.index("source.weight")
    whole = torch.ones_like(old.model.source.weight)  # type: ignore[arg-type]
    moments = {f"{number}.exp_avg": whole, f"{number}.step": torch.tensor(7.0), "1.exp_avg": torch.ones(3)}
    found = extend_optimizer_state(moments, names, old, new, sides)
    assert found[f"{number}.exp_avg"].sum(1).tolist() == [4.0] * len(whole) + [0.0] * 2
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
def test_which_models_can_have_more_pieces(changes: dict[str, Any], reason: str | None) -> None:
    told = extension_obstacle(load_recipe({"model": {**MODEL, **changes}}))
    assert told is None if reason is None else reason in (told or "")


def test_moments_are_numbered_anew_without_frozen_weights() -> None:
    moments: dict[str, Tensor] = {key: torch.tensor(0.0) for key in ("0.step", "1.step", "rows.2.mean", "2.exp_avg")}
    found = renumber_optimizer_state(moments, ["a", "b", "c"], ["a", "c"])
    assert found.keys() == {"0.step", "rows.1.mean", "1.exp_avg"}
    assert found["1.exp_avg"] is moments["2.exp_avg"]


def test_what_is_shared_with_a_frozen_part_is_frozen() -> None:
    model = trained({**MODEL, "tie": "all"}).model
    freeze_slots(model, ["head"])
    names = trainable_parameters(model).keys()
    assert "source.weight" not in names
    assert "head.bias" not in names
    assert any(name.startswith("decoder.") for name in names)
    assert trainable_weights(model).keys() == names


@pytest.mark.parametrize(
    ("model", "slots", "told"),
    [
        (MODEL, ["frame_head"], "the frame_head of this model has no weights"),
        (CTC, ["head"], "the head of this model has no weights"),
        (CTC, ["source", "encoder", "frame_head"], "everything is frozen"),
    ],
)
def test_there_must_be_something_to_freeze_and_to_learn(model: dict[str, Any], slots: list[str], told: str) -> None:
    objective = "ctc" if "frame_head" in model else "cross-entropy"
    node: dict[str, Any] = {
        "model": model,
        "objective": objective,
        "train": {"freeze": slots},
        "data": {"train": ["x.tsv"]},
    }
    with pytest.raises(ConfigError) as caught:
        check_recipe(load_recipe(node))
    assert [problem.place for problem in caught.value.problems if told in problem.text] == ["train.freeze"]


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
        ({"run/data.json": '{"some": "other data"}'}, False),  # what lies beside a model that was copied somewhere
        ({"run/data.json": "not even JSON"}, False),
        ({"run/config.yaml": "", "run/data.json": '{"fingerprints": [1, 2]}'}, False),
        ({"run/config.yaml": "", "run/data.json": "damaged"}, False),
        ({"run/config.yaml": ""}, False),
        ({}, False),
    ],
)
def test_what_a_model_was_trained_on_is_known_of_runs_alone(files: dict[str, str], found: bool, tmp_path: Path) -> None:
    (tmp_path / "run" / "best").mkdir(parents=True)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    expected = {"data.train": "a"} if found else {}
    assert original_fingerprints(tmp_path / "run" / "best") == original_fingerprints(tmp_path / "run") == expected


def draft(pairs: int, options: FinetuningOptions, *, steps: int | None = 4000) -> RecipeDraft:
    node: dict[str, Any] = {
        "train": {"steps": steps, "minutes": None if steps else 5, "batch_tokens": 1000},
        "data": {"train": ["a"]},
    }
    node["train"] |= {"schedule": {"learning_rate": 0.01}, "average": {"type": "snapshots"}}
    new = NewData(("new.tsv",), Corpus(["new.tsv"]), pairs, 0.0, None)
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
def test_the_length_follows_from_the_data_and_the_old_run(
    pairs: int, mix: float, steps: int | None, chosen: int
) -> None:
    written = draft(pairs, FinetuningOptions(mix=mix), steps=steps)
    train = written.recipe.train
    assert (train.steps, train.minutes) == (chosen, None)
    assert f"{chosen:,} updates" in written.reasons
    assert train.schedule(chosen)(chosen // 10) == 0.002
    assert train.initial_model == "run/initial_model"


def test_what_a_person_sets_is_not_chosen() -> None:
    written = draft(1000, FinetuningOptions(settings=("train.steps=7", "train.clip_norm=null")))
    assert written.recipe.train.steps == 7
    assert written.recipe.train.clip_norm is None
    assert "updates" not in written.reasons
    clock = draft(1000, FinetuningOptions(minutes=3.0)).recipe.train
    assert (clock.steps, clock.minutes) == (None, 3.0)


def test_the_table_says_which_way_is_better() -> None:
    before = {
        "original": [
            {"name": "wer", "value": 10.0, "better": "lower"},
            {"name": "bleu", "value": 1, "better": "higher"},
        ]
    }
    after = {
        "original": [
            {"name": "wer", "value": 12.5, "better": "lower"},
            {"name": "bleu", "value": 1, "better": "higher"},
        ]
    }
    lines = format_before_and_after(before, after, {"original": "valid.tsv"}, 0.5).split("\n")
    assert lines[0] == "mixed in: 0.5 original pairs per new pair"
    assert lines[3].split() == ["wer", "10.00", "12.50", "+2.50", "worse"]
    assert lines[4].split() == ["bleu", "1.00", "1.00", "+0.00"]
