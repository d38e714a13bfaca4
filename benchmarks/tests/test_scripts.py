"""Every benchmark script runs with tiny settings and writes its figures."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks import (
    beam_speed,
    captchas,
    evaluate_multi30k,
    file_to_file,
    finetuning,
    ladder,
    large_corpus,
    layers,
    non_autoregressive,
    peer_speed,
    placeholders,
    precision,
    rank_speed,
    recipe_speed,
    recurrent_speed,
    sampled_softmax,
    scaling_estimate,
    screenshots,
    searches,
    serving,
    shortlist,
    speeds,
    spelling,
    student_speed,
    torch_file_to_file,
    training_speed,
)
from benchmarks.beam_search.engines import Engine
from benchmarks.beam_search.job import Batching, Shape
from benchmarks.file_translation.process_timing import Turn
from benchmarks.layer_complexity.layer_kinds import KINDS
from benchmarks.markdown import BEGIN, END
from benchmarks.peers import rounds
from benchmarks.peers.environments import NotInstalledError, Pins
from benchmarks.peers.shapes import Recurrent, Transformer
from benchmarks.speed_rows import torch_rows

import weft
from system import toys
from system.browsers import CHROMIUM
from system.servers import start_server
from system.training_runs import RecordingDisplay
from unit.test_shortlist import model_folder, random_lines, small_shortlist
from weft.checkpoints.model_folder import save_shortlist
from weft.config.recipe_catalog import RECIPES_FOLDER
from weft.config.yaml_files import read_yaml
from weft.core.errors import UserError
from weft.data.datasets.catalog import CODESPELL
from weft.data.datasets.download import DatasetFolder
from weft.inference.span_translation import DEFAULT_KINDS
from weft.text.marked_text import MarkedText
from weft.training.distillation import StudentFolder, distill

SHAPE = Shape(layers=1, dim=8, hidden=12, heads=2)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "figures.json"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A page with old figures."""
    path = tmp_path / "page.md"
    path.write_text(f"before\n{BEGIN}old\n{END}after\n", "utf-8")
    return path


