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
from weft.config.document import parse
from weft.config.load import load_recipe
from weft.config.reader import describe
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.core.errors import UserError
from weft.store.model_folder import Trained, weights_of
from weft.student.comparing import measure, ratios
from weft.student.distilling import distil, join
from weft.student.folder import Asked, StudentFolder
from weft.student.inheriting import inherit
from weft.student.material import material_of, require_lines
from weft.student.recipe import Written, student_recipe
from weft.student.run import reporter
from weft.student.systems import System, distinct
from weft.student.table import as_json, render

FIELDS = ("source", "target")
LINES = ["a", "b\tc", "d\r", "", "e"]
ASKED = Asked("runs/teacher", "1", (), "2", (), None)


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
        distil(LINES, failing, tmp_path, FIELDS, tell, size=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["part-000000.jsonl", "part-000001.jsonl"]
    assert asked == LINES
    asked.clear()
    with pytest.raises(KeyboardInterrupt):
        distil(LINES, failing, tmp_path, FIELDS, tell, size=2)
    assert asked == ["e"]
    assert told == [(2, 2), (4, 4), (2, 0), (4, 0)]


def test_pairs_are_joined_with_those_of_people(tmp_path: Path) -> None:
    distil(LINES, shout, tmp_path, ("en", "de"), lambda *_: None, size=2)
    join(tmp_path, [("a", "x")], ("en", "de"), tmp_path / "train.jsonl")
    made = [{"en": line, "de": line.upper()} for line in LINES]
    assert rows(tmp_path / "train.jsonl") == [*made, {"en": "a", "de": "x"}]
    assert [path.name for path in tmp_path.iterdir()] == ["train.jsonl"]


def deeper(model: dict[str, Any], **changed: Any) -> dict[str, Any]:
    return model | {slot: {**model[slot], **changed, "layers": 3} for slot in ("encoder", "decoder")}


def test_weights_that_mean_the_same_are_taken_over() -> None:
    teacher = untrained(TRANSFORMER)
    recipe = load_recipe({"text": {"source": "character"}, "model": deeper(TRANSFORMER)})
    inherited = inherit(recipe, teacher)
    old, new = weights_of(teacher.model), weights_of(inherited.student.model)
    assert all(torch.equal(new[name].double(), old[name].float().double()) for name in old)
    fresh = [name for name in new if name not in old]
    assert {name.rpartition("layers.")[2][0] for name in fresh} == {"1", "2"}
    assert inherited.taken == sum(weight.numel() for weight in old.values())
    assert inherited.whole - inherited.taken == sum(new[name].numel() for name in fresh)
    assert inherited.student.source_tokenizer is teacher.source_tokenizer


def test_weights_of_another_kind_of_layer_are_not_taken_over() -> None:
    teacher = untrained(TRANSFORMER)
    recipe = load_recipe({"text": {"source": "character"}, "model": deeper(TRANSFORMER, rotary=True)})
    old, new = weights_of(teacher.model), weights_of(inherit(recipe, teacher).student.model)
    name = "encoder.layers.0.feedforward.up.weight"
    assert old[name].shape == new[name].shape
    assert not torch.equal(new[name].double(), old[name].float().double())
    assert torch.equal(new["head.weight"].double(), old["head.weight"].float().double())


def written(teacher: Recipe, folder: Path, *settings: str, minutes: float | None = None) -> Written:
    return student_recipe(teacher, "runs/teacher", StudentFolder(folder), settings, minutes, "its sources")


def test_the_recipe_moves_layers_to_the_encoder(tmp_path: Path) -> None:
    teacher = load_recipe(toys.recipe(tmp_path, steps=24))
    made = written(teacher, tmp_path / "run")
    node = parse(made.yaml, "recipe")
    assert isinstance(node, dict)
    assert describe(load_recipe(node), REGISTRY) == describe(made.recipe, REGISTRY)
    model: Any = node["model"]
    assert (model["encoder"]["layers"], model["decoder"]["layers"], model["source"]["dim"]) == (6, 1, 16)
    assert model["tie"] == "all"
    assert made.recipe.data.train == (str(tmp_path / "run" / "distilled" / "train.jsonl"),)
    assert made.recipe.data.test == tuple(str(tmp_path / name) for name in toys.files("test"))
    assert made.recipe.train.steps == 24
    assert "# one layer, since every token waits for it" in made.yaml


def optimiser(recipe: Recipe) -> Any:
    return describe(recipe, REGISTRY)["train"]["optimiser"]


def test_an_update_of_the_student_sees_and_does_what_the_teachers_did(tmp_path: Path) -> None:
    node = toys.recipe(tmp_path)
    node["data"] |= {"drop_duplicates": False}
    node["train"] |= {"accumulate": 4, "clip": None, "optimiser": {"type": "adam", "beta1": 0.8}}
    teacher, made = load_recipe(node), written(load_recipe(node), tmp_path / "run").recipe
    assert (made.train.batch_tokens, made.train.accumulate, made.train.clip) == (teacher.train.batch_tokens, 4, None)
    assert optimiser(made) == optimiser(teacher)
    assert not made.data.drop_duplicates


def test_a_rate_of_its_own_goes_with_an_optimiser_of_its_own(tmp_path: Path) -> None:
    node = toys.recipe(tmp_path, "bahdanau")
    node["train"] |= {"optimiser": "sgd"}
    assert optimiser(written(load_recipe(node), tmp_path / "run").recipe) == optimiser(Recipe())


def test_settings_and_minutes_count_before_the_choices(tmp_path: Path) -> None:
    teacher = load_recipe(toys.recipe(tmp_path))
    made = written(teacher, tmp_path / "run", "model.encoder.layers=3", "data.test=[]", minutes=7.0)
    assert (made.recipe.train.steps, made.recipe.train.minutes) == (None, 7.0)
    assert made.recipe.data.test == ()
    model: Any = parse(made.yaml, "recipe")
    assert model["model"]["encoder"]["layers"] == 3
    with pytest.raises(UserError, match=r"data\.train is set.*--source"):
        written(teacher, tmp_path / "run", "data.train=[a.tsv]")


def test_tokenizers_are_the_teachers_but_for_their_noise(tmp_path: Path) -> None:
    teacher = load_recipe(toys.recipe(tmp_path) | {"text": {"source": {"type": "bpe", "size": 300}, "joint": True}})
    made = written(teacher, tmp_path / "run", "text.source.dropout=0.1").recipe
    assert describe(made, REGISTRY)["text"]["source"]["dropout"] == 0.1
    with pytest.raises(UserError, match=r"text\.source\.size is set, but a student has the tokenizers of its teacher"):
        written(teacher, tmp_path / "run", "text.source.size=400")


def test_the_rate_is_explained_by_what_is_taken_over(tmp_path: Path) -> None:
    for kind, told in (("transformer", True), ("bahdanau", False)):
        made = written(load_recipe(toys.recipe(tmp_path, kind)), tmp_path / "run")
        assert ("since most weights are not new" in made.lines) == told


def test_the_time_that_is_left_is_that_of_lines_made_now(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 0.1, 10.0])
    monkeypatch.setattr("weft.student.run.time.monotonic", lambda: next(clock))
    shown = Quiet()
    tell = reporter(4_000, shown)
    tell(1_000, 0)
    assert "left" not in shown.said[-1]
    tell(2_000, 1_000)
    assert shown.said[-1] == "translated 2,000 of 4,000 lines, left 0:20"


