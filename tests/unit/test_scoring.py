"""Scoring of given outputs agrees with the scores of the search."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from unit.models import (
    ALIGNED,
    ALIGNED_EOS,
    CTC,
    FAMILIES,
    JOINT,
    LANGUAGE,
    TRANSFORMER,
    letter_tokenizer,
    save_model_folder,
    untrained_model,
)
from weft.checkpoints.trained_model import TrainedModel
from weft.cli.score import score
from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.core.special_tokens import EOS
from weft.core.state import FrameOutput
from weft.decoding.beam import BeamSearch
from weft.decoding.forced_decoding import forced_scores
from weft.decoding.non_autoregressive import initial_position_state, position_step
from weft.inference.language_model import negative_log_likelihood
from weft.inference.loader import make_frame_decoder
from weft.inference.scoring import ScoredPair, Scorer, ScoreTotals, read_scored_pairs
from weft.inference.translator import Translator

LINES = ["abc", "e", "deadbeef", "cab", "bb", "abcdeabcdeabcdeabcde"]
PAIRS = [("abc", "cb"), ("", "a"), ("deadbeef", ""), ("cab", "abcdeab"), ("ea", "ä"), ("abcde" * 4, "bad")]
MODELS: dict[str, TrainedModel] = {
    **{name: untrained_model(model) for name, model in FAMILIES.items()},
    "joint": untrained_model(JOINT, translate={"ctc_weight": 0.3}),
    "ctc": untrained_model(CTC, translate={"frame_decoder": {"type": "prefix-beam", "size": 9, "n_best": 4}}),
    "instant": untrained_model(ALIGNED, translate={"frame_decoder": "position-wise"}),
    "instant-to-mark": untrained_model(ALIGNED_EOS, 2, translate={"frame_decoder": "position-wise"}),
    "backward": untrained_model(TRANSFORMER, target=letter_tokenizer().reversed()),
}


@pytest.mark.parametrize("name", MODELS)
def test_forced_score_equals_the_search_score(name: str) -> None:
    model = MODELS[name]
    settings = model.recipe.translate
    frame_decoder = make_frame_decoder(model, settings.frame_decoder, "translate.frame_decoder")
    translations = Translator(model, BeamSearch(size=4, n_best=4), settings, frame_decoder).translate(LINES)
    found = [
        (translation.source, alternative) for translation in translations for alternative in translation.alternatives
    ]
    scored = Scorer(model).stream((source, alternative.text) for source, alternative in found)
    compared = 0
    for (_, alternative), pair in zip(found, scored, strict=True):
        if alternative.tokens == pair.tokens:  # the text of <unk> is tokenized differently
            assert pair.score == pytest.approx(alternative.score, abs=1e-9)
            assert pair.token_scores == pytest.approx(alternative.token_scores, abs=1e-9)
            compared += 1
    assert compared > 2


@pytest.mark.parametrize("name", MODELS)
def test_scores_do_not_depend_on_the_batch(name: str) -> None:
    model = MODELS[name]
    alone = replace(model.recipe, translate=replace(model.recipe.translate, batch_tokens=1, buffer_size=1))
    together = list(Scorer(model).stream(PAIRS))
    single = list(Scorer(model._replace(recipe=alone)).stream(PAIRS))
    assert [pair.token_scores for pair in together] == [pytest.approx(pair.token_scores) for pair in single]
    assert [(pair.source, pair.target) for pair in together] == PAIRS
    assert [pair.truncated for pair in together] == [False] * 5 + [True]


def test_positions_are_scored_independently_and_eos_by_the_length() -> None:
    draws = torch.Generator().manual_seed(1)
    log_probs = torch.randn(2, 3, 6, generator=draws).log_softmax(-1)
    lengths = torch.randn(2, 4, generator=draws).log_softmax(-1)
    mask = torch.tensor([[True, True, True], [True, True, False]])
    target = Padded.from_rows([[3, 5, EOS], [4, 3, 5, EOS]])
    [first, second] = forced_scores(
        position_step, initial_position_state(FrameOutput(log_probs, mask, lengths)), target
    )
    assert first.token_scores == pytest.approx(
        [log_probs[0, 0, 3].item(), log_probs[0, 1, 5].item(), lengths[0, 2].item()]
    )
    assert second.score == -math.inf  # three tokens in two frames
    [first, second] = forced_scores(position_step, initial_position_state(FrameOutput(log_probs, mask)), target)
    assert first.token_scores == pytest.approx(
        [log_probs[0, 0, 3].item(), log_probs[0, 1, 5].item(), log_probs[0, 2, EOS].item()]
    )
    assert second.score == -math.inf


def test_language_model_scores_lines() -> None:
    model, lines = untrained_model(LANGUAGE), ["abc", "", "edcba"]
    scored = list(Scorer(model).stream(("", line) for line in lines))
    assert -sum(pair.score for pair in scored) == pytest.approx(
        negative_log_likelihood(model, model.target_tokenizer.encode(lines))
    )
    assert [len(pair.tokens) for pair in scored] == [4, 1, 6]
    assert scored[0].tokens == ("a", "b", "c", "<end>")
    assert scored[0].perplexity == pytest.approx(math.exp(-scored[0].score / 4))


def test_totals_exclude_impossible_lines() -> None:
    totals = ScoreTotals()
    for log_prob in (-3.0, -1.0, -math.inf):
        totals = totals.plus(ScoredPair("", "", log_prob, ("a", "<end>"), (log_prob, 0.0), truncated=False))
    assert totals == ScoreTotals(lines=3, tokens=4, score=-4.0, impossible=1)
    assert str(totals) == (
        "3 lines, 4 tokens: log-probability -4.0000, perplexity per token 2.7183; without 1 impossible line"
    )
    assert ScoredPair("", "", -math.inf, ("<end>",), (-math.inf,), truncated=False).perplexity == math.inf


def test_target_longer_than_the_frames_is_impossible() -> None:
    [pair] = Scorer(MODELS["ctc"]).stream([("a", "abcdeabcde")])
    assert pair.score == -math.inf


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Return a model folder, a source file and a target file."""
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_text("abc\ndead\n" + "abcde" * 3 + "\n", "utf-8")
    target.write_text("cb\nä\nbad\n", "utf-8")
    return save_model_folder(tmp_path / "model", untrained_model(TRANSFORMER)), source, target


