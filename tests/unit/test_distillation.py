"""Distillation: transfer set, teacher weights, student recipe, run folder and comparison of systems."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from system import toys
from system.training_runs import RecordingDisplay
from unit.models import BAHDANAU, TRANSFORMER, untrained_model
from weft.checkpoints.trained_model import TrainedModel, model_weights
from weft.config.recipe import Recipe, load_recipe
from weft.config.registry import REGISTRY
from weft.config.serialization import to_dict
from weft.config.yaml_files import parse_yaml
from weft.core.errors import UserError
from weft.models.model import count_parameters
from weft.training.commented_recipe import CommentedRecipe
from weft.training.distillation import (
    DistillationRequest,
    StudentFolder,
    initialize_from_teacher,
    join_parts,
    load_transfer_set,
    make_progress_reporter,
    translate_in_parts,
)
from weft.training.student_comparison import (
    TranslationSystem,
    format_systems,
    measure_systems,
    systems_to_json,
)
from weft.training.student_recipe import make_student_recipe

FIELDS = ("source", "target")
LINES = ["a", "b\tc", "d\r", "", "e"]
REQUEST = DistillationRequest("runs/teacher", "1", (), "2", (), None)


def uppercase(lines: Sequence[str]) -> list[str]:
    return [line.upper() for line in lines]


def rows(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]]


def test_existing_parts_are_not_translated_again(tmp_path: Path) -> None:
    translated: list[str] = []
    reports: list[tuple[int, int]] = []

    def report(done: int, new: int) -> None:
        reports.append((done, new))

    def failing(lines: Sequence[str]) -> list[str]:
        translated.extend(lines)
        if "e" in lines:
            raise KeyboardInterrupt
        return uppercase(lines)

    with pytest.raises(KeyboardInterrupt):
        translate_in_parts(LINES, failing, tmp_path, FIELDS, report, size=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["part-000000.jsonl", "part-000001.jsonl"]
    assert translated == LINES
    translated.clear()
    with pytest.raises(KeyboardInterrupt):
        translate_in_parts(LINES, failing, tmp_path, FIELDS, report, size=2)
    assert translated == ["e"]
    assert reports == [(2, 2), (4, 4), (2, 0), (4, 0)]


def test_translated_pairs_are_joined_with_reference_pairs(tmp_path: Path) -> None:
    translate_in_parts(LINES, uppercase, tmp_path, ("en", "de"), lambda *_: None, size=2)
    join_parts(tmp_path, [("a", "x")], ("en", "de"), tmp_path / "train.jsonl")
    translated = [{"en": line, "de": line.upper()} for line in LINES]
    assert rows(tmp_path / "train.jsonl") == [*translated, {"en": "a", "de": "x"}]
    assert [path.name for path in tmp_path.iterdir()] == ["train.jsonl"]


def with_three_layers(model: dict[str, Any], **changed: Any) -> dict[str, Any]:
    return model | {slot: {**model[slot], **changed, "layers": 3} for slot in ("encoder", "decoder")}


def test_matching_teacher_weights_are_copied() -> None:
    teacher = untrained_model(TRANSFORMER)
    recipe = load_recipe({"text": {"source": "character"}, "model": with_three_layers(TRANSFORMER)})
    student, copied = initialize_from_teacher(recipe, teacher)
    old, new = model_weights(teacher.model), model_weights(student.model)
    assert all(torch.equal(new[name].double(), old[name].float().double()) for name in old)
    fresh = [name for name in new if name not in old]
    assert {name.rpartition("layers.")[2][0] for name in fresh} == {"1", "2"}
    assert copied == sum(weight.numel() for weight in old.values())
    assert count_parameters(student.model) - copied == sum(new[name].numel() for name in fresh)
    assert student.source_tokenizer is teacher.source_tokenizer


def test_weights_of_different_layers_are_not_copied() -> None:
    teacher = untrained_model(TRANSFORMER)
    recipe = load_recipe({"text": {"source": "character"}, "model": with_three_layers(TRANSFORMER, rotary=True)})
    old, new = model_weights(teacher.model), model_weights(initialize_from_teacher(recipe, teacher)[0].model)
    name = "encoder.layers.0.feedforward.up.weight"
    assert old[name].shape == new[name].shape
    assert not torch.equal(new[name].double(), old[name].float().double())
    assert torch.equal(new["head.weight"].double(), old["head.weight"].float().double())


def student_recipe(teacher: Recipe, folder: Path, *settings: str, minutes: float | None = None) -> CommentedRecipe:
    return make_student_recipe(teacher, "runs/teacher", StudentFolder(folder), settings, minutes, "its sources")


def test_student_recipe_has_a_deep_encoder_and_a_shallow_decoder(tmp_path: Path) -> None:
    teacher = load_recipe(toys.recipe(tmp_path, steps=24))
    chosen = student_recipe(teacher, tmp_path / "run")
    node = parse_yaml(chosen.yaml, "recipe")
    assert isinstance(node, dict)
    assert to_dict(load_recipe(node), REGISTRY) == to_dict(chosen.recipe, REGISTRY)
    model: Any = node["model"]
    assert (model["encoder"]["layers"], model["decoder"]["layers"], model["source"]["dim"]) == (6, 1, 16)
    assert model["tie"] == "all"
    assert chosen.recipe.data.train == (str(tmp_path / "run" / "pairs" / "train.jsonl"),)
    assert chosen.recipe.data.test == tuple(str(tmp_path / name) for name in toys.files("test"))
    assert chosen.recipe.train.steps == 24
    assert "# one layer, since it runs for every token" in chosen.yaml


def optimizer(recipe: Recipe) -> Any:
    return to_dict(recipe, REGISTRY)["train"]["optimizer"]


def test_student_keeps_the_batch_size_and_optimizer_of_the_teacher(tmp_path: Path) -> None:
    node = toys.recipe(tmp_path)
    node["data"] |= {"drop_duplicates": False}
    node["train"] |= {"gradient_accumulation": 4, "clip_norm": None, "optimizer": {"type": "adam", "beta1": 0.8}}
    teacher, chosen = load_recipe(node), student_recipe(load_recipe(node), tmp_path / "run").recipe
    assert (chosen.train.batch_tokens, chosen.train.gradient_accumulation, chosen.train.clip_norm) == (
        teacher.train.batch_tokens,
        4,
        None,
    )
    assert optimizer(chosen) == optimizer(teacher)
    assert not chosen.data.drop_duplicates


def test_student_with_its_own_learning_rate_uses_the_default_optimizer(tmp_path: Path) -> None:
    node = toys.recipe(tmp_path, "bahdanau")
    node["train"] |= {"optimizer": "sgd"}
    assert optimizer(student_recipe(load_recipe(node), tmp_path / "run").recipe) == optimizer(Recipe())


def test_overrides_and_minutes_take_precedence(tmp_path: Path) -> None:
    teacher = load_recipe(toys.recipe(tmp_path))
    chosen = student_recipe(teacher, tmp_path / "run", "model.encoder.layers=3", "data.test=[]", minutes=7.0)
    assert (chosen.recipe.train.steps, chosen.recipe.train.minutes) == (None, 7.0)
    assert chosen.recipe.data.test == ()
    model: Any = parse_yaml(chosen.yaml, "recipe")
    assert model["model"]["encoder"]["layers"] == 3
    with pytest.raises(UserError, match=r"data\.train is set.*--source"):
        student_recipe(teacher, tmp_path / "run", "data.train=[a.tsv]")


def test_only_tokenizer_dropout_may_differ_from_the_teacher(tmp_path: Path) -> None:
    teacher = load_recipe(
        toys.recipe(tmp_path) | {"text": {"source": {"type": "bpe", "vocab_size": 300}, "joint": True}}
    )
    chosen = student_recipe(teacher, tmp_path / "run", "text.source.dropout=0.1").recipe
    assert to_dict(chosen, REGISTRY)["text"]["source"]["dropout"] == 0.1
    with pytest.raises(
        UserError, match=r"text\.source\.vocab_size is set, but a student has the tokenizers of its teacher"
    ):
        student_recipe(teacher, tmp_path / "run", "text.source.vocab_size=400")


def test_learning_rate_reason_depends_on_copied_weights(tmp_path: Path) -> None:
    for family, copied in (("transformer", True), ("bahdanau", False)):
        chosen = student_recipe(load_recipe(toys.recipe(tmp_path, family)), tmp_path / "run")
        assert ("since most weights are not new" in chosen.reasons) == copied


def test_remaining_time_counts_only_lines_translated_in_this_run(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 0.1, 10.0])
    monkeypatch.setattr("weft.training.distillation.time.monotonic", lambda: next(clock))
    shown = RecordingDisplay()
    report = make_progress_reporter(4_000, shown)
    report(1_000, 0)
    assert "left" not in shown.messages[-1]
    report(2_000, 1_000)
    assert shown.messages[-1] == "translated 2,000 of 4,000 lines, left 0:20"


def test_student_of_a_recurrent_teacher_is_a_transformer(tmp_path: Path) -> None:
    node = toys.recipe(tmp_path, "bahdanau")
    node["data"] |= {"valid": [], "validation_fraction": 0.1}
    chosen = student_recipe(load_recipe(node), tmp_path / "run")
    model: Any = parse_yaml(chosen.yaml, "recipe")
    assert model["model"]["decoder"] | {"type": "transformer", "layers": 1} == model["model"]["decoder"]
    assert chosen.recipe.data.valid == (str(tmp_path / "run" / "pairs" / "valid.jsonl"),)
    assert chosen.recipe.data.validation_fraction == 0.0


def test_transfer_set_is_the_training_data_or_the_source_files(tmp_path: Path) -> None:
    toys.write_pairs(tmp_path / "train", [("one", "uno"), ("", ""), ("two", "dos")])
    node = toys.recipe(tmp_path)
    node["data"] |= {"valid": [], "test": []}
    found = load_transfer_set(Path("runs/teacher"), load_recipe(node), ())
    assert (list(found.lines), found.count_lines()) == (["one", "", "two"], 3)
    assert list(found.pairs) == [("one", "uno"), ("", ""), ("two", "dos")]
    from_files = load_transfer_set(Path("runs/teacher"), load_recipe(node), (tmp_path / "train.tgt",) * 2)
    assert (list(from_files.lines), list(from_files.pairs)) == (["uno", "", "dos"] * 2, [])
    assert from_files.fingerprint != found.fingerprint
    (tmp_path / "train.src").unlink()
    with pytest.raises(UserError, match=r"the data that runs/teacher was trained on.*--source FILE"):
        load_transfer_set(Path("runs/teacher"), load_recipe(node), ())


def test_folder_resumes_only_the_same_request(tmp_path: Path) -> None:
    folder = StudentFolder(tmp_path / "student")
    trained = untrained_model(BAHDANAU)
    single = TrainedModel(trained.model.float(), *trained[1:])
    with pytest.raises(UserError, match="is not a folder of weft distill"):
        folder.request()
    folder.prepare(REQUEST, "data: {}\n", single, {}, {}, FIELDS)
    assert folder.request() == REQUEST
    folder.check_same(replace(REQUEST, teacher="moved/elsewhere"))
    for changed, message in (
        (replace(REQUEST, teacher_fingerprint="3"), "another teacher"),
        (replace(REQUEST, source_fingerprint="3"), "the files have changed"),
        (replace(REQUEST, settings=("train.seed=2",)), "other settings"),
        (replace(REQUEST, minutes=2.0), "--minutes"),
    ):
        with pytest.raises(UserError, match=message):
            folder.check_same(changed)
    folder.request_file.write_text("{}", "utf-8")
    with pytest.raises(UserError, match=r"distillation\.json: is damaged"):
        folder.request()


def system(model: str, search: str, output: str) -> TranslationSystem:
    return TranslationSystem(
        model, search, "torch", 4_000_000, lambda lines: [output for _ in lines], lambda lines: 3 * len(lines)
    )


def test_systems_are_measured_and_formatted() -> None:
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
    slow, fast, same = (
        result._replace(seconds=[s] * 3) for result, s in ((teacher, 2.0), (student, 0.5), (greedy, 1.0))
    )
    assert fast.speedups(slow) == [4.0] * 3
    table = format_systems([slow, fast, same], "test", 1)
    assert "4.00 (4.00 to 4.00)" in table.split("\n")[2]
    assert "both with greedy: the student is 2.00 (2.00 to 2.00) times as fast" in table
    assert systems_to_json([slow, fast, same], "test", 1)["systems"][1]["speedup"] == 4.0


def test_shipped_student_recipe_matches_the_generated_recipe() -> None:
    teacher, shipped = (load_recipe(Path(f"multi30k-en-de{ending}")) for ending in ("", "-student"))
    chosen = student_recipe(teacher, Path("runs/multi30k-student")).recipe
    assert to_dict(chosen, REGISTRY) == to_dict(shipped, REGISTRY)
