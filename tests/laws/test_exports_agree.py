"""Law 9: an exported model computes the same as torch; for an unsupported model all reasons are reported."""

import os
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from laws.test_backends_agree import (
    EMBEDDERS,
    STACKS,
    TRANSFORMERS,
    changed_transformer,
    random_lines,
    save_scaled_model,
)
from unit.models import BAHDANAU, CTC, LANGUAGE, TRANSFORMER, save_model_folder, untrained_model
from weft.checkpoints.model_folder import WEIGHTS_FILE, read_model_folder
from weft.core.errors import UserError
from weft.data.text_files import decode_lines
from weft.inference.export.exporters import export_ctranslate2, export_onnx
from weft.inference.export.standalone import ctranslate2_model, onnx_model
from weft.inference.export.verification import VerificationResult, verify_export
from weft.inference.loader import load_translator
from weft.inference.shortlist_training import train_shortlist
from weft.text.lexical_shortlist import ShortlistSize
from weft.text.tokenizer_training import BPETokenizerTrainer, CharacterTokenizerTrainer, WhitespaceTokenizerTrainer

ONNX_MODELS: dict[str, dict[str, Any]] = {
    **TRANSFORMERS,
    "attention window": changed_transformer(*((slot, "attention_window", 2) for slot in STACKS)),
    "concatenated positions": changed_transformer(
        *((slot, "merge", "concat") for slot in EMBEDDERS), ("decoder", "layers", 2)
    ),
    "sinusoidal and rotary positions": changed_transformer(*((slot, "rotary", True) for slot in STACKS)),
}


def torch_outputs(folder: Path, source_lines: list[str]) -> list[str]:
    return [
        translation.text
        for translation in load_translator(folder, device="cpu", beam=1).translate(source_lines, split=False)
    ]


@pytest.mark.parametrize("kind", ONNX_MODELS)
def test_onnx_scores_equal_torch(kind: str, tmp_path: Path) -> None:
    folder = save_scaled_model(ONNX_MODELS[kind], tmp_path, strength=0.5)
    results: list[VerificationResult] = []
    export_onnx(read_model_folder(folder), tmp_path / "out", lambda new: results.append(verify_export(folder, new)))
    assert results[0].tokens > 8
    assert 0 < results[0].difference < 1e-4


def test_onnx_outputs_equal_torch(tmp_path: Path) -> None:
    folder = save_scaled_model(TRANSFORMER, tmp_path, strength=0.7)
    export_onnx(read_model_folder(folder), tmp_path / "out", None)
    source_lines = ["", *random_lines(60), "  "]
    assert onnx_model.Model(tmp_path / "out").translate(source_lines) == torch_outputs(folder, source_lines)


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_ctranslate2_outputs_equal_torch(precision: Any, tmp_path: Path) -> None:
    folder = save_scaled_model(TRANSFORMER | {"tie": "all"}, tmp_path, strength=0.7)
    export_ctranslate2(read_model_folder(folder), tmp_path / "out", precision)
    model = ctranslate2_model.Model(tmp_path / "out")
    model.settings["beam"] = 1
    source_lines = ["", *random_lines(60), "  "]
    same = [
        mine == other
        for mine, other in zip(model.translate(source_lines), torch_outputs(folder, source_lines), strict=True)
    ]
    assert sum(same) >= (len(same) if precision == "float32" else 0.7 * len(same))


@pytest.mark.parametrize("alpha", [1.0, 0.6])
def test_search_settings_are_exported(alpha: float, tmp_path: Path) -> None:
    """Beam size and length penalty are exported; the length limit is high enough that no output reaches it."""
    search = {"type": "beam", "size": 3, "length_penalty": {"type": "average", "alpha": alpha}}
    folder = save_scaled_model(TRANSFORMER, tmp_path, 0.4, search=search, max_length_extra=200)
    export_ctranslate2(read_model_folder(folder), tmp_path / "out", "float32")
    source_lines = random_lines(60)
    ours = [
        translation.text for translation in load_translator(folder, device="cpu").translate(source_lines, split=False)
    ]
    assert ctranslate2_model.Model(tmp_path / "out").translate(source_lines) == ours


NOT_EXPORTED: dict[str, tuple[dict[str, Any], list[str], list[str]]] = {
    "greedy": ({"search": "greedy"}, [], []),
    "beam": ({"search": {"type": "beam", "size": 2}}, [], ["translate.search is beam"]),
    "another": (
        {"search": {"type": "beam", "stop_rule": "top"}, "no_repeat_ngram_size": 2},
        ["translate.no_repeat_ngram_size is 2", "translate.search.stop_rule is top"],
        ["translate.no_repeat_ngram_size is 2", "translate.search is beam"],
    ),
}


