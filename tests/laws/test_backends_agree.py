"""Law 9: CTranslate2 computes the same scores and outputs as torch for every Transformer that it supports."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch

from unit.models import BAHDANAU, CTC, LANGUAGE, TRANSFORMER, save_model_folder, untrained_model
from weft.checkpoints.model_folder import ModelFolder, read_model_folder
from weft.checkpoints.trained_model import load_model
from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.core.special_tokens import BOS, PAD
from weft.decoding.forced_decoding import forced_scores
from weft.inference.backends import Backend, BackendOptions, select_backend
from weft.inference.capabilities import unsupported_by_ctranslate2
from weft.inference.ctranslate2_backend import CTranslate2Backend, open_ctranslate2
from weft.inference.export.ctranslate2_converter import convert_to_ctranslate2, token_names
from weft.inference.export.exporters import export_ctranslate2
from weft.inference.loader import load_translator
from weft.inference.scoring import Scorer
from weft.inference.step_functions import model_steps

ctranslate2 = pytest.importorskip("ctranslate2")

STACKS = ("encoder", "decoder")
EMBEDDERS = ("source", "target")


def changed_transformer(*changes: tuple[str, str, Any]) -> dict[str, Any]:
    """Return the config of a Transformer with changed (slot, setting, value) triples."""
    model = copy.deepcopy(TRANSFORMER)
    for slot, setting, value in changes:
        model[slot][setting] = value
    return model


LEARNED = {"type": "learned", "max_length": 40}
TRANSFORMERS: dict[str, dict[str, Any]] = {
    "pre-norm": TRANSFORMER,
    "post-norm": changed_transformer(*((slot, "norm", "post") for slot in STACKS)),
    "different encoder and decoder": changed_transformer(
        ("encoder", "norm", "post"), ("encoder", "heads", 4), ("decoder", "layers", 3)
    ),
    "different embedding dims": changed_transformer(("source", "dim", 12), ("target", "dim", 16)),
    "gelu": changed_transformer(*((slot, "activation", "gelu") for slot in STACKS)),
    "swiglu": changed_transformer(*((slot, "activation", "swiglu") for slot in STACKS)),
    "learned positions": changed_transformer(*((slot, "positions", LEARNED) for slot in EMBEDDERS)),
    "no positions": changed_transformer(*((slot, "positions", None) for slot in EMBEDDERS)),
    "mean of tokens and positions": changed_transformer(*((slot, "merge", "mean") for slot in EMBEDDERS)),
    "rotary positions": changed_transformer(
        *((slot, "rotary", True) for slot in STACKS), *((slot, "positions", None) for slot in EMBEDDERS)
    ),
    "unscaled embeddings": changed_transformer(*((slot, "scale", False) for slot in EMBEDDERS)),
    "tie all": TRANSFORMER | {"tie": "all"},
    "tie output, no bias": TRANSFORMER | {"tie": "output", "head": {"bias": False}},
    "tie embeddings": TRANSFORMER | {"tie": "embeddings"},
}


def save_scaled_model(model: dict[str, Any], folder: Path, strength: float = 1.0, **translate: Any) -> Path:
    """Save a model whose weights are scaled by `strength`: larger weights give more peaked distributions.

    As after training, PAD and BOS have almost no probability.
    """
    trained = untrained_model(model, translate=translate)
    with torch.no_grad():
        for weight in trained.model.parameters():
            weight.mul_(strength)
        if trained.model.head.bias is not None:
            trained.model.head.bias[[PAD, BOS]] = -30.0
    return save_model_folder(folder / "model", trained)


def random_lines(count: int, seed: int = 1) -> list[str]:
    random = Random(seed)
    return ["".join(random.choices("abcde", k=random.randint(1, 12))) for _ in range(count)]


def fail_to_load() -> Backend:
    raise AssertionError("the torch backend was loaded")


def ctranslate2_backend(
    folder: Path, load: Callable[[], Backend] = fail_to_load, beam: int | None = None
) -> CTranslate2Backend:
    backend = select_backend(folder, BackendOptions("ctranslate2", None, beam, ()), load).backend
    assert isinstance(backend, CTranslate2Backend)
    return backend


def ctranslate2_scores(model_folder: ModelFolder, folder: Path, pairs: list[tuple[str, str]]) -> list[list[float]]:
    """Return the log probabilities that CTranslate2 computes for the tokens of the targets."""
    folder.mkdir()
    convert_to_ctranslate2(model_folder, folder, "float32")
    names = token_names(model_folder.target)
    rows = [
        [[names[token] for token in row] for row in model_folder.target.encode(side)]
        for side in zip(*pairs, strict=True)
    ]
    return [result.log_probs for result in ctranslate2.Translator(str(folder), intra_threads=1).score_batch(*rows)]


@pytest.mark.parametrize("kind", TRANSFORMERS)
def test_token_scores_equal_torch(kind: str, tmp_path: Path) -> None:
    folder = save_scaled_model(TRANSFORMERS[kind], tmp_path, strength=0.5)
    pairs = list(zip(random_lines(20, 1), random_lines(20, 2), strict=True))
    theirs = ctranslate2_scores(read_model_folder(folder), tmp_path / "converted", pairs)
    trained = load_model(folder)
    for (source, target), scores in zip(pairs, theirs, strict=True):
        rows = [[*trained.target_tokenizer.encode([line])[0], 2] for line in (source, target)]
        with torch.inference_mode():
            (ours,) = forced_scores(
                *model_steps(trained.model, Padded.from_rows(rows[:1]), 0.0), Padded.from_rows(rows[1:])
            )
        assert scores == pytest.approx(ours.token_scores, abs=1e-4)


@pytest.mark.parametrize("beam", [1, 2, 5])
@pytest.mark.parametrize("kind", [kind for kind in TRANSFORMERS if "no bias" not in kind])  # PAD and BOS are likely
def test_outputs_equal_torch(kind: str, beam: int, tmp_path: Path) -> None:
    """Except for ties: an output that differs has the same score. Many lines reach the short length limit."""
    folder = save_scaled_model(TRANSFORMERS[kind], tmp_path, strength=0.7)
    source_lines = ["", *random_lines(60), "  "]
    torch_backend = load_translator(folder, device="cpu", beam=beam)
    ours = torch_backend.translate(source_lines, split=False)
    theirs = list(ctranslate2_backend(folder, lambda: torch_backend, beam).stream(source_lines))
    assert [translation.source for translation in theirs] == source_lines
    scorer = Scorer(torch_backend.trained)
    differing = [(mine, other) for mine, other in zip(ours, theirs, strict=True) if mine.text != other.text]
    for mine, other in differing:
        ranks = [
            score.score / len(score.tokens)
            for score in scorer.score([(line.source, line.text) for line in (mine, other)])
        ]
        assert ranks[0] == pytest.approx(ranks[1], abs=1e-3)
    assert len(differing) <= 1
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.text != other.text or other.score == pytest.approx(mine.score, rel=1e-5, abs=1e-3)


def test_output_does_not_depend_on_batch(tmp_path: Path) -> None:
    backend = ctranslate2_backend(
        save_scaled_model(TRANSFORMER, tmp_path), lambda: load_translator(tmp_path / "model", device="cpu")
    )
    source_lines = random_lines(100)
    batched = [translation.text for translation in backend.stream(source_lines)]
    assert [translation.text for translation in backend.unbuffered().stream(source_lines)] == batched


@dataclass
class RecordingTranslator:
    """Wraps the CTranslate2 translator and records its calls in order."""

    library: Any
    calls: list[str] = field(default_factory=list)

    def translate_batch(self, rows: list[list[str]], **settings: Any) -> Any:
        self.calls.append("again" if "patience" in settings else "search")
        return self.library.translate_batch(rows, **settings)

    def score_batch(self, *rows: list[list[str]], **settings: Any) -> Any:
        self.calls.append("score")
        return self.library.score_batch(*rows, **settings)


def test_lines_at_length_limit_do_not_delay_other_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines at the limit are searched again and scored with their own batch, before the last batches start."""
    folder = save_scaled_model(TRANSFORMER, tmp_path, strength=0.7, max_length_factor=0.1)
    torch_backend = load_translator(folder, device="cpu", beam=2)
    recorders: list[RecordingTranslator] = []

    def open_recorder(*settings: Any) -> RecordingTranslator:
        recorders.append(RecordingTranslator(open_ctranslate2(*settings)))
        return recorders[-1]

    monkeypatch.setattr("weft.inference.ctranslate2_backend.open_ctranslate2", open_recorder)
    monkeypatch.setattr("weft.inference.ctranslate2_backend.BATCH_TOKENS", 20)
    source_lines = random_lines(60)
    outputs = [
        translation.text for translation in ctranslate2_backend(folder, lambda: torch_backend, 2).stream(source_lines)
    ]
    assert outputs == [translation.text for translation in torch_backend.translate(source_lines, split=False)]
    (library,) = recorders
    assert "search" in library.calls[library.calls.index("score") :]
    assert library.calls.count("score") <= library.calls.count("search")