def test_command_writes_one_line_per_pair(
    files: tuple[Path, Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, source, target = files
    score(model, [source, target], output=tmp_path / "plain")
    messages = capsys.readouterr().err
    assert "weft: sources longer than 12 tokens were truncated, in 1 line: 3\n" in messages
    assert re.search(r"weft: 3 lines, 9 tokens: log-probability -\d+\.\d+, perplexity per token \d+\.\d+\n", messages)
    rows = [line.split("\t") for line in (tmp_path / "plain").read_text("utf-8").split("\n")[:-1]]
    score(model, [source, target], json=True, output=tmp_path / "records")
    records: list[dict[str, Any]] = list(map(json.loads, (tmp_path / "records").read_text("utf-8").split("\n")[:-1]))
    assert len(rows) == len(records) == 3
    for (total, tokens, perplexity), record in zip(rows, records, strict=True):
        assert float(total) == pytest.approx(record["score"], abs=1e-5)
        assert int(tokens) == len(record["tokens"]) == len(record["token_scores"])
        assert float(perplexity) == pytest.approx(record["perplexity"], abs=1e-3)
    assert records[1] | {"score": 0, "perplexity": 0, "token_scores": []} == {
        "source": "dead",
        "target": "ä",
        "score": 0,
        "perplexity": 0,
        "truncated": False,
        "tokens": ["<unk>", "<end>"],
        "token_scores": [],
    }


def test_pairs_are_read_from_a_table_or_two_files(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    table = tmp_path / "pairs.tsv"
    table.write_text("abc\tcb\n", "utf-8")
    scorer = Scorer(untrained_model(TRANSFORMER))
    assert list(read_scored_pairs(scorer, [table])) == [("abc", "cb")]
    assert next(iter(read_scored_pairs(scorer, files[1:]))) == ("abc", "cb")
    assert next(iter(read_scored_pairs(Scorer(untrained_model(LANGUAGE)), [files[1]]))) == ("", "abc")


def test_invalid_input_is_reported(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    model, source, target = files
    with pytest.raises(UserError, match=r"pairs are read from two text files, or from one of \.tsv, \.jsonl"):
        score(model, [source])
    (tmp_path / "short").write_text("cb\n", "utf-8")
    with pytest.raises(UserError, match=r"has 3 lines and .*short has 1 lines"):
        score(model, [source, tmp_path / "short"], output=tmp_path / "none")
    assert not (tmp_path / "none").exists()
    with pytest.raises(UserError, match="nowhere: there is no such folder"):
        score(Path("nowhere"), [source, target])
    with pytest.raises(UserError, match="a language model scores the lines of one text file"):
        read_scored_pairs(Scorer(untrained_model(LANGUAGE)), [source, target])
    short = TRANSFORMER | {"target": {"dim": 8, "positions": {"type": "learned", "max_length": 4}}}
    with pytest.raises(UserError, match="line 2: the target has 4 tokens, but this model has positions for 3"):
        list(Scorer(untrained_model(short)).stream([("a", "abc"), ("a", "abcd")]))
