"""`weft finetune`: scores before and after, frozen parts, optimizer state, and resuming after kills."""

import json
import shutil
from pathlib import Path
from random import Random
from signal import SIGKILL

import pytest
from safetensors.torch import load_file
from torch import Tensor

from system import toys
from system.commands import Result, weft
from system.training_runs import run_contents_without_paths
from weft.checkpoints.trained_model import load_model, load_model_recipe
from weft.training.warm_start import trainable_names
from weft.visualize.run_evaluation import ReportOptions, collect_report_data
from weft.visualize.run_report import run_report_page
from weft.visualize.run_summary import read_run_summary

FEW_STEPS = ("train.steps=6", "train.checkpoint_steps=3", "train.validation.every=3", "train.batch_tokens=300")
NEW_PAIRS = {"the zebra sees a fish": "li zebro videt un pesko", "a zebra hears the žaba": "un zebro audet li žabo"}


@pytest.fixture(scope="module")
def new_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of new pairs, some with new words."""
    draws, path = Random(3), tmp_path_factory.mktemp("new") / "new.tsv"
    pairs = [toys.sentence(draws) for _ in range(210)] + [*NEW_PAIRS.items()] * 20
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), "utf-8")
    return path


def tensors(path: Path, name: str) -> dict[str, Tensor]:
    return load_file(path / f"{name}.safetensors")


def row_names(result: Result) -> list[str]:
    assert result.code == 0, result.err
    return [line.split(":")[0].split()[0] for line in result.lines if line]


def test_scores_before_and_after_are_reported(runs: dict[str, Path], new_data: Path, tmp_path: Path) -> None:
    result = weft("finetune", runs["transformer"], new_data, *FEW_STEPS, "--mix", "1", "--out", tmp_path / "run")
    assert row_names(result) == ["mixed", "new", "bleu", "chrf", "original", "bleu", "chrf"]
    assert "new tokens: 6 (▁zebra ▁zebro" in result.err
    old, tuned = load_model(runs["transformer"]), load_model(tmp_path / "run")
    assert tuned.target_tokenizer.vocabulary()[: old.target_tokenizer.size] == old.target_tokenizer.vocabulary()
    assert tuned.recipe.data.languages == toys.LANGUAGES
    mixed = tuned.recipe.data.mix
    assert [len(corpus.files) for corpus in mixed] == [1, 2]
    assert mixed[1].weight * 400 == pytest.approx(250 * (1 - 0.1), rel=0.01)
    scores = json.loads((tmp_path / "run" / "finetuning_scores.json").read_text("utf-8"))
    assert scores["before"].keys() == scores["after"].keys() == {"new", "original"}
    validated = (tmp_path / "run" / "pairs" / "new-valid.jsonl").read_text("utf-8").splitlines()
    learned = (tmp_path / "run" / "pairs" / "new.jsonl").read_text("utf-8").splitlines()
    assert len(validated) + len(learned) == 250
    assert set(validated).isdisjoint(learned)
    again = weft("finetune", runs["transformer"], new_data, *FEW_STEPS, "--mix", "1", "--out", tmp_path / "run")
    assert again.lines == result.lines
    page = run_report_page(
        collect_report_data(read_run_summary(tmp_path / "run"), ReportOptions(max_lines=3, sentences=1))
    )
    assert f"fine-tuned from {runs['transformer']}" in page
    original_chrf = next(score for score in scores["after"]["original"] if score["name"] == "chrf")
    assert f"{original_chrf['value']:.2f}" in page.split("On the original data")[1].split("</table>")[0]


def test_model_that_only_gets_worse_is_not_kept(runs: dict[str, Path], new_data: Path, tmp_path: Path) -> None:
    run, schedule = tmp_path / "run", ("train.schedule.learning_rate=9", "train.schedule.warmup_steps=1")
    validation = ("train.validation.every=2", "train.validation.best_metric=loss")
    settings = ("train.steps=40", "train.batch_tokens=300", *schedule, *validation)
    command = ("finetune", runs["transformer"], new_data, *settings, "--out", run)
    result = weft(*command)
    assert result.code == 0, result.err
    assert "ended at step 6: validation no longer improves" in result.err  # patience is 3
    assert f"{run / 'best'} holds the initial model" in result.err
    steps = {name: json.loads((run / name / "metrics.json").read_text("utf-8"))["step"] for name in ("best", "last")}
    assert steps == {"best": 0, "last": 6}
    initial, kept = tensors(run / "initial_model" / "best", "weights"), tensors(run / "best", "weights")
    assert all(kept[name].equal(weight) for name, weight in initial.items())
    assert [line.endswith("no significant difference") for line in result.lines if "chrf" in line] == [True, True]
    validated = [json.loads(line)["step"] for line in (run / "log.jsonl").read_text("utf-8").splitlines()]
    assert validated.count(0) == 1


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_frozen_weights_do_not_change(precision: str, runs: dict[str, Path], new_data: Path, tmp_path: Path) -> None:
    """With weight decay and an average of three snapshots."""
    settings = (
        "train.optimizer={type: adamw, weight_decay: 0.5}",
        "train.average={type: snapshots, count: 3, every: 1}",
        f"train.precision={precision}",
    )
    run = tmp_path / "run"
    result = weft(
        "finetune", runs["bahdanau"], new_data, *FEW_STEPS, *settings, "--freeze", "source,encoder", "--out", run
    )
    assert result.code == 0, result.err
    assert "of them frozen: source, encoder" in result.err
    initial = tensors(run / "initial_model" / "best", "weights")
    frozen = {name for name in initial if name.startswith(("source.", "encoder."))}
    assert 0 < len(frozen) < len(initial)
    for folder in ("checkpoints/step-00000006", "last"):
        final = tensors(run / folder, "weights")
        assert {name for name in initial if final[name].equal(initial[name])} == frozen
    numbers = {key.split(".")[0] for key in tensors(run / "checkpoints/step-00000006", "optimizer")}
    assert len(numbers) == len(initial) - len(frozen)
    averaged = {key.partition("/")[2] for key in tensors(run / "checkpoints/step-00000006", "average")}
    assert averaged == initial.keys() - frozen


def test_optimizer_state_is_reset_or_kept(runs: dict[str, Path], new_data: Path, tmp_path: Path) -> None:
    old = runs["transformer"]
    for name, options in (("reset", ()), ("kept", ("--keep-optimizer", "--freeze", "encoder"))):
        result = weft(
            "finetune", old, new_data, *FEW_STEPS, "train.checkpoint_steps=6", *options, "--out", tmp_path / name
        )
        assert result.code == 0, result.err
    assert tensors(tmp_path / "reset" / "checkpoints/step-00000000", "optimizer") == {}
    (newest,) = old.glob("checkpoints/step-00000080")
    before, after = tensors(newest, "optimizer"), tensors(tmp_path / "kept/checkpoints/step-00000000", "optimizer")
    names = (trainable_names(load_model_recipe(run)) for run in (old, tmp_path / "kept"))
    old_names, new_names = names
    assert set(old_names) - set(new_names) == {name for name in old_names if name.startswith("encoder.")}
    assert {key.split(".")[0] for key in after} == {str(number) for number in range(len(new_names))}
    for number, name in enumerate(new_names):
        moment = before[f"{old_names.index(name)}.exp_avg"]
        assert after[f"{number}.exp_avg"][: len(moment)].equal(moment)
        assert after[f"{number}.step"] == 80
        assert not after[f"{number}.exp_avg"][len(moment) :].any()


@pytest.mark.slow
def test_repeatedly_killed_run_ends_the_same(runs: dict[str, Path], new_data: Path, tmp_path: Path) -> None:
    options = (*FEW_STEPS, "--mix", "0.5", "--freeze", "encoder", "--keep-optimizer", "--extend-vocabulary", "9")
    command = ("finetune", runs["transformer"], new_data, *options, "--out")
    assert weft(*command, tmp_path / "undisturbed").code == 0
    for write in (2, 12, 25, 25):
        assert weft(*command, tmp_path / "killed", kill_at_write=write).code == -SIGKILL
    assert weft(*command, tmp_path / "killed").code == 0
    assert run_contents_without_paths(tmp_path / "killed") == run_contents_without_paths(tmp_path / "undisturbed")


def test_run_is_not_resumed_with_other_options(runs: dict[str, Path], new_data: Path, tmp_path: Path) -> None:
    command = ("finetune", runs["transformer"], new_data, *FEW_STEPS, "--out", tmp_path / "run")
    assert weft(*command).code == 0
    for options, message in (
        (("--mix", "1"), "with another --mix"),
        (("--keep-optimizer",), "with another choice of --keep-optimizer"),
        (("train.seed=3",), "with other settings"),
    ):
        result = weft(*command, *options)
        assert (result.code, message in result.err) == (2, True), result.err


def test_finetune_a_language_model(language_model: Path, corpus: Path, tmp_path: Path) -> None:
    result = weft("finetune", language_model, corpus / "train.tgt", *FEW_STEPS, "--out", tmp_path / "run")
    assert row_names(result) == ["no", "new", "perplexity", "bits", "original", "perplexity", "bits"]


@pytest.mark.slow
def test_original_data_missing_or_changed(tmp_path: Path, new_data: Path) -> None:
    original = toys.write_corpus(tmp_path)
    node = toys.recipe(original, steps=2)
    node["data"] |= {"valid": [], "test": [], "validation_fraction": 0.1}
    recipe = toys.write_recipe(tmp_path / "recipe.yaml", node)
    assert weft("train", recipe, "--out", tmp_path / "old").code == 0
    command = ("finetune", tmp_path / "old", new_data, *FEW_STEPS, "--out")
    shutil.copy(original / "valid.tgt", original / "train.tgt")
    shutil.copy(original / "valid.src", original / "train.src")
    changed = weft(*command, tmp_path / "changed", "--mix", "1")
    assert row_names(changed) == ["mixed", "new", "bleu", "chrf", "original", "bleu", "chrf"]
    assert "the files of data.train have changed since" in changed.err
    held_out = weft("show", tmp_path / "changed")
    assert held_out.code == 0
    old_pairs = (tmp_path / "changed" / "pairs" / "original-0.jsonl").read_text("utf-8").splitlines()
    assert 0 < len(old_pairs) < 20  # without the validation pairs
    (original / "train.src").unlink()
    missing = weft(*command, tmp_path / "missing")
    assert row_names(missing) == ["no", "new", "bleu", "chrf"]
    assert "there are no scores on the original data" in missing.err
    refused = weft(*command, tmp_path / "refused", "--mix", "1")
    assert refused.code == 2
    assert "Put it back, or omit --mix" in refused.err
    assert not (tmp_path / "refused").exists()
