"""weft report: one page about a run, whatever kind of run it is and however far it came."""

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, expect

from system import toys
from system.browsers import CHROMIUM, Opened, browsing
from system.commands import Moment, running, weft
from unit.elements import Elements
from weft.checkpoints.run_log import TrainingHistory
from weft.config.yaml_files import dump_yaml, read_yaml
from weft.core.errors import UserError
from weft.inference.loader import load_translator
from weft.visualize import run_evaluation
from weft.visualize.run_evaluation import ReportOptions, collect_report_data, load_stable_model
from weft.visualize.run_report import run_report_page
from weft.visualize.run_summary import check_test_data, read_run_summary, run_outcome

PARTS = ["diagnosis", "scores", "curves", "examples", "over-time", "attention", "length", "words", "data", "model"]


def told(run: Path, **wish: Any) -> str:
    """The page, made in this process."""
    return run_report_page(collect_report_data(read_run_summary(run), ReportOptions(**{"sentences": 1, **wish})))


def words_of(source: str) -> str:
    """What a reader sees; what is in pieces for its marks is one text."""
    return "".join(Elements(source).words)


def copied(run: Path, place: Path, **settings: Any) -> Path:
    """A run folder like this one, whose data is said to be otherwise."""
    shutil.copytree(run, place)
    node = read_yaml(place / "config.yaml")
    assert isinstance(node["data"], dict)
    node["data"] |= settings
    (place / "config.yaml").write_text(dump_yaml(node), "utf-8")
    return place


def everything(folder: Path) -> dict[Path, tuple[bytes, int]]:
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


def test_a_run_becomes_a_page(runs: dict[str, Path], corpus: Path, tmp_path: Path) -> None:
    run, place = runs["transformer"], tmp_path / "page.html"
    before = everything(run)
    result = weft("report", run, "--output", place)
    assert (result.code, result.err) == (0, "")
    assert result.lines == [f"{place}: transformer, finished after 80 steps"]
    assert everything(run) == before
    source = place.read_text("utf-8")
    seen = Elements(source)
    assert [value for name, value in seen.attributes if name == "id"] == [*PARTS, "settings"]
    assert not {"script", "link", "iframe"} & set(seen.names)
    assert all(value and value.startswith(("#", "data:")) for name, value in seen.attributes if name in ("src", "href"))
    assert not re.search(r"url\(|@import|https?:", source)
    scored = json.loads(weft("evaluate", run, *(corpus / name for name in toys.files("valid")), "--json").out)
    for score in scored[:2]:
        assert f"{score['value']:.2f}" in words_of(source)
        assert f"{score['name']}: {score['signature']}" in seen.words
    assert f"weft report {run} --test" in seen.words
    assert source.count("<svg") > 10


def test_the_test_data_is_asked_for(runs: dict[str, Path], corpus: Path) -> None:
    source = told(runs["bahdanau"], test=True, max_lines=7)
    files = [corpus / name for name in toys.files("test")]
    translations = weft("translate", runs["bahdanau"], files[0]).lines[:7]
    assert "on the first 7 lines of the test data" in source
    assert "--test" not in source
    assert any(translation in words_of(source) for translation in translations)
    assert ">Attention</h2>" in source
    assert "cross-attention heads" not in source  # one head


def test_a_language_model_tells_what_it_expects(language_model: Path) -> None:
    said = words_of(told(language_model))
    for words in ("perplexity per token", "Highest perplexity", "Completions", "A language model has no source"):
        assert words in said
    assert "bits per character" in said


def test_changed_missing_and_absent_data_are_told(
    places: dict[str, Path], runs: dict[str, Path], tmp_path: Path
) -> None:
    assert "have changed since the run started" in told(places["changed"] / "run")
    gone = words_of(told(copied(runs["transformer"], tmp_path / "gone", folder=str(tmp_path))))
    assert "Not scored:" in gone
    assert "valid.src: there is no such file" in gone
    assert "The same sentences over time" in gone
    unheld = words_of(told(copied(runs["transformer"], tmp_path / "unheld", valid=[], test=[])))
    assert "nothing is held out for validation" in unheld
    assert "These sentences are from the training data" in unheld
    with pytest.raises(UserError, match="there is no such file"):
        told(tmp_path / "gone", test=True)
    with pytest.raises(UserError, match="--test: this run has no test data"):
        check_test_data(read_run_summary(tmp_path / "unheld"))


