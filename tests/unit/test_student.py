"""The parts of a student: what is written down, what is taken over, what is chosen, what is compared."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from system import toys
from system.following import Quiet
from unit.models import BAHDANAU, TRANSFORMER, untrained
from weft.checkpoints.trained_model import TrainedModel, model_weights
from weft.config.recipe import Recipe, load_recipe
from weft.config.registry import REGISTRY
from weft.config.serialization import to_dict
from weft.config.yaml_files import parse_yaml
from weft.core.errors import UserError
from weft.models.model import count_parameters
from weft.training.derived_runs import DistillationRequest, StudentFolder
from weft.training.distillation import (
    initialize_from_teacher,
    join_parts,
    load_transfer_set,
    make_progress_reporter,
    translate_in_parts,
)
from weft.training.recipe_draft import RecipeDraft
from weft.training.student_comparison import (
    TranslationSystem,
    format_systems,
    measure_systems,
    systems_to_json,
)
from weft.training.student_recipe import make_student_recipe

FIELDS = ("source", "target")
LINES = ["a", "b\tc", "d\r", "", "e"]
ASKED = DistillationRequest("runs/teacher", "1", (), "2", (), None)


def shout(lines: Sequence[str]) -> list[str]:
    return [line.upper() for line in lines]


def rows(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]]


def test_parts_that_are_there_are_not_made_again(tmp_path: Path) -> None:
    asked: list[str] = []
    told: list[tuple[int, int]] = []

    def tell(done: int, made: int) -> None:
        told.append((done, made))

    def failing(lines: Sequence[str]) -> list[str]:
        asked.extend(lines)
        if "e" in lines:
            raise KeyboardInterrupt
        return shout(lines)

    with pytest.raises(KeyboardInterrupt):
        translate_in_parts(LINES, failing, tmp_path, FIELDS, tell, size=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["part-000000.jsonl", "part-000001.jsonl"]
    assert asked == LINES
    asked.clear()
    with pytest.raises(KeyboardInterrupt):
        translate_in_parts(LINES, failing, tmp_path, FIELDS, tell, size=2)
    assert asked == ["e"]
    assert told == [(2, 2), (4, 4), (2, 0), (4, 0)]


def test_pairs_are_joined_with_those_of_people(tmp_path: Path) -> None:
    translate_in_parts(LINES, shout, tmp_path, ("en", "de"), lambda *_: None, size=2)
    join_parts(tmp_path, [("a", "x")], ("en", "de"), tmp_path / "train.jsonl")
    made = [{"en": line, "de": line.upper()} for line in LINES]
    assert rows(tmp_path / "train.jsonl") == [*made, {"en": "a", "de": "x"}]
    assert [path.name for path in tmp_path.iterdir()] == ["train.jsonl"]


def deeper(model: dict[str, Any], **changed: Any) -> dict[str, Any]:
    return model | {slot: {**model[slot], **changed, "layers": 3} for slot in ("encoder", "decoder")}


def test_weights_that_mean_the_same_are_taken_over() -> None:
    teacher = untrained(TRANSFORMER)
    recipe = load_recipe({"text": {"source": "character"}, "model": deeper(TRANSFORMER)})
    student, copied = initialize_from_teacher(recipe, teacher)
    old, new = model_weights(teacher.model), model_weights(student.model)
    assert all(torch.equal(new[name].double(), old[name].float().double()) for name in old)
    fresh = [name for name in new if name not in old]
    assert {name.rpartition("layers.")[2][0] for name in fresh} == {"1", "2"}
    assert copied == sum(weight.numel() for weight in old.values())
    assert count_parameters(student.model) - copied == sum(new[name].numel() for name in fresh)
    assert student.source_tokenizer is teacher.source_tokenizer


def test_weights_of_another_kind_of_layer_are_not_taken_over() -> None:
    teacher = untrained(TRANSFORMER)
    recipe = load_recipe({"text": {"source": "character"}, "model": deeper(TRANSFORMER, rotary=True)})
    old, new = model_weights(teacher.model), model_weights(initialize_from_teacher(recipe, teacher)[0].model)
    name = "encoder.layers.0.feedforward.up.weight"
    assert old[name].shape == new[name].shape
    assert not torch.equal(new[name].double(), old[name].float().double())
    assert torch.equal(new["head.weight"].double(), old["head.weight"].float().double())


def written(teacher: Recipe, folder: Path, *settings: str, minutes: float | None = None) -> RecipeDraft:
    return make_student_recipe(teacher, "runs/teacher", StudentFolder(folder), settings, minutes, "its sources")


def test_the_recipe_moves_layers_to_the_encoder(tmp_path: Path) -> None:
    teacher = load_recipe(toys.recipe(tmp_path, steps=24))
    made = written(teacher, tmp_path / "run")
    node = parse_yaml(made.yaml, "recipe")
    assert isinstance(node, dict)
    assert to_dict(load_recipe(node), REGISTRY) == to_dict(made.recipe, REGISTRY)
    model: Any = node["model"]
    assert (model["encoder"]["layers"], model["decoder"]["layers"], model["source"]["dim"]) == (6, 1, 16)
    assert model["tie"] == "all"
    assert made.recipe.data.train == (str(tmp_path / "run" / "pairs" / "train.jsonl"),)
    assert made.recipe.data.test == tuple(str(tmp_path / name) for name in toys.files("test"))
    assert made.recipe.train.steps == 24
    assert "# one layer, since it runs for every token" in made.yaml


def optimizer(recipe: Recipe) -> Any:
    return to_dict(recipe, REGISTRY)["train"]["optimizer"]


def test_an_update_of_the_student_sees_and_does_what_the_teachers_did(tmp_path: Path) -> None:
    node = toys.recipe(tmp_path)
    node["data"] |= {"drop_duplicates": False}
    node["train"] |= {"gradient_accumulation": 4, "clip_norm": None, "optimizer": {"type": "adam", "beta1": 0.8}}
    teacher, made = load_recipe(node), written(load_recipe(node), tmp_path / "run").recipe
    assert (made.train.batch_tokens, made.train.gradient_accumulation, made.train.clip_norm) == (
        teacher.train.batch_tokens,
        4,
        None,
    )
    assert optimizer(made) == optimizer(teacher)
    assert not made.data.drop_duplicates


def test_a_rate_of_its_own_goes_with_an_optimiser_of_its_own(tmp_path: Path) -> None:
    node = toys.recipe(tmp_path, "bahdanau")
    node["train"] |= {"optimizer": "sgd"}
    assert optimizer(written(load_recipe(node), tmp_path / "run").recipe) == optimizer(Recipe())


def test_settings_and_minutes_count_before_the_choices(tmp_path: Path) -> None:
    teacher = load_recipe(toys.recipe(tmp_path))
    made = written(teacher, tmp_path / "run", "model.encoder.layers=3", "data.test=[]", minutes=7.0)
    assert (made.recipe.train.steps, made.recipe.train.minutes) == (None, 7.0)
    assert made.recipe.data.test == ()
    model: Any = parse_yaml(made.yaml, "recipe")
    assert model["model"]["encoder"]["layers"] == 3
    with pytest.raises(UserError, match=r"data\.train is set.*--source"):
        written(teacher, tmp_path / "run", "data.train=[a.tsv]")


def test_tokenizers_are_the_teachers_but_for_their_noise(tmp_path: Path) -> None:
    teacher = load_recipe(
        toys.recipe(tmp_path) | {"text": {"source": {"type": "bpe", "vocab_size": 300}, "joint": True}}
    )
    made = written(teacher, tmp_path / "run", "text.source.dropout=0.1").recipe
    assert to_dict(made, REGISTRY)["text"]["source"]["dropout"] == 0.1
    with pytest.raises(
        UserError, match=r"text\.source\.vocab_size is set, but a student has the tokenizers of its teacher"
    ):
        written(teacher, tmp_path / "run", "text.source.vocab_size=400")


def test_the_rate_is_explained_by_what_is_taken_over(tmp_path: Path) -> None:
    for kind, told in (("transformer", True), ("bahdanau", False)):
        made = written(load_recipe(toys.recipe(tmp_path, kind)), tmp_path / "run")
        assert ("since most weights are not new" in made.reasons) == told


def test_the_time_that_is_left_is_that_of_lines_made_now(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 0.1, 10.0])
    monkeypatch.setattr("weft.training.distillation.time.monotonic", lambda: next(clock))
    shown = Quiet()
    tell = make_progress_reporter(4_000, shown)
    tell(1_000, 0)
    assert "left" not in shown.said[-1]
    tell(2_000, 1_000)
    assert shown.said[-1] == "translated 2,000 of 4,000 lines, left 0:20"


def test_a_teacher_of_another_kind_has_a_transformer_for_a_student(tmp_path: Path) -> None:
    node = toys.recipe(tmp_path, "bahdanau")
    node["data"] |= {"valid": [], "validation_fraction": 0.1}
    made = written(load_recipe(node), tmp_path / "run")
    model: Any = parse_yaml(made.yaml, "recipe")
    assert model["model"]["decoder"] | {"type": "transformer", "layers": 1} == model["model"]["decoder"]
    assert made.recipe.data.valid == (str(tmp_path / "run" / "pairs" / "valid.jsonl"),)
    assert made.recipe.data.validation_fraction == 0.0


def test_the_lines_are_those_of_training_or_given(tmp_path: Path) -> None:
    toys.write_pairs(tmp_path / "train", [("one", "uno"), ("", ""), ("two", "dos")])
    node = toys.recipe(tmp_path)
    node["data"] |= {"valid": [], "test": []}
    found = load_transfer_set(Path("runs/teacher"), load_recipe(node), ())
    assert (list(found.lines), found.count_lines()) == (["one", "", "two"], 3)
    assert list(found.pairs) == [("one", "uno"), ("", ""), ("two", "dos")]
    given = load_transfer_set(Path("runs/teacher"), load_recipe(node), (tmp_path / "train.tgt",) * 2)
    assert (list(given.lines), list(given.pairs)) == (["uno", "", "dos"] * 2, [])
    assert given.fingerprint != found.fingerprint
    (tmp_path / "train.src").unlink()
    with pytest.raises(UserError, match=r"the data that runs/teacher was trained on.*--source FILE"):
        load_transfer_set(Path("runs/teacher"), load_recipe(node), ())


def test_a_folder_goes_on_with_what_it_was_asked_for_alone(tmp_path: Path) -> None:
    folder = StudentFolder(tmp_path / "student")
    trained = untrained(BAHDANAU)
    single = TrainedModel(trained.model.float(), *trained[1:])
    with pytest.raises(UserError, match="is not the folder of a student"):
        folder.request()
    folder.prepare(ASKED, "data: {}\n", single, {}, {}, FIELDS)
    assert folder.request() == ASKED
    folder.check_same(replace(ASKED, teacher="moved/elsewhere"))
    for changed, told in (
        (replace(ASKED, teacher_fingerprint="3"), "another teacher"),
        (replace(ASKED, source_fingerprint="3"), "the files have changed"),
        (replace(ASKED, settings=("train.seed=2",)), "other settings"),
        (replace(ASKED, minutes=2.0), "--minutes"),
    ):
        with pytest.raises(UserError, match=told):
            folder.check_same(changed)
    folder.request_file.write_text("{}", "utf-8")
    with pytest.raises(UserError, match=r"distillation\.json: is damaged"):
        folder.request()


def system(model: str, search: str, made: str) -> TranslationSystem:
    return TranslationSystem(
        model, search, "torch", 4_000_000, lambda lines: [made for _ in lines], lambda lines: 3 * len(lines)
    )


def test_systems_are_measured_in_turns_and_told() -> None:
    pairs = [("a b c d", "A B C D")] * 4
    teacher, student, greedy = measure_systems(
        [
            system("teacher", "beam 5", "A B C D"),
            system("student", "greedy", "A B C X"),
            system("teacher", "greedy", ""),
        ],
        pairs,
        ["bleu", "chrf"],
        rounds=3,
    )
    assert [score.name for score in teacher.scores] == ["bleu", "chrf"]
    assert teacher.scores[0].value == pytest.approx(100.0)
    assert student.scores[0].value < 100
    assert (teacher.lines, teacher.tokens, len(teacher.seconds)) == (4, 12, 3)
    slow, fast, same = (one._replace(seconds=[s] * 3) for one, s in ((teacher, 2.0), (student, 0.5), (greedy, 1.0)))
    assert fast.speedups(slow) == [4.0] * 3
    table = format_systems([slow, fast, same], "test", 1)
    assert "4.00 (4.00 to 4.00)" in table.split("\n")[2]
    assert "both with greedy: the student is 2.00 (2.00 to 2.00) times as fast" in table
    assert systems_to_json([slow, fast, same], "test", 1)["systems"][1]["speedup"] == 4.0


def test_the_shipped_recipe_is_what_the_command_writes() -> None:
    teacher, shipped = (load_recipe(Path(f"multi30k-en-de{ending}")) for ending in ("", "-student"))
    made = written(teacher, Path("runs/multi30k-student")).recipe
    assert to_dict(made, REGISTRY) == to_dict(shipped, REGISTRY)
