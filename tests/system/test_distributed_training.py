"""`weft train` on several ranks: interrupted, killed, misconfigured, and resumed on another number of ranks."""

import json
import signal
from pathlib import Path

import pytest

from system import toys
from system.commands import LineCount, running, weft
from system.rank_launcher import Launch
from system.training_runs import run_contents
from weft.training.run_folder import RunFolder

STEPS = 12


@pytest.fixture(scope="module")
def recipe(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With dropout, so that each rank's random state matters."""
    node = toys.recipe(corpus, steps=STEPS)
    node["train"] |= {"checkpoint_steps": 3, "validation": {"every": 4, "lines": 4, "search": "greedy"}, "log_every": 1}
    return toys.write_recipe(tmp_path_factory.mktemp("ranks") / "recipe.yaml", node)


@pytest.fixture(scope="module")
def undisturbed(recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("undisturbed") / "run"
    results = Launch().run(2, "train", recipe, "--out", run)
    assert [result.code for result in results] == [0, 0], results[0].err
    assert "finished after 12 steps" in results[0].err
    assert not results[1].err  # only rank 0 prints
    return run


def losses(run: Path) -> list[float]:
    """Return the losses of the log: of each step, and of each validation."""
    records = map(json.loads, (run / "log.jsonl").read_text("utf-8").split("\n")[:-1])
    return [record["loss"] if "loss" in record else record["validation"]["loss"] for record in records]


NO_DROPOUT = [f"model.{slot}.dropout=0" for slot in ("source", "encoder", "target", "decoder")]


@pytest.fixture(scope="module")
def single_process_losses(recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> list[float]:
    """The losses of a run in one process."""
    run = tmp_path_factory.mktemp("single") / "run"
    assert weft("train", recipe, *NO_DROPOUT, "--out", run).code == 0
    assert len(losses(run)) == STEPS + STEPS // 4
    return losses(run)


@pytest.mark.parametrize("parallel", ["ddp", pytest.param("fsdp", marks=pytest.mark.slow)])
def test_two_ranks_match_one_process_which_can_resume_their_run(
    parallel: str, recipe: Path, single_process_losses: list[float], tmp_path: Path
) -> None:
    command: list[str | Path] = ["train", recipe, *NO_DROPOUT, f"train.parallel={parallel}", "--out", tmp_path / "run"]
    midway = LineCount(tmp_path / "run" / "log.jsonl", 5)
    with Launch().ranks(2, *command, pause_at=midway) as ranks:
        ranks[0].wait_for(*midway)
        ranks[1].send(signal.SIGTERM)  # a signal to any rank stops all
        ranks[0].release()
        results = [command.wait() for command in ranks]
    assert [result.code for result in results] == [130, 130], results[0].err
    assert "everything is saved" in results[0].err
    assert not results[1].err
    resumed = weft("train", "--resume", tmp_path / "run")
    assert resumed.code == 0, resumed.err
    assert losses(tmp_path / "run") == pytest.approx(single_process_losses, abs=1e-4)


@pytest.mark.parametrize("parallel", ["ddp", pytest.param("fsdp", marks=pytest.mark.slow)])
def test_two_ranks_resume_the_run_of_one_process(
    parallel: str, recipe: Path, single_process_losses: list[float], tmp_path: Path
) -> None:
    """Weights, moments and averages of one process are replicated (DDP) or sharded (FSDP)."""
    run = tmp_path / "run"
    midway = LineCount(run / "log.jsonl", 5)
    with running("train", recipe, *NO_DROPOUT, f"train.parallel={parallel}", "--out", run, pause_at=midway) as command:
        command.wait_for(*midway)
        command.send(signal.SIGTERM)
        command.release()
        assert command.wait().code == 130
    results = Launch().run(2, "train", "--resume", run)
    assert [result.code for result in results] == [0, 0], results[0].err
    assert losses(run) == pytest.approx(single_process_losses, abs=1e-4)


@pytest.mark.slow
def test_time_budget_gives_all_ranks_the_same_steps(recipe: Path, tmp_path: Path) -> None:
    results = Launch().run(2, "train", recipe, "--minutes", "0.05", "--out", tmp_path / "run")
    assert [result.code for result in results] == [0, 0], results[0].err
    settings = RunFolder(tmp_path / "run").recipe().train
    assert settings.minutes is None
    assert f"finished after {settings.steps} steps" in results[0].err


def test_killed_rank_stops_the_others_and_a_restart_ends_like_an_undisturbed_run(
    recipe: Path, undisturbed: Path, tmp_path: Path
) -> None:
    launch, command = Launch(), ("train", recipe, "--out", tmp_path / "run")
    midway = LineCount(tmp_path / "run" / "log.jsonl", 7)
    with launch.ranks(2, *command, pause_at=midway) as ranks:
        ranks[0].wait_for(*midway)
        ranks[1].process.kill()
        ranks[0].release()
        first = ranks[0].wait()
    assert first.code == 2
    assert first.err.count("weft: another process of this run has ended") == 1
    assert "Traceback" not in first.err
    restarted = launch.run(2, *command)
    assert [result.code for result in restarted] == [0, 0], restarted[0].err
    assert "resuming after step" in restarted[0].err
    assert run_contents(tmp_path / "run") == run_contents(undisturbed)


def test_run_of_another_launch_is_not_resumed_automatically(recipe: Path, undisturbed: Path) -> None:
    launch = Launch()
    for _ in range(2):  # torchrun would restart
        results = launch.run(2, "train", recipe, "--out", undisturbed)
        assert [result.code for result in results] == [2, 2]
        assert "exists already" in "".join(result.err for result in results)


def test_error_is_reported_by_one_rank_only(recipe: Path, tmp_path: Path) -> None:
    results = Launch().run(2, "train", recipe, "data.train=[none.src, none.tgt]", "--out", tmp_path / "run")
    assert [result.code for result in results] == [2, 2]
    message = "".join(result.err for result in results)
    assert message.count("weft: ") == 1
    assert "none.src" in message
    assert "Traceback" not in message


@pytest.mark.parametrize(
    ("settings", "message"),
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
def test_unsupported_settings_are_reported(settings: list[str], message: str, recipe: Path, tmp_path: Path) -> None:
    results = Launch().run(2, "train", recipe, *settings, "--out", tmp_path / "run")
    assert [result.code for result in results] == [2, 2]
    assert message in "".join(result.err for result in results)


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
def test_ranks_with_random_objectives_stay_synchronized(
    parallel: str, objective: list[str], recipe: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    settings = ["train.steps=3", "train.validation.every=3", f"train.parallel={parallel}"]
    results = Launch().run(2, "train", recipe, *settings, *objective, "--out", out)
    assert [result.code for result in results] == [0, 0], results[0].err
    assert len(losses(out)) == 4  # three steps and a validation
