"""A trained model learns new data: what is kept, what is frozen, what is told; stopped and gone on with."""

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
from system.following import placeless
from weft.checkpoints.trained_model import load_model, load_model_recipe
from weft.training.warm_start import trainable_names
from weft.visualize.run_evaluation import ReportOptions, collect_report_data
from weft.visualize.run_report import run_report_page
from weft.visualize.run_summary import read_run_summary

FEW = ("train.steps=6", "train.checkpoint_steps=3", "train.validation.every=3", "train.batch_tokens=300")
NEW = {"the zebra sees a fish": "li zebro videt un pesko", "a zebra hears the žaba": "un zebro audet li žabo"}


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of new pairs, in some of which new words stand."""
    draws, path = Random(3), tmp_path_factory.mktemp("new") / "new.tsv"
    pairs = [toys.sentence(draws) for _ in range(210)] + [*NEW.items()] * 20
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), "utf-8")
    return path


def tensors(path: Path, name: str) -> dict[str, Tensor]:
    return load_file(path / f"{name}.safetensors")


def rows(result: Result) -> list[str]:
    assert result.code == 0, result.err
    return [line.split(":")[0].split()[0] for line in result.lines if line]


def test_what_is_gained_and_lost_is_told(runs: dict[str, Path], new: Path, tmp_path: Path) -> None:
    result = weft("finetune", runs["transformer"], new, *FEW, "--mix", "1", "--out", tmp_path / "run")
    assert rows(result) == ["mixed", "new", "bleu", "chrf", "original", "bleu", "chrf"]
    assert "new tokens: 6 (▁zebra ▁zebro" in result.err
    old, tuned = load_model(runs["transformer"]), load_model(tmp_path / "run")
    assert tuned.target_tokenizer.vocabulary()[: old.target_tokenizer.size] == old.target_tokenizer.vocabulary()
    mixed = tuned.recipe.data.mix
    assert [len(corpus.files) for corpus in mixed] == [1, 2]
    assert mixed[1].weight * 400 == pytest.approx(250 * (1 - 0.1), rel=0.01)
    kept = json.loads((tmp_path / "run" / "finetuning_scores.json").read_text("utf-8"))
    assert kept["before"].keys() == kept["after"].keys() == {"new", "original"}
    validated = (tmp_path / "run" / "pairs" / "new-valid.jsonl").read_text("utf-8").splitlines()
    learned = (tmp_path / "run" / "pairs" / "new.jsonl").read_text("utf-8").splitlines()
    assert len(validated) + len(learned) == 250
    assert set(validated).isdisjoint(learned)
    again = weft("finetune", runs["transformer"], new, *FEW, "--mix", "1", "--out", tmp_path / "run")
    assert again.lines == result.lines
    told = run_report_page(
        collect_report_data(read_run_summary(tmp_path / "run"), ReportOptions(max_lines=3, sentences=1))
    )
    assert f"fine-tuned from {runs['transformer']}" in told
    home = next(score for score in kept["after"]["original"] if score["name"] == "chrf")
    assert f"{home['value']:.2f}" in told.split("On the original data")[1].split("</table>")[0]


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_what_is_frozen_does_not_change_by_a_bit(
    precision: str, runs: dict[str, Path], new: Path, tmp_path: Path
) -> None:
    """With an optimizer that lets weights decay, and a mean of three."""
    settings = (
        "train.optimizer={type: adamw, weight_decay: 0.5}",
        "train.average={type: snapshots, count: 3, every: 1}",
        f"train.precision={precision}",
    )
    run = tmp_path / "run"
    result = weft("finetune", runs["bahdanau"], new, *FEW, *settings, "--freeze", "source,encoder", "--out", run)
    assert result.code == 0, result.err
    assert "of them frozen: source, encoder" in result.err
    began = tensors(run / "initial_model" / "best", "weights")
    frozen = {name for name in began if name.startswith(("source.", "encoder."))}
    assert 0 < len(frozen) < len(began)
    for place in ("checkpoints/step-00000006", "best", "last"):
        ended = tensors(run / place, "weights")
        assert {name for name in began if ended[name].equal(began[name])} == frozen
    numbers = {key.split(".")[0] for key in tensors(run / "checkpoints/step-00000006", "optimizer")}
    assert len(numbers) == len(began) - len(frozen)
    averaged = {key.partition("/")[2] for key in tensors(run / "checkpoints/step-00000006", "average")}
    assert averaged == began.keys() - frozen


def test_the_optimiser_is_reset_or_kept(runs: dict[str, Path], new: Path, tmp_path: Path) -> None:
    old = runs["transformer"]
    for name, options in (("reset", ()), ("kept", ("--keep-optimizer", "--freeze", "encoder"))):
        result = weft("finetune", old, new, *FEW, "train.checkpoint_steps=6", *options, "--out", tmp_path / name)
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
def test_killed_again_and_again_it_ends_the_same(runs: dict[str, Path], new: Path, tmp_path: Path) -> None:
    options = (*FEW, "--mix", "0.5", "--freeze", "encoder", "--keep-optimizer", "--extend-vocabulary", "9")
    command = ("finetune", runs["transformer"], new, *options, "--out")
    assert weft(*command, tmp_path / "straight").code == 0
    for write in (2, 12, 25, 25):
        assert weft(*command, tmp_path / "killed", dies_at=write).code == -SIGKILL
    assert weft(*command, tmp_path / "killed").code == 0
    assert placeless(tmp_path / "killed") == placeless(tmp_path / "straight")


def test_another_command_does_not_go_on(runs: dict[str, Path], new: Path, tmp_path: Path) -> None:
    command = ("finetune", runs["transformer"], new, *FEW, "--out", tmp_path / "run")
    assert weft(*command).code == 0
    for options, told in (
        (("--mix", "1"), "with another --mix"),
        (("--keep-optimizer",), "without --keep-optimizer"),
        (("train.seed=3",), "with other settings"),
    ):
        result = weft(*command, *options)
        assert (result.code, told in result.err) == (2, True), result.err


def test_a_language_model(language_model: Path, corpus: Path, tmp_path: Path) -> None:
    result = weft("finetune", language_model, corpus / "train.tgt", *FEW, "--out", tmp_path / "run")
    assert rows(result) == ["no", "new", "perplexity", "bits", "original", "perplexity", "bits"]


@pytest.mark.slow
def test_a_home_that_is_gone_or_changed(tmp_path: Path, new: Path) -> None:
    home = toys.write_corpus(tmp_path)
    node = toys.recipe(home, steps=2)
    node["data"] |= {"valid": [], "test": [], "validation_fraction": 0.1}
    recipe = toys.write_recipe(tmp_path / "recipe.yaml", node)
    assert weft("train", recipe, "--out", tmp_path / "old").code == 0
    command = ("finetune", tmp_path / "old", new, *FEW, "--out")
    shutil.copy(home / "valid.tgt", home / "train.tgt")
    shutil.copy(home / "valid.src", home / "train.src")
    changed = weft(*command, tmp_path / "changed", "--mix", "1")
    assert rows(changed) == ["mixed", "new", "bleu", "chrf", "original", "bleu", "chrf"]
    assert "the files of data.train have changed since" in changed.err
    held_out = weft("show", tmp_path / "changed")
    assert held_out.code == 0
    old_pairs = (tmp_path / "changed" / "pairs" / "original-0.jsonl").read_text("utf-8").splitlines()
    assert 0 < len(old_pairs) < 20  # without those that it was validated on
    (home / "train.src").unlink()
    gone = weft(*command, tmp_path / "gone")
    assert rows(gone) == ["no", "new", "bleu", "chrf"]
    assert "there are no scores on the original data" in gone.err
    refused = weft(*command, tmp_path / "refused", "--mix", "1")
    assert refused.code == 2
    assert "Put it back, or omit --mix" in refused.err
    assert not (tmp_path / "refused").exists()