UNSUPPORTED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "recurrent": (BAHDANAU, ["model.encoder is recurrent", "model.decoder is bahdanau"]),
    "language model": (LANGUAGE, ["model.source is none", "model.encoder is none"]),
    "frame_head": (
        CTC,
        ["model.encoder is recurrent", "model.target is none", "model.decoder is none", "model.frame_head is ctc"],
    ),
    "attention_window": (
        changed_transformer(("encoder", "attention_window", 2)),
        ["model.encoder.attention_window is 2"],
    ),
    "concat": (
        changed_transformer(("source", "merge", "concat"), ("decoder", "attention_window", 3)),
        ["model.source.merge is concat", "model.decoder.attention_window is 3"],
    ),
    "sinusoidal and rotary positions": (
        changed_transformer(("decoder", "rotary", True)),
        ["model.decoder.rotary is true"],
    ),
}


@pytest.mark.parametrize("kind", UNSUPPORTED)
def test_all_unsupported_settings_are_reported(kind: str, tmp_path: Path) -> None:
    model, prefixes = UNSUPPORTED[kind]
    model_folder = read_model_folder(save_model_folder(tmp_path / "model", untrained_model(model)))
    reasons = unsupported_by_ctranslate2(model_folder)
    assert len(reasons) == len(prefixes)
    assert [prefix for prefix, reason in zip(prefixes, reasons, strict=True) if not reason.startswith(prefix)] == []
    with pytest.raises(UserError, match="cannot be exported to CTranslate2"):
        export_ctranslate2(model_folder, tmp_path / "out", "float32")
    assert not (tmp_path / "out").exists()