def test_a_teacher_of_another_kind_has_a_transformer_for_a_student(tmp_path: Path) -> None:
    node = toys.recipe(tmp_path, "bahdanau")
    node["data"] |= {"valid": [], "hold_out": 0.1}
    made = written(load_recipe(node), tmp_path / "run")
    model: Any = parse(made.yaml, "recipe")
    assert model["model"]["decoder"] | {"type": "transformer", "layers": 1} == model["model"]["decoder"]
    assert made.recipe.data.valid == (str(tmp_path / "run" / "distilled" / "valid.jsonl"),)
    assert made.recipe.data.hold_out == 0.0


def test_the_lines_are_those_of_training_or_given(tmp_path: Path) -> None:
    toys.write_pairs(tmp_path / "train", [("one", "uno"), ("", ""), ("two", "dos")])
    node = toys.recipe(tmp_path)
    node["data"] |= {"valid": [], "test": []}
    found = material_of(Path("runs/teacher"), load_recipe(node), ())
    assert (list(found.lines), require_lines(found)) == (["one", "", "two"], 3)
    assert list(found.pairs) == [("one", "uno"), ("", ""), ("two", "dos")]
    given = material_of(Path("runs/teacher"), load_recipe(node), (tmp_path / "train.tgt",) * 2)
    assert (list(given.lines), list(given.pairs)) == (["uno", "", "dos"] * 2, [])
    assert given.fingerprint != found.fingerprint
    (tmp_path / "train.src").unlink()
    with pytest.raises(UserError, match=r"the data that runs/teacher was trained on.*--source FILE"):
        material_of(Path("runs/teacher"), load_recipe(node), ())


