"""Engines agree: CTranslate2 says of a model what torch says, for every form of Transformer that can go there."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch

from unit.models import BAHDANAU, CTC, LANGUAGE, TRANSFORMER, saved, untrained
from weft.checkpoints.model_folder import ModelFolder, read_model_folder
from weft.checkpoints.trained_model import load_model
from weft.core.codec import BOS, PAD
from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.decoding.forced_decoding import forced_scores
from weft.inference.backends import Backend, BackendOptions, select_backend
from weft.inference.capabilities import unsupported_by_ctranslate2
from weft.inference.ctranslate2_backend import CTranslate2Backend, open_ctranslate2
from weft.inference.export.ctranslate2_export import (
    check_ctranslate2_support,
    convert_to_ctranslate2,
)
from weft.inference.export.ctranslate2_vocabulary import token_names
from weft.inference.loader import load_translator
from weft.inference.scoring import Scorer
from weft.inference.step_functions import model_steps

ctranslate2 = pytest.importorskip("ctranslate2")

BOTH = ("encoder", "decoder")
SIDES = ("source", "target")


def changed(*changes: tuple[str, str, Any]) -> dict[str, Any]:
    """A Transformer with these settings of its slots."""
    model = copy.deepcopy(TRANSFORMER)
    for slot, setting, value in changes:
        model[slot][setting] = value
    return model


LEARNED = {"type": "learned", "max_length": 40}
KINDS: dict[str, dict[str, Any]] = {
    "norms before": TRANSFORMER,
    "norms after": changed(*((slot, "norm", "post") for slot in BOTH)),
    "stacks that differ": changed(("encoder", "norm", "post"), ("encoder", "heads", 4), ("decoder", "layers", 3)),
    "widths that differ": changed(("source", "dim", 12), ("target", "dim", 16)),
    "gelu": changed(*((slot, "activation", "gelu") for slot in BOTH)),
    "swiglu": changed(*((slot, "activation", "swiglu") for slot in BOTH)),
    "learned positions": changed(*((slot, "positions", LEARNED) for slot in SIDES)),
    "no positions": changed(*((slot, "positions", None) for slot in SIDES)),
    "the mean of tokens and positions": changed(*((slot, "merge", "mean") for slot in SIDES)),
    "rotary positions": changed(
        *((slot, "rotary", True) for slot in BOTH), *((slot, "positions", None) for slot in SIDES)
    ),
    "embeddings that are not scaled": changed(*((slot, "scale", False) for slot in SIDES)),
    "one weight for all": TRANSFORMER | {"tie": "all"},
    "one weight for the output, and no bias": TRANSFORMER | {"tie": "output", "head": {"bias": False}},
    "one weight for the embeddings": TRANSFORMER | {"tie": "embeddings"},
}


def folder_of(model: dict[str, Any], folder: Path, strength: float = 1.0, **translate: Any) -> Path:
    """A model with opinions, more of them the larger its weights are, but none for marks, as after training."""
    trained = untrained(model, translate=translate)
    with torch.no_grad():
        for weight in trained.model.parameters():
            weight.mul_(strength)
        if trained.model.head.bias is not None:
            trained.model.head.bias[[PAD, BOS]] = -30.0
    return saved(folder / "model", trained)


def lines(count: int, seed: int = 1) -> list[str]:
    draws = Random(seed)
    return ["".join(draws.choices("abcde", k=draws.randint(1, 12))) for _ in range(count)]


def unexpected() -> Backend:
    raise AssertionError("the torch engine was asked for")


def engine_of(folder: Path, load: Callable[[], Backend] = unexpected, beam: int | None = None) -> CTranslate2Backend:
    chosen = select_backend(folder, BackendOptions("ctranslate2", None, beam, ()), load).backend
    assert isinstance(chosen, CTranslate2Backend)
    return chosen


def forced(described: ModelFolder, folder: Path, pairs: list[tuple[str, str]]) -> list[list[float]]:
    """What CTranslate2 says of each token of the targets."""
    folder.mkdir()
    convert_to_ctranslate2(described, folder, "float32")
    names = token_names(described.target)
    rows = [
        [[names[token] for token in row] for row in described.target.encode(side)] for side in zip(*pairs, strict=True)
    ]
    return [one.log_probs for one in ctranslate2.Translator(str(folder), intra_threads=1).score_batch(*rows)]


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_the_same(kind: str, tmp_path: Path) -> None:
    folder = folder_of(KINDS[kind], tmp_path, strength=0.5)
    pairs = list(zip(lines(20, 1), lines(20, 2), strict=True))
    theirs = forced(read_model_folder(folder), tmp_path / "converted", pairs)
    trained = load_model(folder)
    for (source, target), scores in zip(pairs, theirs, strict=True):
        rows = [[*trained.target_tokenizer.encode([line])[0], 2] for line in (source, target)]
        with torch.inference_mode():
            (ours,) = forced_scores(
                *model_steps(trained.model, Padded.from_rows(rows[:1]), 0.0), Padded.from_rows(rows[1:])
            )
        assert scores == pytest.approx(ours.token_scores, abs=1e-4)


@pytest.mark.parametrize("beam", [1, 2, 5])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if "no bias" not in kind])  # which would say marks
def test_outputs_are_the_same(kind: str, beam: int, tmp_path: Path) -> None:
    """But for ties: an output that differs has the same score. Limits are short, so that many lines come to them."""
    folder = folder_of(KINDS[kind], tmp_path, strength=0.7)
    asked = ["", *lines(60), "  "]
    torchs = load_translator(folder, device="cpu", beam=beam)
    ours = torchs.translate(asked)
    theirs = list(engine_of(folder, lambda: torchs, beam).stream(asked))
    assert [one.source for one in theirs] == asked
    scorer = Scorer(torchs.trained)
    differ = [(one, other) for one, other in zip(ours, theirs, strict=True) if one.text != other.text]
    for one, other in differ:
        ranks = [
            score.score / len(score.tokens)
            for score in scorer.score([(line.source, line.text) for line in (one, other)])
        ]
        assert ranks[0] == pytest.approx(ranks[1], abs=1e-3)
    assert len(differ) <= 1
    for one, other in zip(ours, theirs, strict=True):
        assert one.text != other.text or other.score == pytest.approx(one.score, rel=1e-5, abs=1e-3)


def test_a_line_does_not_depend_on_those_beside_it(tmp_path: Path) -> None:
    engine = engine_of(folder_of(TRANSFORMER, tmp_path), lambda: load_translator(tmp_path / "model", device="cpu"))
    asked = lines(100)
    together = [one.text for one in engine.stream(asked)]
    assert [one.text for one in engine.unbuffered().stream(asked)] == together


@dataclass
class Noted:
    """The library, and what was asked of it, in order."""

    library: Any
    asked: list[str] = field(default_factory=list)

    def translate_batch(self, rows: list[list[str]], **settings: Any) -> Any:
        self.asked.append("again" if "patience" in settings else "search")
        return self.library.translate_batch(rows, **settings)

    def score_batch(self, *rows: list[list[str]], **settings: Any) -> Any:
        self.asked.append("score")
        return self.library.score_batch(*rows, **settings)


def test_lines_that_come_to_their_limit_keep_no_others_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are searched again and scored with those of their batch, before the last batches are begun."""
    folder = folder_of(TRANSFORMER, tmp_path, strength=0.7, max_length_factor=0.1)
    torchs = load_translator(folder, device="cpu", beam=2)
    noted: list[Noted] = []

    def open_noted(*settings: Any) -> Noted:
        noted.append(Noted(open_ctranslate2(*settings)))
        return noted[-1]

    monkeypatch.setattr("weft.inference.ctranslate2_backend.open_ctranslate2", open_noted)
    monkeypatch.setattr("weft.inference.ctranslate2_backend.BATCH_TOKENS", 20)
    asked = lines(60)
    said = [one.text for one in engine_of(folder, lambda: torchs, 2).stream(asked)]
    assert said == [one.text for one in torchs.translate(asked)]
    (library,) = noted
    assert "search" in library.asked[library.asked.index("score") :]
    assert library.asked.count("score") <= library.asked.count("search")


REFUSED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "recurrent": (BAHDANAU, ["model.encoder is recurrent", "model.decoder is bahdanau"]),
    "language model": (LANGUAGE, ["model.source is none", "model.encoder is none"]),
    "frame_head": (
        CTC,
        ["model.encoder is recurrent", "model.target is none", "model.decoder is none", "model.frame_head is ctc"],
    ),
    "attention_window": (changed(("encoder", "attention_window", 2)), ["model.encoder.attention_window is 2"]),
    "concat": (
        changed(("source", "merge", "concat"), ("decoder", "attention_window", 3)),
        ["model.source.merge is concat", "model.decoder.attention_window is 3"],
    ),
    "two kinds of positions": (changed(("decoder", "rotary", True)), ["model.decoder.rotary is true"]),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_all_reasons_are_told(kind: str, tmp_path: Path) -> None:
    model, words = REFUSED[kind]
    described = read_model_folder(saved(tmp_path / "model", untrained(model)))
    reasons = unsupported_by_ctranslate2(described)
    assert len(reasons) == len(words)
    assert [word for word, reason in zip(words, reasons, strict=True) if not reason.startswith(word)] == []
    with pytest.raises(UserError, match="cannot be exported to CTranslate2"):
        check_ctranslate2_support(described)
