"""CTC models, without a decoder and jointly with one: training, translation, inspection and reports."""

import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

import weft
from system.commands import weft as command
from weft.core.errors import UserError
from weft.inference.loader import load_translator
from weft.visualize.attention_weights import draw_attention
from weft.visualize.frame_posteriors import frame_posteriors
from weft.visualize.gate_activations import gate_activations
from weft.visualize.run_evaluation import ReportOptions, collect_report_data
from weft.visualize.run_report import run_report_page
from weft.visualize.run_summary import read_run_summary

SPELLINGS = {"a": "a", "b": "xy", "c": "zzz", "d": "dd"}  # longer than their letters, with repeats


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Words over four letters; each letter is spelled with up to three."""
    folder, draws = tmp_path_factory.mktemp("paths"), Random(3)
    for name, count in (("train", 300), ("valid", 20)):
        words = ["".join(draws.choices(list(SPELLINGS), k=draws.randint(2, 5))) for _ in range(count)]
        lines = (f"{word}\t{''.join(SPELLINGS[letter] for letter in word)}\n" for word in words)
        (folder / f"{name}.tsv").write_text("".join(lines), "utf-8")
    return folder


def recipe(folder: Path, **changes: Any) -> dict[str, Any]:
    return {
        "data": {"folder": str(folder), "train": ["train.tsv"], "valid": ["valid.tsv"], "drop_duplicates": False},
        "text": {"source": {"type": "character", "byte_fallback": False}, "joint": False},
        "model": {
            "source": {"dim": 16, "scale": False},
            "encoder": {"type": "recurrent", "cell": {"type": "gru", "dim": 16}},
            "target": "none",
            "decoder": "none",
            "frame_head": {"type": "ctc", "upsample": 6},
        },
        "objective": "ctc",
        "train": {
            "steps": 120,
            "batch_tokens": 400,
            "schedule": {"type": "linear", "learning_rate": 0.02, "warmup_steps": 10},
            "validation": {"every": 60, "metrics": ["exact"], "best_metric": "exact", "search": "greedy"},
        },
    } | changes


@pytest.fixture(scope="module")
def run(data: Path) -> Path:
    return weft.train(recipe(data), out=data / "run")


def test_report_shows_frame_posteriors(run: Path) -> None:
    page = run_report_page(collect_report_data(read_run_summary(run), ReportOptions(max_lines=5, sentences=1)))
    assert ">Frame posteriors</h2>" in page
    assert "probability; the largest column of each row: " in page
    assert "search: best-path" in page


def test_model_without_decoder_learns_and_translates(run: Path) -> None:
    translator = weft.load(run)
    words = ["abcd", "cab", "dada", "bbcc"]
    outputs = [translation.text for translation in translator.translate(words)]
    assert outputs == ["".join(SPELLINGS[letter] for letter in word) for word in words]
    [translation] = translator.translate(["abc"])
    [best] = translation.alternatives
    assert len(best.tokens) == len(best.token_scores) == len("axyzzz") + 1
    assert sum(best.token_scores) == pytest.approx(best.score)
    assert best.score <= 0


def test_beam_gives_alternatives(run: Path) -> None:
    [translation] = weft.load(run, beam=8, n_best=3).translate(["abc"])
    assert len(translation.alternatives) == 3
    assert translation.text == "axyzzz"
    scores = [alternative.score for alternative in translation.alternatives]
    assert scores == sorted(scores, reverse=True)


def test_language_model_changes_the_score(run: Path, data: Path) -> None:
    (data / "text").write_text("".join(line.split("\t")[1] for line in lines_of(data / "train.tsv")), "utf-8")
    tokenizer = {"type": "character", "byte_fallback": False}
    language_recipe: dict[str, Any] = {
        "data": {"folder": str(data), "train": ["text"], "monolingual": True, "drop_duplicates": False},
        "text": {"source": tokenizer},
        "model": {
            "source": "none",
            "encoder": "none",
            "target": {"dim": 8, "scale": False},
            "decoder": {"type": "sutskever", "cell": {"dim": 8}, "bridge": "zeros"},
        },
        "train": {"steps": 10, "validation": {"lines": 0, "metrics": [], "best_metric": "perplexity"}},
    }
    model = weft.train(language_recipe, out=data / "language")
    with_language_model = [
        "translate.frame_decoder={type: prefix-beam, n_best: 2, "
        f"language_model: '{model}', language_model_weight: 0.1}}"
    ]
    without_language_model = ["translate.frame_decoder={type: prefix-beam, n_best: 2}"]
    [guided], [plain] = (
        load_translator(run, overrides=overrides).translate(["abc"])
        for overrides in (with_language_model, without_language_model)
    )
    assert guided.text == plain.text == "axyzzz"
    assert guided.score < plain.score
    invalid = ["translate.frame_decoder.type=prefix-beam", f"translate.frame_decoder.language_model={run}"]
    with pytest.raises(UserError, match="is not a language model"):
        load_translator(run, overrides=invalid)


def lines_of(path: Path) -> list[str]:
    return [f"{line}\n" for line in path.read_text("utf-8").split("\n")[:-1]]


INVALID_SETTINGS = [
    (
        "translate.search.size=3",
        "this model has no decoder, so its frames are decoded: set translate.frame_decoder instead",
    ),
    ("translate.ctc_weight=0.5", "translate.ctc_weight: is 0.5, but this model does not have both a decoder and a"),
    (
        "translate.frame_decoder=position-wise",
        "translate.frame_decoder: reads one token from each frame, but the frames of this",
    ),
]


@pytest.mark.parametrize(("setting", "message"), INVALID_SETTINGS)
def test_settings_that_do_not_fit_the_model_are_reported(run: Path, setting: str, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        load_translator(run, overrides=[setting])


def test_drawing_attention_without_decoder_raises(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="this model has no decoder, and therefore no attention"):
        draw_attention(weft.load(run), "abc", tmp_path / "attention.png")
    assert gate_activations(weft.load(run), "abc")[0].module.startswith("encoder.0")


def test_frames_are_drawn(run: Path, tmp_path: Path) -> None:
    picture = tmp_path / "frames.png"
    result = command("inspect", "frames", run, "abc", "--output", picture)
    assert (result.code, result.lines) == (0, [f"{picture}: axyzzz"])
    assert picture.stat().st_size > 1000
    posteriors = frame_posteriors(weft.load(run), "abc", "axyzzz")
    assert "".join(symbol for symbol in dict.fromkeys(posteriors.symbols) if symbol != "∅") == "axyz"
    assert (
        posteriors.probabilities.shape
        == (len(posteriors.classes), len(posteriors.symbols))
        == (len(posteriors.classes), 4 * 6)
    )


def test_joint_decoder_and_frame_head_learn(data: Path) -> None:
    node = recipe(data, objective={"type": "joint-ctc", "ctc_weight": 0.5, "label_smoothing": 0.0})
    node["model"] |= {
        "target": {"dim": 16, "scale": False},
        "decoder": {"type": "luong", "cell": {"dim": 16}, "dim": 16},
    }
    node["translate"] = {"search": "beam", "ctc_weight": 0.4}
    run = weft.train(node, out=data / "joint")
    translator = weft.load(run)
    assert translator.settings.ctc_weight == 0.4
    joint = translator.translate(["abcd", "cab"])
    narrow = weft.load(run, beam=2).translate(["abcd", "cab"])
    assert (
        [translation.text for translation in joint]
        == [translation.text for translation in narrow]
        == ["axyzzzdd", "zzzaxy"]
    )


@pytest.mark.parametrize("setting", ["train.validation.frame_decoder", "translate.frame_decoder"])
def test_invalid_frame_decoder_is_reported_before_training(run: Path, data: Path, setting: str) -> None:
    frame_decoder, node = {"type": "prefix-beam", "language_model": str(run)}, recipe(data)
    if setting == "translate.frame_decoder":
        node["translate"] = {"frame_decoder": frame_decoder}
    else:
        node["train"] = {**node["train"], "validation": {**node["train"]["validation"], "frame_decoder": frame_decoder}}
    with pytest.raises(UserError, match=f"^{setting}: .* is not a language model"):
        weft.train(node, out=data / "untrained")
    assert not (data / "untrained").exists()


def test_pairs_with_too_few_frames_are_reported_and_dropped(data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    node = recipe(data)
    node["model"] = {**node["model"], "frame_head": {"type": "ctc", "upsample": 3}}
    node["train"] = {**node["train"], "steps": 2}
    weft.train(node, out=data / "narrow")
    err = capfd.readouterr().err
    assert "of 300 pairs of train have targets that need more frames than their sources provide, such as" in err
    assert "train.tsv, line " in err
    assert "They are left out." in err


def test_training_is_refused_if_most_targets_are_too_long(data: Path) -> None:
    node = recipe(data)
    node["model"] = {**node["model"], "frame_head": {"type": "ctc", "upsample": 1}}
    with pytest.raises(
        UserError, match=r"These are most pairs, so this model cannot learn them: raise model\.frame_head"
    ):
        weft.train(node, out=data / "too-narrow")
    assert not (data / "too-narrow").exists()