@pytest.mark.parametrize("kind", NOT_EXPORTED)
def test_settings_not_exported_are_reported(kind: str, tmp_path: Path) -> None:
    translate, *expected = NOT_EXPORTED[kind]
    folder = save_scaled_model(TRANSFORMER, tmp_path, **translate)
    model_folder = read_model_folder(folder)
    omitted = [
        export_ctranslate2(model_folder, tmp_path / "0", "float32"),
        export_onnx(model_folder, tmp_path / "1", None),
    ]
    assert omitted == expected
    for number, reasons in enumerate(omitted):
        readme = (tmp_path / str(number) / "README.md").read_text("utf-8")
        assert ("does not support" in readme) == bool(reasons)
        assert [reason for reason in reasons if f"\n- {reason}\n" not in readme] == []


@pytest.mark.parametrize("target_format", ["ctranslate2", "onnx"])
def test_length_limits_equal_backend_limits(target_format: str, tmp_path: Path) -> None:
    """Also where rounding in float32 gives a whole number and float64 does not: 100 * 0.29."""
    folder = save_scaled_model(TRANSFORMER, tmp_path, max_length_factor=0.29)
    export(target_format, folder, tmp_path / "out")
    lengths, model = range(1, 300), load_exported(target_format, tmp_path / "out")
    model_folder = read_model_folder(folder)
    assert [model.max_output_length(length) for length in lengths] == [
        model_folder.max_output_length(length) for length in lengths
    ]


@pytest.mark.parametrize("target_format", ["ctranslate2", "onnx"])
def test_tokenizers_are_exported(target_format: str, tmp_path: Path) -> None:
    """Tokens with spaces, different vocabularies, and a target that is written from right to left."""
    text = ["a b abc  ab", "cab ba▁b <pad>"]
    source, target = (
        BPETokenizerTrainer(vocab_size=280, min_frequency=1).train(text),
        WhitespaceTokenizerTrainer().train(text).reversed(),
    )
    folder = save_model_folder(tmp_path / "model", untrained_model(TRANSFORMER, source=source, target=target))
    export(target_format, folder, tmp_path / "out")
    program = ctranslate2_model if target_format == "ctranslate2" else onnx_model
    model = program.Model(tmp_path / "out")
    model.settings["beam"] = 1
    source_lines = ["a b", "  cab ▁ab", "ab abc é"]
    assert model.translate(source_lines) == torch_outputs(folder, source_lines)


def export(target_format: str, folder: Path, out: Path, *, shortlist: bool = False) -> None:
    if target_format == "ctranslate2":
        export_ctranslate2(read_model_folder(folder), out, "float32", shortlist=shortlist)
    else:
        export_onnx(read_model_folder(folder), out, None)


@pytest.mark.parametrize("target_format", ["ctranslate2", "onnx"])
def test_exported_program_runs_without_weft(target_format: str, tmp_path: Path) -> None:
    """As the exported README describes; with a shortlist, which only CTranslate2 has."""
    folder = save_scaled_model(TRANSFORMER, tmp_path, strength=0.7)
    for name in ("train.en", "train.de"):
        (tmp_path / name).write_text("abc\nde\n", "utf-8")
    train_shortlist(folder, [tmp_path / "train.en", tmp_path / "train.de"], ShortlistSize(2, 1), 9)
    out = tmp_path / "new" / "out"
    export(target_format, folder, out, shortlist=target_format == "ctranslate2")
    readme = (out / "README.md").read_text("utf-8").split("```python\n")[1].split("```")[0]
    block_imports = "import sys; sys.modules['weft'] = sys.modules['torch'] = None\n"
    for command, stdin in ((["-c", block_imports + readme], ""), ([str(out / "translate.py")], "abc\n\nde\n")):
        result = subprocess.run([sys.executable, *command], cwd=out, input=stdin, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
    assert len(result.stdout.split("\n")) == 4
    assert result.stdout == "".join(
        f"{line}\n" for line in load_exported(target_format, out).translate(["abc", "", "de"])
    )
    assert (out / "vmap.txt").exists() == (target_format == "ctranslate2")


INPUTS = ["", "\ufeffabé\r\n\r\nab\x85a\u2028b\r\r\n  \n\néba\r", "\ufeff"]


@pytest.mark.parametrize("target_format", ["ctranslate2", "onnx"])
def test_exported_program_splits_lines_like_weft(target_format: str, tmp_path: Path) -> None:
    """As many lines out as in, whatever they contain and whatever the locale's encoding is."""
    tokenizer = CharacterTokenizerTrainer().train(["abé"])
    folder = save_model_folder(tmp_path / "model", untrained_model(TRANSFORMER, source=tokenizer, target=tokenizer))
    export(target_format, folder, tmp_path / "out")
    program, model = (
        [sys.executable, str(tmp_path / "out" / "translate.py")],
        load_exported(target_format, tmp_path / "out"),
    )
    for text in INPUTS:
        result = subprocess.run(
            program, input=text.encode(), capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}
        )
        assert result.returncode == 0, result.stderr
        expected = model.translate(list(decode_lines(BytesIO(text.encode()), "input")))
        assert result.stdout.decode() == "".join(f"{line}\n" for line in expected)