def test_a_folder_goes_on_with_what_it_was_asked_for_alone(tmp_path: Path) -> None:
    folder = StudentFolder(tmp_path / "student")
    trained = untrained(BAHDANAU)
    single = Trained(trained.model.float(), *trained[1:])
    with pytest.raises(UserError, match="is not the folder of a student"):
        folder.asked()
    folder.create(ASKED, "data: {}\n", single)
    assert folder.asked() == ASKED
    folder.check_same(replace(ASKED, teacher="moved/elsewhere"))
    for changed, told in (
        (replace(ASKED, model="3"), "another teacher"),
        (replace(ASKED, lines="3"), "the files have changed"),
        (replace(ASKED, settings=("train.seed=2",)), "other settings"),
        (replace(ASKED, minutes=2.0), "--minutes"),
    ):
        with pytest.raises(UserError, match=told):
            folder.check_same(changed)
    (folder.path / "teacher.json").write_text("{}", "utf-8")
    with pytest.raises(UserError, match=r"teacher\.json: is damaged"):
        folder.asked()


def system(model: str, search: str, made: str) -> System:
    return System(model, search, "torch", 4_000_000, lambda lines: [made for _ in lines], lambda lines: 3 * len(lines))


def test_systems_are_measured_in_turns_and_told() -> None:
    pairs = [("a b c d", "A B C D")] * 4
    teacher, student, greedy = measure(
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
    assert ratios(fast, slow) == [4.0] * 3
    table = render([slow, fast, same], "test", 1)
    assert "4.00 (4.00 to 4.00)" in table.split("\n")[2]
    assert "both with greedy: the student is 2.00 (2.00 to 2.00) times as fast" in table
    assert json.loads(as_json([slow, fast, same], "test", 1))["systems"][1]["times_the_first"] == 4.0


def test_equal_systems_are_measured_once() -> None:
    greedy: dict[str, Any] = {"type": "greedy"}
    assert list(distinct([("teacher", greedy), ("student", greedy), ("teacher", dict(greedy))])) == [
        ("teacher", greedy),
        ("student", greedy),
    ]


def test_the_shipped_recipe_is_what_the_command_writes() -> None:
    configs = Path(__file__).parents[2] / "configs"
    teacher, shipped = (load_recipe(configs / f"multi30k-en-de{ending}.yaml") for ending in ("", "-student"))
    made = written(teacher, Path("runs/multi30k-student")).recipe
    assert describe(made, REGISTRY) == describe(shipped, REGISTRY)