@pytest.fixture
def no_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every installation of a peer fail."""
    for module in (rounds, beam_speed):
        monkeypatch.setattr(module, "python_of", python_of)


def python_of(pins: Pins | None, folder: Path) -> Path:
    if pins is not None:
        raise NotInstalledError("no network")
    return Path(sys.executable)


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def test_every_script_has_a_test() -> None:
    scripts = {path.stem for path in Path(speeds.__file__).parent.glob("*.py") if "__main__" in path.read_text("utf-8")}
    assert {f"test_{script}" for script in scripts} <= globals().keys()


@pytest.mark.slow
@pytest.mark.usefixtures("no_peers")
@pytest.mark.parametrize("with_data", [False, True])
def test_beam_speed(
    with_data: bool,
    multi30k: Path,
    output: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(beam_speed, "SHAPE", SHAPE)
    monkeypatch.setattr(beam_speed, "BATCHINGS", [Batching(2, "sentences")])
    data = multi30k if with_data else None
    beam_speed.main(data, sentences=5, vocabulary=300, rounds=1, threads=1, json_file=output)
    assert read(output)["figures"]["Weft"]["2"]["same_outputs"] == 5
    assert "OpenNMT-py is left out: no network" in capsys.readouterr().err


def test_captchas(tmp_path: Path, output: Path) -> None:
    captchas.make(tmp_path / "images", train=20, valid=2, test=5, workers=1)
    tiny = ["model.encoder={type: image, layers: 2, channels: 2, subsampling: 2, dim: 4}", "train.steps=1"]
    settings = [f"data.folder={tmp_path / 'images'}", "train.minutes=null", *tiny]
    run = weft.train(RECIPES_FOLDER / "ocr-ctc.yaml", out=tmp_path / "run", overrides=settings)
    captchas.score(run, tmp_path / "images", output)
    figures = read(output)
    assert figures["images"] == 5
    assert figures["low"] <= figures["accuracy"] <= figures["high"]


def test_evaluate_multi30k(run: Path, multi30k: Path, output: Path) -> None:
    evaluate_multi30k.main(run, multi30k, json_file=output)
    figures = read(output)
    assert figures["training"]["updates"] == 20
    assert [score["name"] for score in figures["scores"]] == ["bleu", "chrf", "bleu, lower-cased Moses tokens"]


def test_placeholders(run: Path, output: Path, tmp_path: Path) -> None:
    strings = tmp_path / "strings.tsv"
    strings.write_text("A man <b>sleeps</b> {x}.\tEin Mann <b>schläft</b> {x}.\n%s!\t%s!\n", "utf-8")
    placeholders.main([run, strings], json_file=output)
    figures = read(output)["figures"]["strings.tsv"]
    assert list(figures) == ["tags", "mask", "text", "without"]
    assert figures["tags"]["strings"] == 2
    marked = MarkedText.find("A {x} <b>c</b>", DEFAULT_KINDS)
    assert placeholders.mask_spans(marked) == "A [X0X] [X1X]c[X2X]"
    assert placeholders.unmask_spans("[ X2 X] [X0X]", marked) == "</b> {x}"
    assert placeholders.remove_spans("A {x} <b>c</b>.") == "A c ."


@pytest.mark.slow
def test_file_to_file(run: Path, multi30k: Path, output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_to_file, "BATCHINGS", [(2, "examples")])
    monkeypatch.setattr(file_to_file, "precisions", lambda: ["float32"])
    monkeypatch.setattr(file_to_file, "python_of", lambda *_: Path(sys.executable))
    file_to_file.main(run, multi30k, lines=5, rounds=1, threads=1, json_file=output)
    figures = read(output)["figures"]
    assert list(figures["speed"]) == ["float32"]
    assert [result["same"] for result in figures["agreement"]] == [1.0] * 4


@pytest.mark.slow
def test_finetuning(multi30k: Path, tmp_path: Path, output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finetuning, "SPORT", frozenset({"river"}))
    monkeypatch.setattr(finetuning, "LAYERS", {"type": "transformer", "layers": 1, "heads": 2, "ffn_dim": 8})
    monkeypatch.setattr(finetuning, "EMBEDDING", {"type": "tokens", "dim": 8})
    finetuning.main(multi30k, tmp_path / "runs", steps=2, json_file=output)
    assert len(read(output)["scores"]) == 3


def test_ladder(run: Path, multi30k: Path, tmp_path: Path, output: Path) -> None:
    (tmp_path / "copy").symlink_to(run)
    ladder.main(multi30k, [run, tmp_path / "copy"], source="en", target="de", json_file=output)
    first, copy = read(output)
    assert first["scores"]["all"]["lines"] == 20
    assert first["scores"]["all"]["p"] is None
    assert copy["scores"]["all"]["bleu"] == first["scores"]["all"]["bleu"]


@pytest.mark.slow
def test_large_corpus(recipe: Path, multi30k: Path, output: Path) -> None:
    large_corpus.main(multi30k, recipe, small=100, large=200, steps=1, json_file=output)
    for runs in read(output).values():
        for figures in runs.values():
            assert figures["peak_mib"] > 1
            assert figures["first_step_seconds"] > 0


def test_layers(tmp_path: Path, page: Path, output: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "layers.png"
    layers.main(
        longest=32,
        widest=128,
        batch=1,
        rounds=1,
        threads=1,
        backward=True,
        picture=picture,
        page=page,
        json_file=output,
    )
    printed = capsys.readouterr().out.removesuffix("\n")
    assert page.read_text("utf-8") == f"before\n{BEGIN}{printed}{END}after\n"
    assert len(read(output)["seconds"]) == 4 * len(KINDS)
    assert picture.stat().st_size > 0


@pytest.mark.slow
def test_non_autoregressive(tmp_path: Path, multi30k: Path, output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, count in (("TEST_LINES", 5), ("VALID_LINES", 5), ("MIN_LINES", 50)):
        monkeypatch.setattr(non_autoregressive, name, count)
    text = tmp_path / "text.txt"
    text.write_text("".join(f"Line {number}\n" for number in range(50)), "utf-8")
    non_autoregressive.main(text, tmp_path / "out", minutes=0.01, multi30k=multi30k, json_file=output)
    figures = read(output)["figures"]
    assert [row["task"] for row in figures] == ["case"] * 4 + ["translation"] * 4
    assert figures[0]["scores"]["exact"] == 0  # unchanged


@pytest.mark.slow
@pytest.mark.usefixtures("no_peers")
def test_peer_speed(multi30k: Path, output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = Transformer(layers=1, dim=8, hidden=12, heads=2, dropout=0.1)
    monkeypatch.setattr(peer_speed, "TRANSFORMERS", {"tiny": tiny})
    peer_speed.main(multi30k, vocabulary=300, rounds=1, updates=1, threads=1, json_file=output)
    figures = read(output)["figures"]
    assert list(figures) == ["weft"]
    assert figures["weft"]["share"]["median"] > 0


def test_precision(recipe: Path, multi30k: Path, output: Path) -> None:
    precision.main(multi30k, recipe, updates=11, json_file=output)
    figures = read(output)["figures"]
    assert figures["float32"]["times_loss"] == 1.0
    assert figures["bfloat16"]["times_loss"] == pytest.approx(1.0, abs=0.05)
    assert figures["bfloat16"]["valid_loss"] != figures["float32"]["valid_loss"]


@pytest.mark.slow
def test_rank_speed(recipe: Path, multi30k: Path, output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_speed, "LAYOUTS", rank_speed.LAYOUTS[:2])
    rank_speed.main(multi30k, recipe, rounds=1, updates=2, json_file=output)
    assert list(read(output)["figures"]) == ["1 rank x 1 thread", "2 ranks x 1 thread"]


def test_recipe_speed(recipe: Path, multi30k: Path, tmp_path: Path, output: Path) -> None:
    other = toys.write_recipe(tmp_path / "other.yaml", read_yaml(recipe) | {"model": toys.BAHDANAU})
    recipe_speed.main(multi30k, [recipe, other], rounds=2, updates=1, warm_up=1, json_file=output)
    figures = read(output)["figures"]
    assert figures["tiny"]["times_first"]["rounds"] == [1.0, 1.0]
    assert figures["tiny"]["weights"] != figures["other"]["weights"]


@pytest.mark.slow
@pytest.mark.usefixtures("no_peers")
def test_recurrent_speed(multi30k: Path, output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recurrent_speed, "Recurrent", lambda **settings: Recurrent(**settings, embedding=8, hidden=8))
    recurrent_speed.main(multi30k, vocabulary=300, rounds=1, updates=1, threads=1, json_file=output)
    assert read(output)["figures"]["weft"]["tokens_per_second"]["median"] > 0


@pytest.mark.parametrize("with_data", [False, True])
def test_sampled_softmax(with_data: bool, multi30k: Path, output: Path) -> None:
    sampled_softmax.main(
        data=(multi30k / "train.en", multi30k / "train.de") if with_data else None,
        words=300,
        pairs=600,
        classes=10,
        bucket=10,
        dim=8,
        layers=1,
        batch_tokens=100,
        rounds=1,
        updates=1,
        warm_up=1,
        json_file=output,
    )
    figures = read(output)["figures"]
    assert list(figures) == ["full", "sampled", "bucketed", "sampled, lazy"]
    assert all(1 < variant["perplexity"] < 3000 for variant in figures.values())


def test_scaling_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    """The table of the documentation is the command's output."""
    scaling_estimate.main()
    docs = Path(speeds.__file__).parents[1] / "docs"
    assert capsys.readouterr().out in (docs / "scale.md").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_screenshots(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with start_server(run, "--languages", "en:de") as server:
        screenshots.main(server.address, "the red cat sees a dog", tmp_path)
    images = [Path(line) for line in capsys.readouterr().out.split("\n")[:-1]]
    assert len({path.read_bytes() for path in images}) == 8


def test_searches(run: Path, multi30k: Path, page: Path, output: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = "greedy,mbr-bleu"
    options = {"source": "en", "target": "de", "threads": 1}
    searches.main(multi30k, [run], lines=2, searches=names, page=page, json_file=output, **options)  # type: ignore[arg-type]
    printed = capsys.readouterr().out.removesuffix("\n")
    assert page.read_text("utf-8") == f"before\n{BEGIN}{printed}{END}after\n"
    assert [(row["search"], row["lines"]) for row in read(output)["models"]["tiny"]] == [("greedy", 2), ("mbr-bleu", 2)]


@pytest.mark.slow
def test_serving(run: Path, multi30k: Path, output: Path) -> None:
    serving.main(run, multi30k / "val.en", [1, 4], [1, 5], seconds=1.0, beam=2, json_file=output)
    figures = read(output)["figures"]
    assert [(figure["clients"], figure["texts"]) for figure in figures] == [(1, 1), (1, 5), (4, 1), (4, 5)]
    assert all(figure["answers"].keys() == {"200"} for figure in figures)  # "wrong" counts incorrect translations


def test_shortlist(tmp_path: Path, output: Path) -> None:
    folder = model_folder(tmp_path)
    save_shortlist(folder, small_shortlist())
    for name in ("in", "out"):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in random_lines(6)), "utf-8")
    shortlist.main(folder, tmp_path / "in", tmp_path / "out", lines=5, beam=[1, 2], rounds=1, json_file=output)
    kinds = [row["kind"].partition(",")[0] for row in read(output)["rows"]]
    assert kinds == ["torch", "ctranslate2", "ctranslate2"] * 2


