"""Image-to-text models: train, evaluate, translate, report and inspect."""

import json
from pathlib import Path
from typing import Any

import pytest

from system.commands import weft
from system.toys import write_recipe
from unit.images import write_digits
from weft.visualize.run_evaluation import ReportOptions, collect_report_data
from weft.visualize.run_report import run_report_page
from weft.visualize.run_summary import read_run_summary

TEXTS = [first + second for first in "124" for second in "124"]
MODEL = {
    "source": "pixels",
    "encoder": {
        "type": "chain",
        "encoders": [
            {"type": "image", "layers": 3, "channels": 8, "subsampling": 2, "dim": 32},
            {"type": "recurrent", "cell": {"type": "gru", "dim": 16}},
        ],
    },
    "target": {"dim": 16, "scale": False},
    "decoder": {"type": "luong", "cell": {"type": "gru", "dim": 32}, "dim": 32},
}


def recipe() -> dict[str, Any]:
    return {
        "data": {"train": ["train.tsv"], "valid": ["valid.tsv"]},
        "text": {"source": {"type": "image", "height": 16}, "target": "character", "joint": False},
        "model": MODEL,
        "objective": {"label_smoothing": 0.0},
        "train": {
            "steps": 12,
            "batch_tokens": 500,
            "schedule": {"type": "warmup-stable-decay", "learning_rate": 0.005, "warmup_steps": 20},
            "validation": {"every": 400, "lines": 9, "metrics": ["exact"], "best_metric": "exact", "search": "greedy"},
        },
        "translate": {"search": "greedy"},
    }


def write_table(folder: Path, name: str, copies: int, seed: int) -> None:
    """Write a table with each text `copies` times, at a different position in each image."""
    lines = []
    for number, text in enumerate(TEXTS * copies):
        write_digits(folder / name / f"{number}.png", text, seed=seed + number)
        lines.append(f"{name}/{number}.png\t{text}\n")
    (folder / f"{name}.tsv").write_text("".join(lines), "utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables of images and a run trained on them."""
    folder = tmp_path_factory.mktemp("images")
    write_table(folder, "train", copies=12, seed=0)
    write_table(folder, "valid", copies=1, seed=1000)
    result = weft("train", write_recipe(folder / "r.yaml", recipe()), f"data.folder={folder}", "--out", folder / "run")
    assert result.code == 0, result.err
    return folder


def test_image_paths_are_relative_to_the_table(folder: Path) -> None:
    result = weft(
        "evaluate", folder / "run", folder / "valid.tsv", "--metric", "exact", "--json", "--output", folder / "o"
    )
    assert result.code == 0, result.err
    (score,) = json.loads(result.out)
    outputs = (folder / "o").read_text("utf-8").split("\n")[:-1]
    assert score["value"] == 100 * sum(map(str.__eq__, outputs, TEXTS)) / len(TEXTS)
    assert len(outputs) == len(TEXTS)


def test_report_shows_the_images(folder: Path) -> None:
    page = run_report_page(
        collect_report_data(read_run_summary(folder / "run"), ReportOptions(max_lines=4, sentences=1))
    )
    for part, name in (("Examples", "img"), ("Attention", "image")):
        assert f"<{name} " in page.split(f">{part}</h2>")[1].split("<h2")[0]
    (folder / "valid" / "1.png").rename(folder / "moved.png")
    page_without_image = run_report_page(
        collect_report_data(read_run_summary(folder / "run"), ReportOptions(max_lines=4, sentences=1))
    )
    (folder / "moved.png").rename(folder / "valid" / "1.png")
    assert "Not scored: " in page_without_image
    assert "1.png" in page_without_image


@pytest.mark.slow
def test_model_learns_to_read_digits(folder: Path) -> None:
    settings = f"data.folder={folder}", "train.steps=800"
    trained = weft("train", folder / "r.yaml", *settings, "--out", folder / "longer")
    assert trained.code == 0, trained.err
    log = (folder / "longer" / "log.jsonl").read_text("utf-8").split("\n")
    assert max(json.loads(line)["validation"]["exact"] for line in log if "validation" in line) >= 80


def test_translate_reads_an_image_or_a_list_of_paths(folder: Path) -> None:
    image = weft("translate", folder / "run", folder / "valid" / "4.png")
    (folder / "names.txt").write_text("valid/4.png\n\nvalid/0.png\n")
    listed = weft("translate", folder / "run", folder / "names.txt")
    typed = weft("translate", folder / "run", stdin=f"{folder}/valid/4.png\n".encode())
    assert image.code == listed.code == typed.code == 0
    assert len(image.lines) == 1
    assert image.lines == typed.lines
    assert listed.lines[:2] == [*image.lines, ""]
    assert len(listed.lines) == 3


def test_unreadable_image_is_reported_with_its_line(folder: Path) -> None:
    (folder / "broken.png").write_text("broken")
    (folder / "names.txt").write_text("valid/4.png\nbroken.png\n")
    broken = weft("translate", folder / "run", folder / "names.txt")
    assert (broken.code, broken.out) == (2, b"")
    assert "line 2: " in broken.err
    assert "broken.png: not a readable image" in broken.err
    alone = weft("translate", folder / "run", folder / "broken.png")
    assert (alone.code, alone.out) == (2, b"")
    assert alone.err.startswith(f"weft: {folder}/broken.png: not a readable image")
    table = weft("translate", folder / "run", folder / "valid.tsv")
    assert (table.code, table.out) == (2, b"")
    assert "valid.tsv, line 1: should be the name of an image" in table.err
    typed = weft("translate", folder / "run", stdin=b"hello\n")
    assert (typed.code, typed.out) == (2, b"")
    assert "line 1: hello: there is no such file" in typed.err
    with_text = weft("translate", folder / "run", folder / "names.txt", "--no-split", "--protect", "urls")
    assert "this model reads images: omit --protect, --no-split, which are for text" in with_text.err
    gates = weft("inspect", "gates", folder / "run", folder / "valid" / "4.png", "--output", folder / "x.png")
    assert gates.code == 2
    assert "this model reads images, and this figure is about text" in gates.err
    assert not (folder / "x.png").exists()


def test_attention_is_drawn(folder: Path) -> None:
    image = folder / "valid" / "4.png"
    drawn = weft("inspect", "attention", folder / "run", image, "--output", folder / "attention.png")
    assert drawn.code == 0, drawn.err
    [text] = weft("translate", folder / "run", image).lines
    assert drawn.lines == [f"{folder}/attention.png: {text}"]


def test_show_and_resume_know_the_image_settings(folder: Path) -> None:
    shown = weft("show", folder / "run")
    assert "images of 16 rows, and 7 target tokens" in shown.out.decode()
    assert json.loads((folder / "run" / "best" / "source.image.json").read_text()) == {"height": 16, "invert": False}
    resumed = weft("train", "--resume", folder / "run")
    assert "this run is finished" in resumed.err


def test_changed_image_is_changed_data(folder: Path) -> None:
    before = (folder / "train" / "3.png").read_bytes()
    write_digits(folder / "train" / "3.png", "44", seed=7)
    resumed = weft("train", "--resume", folder / "run")
    (folder / "train" / "3.png").write_bytes(before)
    assert resumed.code == 2
    assert "the files of data.train have changed" in resumed.err
