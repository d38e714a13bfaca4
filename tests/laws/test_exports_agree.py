"""Law 9: an exported model says what torch says, of every form that can go; of the others all reasons are told."""

import os
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from laws.test_engines_agree import BOTH, KINDS, SIDES, changed, folder_of, lines
from unit.models import BAHDANAU, CTC, LANGUAGE, TRANSFORMER, saved, untrained
from weft.checkpoints.model_folder import WEIGHTS_FILE, read_model_folder
from weft.core.errors import UserError
from weft.data.text_files import decode_lines
from weft.inference.export.ctranslate2_export import export_ctranslate2
from weft.inference.export.onnx_export import export_onnx
from weft.inference.export.standalone import ctranslate2_model, onnx_model
from weft.inference.export.verification import VerificationResult, verify_export
from weft.inference.loader import load_translator
from weft.inference.shortlist_training import train_shortlist
from weft.text.lexical_shortlist import ShortlistSize
from weft.text.tokenizer_training import BPETokenizerTrainer, CharacterTokenizerTrainer, WhitespaceTokenizerTrainer

WIDER: dict[str, dict[str, Any]] = {
    **KINDS,
    "a reach": changed(*((slot, "attention_window", 2) for slot in BOTH)),
    "positions beside tokens": changed(*((slot, "merge", "concat") for slot in SIDES), ("decoder", "layers", 2)),
    "two kinds of positions": changed(*((slot, "rotary", True) for slot in BOTH)),
}


def texts(folder: Path, asked: list[str]) -> list[str]:
    return [one.text for one in load_translator(folder, device="cpu", beam=1).translate(asked)]


@pytest.mark.parametrize("kind", WIDER)
def test_onnx_says_the_same(kind: str, tmp_path: Path) -> None:
    folder = folder_of(WIDER[kind], tmp_path, strength=0.5)
    proved: list[VerificationResult] = []
    export_onnx(read_model_folder(folder), tmp_path / "out", lambda new: proved.append(verify_export(folder, new)))
    assert proved[0].tokens > 8
    assert 0 < proved[0].difference < 1e-4


def test_onnx_translates_as_torch_does(tmp_path: Path) -> None:
    folder = folder_of(TRANSFORMER, tmp_path, strength=0.7)
    export_onnx(read_model_folder(folder), tmp_path / "out", None)
    asked = ["", *lines(60), "  "]
    assert onnx_model.Model(tmp_path / "out").translate(asked) == texts(folder, asked)


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_ctranslate2_translates_as_torch_does(precision: Any, tmp_path: Path) -> None:
    folder = folder_of(TRANSFORMER | {"tie": "all"}, tmp_path, strength=0.7)
    export_ctranslate2(read_model_folder(folder), tmp_path / "out", precision)
    model = ctranslate2_model.Model(tmp_path / "out")
    model.settings["beam"] = 1
    asked = ["", *lines(60), "  "]
    same = [one == other for one, other in zip(model.translate(asked), texts(folder, asked), strict=True)]
    assert sum(same) >= (len(same) if precision == "float32" else 0.7 * len(same))


@pytest.mark.parametrize("alpha", [1.0, 0.6])
def test_the_search_goes_along(alpha: float, tmp_path: Path) -> None:
    """How wide it is, and what lengths count; with so much room that no output breaks off."""
    search = {"type": "beam", "size": 3, "length_penalty": {"type": "average", "alpha": alpha}}
    folder = folder_of(TRANSFORMER, tmp_path, 0.4, search=search, max_length_extra=200)
    export_ctranslate2(read_model_folder(folder), tmp_path / "out", "float32")
    asked = lines(60)
    ours = [one.text for one in load_translator(folder, device="cpu").translate(asked)]
    assert ctranslate2_model.Model(tmp_path / "out").translate(asked) == ours


UNLIKE: dict[str, tuple[dict[str, Any], list[str], list[str]]] = {
    "greedy": ({"search": "greedy"}, [], []),
    "beam": ({"search": {"type": "beam", "size": 2}}, [], ["translate.search is beam"]),
    "another": (
        {"search": {"type": "beam", "stop_rule": "top"}, "no_repeat_ngram_size": 2},
        ["translate.no_repeat_ngram_size is 2", "translate.search.stop_rule is top"],
        ["translate.no_repeat_ngram_size is 2", "translate.search is beam"],
    ),
}