def test_speeds(page: Path, output: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Run with scripts in place of the benchmarks; the table of each part has its own test."""
    summary = {"median": 300.0, "min": 300.0, "max": 300.0, "rounds": [300.0]}
    figures = {name: {"tokens_per_second": summary} for name in ("weft", "torch")} | {"ratio": summary}
    report = {"figures": figures}
    scripts = {
        "good": f"import sys; open(sys.argv[-1], 'w').write({json.dumps(report)!r})",
        "bad": "raise SystemExit(2)",
    }

    class ScriptPart(speeds.Part):
        def command(self, options: object) -> list[str]:
            return [sys.executable, "-c", scripts[self.name]]

    parts = [ScriptPart(name, "training", "none", (), torch_rows) for name in scripts]
    monkeypatch.setattr(speeds, "PARTS", parts)
    monkeypatch.setattr(speeds, "NAMES", list(scripts))
    speeds.main(only="good", page=page)
    assert page.read_text().startswith(f"before\n{BEGIN}|")
    assert "old" not in page.read_text()
    with pytest.raises(UserError, match="these parts failed, for the reasons above: bad"):
        speeds.main(only="good,bad", json_file=output)
    assert read(output) == {"good": report}
    assert "| training | plain torch | 300 tokens/s | 300 |" in capsys.readouterr().out


def test_spelling(run: Path, tmp_path: Path, output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = DatasetFolder(replace(CODESPELL, name="small"), tmp_path)
    for name, text in {"train": "reciept\treceipt\n", "valid": "recept\treceipt\n", "test": "te\tthe\n"}.items():
        (tmp_path / f"{name}.tsv").write_text(text, "utf-8")
    testset = tmp_path / "set.txt"
    testset.write_text("receipt: receit reciet\n", "utf-8")
    monkeypatch.setattr(spelling, "download_dataset", lambda *_: corpus)
    monkeypatch.setattr(spelling, "download_lines", lambda _: iter(["the 23135851162", "receipt 2500000"]))
    spelling.main(testset, tmp_path / "out", [run], words=2, json_file=output)
    (tests,) = read(output)["models"].values()
    assert {name: figures["cases"] for name, figures in tests.items()} == {"Norvig": 2, "codespell": 1}


def test_student_speed(run: Path, tmp_path: Path, output: Path) -> None:
    student = tmp_path / "student"
    settings = ["train.steps=2", "train.validation.every=2"]
    distill(run, StudentFolder(student), RecordingDisplay(), settings=settings)
    student_speed.main(student, threads=1, json_file=output)
    assert {system["model"] for system in read(output)["figures"]["systems"]} == {"teacher", "student"}


def test_torch_file_to_file(multi30k: Path, output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each peer uses the batch size that is its fastest on a part of the lines."""
    turns: list[tuple[int, str]] = []

    def run_peer(
        work: torch_file_to_file.Work, engine: Engine, python: Path, rows: list[list[int]], batching: Batching
    ) -> Turn:
        turns.append((len(rows), batching.name))
        return Turn(2.0 if batching.name == "128" else 4.0, 3.0, None)

    def installed(engines: list[Engine], folder: Path) -> dict[Engine, Path]:
        return {engines[0]: folder}

    monkeypatch.setattr(torch_file_to_file, "SHAPE", SHAPE)
    monkeypatch.setattr(torch_file_to_file, "installed", installed)
    monkeypatch.setattr(torch_file_to_file.Work, "peer", run_peer)
    monkeypatch.setattr(torch_file_to_file.Work, "weft", lambda work: Turn(1.0, 2.0, None))
    torch_file_to_file.main(multi30k, lines=40, vocabulary=300, rounds=1, threads=1, json_file=output)
    assert turns == [(2, "32"), (2, "128"), (2, "4,096 tokens"), (40, "128")]
    assert read(output)["figures"]["OpenNMT-py"]["ratio"]["median"] == 2.0


def test_training_speed(recipe: Path, multi30k: Path, output: Path, capsys: pytest.CaptureFixture[str]) -> None:
    training_speed.main(recipe, multi30k, rounds=1, updates=1, warm_up=1, memory=False, json_file=output)
    figures = read(output)["figures"]
    assert figures["weft"]["parameters"] == figures["torch"]["parameters"]
    assert figures["weft"]["last_loss"] == pytest.approx(figures["torch"]["last_loss"], rel=0.2)
    assert "weft / torch" in capsys.readouterr().out
