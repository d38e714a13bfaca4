"""Arithmetic and data of the benchmarks: a mistake here would falsify a published figure."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from benchmarks.captchas import LENGTH, SYMBOLS, draw
from benchmarks.file_to_file import Work
from benchmarks.file_translation.ctranslate2_script import SEPARATOR
from benchmarks.file_translation.process_timing import TimedProgram, Turn, fastest, run_in_turns, summarize_turns
from benchmarks.ladder import by_length
from benchmarks.precision import MATMULS, EmulatedBfloat16
from benchmarks.rank_speed import last_speed
from benchmarks.sampled_softmax import draw_classes, draw_words, write_language
from benchmarks.scaling_estimate import all_reduce_seconds, compute_seconds, efficiency, hidden_communication_tokens
from benchmarks.shortlist import Row
from benchmarks.summary_statistics import Proportion
from benchmarks.training_rounds import Turn as TrainingTurn
from benchmarks.training_rounds import summarize_speeds
from torch.nn.functional import linear
from torch.utils._python_dispatch import TorchDispatchMode

from unit.models import TRANSFORMER, save_model_folder, untrained_model
from weft.checkpoints.model_folder import read_model_folder

# --- Statistics ------------------------------------------------------------------------------------------------------


def test_wilson_interval() -> None:
    """Newcombe 1998, table I, method 3: 81 of 263, and 0 of 20."""
    assert Proportion(81, 263).interval() == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert Proportion(0, 20).interval() == pytest.approx((0.0, 0.1611), abs=1e-4)
    assert Proportion(10, 10).interval()[1] == pytest.approx(1.0)


def test_training_speeds_are_compared_within_each_round() -> None:
    speeds = {"full": [10.0, 20.0], "sampled": [30.0, 40.0]}
    rounds = {name: [TrainingTurn(speed, 1.0, 1.0) for speed in turns] for name, turns in speeds.items()}
    assert summarize_speeds(rounds)["sampled"]["times_first"]["rounds"] == [3.0, 2.0]


def test_times_with_a_shortlist_are_compared_within_each_round() -> None:
    row = Row("torch", (30.0, 29.5), ([2.0, 8.0, 2.0], [1.0, 2.0, 1.0]), 0.9, 10)
    assert row.ratios == [2.0, 4.0, 2.0]


def test_speed_of_a_rank_is_read_from_the_last_report(tmp_path: Path) -> None:
    records = [{"tokens_per_second": 1.0}, {"tokens_per_second": 2.0}, {"valid": {}}]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    assert last_speed(tmp_path / "log.jsonl") == 2.0


def test_lines_are_scored_by_the_number_of_source_words() -> None:
    sources = ["a " * count for count in (10, 11, 20, 21)]
    references = ["one two three four", "five six seven eight", "a b c d", "e f g h"]
    outputs = {"wrong": ["x"] * 4, "right": references}
    scores = by_length(sources, references, outputs)
    assert [models["right"].lines for models in scores.values()] == [4, 1, 2, 1]  # all, 1-10, 11-20, 21+
    assert [models["right"].bleu for models in scores.values()] == pytest.approx([100] * 4)
    assert [models["wrong"].bleu for models in scores.values()] == [0] * 4
    assert scores["all"]["wrong"].p is None
    assert list(by_length(sources[:1], references[:1], {"right": references[:1]})) == ["all", "1-10"]


# --- File to file ----------------------------------------------------------------------------------------------------


def make_sides(calls: list[str], **seconds: float) -> dict[str, TimedProgram]:
    def side(name: str) -> TimedProgram:
        def turn() -> Turn:
            calls.append(name)
            return Turn(seconds[name], 2 * seconds[name], 10.0)

        return turn

    return {name: side(name) for name in seconds}


def test_every_second_round_runs_in_reverse_order() -> None:
    calls: list[str] = []
    turns = run_in_turns(make_sides(calls, one=2.0, other=4.0), 2)
    assert calls == ["one", "other", "other", "one"]
    figures = summarize_turns(turns["other"], 8, turns["one"])
    assert figures["ratio"]["rounds"] == [2.0, 2.0]
    assert figures["work_ratio"]["median"] == 2.0
    assert figures["lines_per_second"]["median"] == 2.0
    assert summarize_turns(turns["one"], 8, None)["ratio"] is None


def test_fastest_side_is_found_with_one_run_each() -> None:
    calls: list[str] = []
    assert fastest(make_sides(calls, slow=3.0, fast=1.0)) == "fast"
    assert calls == ["slow", "fast"]


def test_script_receives_all_tokens(tmp_path: Path) -> None:
    model = save_model_folder(tmp_path / "model", untrained_model(TRANSFORMER))
    work = Work(model, read_model_folder(model), tmp_path, Path(sys.executable), 1)
    tokens = work.tokens(["abc", "e"], "tokens").read_text().split("\n")
    assert [line.split(SEPARATOR) for line in tokens] == [["a", "b", "c"], ["e"], [""]]


# --- Estimates -------------------------------------------------------------------------------------------------------


def test_formulas_match_values_by_hand() -> None:
    assert compute_seconds(65e6, 4096, 10e12) == pytest.approx(0.159744)
    assert all_reduce_seconds(65e6, 8, 1.25e9) == pytest.approx(0.364)  # 2 * 7/8 * 260 MB / 1.25 GB/s
    assert all_reduce_seconds(65e6, 1, 1.25e9) == 0
    assert efficiency(3.0, 2.0) == 1.0
    assert efficiency(3.0, 5.0) == 0.5


@pytest.mark.parametrize("weights", [65e6, 213e6])
def test_communication_is_hidden_with_enough_tokens(weights: float) -> None:
    tokens = hidden_communication_tokens(8, 1.25e9, 10e12)
    compute = compute_seconds(weights, round(tokens), 10e12)
    assert all_reduce_seconds(weights, 8, 1.25e9) == pytest.approx(2 / 3 * compute)


# --- Data ------------------------------------------------------------------------------------------------------------


def test_every_word_is_used_and_has_one_translation(tmp_path: Path) -> None:
    write_language(tmp_path, words=500, pairs=200)
    source, target = ((tmp_path / f"train.{side}").read_text("utf-8").split() for side in ("source", "target"))
    assert [word[1:] for word in source] == [word[1:] for word in target]
    assert {int(word[1:]) for word in target} == set(range(500))


def test_words_follow_their_classes_and_zipfs_law() -> None:
    draws = np.random.default_rng(3)
    chains = draw_classes(draws, 4000, 10, 5)
    words = draw_words(draws, chains, 500, 5)
    assert (words % 5 == chains).all()
    ranks = np.bincount(words.flatten() // 5)
    assert ranks[0] / ranks[3] == pytest.approx(4, rel=0.1)
    assert ranks[0] / ranks[9] == pytest.approx(10, rel=0.2)


def test_captcha_depends_on_seed_split_and_number(tmp_path: Path) -> None:
    images = {}
    for folder, split, seed, number in (
        ("a", "train", 1, 7),
        ("b", "train", 1, 7),
        ("c", "test", 1, 7),
        ("d", "train", 2, 7),
    ):
        line = draw(tmp_path / folder, split, seed, number)
        name, text = line.removesuffix("\n").split("\t")
        assert len(text) == LENGTH
        assert set(text) <= set(SYMBOLS)
        images[folder] = (tmp_path / folder / name).read_bytes(), text
    assert images["a"] == images["b"]
    assert len({images[folder] for folder in "acd"}) == 3


# --- Emulation of bfloat16 -------------------------------------------------------------------------------------------


class DtypeRecorder(TorchDispatchMode):
    """Records the dtypes of matrix products."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.dtypes = list[torch.dtype]()

    def __torch_dispatch__(self, operation: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
        if operation.overloadpacket in MATMULS:
            self.dtypes.append(arguments[-1].dtype)
        return operation(*arguments, **(keywords or {}))


def test_wide_products_are_rounded_float32_products() -> None:
    weights, inputs = (torch.randint(-3, 4, (9, 300)).bfloat16().requires_grad_() for _ in range(2))
    out = torch.empty(9, 9).bfloat16()
    with DtypeRecorder() as recorder, EmulatedBfloat16():
        outputs = linear(inputs, weights)
        torch.autograd.backward(outputs.sum())
        torch.mm(inputs.detach(), weights.detach().T, out=out)
    assert recorder.dtypes == [torch.float32] * 4
    assert outputs.dtype == torch.bfloat16
    assert torch.equal(outputs, linear(inputs.float(), weights.float()).bfloat16())
    assert torch.equal(outputs, out)
    assert weights.grad is not None
    assert torch.equal(weights.grad, inputs.float().sum(0).bfloat16().expand(9, 300))