def test_a_run_is_told_from_its_first_moment(runs: dict[str, Path], tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(runs["transformer"], run, ignore=shutil.ignore_patterns("best", "last", "checkpoints", "log.jsonl"))
    said = words_of(told(run))
    assert "before the first report of 80" in said
    assert "there is no model yet; the first is saved at step 40" in said
    assert "The log has no report yet." in said
    lines = (runs["transformer"] / "log.jsonl").read_text("utf-8").split("\n")
    (run / "log.jsonl").write_text("\n".join(lines[:3]) + '\n{"step": 41, "lo', "utf-8")  # a report is being written
    assert "at step 40 of 80" in words_of(told(run))
    record = {
        "step": 41,
        "diagnosis": "non-finite",
        "observation": "no <b>number</b>",
        "cause": "rate",
        "advice": "less",
    }
    (run / "log.jsonl").write_text("\n".join([*lines[:3], json.dumps(record), ""]), "utf-8")
    said = words_of(told(run))
    assert "stopped at step 40: a number was not finite" in said
    assert "no <b>number</b>" in said


def test_a_log_whose_lines_hold_other_line_ends_is_read(runs: dict[str, Path], tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(runs["transformer"], run, ignore=shutil.ignore_patterns("best", "last", "checkpoints"))
    examples = [{"source": "a\u2028b\x85c", "target": "d", "output": "e"}]
    record = {"step": 80, "validation": {"bleu": 99.0, "examples": examples}}
    with (run / "log.jsonl").open("a", encoding="utf-8") as log:
        log.write(json.dumps(record, ensure_ascii=False) + "\n")
    assert "Best bleu99.00" in words_of(told(run))


def test_a_model_that_is_replaced_while_it_is_read_is_read_again(
    runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    marks, tries = iter(["old", "new", "new"]), iter([UserError("damaged"), None])
    really = load_translator

    def load(*arguments: Any, **settings: Any) -> Any:
        if error := next(tries):
            raise error
        return really(*arguments, **settings)

    monkeypatch.setattr(run_evaluation, "folder_fingerprint", lambda path: next(marks))
    monkeypatch.setattr(run_evaluation, "load_translator", load)
    assert load_stable_model(runs["transformer"], "cpu").trained.metrics["step"] in (40, 80)
    monkeypatch.setattr(run_evaluation, "folder_fingerprint", lambda path: "same")
    tries = iter([UserError("damaged")])
    with pytest.raises(UserError, match="damaged"):
        load_stable_model(runs["transformer"], "cpu")


def test_patience_and_minutes_are_told(runs: dict[str, Path]) -> None:
    known = read_run_summary(runs["transformer"])
    history = TrainingHistory()
    for step, bleu in ((10, 5.0), (20, 7.0), (30, 7.0), (40, 6.0)):
        history.add({"step": step, "validation": {"bleu": bleu}})
    known = replace(known, history=history)
    assert run_outcome(known).best == ("bleu", 20, 7.0)
    assert run_outcome(known).describe() == "at step 40 of 80"
    patient = replace(known.recipe.train, validation=replace(known.recipe.train.validation, patience=2))
    ended = run_outcome(replace(known, recipe=replace(known.recipe, train=patient)))
    assert ended.describe() == "stopped at step 40: validation no longer improved"
    timed = replace(known.recipe.train, steps=None, minutes=5.0)
    assert run_outcome(replace(known, recipe=replace(known.recipe, train=timed))).describe() == (
        "at step 40 of a run of 5 minutes"
    )


@pytest.mark.slow
def test_a_run_that_is_training_is_not_disturbed(corpus: Path, tmp_path: Path) -> None:
    node = toys.learning_recipe(corpus, "transformer")
    node["train"] |= {"steps": 150, "log_every": 5, "validation": {"every": 5, "lines": 5, "search": "greedy"}}
    recipe = toys.write_recipe(tmp_path / "recipe.yaml", node)
    assert weft("train", recipe, "--out", tmp_path / "alone").code == 0
    under_way = Moment(tmp_path / "run" / "log.jsonl", 10)
    with running("train", recipe, "--out", tmp_path / "run", held_at=under_way) as command:
        command.wait_for(*under_way)
        reports = [weft("report", tmp_path / "run", "--max-lines", "2", "--output", tmp_path / "page.html")]
        command.let_go()
        while command.process.is_alive():
            reports.append(weft("report", tmp_path / "run", "--max-lines", "2", "--output", tmp_path / "page.html"))
        assert command.wait().code == 0
    assert [(one.code, one.err) for one in reports] == [(0, "")] * len(reports)
    assert "of 150" in reports[0].lines[0]
    weights = [tmp_path / name / "best" / "weights.safetensors" for name in ("alone", "run")]
    assert weights[0].read_bytes() == weights[1].read_bytes()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    with browsing(tmp_path_factory.mktemp("browser")) as context:
        context.set_offline(True)
        yield context


@pytest.fixture(scope="module")
def place(runs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "page.html"
    assert weft("report", runs["transformer"], "--output", path).code == 0
    return path


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium; apt-get install chromium")
class TestInABrowser:
    def test_it_opens_from_disk_and_shows_every_part(self, browser: BrowserContext, place: Path) -> None:
        page, asked = browser.new_page(), list[str]()
        page.on("request", lambda request: asked.append(request.url))
        opened = Opened(page, place.as_uri())
        for part in [*PARTS, "settings"]:
            expect(page.locator(f"h2#{part}")).to_be_visible()
        assert page.locator("svg[role=img][aria-label]").count() == page.locator("svg").count() > 10
        page.get_by_text("train", exact=False).locator("xpath=ancestor-or-self::summary").first.click()
        expect(page.locator("details[open] pre").first).to_be_visible()
        assert opened.faults == []
        assert [url for url in asked if not url.startswith("data:")] == [place.as_uri()]

    @pytest.mark.parametrize("width", [390, 1280])
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_it_can_be_read_by_all(self, browser: BrowserContext, place: Path, width: int, scheme: Any) -> None:
        page = browser.new_page()
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.goto(place.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") == width
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        (brightness,) = {int(number) > 128 for number in re.findall(r"\d+", ground)}
        assert brightness == (scheme == "light")
        found = Axe().run(page).response["violations"]
        assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == []
