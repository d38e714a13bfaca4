"""Several ranks through the command: stopped, killed, wrong, and going on with another number of them."""

import json
import signal
from pathlib import Path

import pytest

from system import toys
from system.commands import Moment, running, weft
from system.following import left_behind
from system.together import Launch
from weft.training.run_folder import RunFolder

STEPS = 12


@pytest.fixture(scope="module")
def recipe(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With dropout, so that the draws of each rank count."""
    node = toys.recipe(corpus, steps=STEPS)
    node["train"] |= {"checkpoint_steps": 3, "validation": {"every": 4, "lines": 4, "search": "greedy"}, "log_every": 1}
    return toys.write_recipe(tmp_path_factory.mktemp("ranks") / "recipe.yaml", node)


@pytest.fixture(scope="module")
def undisturbed(recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("undisturbed") / "run"
    results = Launch().run(2, "train", recipe, "--out", run)
    assert [result.code for result in results] == [0, 0], results[0].err
    assert "finished after 12 steps" in results[0].err
    assert not results[1].err  # the first speaks for all
    return run


def losses(run: Path) -> list[float]:
    """Of each step; after some of them that of the average of the weights, on other data."""
    records = map(json.loads, (run / "log.jsonl").read_text("utf-8").split("\n")[:-1])
    return [record["loss"] if "loss" in record else record["validation"]["loss"] for record in records]


NO_DROPOUT = [f"model.{slot}.dropout=0" for slot in ("source", "encoder", "target", "decoder")]


@pytest.fixture(scope="module")
def by_one(recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> list[float]:
    """The losses of a process alone."""
    run = tmp_path_factory.mktemp("one") / "run"
    assert weft("train", recipe, *NO_DROPOUT, "--out", run).code == 0
    assert len(losses(run)) == STEPS + STEPS // 4
    return losses(run)


@pytest.mark.parametrize("parallel", ["ddp", pytest.param("fsdp", marks=pytest.mark.slow)])
def test_two_ranks_do_what_one_does_and_one_goes_on_from_where_they_stopped(
    parallel: str, recipe: Path, by_one: list[float], tmp_path: Path
) -> None:
    command: list[str | Path] = ["train", recipe, *NO_DROPOUT, f"train.parallel={parallel}", "--out", tmp_path / "two"]
    under_way = Moment(tmp_path / "two" / "log.jsonl", 5)
    with Launch().ranks(2, *command, held_at=under_way) as two:
        two[0].wait_for(*under_way)
        two[1].send(signal.SIGTERM)  # any rank will do
        two[0].let_go()
        results = [command.wait() for command in two]
    assert [result.code for result in results] == [130, 130], results[0].err
    assert "everything is saved" in results[0].err
    assert not results[1].err
    went_on = weft("train", "--resume", tmp_path / "two")
    assert went_on.code == 0, went_on.err
    assert losses(tmp_path / "two") == pytest.approx(by_one, abs=1e-4)


@pytest.mark.parametrize("parallel", ["ddp", pytest.param("fsdp", marks=pytest.mark.slow)])
def test_two_go_on_from_where_one_stopped(parallel: str, recipe: Path, by_one: list[float], tmp_path: Path) -> None:
    """Weights, moments and averages that one process has written become copies, or shares."""
    run = tmp_path / "run"
    under_way = Moment(run / "log.jsonl", 5)
    with running("train", recipe, *NO_DROPOUT, f"train.parallel={parallel}", "--out", run, held_at=under_way) as one:
        one.wait_for(*under_way)
        one.send(signal.SIGTERM)
        one.let_go()
        assert one.wait().code == 130
    results = Launch().run(2, "train", "--resume", run)
    assert [result.code for result in results] == [0, 0], results[0].err
    assert losses(run) == pytest.approx(by_one, abs=1e-4)


@pytest.mark.slow
def test_minutes_become_the_same_steps_for_all(recipe: Path, tmp_path: Path) -> None:
    results = Launch().run(2, "train", recipe, "--minutes", "0.05", "--out", tmp_path / "run")
    assert [result.code for result in results] == [0, 0], results[0].err
    settings = RunFolder(tmp_path / "run").recipe().train
    assert settings.minutes is None
    assert f"finished after {settings.steps} steps" in results[0].err


def test_a_killed_rank_ends_the_others_and_started_again_they_end_as_if_nothing_had_been(
    recipe: Path, undisturbed: Path, tmp_path: Path
) -> None:
    launch, command = Launch(), ("train", recipe, "--out", tmp_path / "run")
    under_way = Moment(tmp_path / "run" / "log.jsonl", 7)
    with launch.ranks(2, *command, held_at=under_way) as two:
        two[0].wait_for(*under_way)
        two[1].process.kill()
        two[0].let_go()
        first = two[0].wait()
    assert first.code == 2
    assert first.err.count("weft: another process of this run has ended") == 1
    assert "Traceback" not in first.err
    again = launch.run(2, *command)
    assert [result.code for result in again] == [0, 0], again[0].err
    assert "resuming after step" in again[0].err
    assert left_behind(tmp_path / "run") == left_behind(undisturbed)


def test_a_run_of_another_launch_is_not_gone_on_with_by_itself(recipe: Path, undisturbed: Path) -> None:
    launch = Launch()
    for _ in range(2):  # torchrun would try again
        results = launch.run(2, "train", recipe, "--out", undisturbed)
        assert [result.code for result in results] == [2, 2]
        assert "exists already" in "".join(result.err for result in results)


def test_what_is_wrong_is_told_once(recipe: Path, tmp_path: Path) -> None:
    results = Launch().run(2, "train", recipe, "data.train=[none.src, none.tgt]", "--out", tmp_path / "run")
    assert [result.code for result in results] == [2, 2]
    told = "".join(result.err for result in results)
    assert told.count("weft: ") == 1
    assert "none.src" in told
    assert "Traceback" not in told


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (["model.source.sparse=true"], "model.source.sparse: true, but"),
        (["train.parallel=fsdp", "objective.decoder_input=free-running"], "train.parallel: fsdp, but"),
        (["train.parallel=fsdp", "objective.decoder_input=scheduled-sampling"], "train.parallel: fsdp, but"),
        (
            ["train.parallel=fsdp", "objective={type: minimum-risk, cross_entropy_weight: 0.5}"],
            "train.parallel: fsdp, but",
        ),
    ],
)
def test_what_several_cannot_do_is_told(settings: list[str], told: str, recipe: Path, tmp_path: Path) -> None:
    results = Launch().run(2, "train", recipe, *settings, "--out", tmp_path / "run")
    assert [result.code for result in results] == [2, 2]
    assert told in "".join(result.err for result in results)


@pytest.mark.parametrize(
    ("parallel", "objective"),
    [
        ("ddp", ["objective.decoder_input=scheduled-sampling"]),
        ("ddp", ["objective={type: minimum-risk, samples: 2, cross_entropy_weight: 0.5}"]),
        pytest.param(
            "fsdp", ["objective.decoder_input={type: scheduled-sampling, method: two-pass}"], marks=pytest.mark.slow
        ),
        pytest.param("fsdp", ["objective={type: sampled-softmax, sample_size: 8}"], marks=pytest.mark.slow),
    ],
)
def test_ranks_that_draw_each_for_itself_stay_together(
    parallel: str, objective: list[str], recipe: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    few = ["train.steps=3", "train.validation.every=3", f"train.parallel={parallel}"]
    results = Launch().run(2, "train", recipe, *few, *objective, "--out", out)
    assert [result.code for result in results] == [0, 0], results[0].err
    assert len(losses(out)) == 4  # of three steps, and of validation
