"""What a fine-tuned model begins with: weights and moments with rows for new pieces, frozen parts, a gentler recipe."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from weft.config.load import load_recipe
from weft.core.errors import ConfigError
from weft.core.marks import FIRST_PIECE
from weft.data.corpus import Corpus
from weft.model.build import build
from weft.model.freezing import freeze, learning
from weft.store.model_folder import Trained, weights_of
from weft.text.learners import Character
from weft.training.checks import check
from weft.training.initial import renumbered
from weft.training.loop import moving_weights
from weft.tuning.folder import TuningFolder
from weft.tuning.growing import grown_model, grown_moments, grown_sides, unable
from weft.tuning.material import New, fingerprints
from weft.tuning.recipe import Situation, tuning_recipe
from weft.tuning.table import render

PART: dict[str, Any] = {"type": "transformer", "layers": 1, "heads": 2, "hidden": 8}
MODEL: dict[str, Any] = {"source": {"dim": 4}, "encoder": PART, "target": {"dim": 4}, "decoder": PART}
CTC: dict[str, Any] = {**MODEL, "target": "none", "decoder": "none", "lattice": "ctc"}
PAIRS = [("aab", "bbä"), ("öö", "ää")]


def trained(model: dict[str, Any], *, joint: bool = True) -> Trained:
    text: dict[str, Any] = {"source": "character", "joint": joint}
    recipe = load_recipe({"model": model, "text": text, "data": {"train": ["x.tsv"]}})
    tokenizer = Character().learn(["abc"])
    other = tokenizer if joint else Character().learn(["ab"])
    torch.manual_seed(1)
    built = build(recipe.model, tokenizer.vocabulary(), other.vocabulary(), joint=joint)
    return Trained(built, tokenizer, other, recipe, {})


def test_new_rows_are_means_of_those_that_spelled_the_piece_before() -> None:
    old = trained({**MODEL, "tie": "all"})
    sides = grown_sides(old, PAIRS, 9, merges=False)
    assert sides.told() == ["new pieces: 2 (ä ö)"]
    new = grown_model(old, sides)
    before, after = weights_of(old.model), weights_of(new.model)
    unknown = old.target_tokenizer.unknown
    for name, weight in before.items():
        assert after[name][: len(weight)].equal(weight)
        assert all(row.equal(weight[unknown]) for row in after[name][len(weight) :])
    assert {name for name in before if len(before[name]) != len(after[name])} == {"source.weight", "head.bias"}


def test_sides_of_their_own_grow_by_themselves() -> None:
    sides = grown_sides(trained(MODEL, joint=False), PAIRS, 9, merges=False)
    assert sides.told() == ["new source pieces: 1 (ö)", "new target pieces: 1 (ä)"]
    assert sides.of("source.weight") is sides.source
    assert sides.of("head.weight") is sides.written


def test_the_blank_of_a_lattice_stays_the_last_class() -> None:
    old = trained(CTC)
    new = grown_model(old, grown_sides(old, PAIRS, 9, merges=False))
    before, after = (one.model.lattice.output.weight for one in (old, new))  # type: ignore[union-attr]
    assert after[-1].equal(before[-1])
    assert after[: len(before) - 1].equal(before[:-1])
    unknown = old.target_tokenizer.unknown
    assert unknown is not None
    assert after[len(before) - 1].equal(before[unknown - FIRST_PIECE])


def test_moments_of_new_rows_are_nothing() -> None:
    old = trained(MODEL)
    sides = grown_sides(old, PAIRS, 9, merges=False)
    new = grown_model(old, sides)
    names = list(learning(old.model))
    number = names.index("source.weight")
    whole = torch.ones_like(old.model.source.weight)  # type: ignore[arg-type]
    moments = {f"{number}.exp_avg": whole, f"{number}.step": torch.tensor(7.0), "1.exp_avg": torch.ones(3)}
    found = grown_moments(moments, old, new, sides)
    assert found[f"{number}.exp_avg"].sum(1).tolist() == [4.0] * len(whole) + [0.0] * 2
    assert found[f"{number}.step"] == 7.0
    assert names[1] not in ("source.weight", "head.weight")
    assert found["1.exp_avg"].equal(torch.ones(3))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"source": {"type": "letters"}}, "letters"),
        ({"decoder": "none", "lattice": "ctc"}, None),
        ({"decoder": "none", "lattice": "aligned"}, "aligned"),
    ],
    ids=str,
)
def test_which_models_can_have_more_pieces(changes: dict[str, Any], reason: str | None) -> None:
    told = unable(load_recipe({"model": {**MODEL, **changes}}))
    assert told is None if reason is None else reason in (told or "")


def test_moments_are_numbered_anew_without_frozen_weights() -> None:
    moments: dict[str, Tensor] = {key: torch.tensor(0.0) for key in ("0.step", "1.step", "rows.2.mean", "2.exp_avg")}
    found = renumbered(moments, ["a", "b", "c"], ["a", "c"])
    assert found.keys() == {"0.step", "rows.1.mean", "1.exp_avg"}
    assert found["1.exp_avg"] is moments["2.exp_avg"]


def test_what_is_shared_with_a_frozen_part_is_frozen() -> None:
    model = trained({**MODEL, "tie": "all"}).model
    freeze(model, ["head"])
    names = learning(model).keys()
    assert "source.weight" not in names
    assert "head.bias" not in names
    assert any(name.startswith("decoder.") for name in names)
    assert moving_weights(model).keys() == names


@pytest.mark.parametrize(
    ("model", "slots", "told"),
    [
        (MODEL, ["lattice"], "the lattice of this model has no weights"),
        (CTC, ["head"], "the head of this model has no weights"),
        (CTC, ["source", "encoder", "lattice"], "everything is frozen"),
    ],
)
def test_there_must_be_something_to_freeze_and_to_learn(model: dict[str, Any], slots: list[str], told: str) -> None:
    objective = "ctc" if "lattice" in model else "cross-entropy"
    node: dict[str, Any] = {
        "model": model,
        "objective": objective,
        "train": {"freeze": slots},
        "data": {"train": ["x.tsv"]},
    }
    with pytest.raises(ConfigError) as caught:
        check(load_recipe(node))
    assert [problem.place for problem in caught.value.problems if told in problem.text] == ["train.freeze"]


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"run/config.yaml": "", "run/data.json": '{"fingerprints": {"data.train": "a"}, "splits": []}'}, True),
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
    assert fingerprints(tmp_path / "run" / "best") == fingerprints(tmp_path / "run") == expected


def situation(pairs: int, *, mix: float = 0.0, steps: int | None = 4000) -> Situation:
    node: dict[str, Any] = {
        "train": {"steps": steps, "minutes": None if steps else 5, "batch_tokens": 1000},
        "data": {"train": ["a"]},
    }
    node["train"] |= {"schedule": {"peak": 0.01}, "average": {"type": "last"}}
    new = New(("new.tsv",), Corpus(["new.tsv"]), pairs, 0.0, None)
    return Situation(load_recipe(node), "old", new, [], mix, 10.0, (), keep_optimiser=False)


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
    written = tuning_recipe(situation(pairs, mix=mix, steps=steps), TuningFolder(Path("run")), [], None)
    train = written.recipe.train
    assert (train.steps, train.minutes) == (chosen, None)
    assert f"{chosen:,} updates" in written.lines
    assert train.schedule(chosen)(chosen // 10) == 0.002
    assert train.start == "run/start"


def test_what_a_person_sets_is_not_chosen() -> None:
    written = tuning_recipe(situation(1000), TuningFolder(Path("run")), ["train.steps=7", "train.clip=null"], None)
    assert written.recipe.train.steps == 7
    assert written.recipe.train.clip is None
    assert "updates" not in written.lines
    clock = tuning_recipe(situation(1000), TuningFolder(Path("run")), [], 3.0).recipe.train
    assert (clock.steps, clock.minutes) == (None, 3.0)


def test_the_table_says_which_way_is_better() -> None:
    before = {
        "home": [{"name": "wer", "value": 10.0, "better": "lower"}, {"name": "bleu", "value": 1, "better": "higher"}]
    }
    after = {
        "home": [{"name": "wer", "value": 12.5, "better": "lower"}, {"name": "bleu", "value": 1, "better": "higher"}]
    }
    lines = render(before, after, {"home": "valid.tsv"}, 0.5).split("\n")
    assert lines[0] == "mixed in: 0.5 old pairs for every new one"
    assert lines[3].split() == ["wer", "10.00", "12.50", "+2.50", "worse"]
    assert lines[4].split() == ["bleu", "1.00", "1.00", "+0.00"]