def test_invalid_utf_8_is_reported(tmp_path: Path) -> None:
    export("ctranslate2", save_scaled_model(TRANSFORMER, tmp_path), tmp_path / "out")
    program = [sys.executable, str(tmp_path / "out" / "translate.py")]
    result = subprocess.run(program, input=b"ab\n\xff\n", capture_output=True)
    assert (result.returncode, result.stderr) == (
        1,
        b"standard input, line 2: not UTF-8; convert it to UTF-8\n",
    )


def test_lines_are_translated_while_input_is_read(tmp_path: Path) -> None:
    export("ctranslate2", save_scaled_model(TRANSFORMER, tmp_path), tmp_path / "out")
    code = (
        "from translate import translate_stream; parts = iter([b'ab'] * 9999); "
        "next(translate_stream(parts)); print(len([*parts]))"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path / "out", capture_output=True, check=True)
    assert int(result.stdout) > 5000  # blocks not read yet


def load_exported(target_format: str, out: Path) -> Any:
    return (ctranslate2_model if target_format == "ctranslate2" else onnx_model).Model(out)


UNSUPPORTED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "recurrent": (BAHDANAU, ["model.encoder is recurrent", "model.decoder is bahdanau"]),
    "language model": (LANGUAGE, ["model.source is none", "model.encoder is none"]),
    "frame_head": (
        CTC,
        ["model.target is none", "model.encoder is recurrent", "model.decoder is none", "model.frame_head"],
    ),
}


@pytest.mark.parametrize("kind", UNSUPPORTED)
def test_all_unsupported_settings_are_reported(kind: str, tmp_path: Path) -> None:
    model, prefixes = UNSUPPORTED[kind]
    model_folder = read_model_folder(save_model_folder(tmp_path / "model", untrained_model(model)))
    with pytest.raises(UserError, match="cannot be exported to ONNX") as raised:
        export_onnx(model_folder, tmp_path / "out", None)
    assert [prefix for prefix in prefixes if f"\n  {prefix}" not in str(raised.value)] == []
    assert len(str(raised.value).split("\n")) == 1 + len(prefixes)
    assert not (tmp_path / "out").exists()


def test_too_large_graph_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tied weight is stored once in the model folder but twice in the step graph."""
    tokenizer = CharacterTokenizerTrainer().train([bytes(range(256)).decode("latin-1")])
    folder = save_model_folder(tmp_path / "model", untrained_model(TRANSFORMER | {"tie": "all"}, target=tokenizer))
    monkeypatch.setattr("weft.inference.export.exporters.MAX_GRAPH_BYTES", (folder / WEIGHTS_FILE).stat().st_size)
    with pytest.raises(UserError, match=r"cannot be exported to ONNX:\n  step\.onnx: .* GB"):
        export_onnx(read_model_folder(folder), tmp_path / "out", None)
    assert not (tmp_path / "out").exists()


def test_export_that_fails_verification_is_removed(tmp_path: Path) -> None:
    """The exported model has another activation than the model it is compared with: no files are left."""
    for name in ("model", "changed"):
        (tmp_path / name).mkdir()
    folder = save_scaled_model(TRANSFORMER, tmp_path / "model")
    model_folder = read_model_folder(
        save_scaled_model(changed_transformer(("decoder", "activation", "gelu")), tmp_path / "changed")
    )
    with pytest.raises(UserError, match="differs from torch"):
        export_onnx(model_folder, tmp_path / "out", lambda new: print(verify_export(folder, new)))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["changed", "model"]