@pytest.mark.parametrize("kind", UNLIKE)
def test_what_is_left_out_is_told(kind: str, tmp_path: Path) -> None:
    translate, *told = UNLIKE[kind]
    folder = folder_of(TRANSFORMER, tmp_path, **translate)
    described = read_model_folder(folder)
    unlike = [export_ctranslate2(described, tmp_path / "0", "float32"), export_onnx(described, tmp_path / "1", None)]
    assert unlike == told
    for number, reasons in enumerate(unlike):
        readme = (tmp_path / str(number) / "README.md").read_text("utf-8")
        assert ("does not support" in readme) == bool(reasons)
        assert [reason for reason in reasons if f"\n- {reason}\n" not in readme] == []


@pytest.mark.parametrize("to", ["ctranslate2", "onnx"])
def test_limits_are_those_of_the_engines(to: str, tmp_path: Path) -> None:
    """Also where a product is rounded to a whole number in float32 alone: 100 times 0.29."""
    folder = folder_of(TRANSFORMER, tmp_path, max_length_factor=0.29)
    export(to, folder, tmp_path / "out")
    lengths, model = range(1, 300), model_of(to, tmp_path / "out")
    described = read_model_folder(folder)
    assert [model.max_output_length(length) for length in lengths] == [
        described.max_output_length(length) for length in lengths
    ]


@pytest.mark.parametrize("to", ["ctranslate2", "onnx"])
def test_texts_of_all_kinds_go_through(to: str, tmp_path: Path) -> None:
    """Pieces with spaces in them, other pieces on the other side, outputs that are said from right to left."""
    text = ["a b abc  ab", "cab ba▁b <pad>"]
    source, target = (
        BPETokenizerTrainer(vocab_size=280, min_frequency=1).train(text),
        WhitespaceTokenizerTrainer().train(text).reversed(),
    )
    folder = saved(tmp_path / "model", untrained(TRANSFORMER, source=source, target=target))
    export(to, folder, tmp_path / "out")
    program = ctranslate2_model if to == "ctranslate2" else onnx_model
    model = program.Model(tmp_path / "out")
    model.settings["beam"] = 1
    asked = ["a b", "  cab ▁ab", "ab abc é"]
    assert model.translate(asked) == texts(folder, asked)


def export(to: str, folder: Path, out: Path, *, shortlist: bool = False) -> None:
    if to == "ctranslate2":
        export_ctranslate2(read_model_folder(folder), out, "float32", shortlist=shortlist)
    else:
        export_onnx(read_model_folder(folder), out, None)


@pytest.mark.parametrize("to", ["ctranslate2", "onnx"])
def test_the_program_runs_without_weft(to: str, tmp_path: Path) -> None:
    """As its README says; with the shortlist, which only one of them has."""
    folder = folder_of(TRANSFORMER, tmp_path, strength=0.7)
    for name in ("train.en", "train.de"):
        (tmp_path / name).write_text("abc\nde\n", "utf-8")
    train_shortlist(folder, [tmp_path / "train.en", tmp_path / "train.de"], ShortlistSize(2, 1), 9)
    out = tmp_path / "new" / "out"
    export(to, folder, out, shortlist=to == "ctranslate2")
    readme = (out / "README.md").read_text("utf-8").split("```python\n")[1].split("```")[0]
    aside = "import sys; sys.modules['weft'] = sys.modules['torch'] = None\n"
    for command, given in ((["-c", aside + readme], ""), ([str(out / "translate.py")], "abc\n\nde\n")):
        run = subprocess.run([sys.executable, *command], cwd=out, input=given, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
    assert len(run.stdout.split("\n")) == 4
    assert run.stdout == "".join(f"{line}\n" for line in model_of(to, out).translate(["abc", "", "de"]))
    assert (out / "vmap.txt").exists() == (to == "ctranslate2")


GIVEN = ["", "\ufeffabé\r\n\r\nab\x85a\u2028b\r\r\n  \n\néba\r", "\ufeff"]


@pytest.mark.parametrize("to", ["ctranslate2", "onnx"])
def test_lines_are_those_of_weft(to: str, tmp_path: Path) -> None:
    """As many out as in, whatever they hold, and whatever encoding the machine is set to."""
    letters = CharacterTokenizerTrainer().train(["abé"])
    folder = saved(tmp_path / "model", untrained(TRANSFORMER, source=letters, target=letters))
    export(to, folder, tmp_path / "out")
    program, model = [sys.executable, str(tmp_path / "out" / "translate.py")], model_of(to, tmp_path / "out")
    for given in GIVEN:
        run = subprocess.run(
            program, input=given.encode(), capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}
        )
        assert run.returncode == 0, run.stderr
        wanted = model.translate(list(decode_lines(BytesIO(given.encode()), "input")))
        assert run.stdout.decode() == "".join(f"{line}\n" for line in wanted)


