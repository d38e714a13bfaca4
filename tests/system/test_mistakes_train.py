"""Mistakes in what `weft train` is given: files, settings, data, and where to write."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from system.mistakes import TRAIN, Mistake, mistake
from weft.cli.main import main

RESUME = ["train", "--resume"]

MISTAKES = [
    # what to train
    mistake("no recipe", ["train"], "weft train RECIPE --out FOLDER", "weft train train.en train.de --out FOLDER"),
    mistake("no out", ["train", "{recipe}"], "--out is missing", "weft train {recipe} --out runs/first"),
    mistake("nothing to train", ["train", "--out", "{new}"], "weft train RECIPE --out FOLDER"),
    mistake("recipe and data", ["train", "{recipe}", "{corpus}/test.src", "--out", "{new}"], "{recipe} is a recipe"),
    mistake(
        "one side",
        ["train", "{corpus}/test.src", "--out", "{new}"],
        "two text files",
        "{corpus}/test.src: neither data nor a recipe",
    ),
    mistake(
        "three sides",
        ["train", "a", "b", "c", "--out", "{new}"],
        "two text files",
        "a, b, c: neither data nor a recipe",
    ),
    mistake("unequal files", ["train", "{corpus}/train.src", "{corpus}/test.tgt", "--out", "{new}"], "has 400 lines"),
    mistake("missing file", ["train", "{corpus}/train.scr", "{corpus}/train.tgt", "--out", "{new}"], "train.scr"),
    mistake("empty files", ["train", "{bad}/empty.txt", "{bad}/empty.txt", "--out", "{new}"], "no pair in it"),
    mistake("no time", [*TRAIN, "--minutes", "0"], "--minutes", "0.01"),
    mistake("steps and time", [*TRAIN, "--minutes", "1", "train.steps=5"], "train.minutes", "train.steps=null"),
    mistake("neither", [*TRAIN, "train.steps=null"], "train.steps: is null, and so is train.minutes"),
    mistake(
        "clock and cosine",
        [*TRAIN, "--minutes", "1", "train.schedule={type: cosine}"],
        "train.schedule",
        "warmup-stable-decay",
    ),
    mistake(
        "both kinds", [*TRAIN, "data.validation_fraction=0.1"], "data.validation_fraction", "data.valid names files"
    ),
    mistake("missing recipe", ["train", "{bad}/none.yaml", "--out", "{new}"], "{bad}/none.yaml: there is no such file"),
    mistake("misspelled", ["train", "{bad}/brokn.yaml", "--out", "{new}"], "no such file; is it {bad}/broken.yaml?"),
    mistake("folder as recipe", ["train", "{bad}/f.yaml", "--out", "{new}"], "f.yaml: cannot be read: Is a directory"),
    mistake("empty recipe", ["train", "{bad}/empty.yaml", "--out", "{new}"], "{bad}/empty.yaml: the file is empty"),
    mistake("not yaml", ["train", "{bad}/broken.yaml", "--out", "{new}"], "{bad}/broken.yaml, line 2", "is not YAML"),
    mistake("latin recipe", ["train", "{bad}/latin.yaml", "--out", "{new}"], "{bad}/latin.yaml, line 2: is not UTF-8"),
    mistake("text as recipe", ["train", "{bad}/text.yaml", "--out", "{new}"], "{bad}/text.yaml", "a mapping"),
    mistake("too long a name", ["train", "n" * 300 + ".yaml", "--out", "{new}"], "File name too long"),
    # settings
    mistake("unknown setting", [*TRAIN, "train.stepps=3"], 'train: unknown setting "stepps"; did you mean "steps"?'),
    mistake("wrong type", [*TRAIN, "train.steps=x"], 'train.steps: should be a whole number of at least 1, found "x"'),
    mistake("none for null", [*TRAIN, "train.average=none"], 'unknown type "none"', "; for none, write null"),
    mistake("two at once", [*TRAIN, "train.steps=0", "seed=1"], "2 problems", "train.steps: ", 'setting "seed"'),
    mistake("no override", [*TRAIN, "faster"], "leave out faster", "A setting looks like train.seed=2"),
    mistake("heads", [*TRAIN, "model.encoder.heads=3"], "model.encoder: 3 heads do not divide the width 16"),
    mistake("endless layers", [*TRAIN, f"model.encoder.layers={10**12}"], "model: its sizes are too large"),
    mistake("endless width", [*TRAIN, f"model.encoder.ffn_dim={10**18}"], "model: its sizes are too large"),
    mistake(
        "wide", [*TRAIN, f"model.encoder.ffn_dim={10**11}"], "model: needs ", "GiB for its weights", "make it smaller"
    ),
    mistake("tied", [*TRAIN, "text.joint=false"], "model.tie: all needs one vocabulary", "text.joint=true"),
    mistake("tied widths", [*TRAIN, "model.source.dim=32"], "model.tie", "32 and 16"),
    mistake(
        "no last state",
        [*TRAIN, "model.decoder=bahdanau"],
        "model.decoder: bridge: summary: last needs",
        "summary: mean",
    ),
    mistake("joint", [*TRAIN, "text.target=word"], "text.joint: true, but text.source and text.target differ"),
    mistake(
        "small bpe",
        [*TRAIN, "text.source={type: bpe, vocab_size: 9}"],
        "vocab_size 9 leaves no room beside the 256 tokens",
    ),
    mistake("half", [*TRAIN, "train.precision=float16"], "train.precision: float16 needs a CUDA GPU", "bfloat16"),
    mistake(
        "positions", [*TRAIN, "model.target.positions={type: learned, max_length: 40}"], "data.max_length: is 40", "40"
    ),
    mistake("no metric", [*TRAIN, "train.validation.metrics=[bleu, blue]"], "unknown metric 'blue'", "bleu"),
    mistake(
        "no choice", [*TRAIN, "train.validation.best_metric=ter"], "train.validation.best_metric: 'ter' is not measured"
    ),
    mistake(
        "validation search",
        [*TRAIN, "train.validation.search={type: beam, size: 2, n_best: 3}"],
        "train.validation.search: n_best is 3 but the beam size is 2",
    ),
    mistake(
        "translation search",
        [*TRAIN, "translate.search={type: beam, size: 2, n_best: 3}"],
        "translate.search: n_best is 3 but the beam size is 2",
    ),
    mistake(
        "patience", [*TRAIN, "data.valid=[]", "train.validation.patience=2"], "patience: there is no validation data"
    ),
    mistake(
        "two that are not types",
        [*TRAIN, "model.encoder.heads=3", "train.validation.best_metric=ter"],
        "2 problems",
        "model.encoder: 3 heads",
        "train.validation.best_metric: 'ter'",
    ),
    # data
    mistake("no data", [*TRAIN, "data.train=[]"], "data.train: names no files"),
    mistake("missing data", [*TRAIN, "data.train=[train.scr, train.tgt]"], "train.scr", "is it {corpus}/train.src?"),
    mistake(
        "missing validation",
        [*TRAIN, "data.valid=[valid.scr, valid.tgt]", "data.test=[none.tsv]"],
        "2 problems",
        "data.valid: {corpus}/valid.scr: there is no such file; is it {corpus}/valid.src?",
        "data.valid=[] data.validation_fraction=0.1",
        "data.test: {corpus}/none.tsv: there is no such file",
        "data.test=[]",
    ),
    mistake("missing folder", [*TRAIN, "data.folder={bad}/none"], "nor a folder {bad}/none"),
    mistake("folder as data", [*TRAIN, "data.train=['{bad}', train.tgt]"], "{bad}: is a folder, not a file"),
    mistake("one text file", [*TRAIN, "data.train=[train.src]"], "from two text files, or from one .tsv or .jsonl"),
    mistake(
        "unequal",
        [*TRAIN, "data.train=[train.src, test.tgt]"],
        "train.src has 400 lines",
        "test.tgt has 20",
        "Line 21 of",
    ),
    mistake(
        "latin data", [*TRAIN, "data.train=['{bad}/latin.txt', '{bad}/latin.txt']"], "latin.txt, line 2: not UTF-8"
    ),
    mistake("empty data", [*TRAIN, "data.train=['{bad}/empty.txt', '{bad}/empty.txt']"], "empty.txt", "no pair in it"),
    mistake("empty validation", [*TRAIN, "data.valid=['{bad}/empty.txt', '{bad}/empty.txt']"], "empty.txt", "no pair"),
    mistake("blank data", [*TRAIN, "data.train=['{bad}/blank.txt', '{bad}/blank.txt']"], "{bad}/blank.txt", "3 empty"),
    mistake(
        "other fields",
        [*TRAIN, "data.train=['{bad}/other.jsonl']"],
        "other.jsonl, line 1",
        "'source'",
        "Fields: en, de",
    ),
    mistake("all too long", [*TRAIN, "data.max_length=1"], "no pair is left of 400 (5 duplicate, 395 too long). Raise"),
    mistake(
        "cache in a file", [*TRAIN, "data.cache={recipe}"], "{recipe}", "the cache cannot be written", "data.cache"
    ),
    # where to
    mistake("out exists", ["train", "{recipe}", "--out", "{run}"], "{run} exists already", "weft train --resume {run}"),
    mistake("out is a file", ["train", "{recipe}", "--out", "{recipe}"], "{recipe} exists already"),
    mistake("out below a file", ["train", "{recipe}", "--out", "{recipe}/x"], "{recipe}/x cannot be made"),
    mistake("no device", [*TRAIN, "--device", "tpu9"], "--device tpu9 cannot be used here", "auto, cpu, cuda"),
    mistake("device without numbers", [*TRAIN, "--device", "meta"], "--device meta cannot be used here"),
    # going on
    mistake("resume nothing", [*RESUME, "{bad}/none"], "{bad}/none is not a run folder"),
    mistake("resume no run", [*RESUME, "{bad}"], "{bad} is not a run folder: it has no config.yaml"),
    mistake("resume and recipe", [*RESUME, "{run}", "{recipe}"], "--resume continues a run with its own settings"),
    mistake("resume and out", [*RESUME, "{run}", "--out", "{new}"], "--resume continues a run with its own settings"),
    mistake("resume with other data", [*RESUME, "{changed}/run"], "data.train have changed since the run"),
]


@pytest.mark.parametrize("wrong", MISTAKES, ids=lambda wrong: wrong.name)
def test_a_mistake_is_told(wrong: Mistake, check: Callable[[Mistake], None]) -> None:
    check(wrong)


@pytest.mark.parametrize("steps", [1, 100])
def test_a_loss_that_is_not_finite_stops_with_advice(
    steps: int,
    places: dict[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    absurd = [
        "train.steps=9",
        "train.schedule.learning_rate=1e30",
        "train.schedule.warmup_steps=0",
        f"train.checkpoint_steps={steps}",
    ]
    monkeypatch.setattr(sys, "argv", ["weft", "train", str(places["recipe"]), "--out", str(tmp_path / "run"), *absurd])
    with pytest.raises(SystemExit) as caught:
        main()
    message = capsys.readouterr().err.partition("weft: ")[2]
    assert caught.value.code == 2
    assert message.startswith("step 2: the loss or its gradient is no longer a finite number")
    assert "train.schedule.learning_rate" in message
    assert not list(tmp_path.glob("run/*/**/*.safetensors"))  # after one such step the weights are of no use
