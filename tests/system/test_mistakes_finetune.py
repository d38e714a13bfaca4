"""Mistakes with `weft finetune`."""

from collections.abc import Callable

import pytest

from system.mistakes import Mistake, mistake

TUNE = ["finetune", "{run}", "{corpus}/train.src", "{corpus}/train.tgt", "--out", "{new}"]
MISTAKES = [
    mistake("nothing", ["finetune"], "weft finetune MODEL new.en new.de --out FOLDER"),
    mistake("no data", ["finetune", "{run}", "--out", "{new}"], "weft finetune MODEL new.en new.de --out FOLDER"),
    mistake("no folder", ["finetune", "{run}", "{corpus}/train.src"], "weft finetune MODEL new.en new.de --out FOLDER"),
    mistake("no model", ["finetune", "{corpus}", *TUNE[2:]], "{corpus} is not a model folder"),
    mistake("a damaged model", ["finetune", "{flipped}", *TUNE[2:]], "weights.safetensors: is damaged"),
    mistake("a folder that is taken", [*TUNE[:-1], "{bad}"], "{bad} exists already"),
    mistake("no such file", [*TUNE[:3], "{bad}/none", *TUNE[4:]], "{bad}/none: there is no such file"),
    mistake("one side", [*TUNE[:3], *TUNE[4:]], "two text files, one .tsv or one .jsonl"),
    mistake("two sides for one", ["finetune", "{language}", *TUNE[2:]], "{language} learns from one text file"),
    mistake("other lines", [*TUNE[:3], "{corpus}/valid.tgt", *TUNE[4:]], "{corpus}/valid.tgt"),
    mistake("no such slot", [*TUNE, "--freeze", "encoder,deceiver"], "a model has no part 'deceiver'", "decoder"),
    mistake("a slot without weights", [*TUNE, "--freeze", "frame_head"], "the frame_head of this model has no weights"),
    mistake("all", [*TUNE, "--freeze", "source,encoder,target,decoder,head"], "everything is frozen"),
    mistake(
        "no optimizer",
        ["finetune", "{run}/best", *TUNE[2:], "--keep-optimizer"],
        "{run}/best has no checkpoints",
        "omit --keep-optimizer",
    ),
    mistake(
        "another optimizer",
        [*TUNE, "--keep-optimizer", "train.optimizer=sgd"],
        "train.optimizer",
        "omit --keep-optimizer",
    ),
    mistake("a negative mix", [*TUNE, "--mix", "-1"], "--mix"),
    mistake("data of its own", [*TUNE, "data.train=[a.tsv]"], "data.train is set"),
    mistake("another start", [*TUNE, "train.initial_model={run}"], "train.initial_model is set"),
    mistake("an unknown setting", [*TUNE, "train.step=3"], 'train: unknown setting "step"'),
    mistake(
        "another model",
        [*TUNE, "model.encoder.layers=2"],
        "{run} holds another model: model.encoder.layers is 1 there and 2 here",
    ),
]


@pytest.mark.parametrize("wrong", MISTAKES, ids=lambda wrong: wrong.name)
def test_mistake(wrong: Mistake, check: Callable[[Mistake], None]) -> None:
    check(wrong)