def test_what_is_not_utf_8_is_told(tmp_path: Path) -> None:
    export("ctranslate2", folder_of(TRANSFORMER, tmp_path), tmp_path / "out")
    program = [sys.executable, str(tmp_path / "out" / "translate.py")]
    run = subprocess.run(program, input=b"ab\n\xff\n", capture_output=True)
    assert (run.returncode, run.stderr) == (1, b"standard input, line 2: not UTF-8; convert it to UTF-8\n")


def test_lines_are_translated_while_others_are_read(tmp_path: Path) -> None:
    export("ctranslate2", folder_of(TRANSFORMER, tmp_path), tmp_path / "out")
    code = (
        "from translate import translate_stream; parts = iter([b'ab'] * 9999); "
        "next(translate_stream(parts)); print(len([*parts]))"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path / "out", capture_output=True, check=True)
    assert int(run.stdout) > 5000  # are left


def model_of(to: str, out: Path) -> Any:
    return (ctranslate2_model if to == "ctranslate2" else onnx_model).Model(out)


REFUSED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "recurrent": (BAHDANAU, ["model.encoder is recurrent", "model.decoder is bahdanau"]),
    "language model": (LANGUAGE, ["model.source is none", "model.encoder is none"]),
    "frame_head": (
        CTC,
        ["model.target is none", "model.encoder is recurrent", "model.decoder is none", "model.frame_head"],
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_all_reasons_are_told(kind: str, tmp_path: Path) -> None:
    model, words = REFUSED[kind]
    described = read_model_folder(saved(tmp_path / "model", untrained(model)))
    with pytest.raises(UserError, match="cannot be exported to ONNX") as told:
        export_onnx(described, tmp_path / "out", None)
    assert [word for word in words if f"\n  {word}" not in str(told.value)] == []
    assert len(str(told.value).split("\n")) == 1 + len(words)
    assert not (tmp_path / "out").exists()


def test_a_graph_that_no_file_can_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one weight for all, the model folder has one copy, and the graph of a step two."""
    letters = CharacterTokenizerTrainer().train([bytes(range(256)).decode("latin-1")])
    folder = saved(tmp_path / "model", untrained(TRANSFORMER | {"tie": "all"}, target=letters))
    monkeypatch.setattr("weft.inference.export.onnx_export.MAX_GRAPH_BYTES", (folder / WEIGHTS_FILE).stat().st_size)
    with pytest.raises(UserError, match=r"cannot be exported to ONNX:\n  step\.onnx: .* GB"):
        export_onnx(read_model_folder(folder), tmp_path / "out", None)
    assert not (tmp_path / "out").exists()


def test_what_differs_is_not_exported(tmp_path: Path) -> None:
    """What is exported has its another activation than the model it is compared with: then nothing stands there."""
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    folder = folder_of(TRANSFORMER, tmp_path / "one")
    described = read_model_folder(folder_of(changed(("decoder", "activation", "gelu")), tmp_path / "other"))
    with pytest.raises(UserError, match="differs from torch"):
        export_onnx(described, tmp_path / "out", lambda new: print(verify_export(folder, new)))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "other"]
