"""`weft report`: the HTML page about a run of any kind, finished or not."""

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
from system.browsers import CHROMIUM, OpenPage, open_browser
from system.commands import LineCount, running, weft
from unit.html_elements import Elements
from weft.checkpoints.run_log import TrainingHistory
from weft.config.yaml_files import dump_yaml, read_yaml
from weft.core.errors import UserError
from weft.inference.loader import load_translator
from weft.visualize import run_evaluation
from weft.visualize.run_evaluation import ReportOptions, collect_report_data, load_stable_model
from weft.visualize.run_report import run_report_page
from weft.visualize.run_summary import check_test_data, read_run_summary

SECTIONS = ["diagnosis", "scores", "curves", "examples", "over-time", "attention", "length", "words", "data", "model"]


def report_page(run: Path, **options: Any) -> str:
    """Build the page in this process."""
    return run_report_page(collect_report_data(read_run_summary(run), ReportOptions(**{"sentences": 1, **options})))


def page_text(source: str) -> str:
    """Return the text of a page, without markup."""
    return "".join(Elements(source).words)


def copy_run(run: Path, out: Path, **settings: Any) -> Path:
    """Copy a run folder and change its data settings."""
    shutil.copytree(run, out)
    node = read_yaml(out / "config.yaml")
    assert isinstance(node["data"], dict)
    node["data"] |= settings
    (out / "config.yaml").write_text(dump_yaml(node), "utf-8")
    return out


def folder_state(folder: Path) -> dict[Path, tuple[bytes, int]]:
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


def test_page_has_every_section_and_the_scores(runs: dict[str, Path], corpus: Path, tmp_path: Path) -> None:
    run, page = runs["transformer"], tmp_path / "page.html"
    before = folder_state(run)
    result = weft("report", run, "--output", page)
    assert (result.code, result.err) == (0, "")
    assert result.lines == [f"{page}: transformer, finished after 80 steps"]
    assert folder_state(run) == before
    source = page.read_text("utf-8")
    elements = Elements(source)
    assert [value for name, value in elements.attributes if name == "id"] == [*SECTIONS, "settings"]
    assert not {"script", "link", "iframe"} & set(elements.names)
    assert all(
        value and value.startswith(("#", "data:")) for name, value in elements.attributes if name in ("src", "href")
    )
    assert not re.search(r"url\(|@import|https?:", source)
    scores = json.loads(weft("evaluate", run, *(corpus / name for name in toys.files("valid")), "--json").out)
    for score in scores[:2]:
        assert f"{score['value']:.2f}" in page_text(source)
        assert f"{score['name']}: {score['signature']}" in elements.words
    assert f"weft report {run} --test" in elements.words
    assert source.count("<svg") > 10


def test_test_option_scores_the_test_data(runs: dict[str, Path], corpus: Path) -> None:
    source = report_page(runs["bahdanau"], test=True, max_lines=7)
    files = [corpus / name for name in toys.files("test")]
    translations = weft("translate", runs["bahdanau"], files[0]).lines[:7]
    assert "on the first 7 lines of the test data" in source
    assert "--test" not in source
    assert any(translation in page_text(source) for translation in translations)
    assert ">Attention</h2>" in source
    assert "cross-attention heads" not in source  # there is only one head


def test_language_model_page_has_perplexity_and_completions(language_model: Path) -> None:
    text = page_text(report_page(language_model))
    for words in ("perplexity per token", "Highest perplexity", "Completions", "A language model has no source"):
        assert words in text
    assert "bits per character" in text


def test_changed_missing_and_absent_data_are_reported(
    paths: dict[str, Path], runs: dict[str, Path], tmp_path: Path
) -> None:
    assert "have changed since the run started" in report_page(paths["changed_data"] / "run")
    missing = page_text(report_page(copy_run(runs["transformer"], tmp_path / "missing", folder=str(tmp_path))))
    assert "Not scored:" in missing
    assert "valid.src: there is no such file" in missing
    assert "The same sentences over time" in missing
    absent = page_text(report_page(copy_run(runs["transformer"], tmp_path / "absent", valid=[], test=[])))
    assert "nothing is held out for validation" in absent
    assert "These sentences are from the training data" in absent
    with pytest.raises(UserError, match="there is no such file"):
        report_page(tmp_path / "missing", test=True)
    with pytest.raises(UserError, match="--test: this run has no test data"):
        check_test_data(read_run_summary(tmp_path / "absent"))


def test_run_without_reports_or_models_has_a_page(runs: dict[str, Path], tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(runs["transformer"], run, ignore=shutil.ignore_patterns("best", "last", "checkpoints", "log.jsonl"))
    text = page_text(report_page(run))
    assert "before the first report of 80" in text
    assert "there is no model yet; the first is saved at step 40" in text
    assert "The log has no report yet." in text
    lines = (runs["transformer"] / "log.jsonl").read_text("utf-8").split("\n")
    (run / "log.jsonl").write_text("\n".join(lines[:3]) + '\n{"step": 41, "lo', "utf-8")  # a report is being written
    assert "at step 40 of 80" in page_text(report_page(run))
    record = {
        "step": 41,
        "diagnosis": "non-finite",
        "observation": "no <b>number</b>",
        "cause": "rate",
        "advice": "less",
    }
    (run / "log.jsonl").write_text("\n".join([*lines[:3], json.dumps(record), ""]), "utf-8")
    text = page_text(report_page(run))
    assert "stopped at step 40: a number was not finite" in text
    assert "no <b>number</b>" in text


def test_log_with_unicode_line_separators_is_read(runs: dict[str, Path], tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(runs["transformer"], run, ignore=shutil.ignore_patterns("best", "last", "checkpoints"))
    examples = [{"source": "a\u2028b\x85c", "target": "d", "output": "e"}]
    record = {"step": 80, "validation": {"bleu": 99.0, "examples": examples}}
    with (run / "log.jsonl").open("a", encoding="utf-8") as log:
        log.write(json.dumps(record, ensure_ascii=False) + "\n")
    assert "Best bleu99.00" in page_text(report_page(run))


def test_model_replaced_during_loading_is_loaded_again(runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    fingerprints, errors = iter(["old", "new", "new"]), iter([UserError("damaged"), None])
    original = load_translator

    def load(*arguments: Any, **settings: Any) -> Any:
        if error := next(errors):
            raise error
        return original(*arguments, **settings)

    monkeypatch.setattr(run_evaluation, "folder_fingerprint", lambda path: next(fingerprints))
    monkeypatch.setattr(run_evaluation, "load_translator", load)
    assert load_stable_model(runs["transformer"], "cpu").trained.metrics["step"] in (40, 80)
    monkeypatch.setattr(run_evaluation, "folder_fingerprint", lambda path: "same")
    errors = iter([UserError("damaged")])
    with pytest.raises(UserError, match="damaged"):
        load_stable_model(runs["transformer"], "cpu")


def test_status_names_patience_and_minutes(runs: dict[str, Path]) -> None:
    summary = read_run_summary(runs["transformer"])
    history = TrainingHistory()
    for step, bleu in ((10, 5.0), (20, 7.0), (30, 7.0), (40, 6.0)):
        history.add({"step": step, "validation": {"bleu": bleu}})
    summary = replace(summary, history=history)
    assert summary.best == ("bleu", 20, 7.0)
    assert summary.describe_status() == "at step 40 of 80"
    patient = replace(summary.recipe.train, validation=replace(summary.recipe.train.validation, patience=2))
    stopped = replace(summary, recipe=replace(summary.recipe, train=patient))
    assert stopped.describe_status() == "stopped at step 40: validation no longer improved"
    timed = replace(summary.recipe.train, steps=None, minutes=5.0)
    minutes = replace(summary, recipe=replace(summary.recipe, train=timed))
    assert minutes.describe_status() == "at step 40 of a run of 5 minutes"


@pytest.mark.slow
def test_report_does_not_disturb_a_running_training(corpus: Path, tmp_path: Path) -> None:
    node = toys.learning_recipe(corpus, "transformer")
    node["train"] |= {"steps": 150, "log_every": 5, "validation": {"every": 5, "lines": 5, "search": "greedy"}}
    recipe = toys.write_recipe(tmp_path / "recipe.yaml", node)
    assert weft("train", recipe, "--out", tmp_path / "alone").code == 0
    midway = LineCount(tmp_path / "run" / "log.jsonl", 10)
    with running("train", recipe, "--out", tmp_path / "run", pause_at=midway) as command:
        command.wait_for(*midway)
        reports = [weft("report", tmp_path / "run", "--max-lines", "2", "--output", tmp_path / "page.html")]
        command.release()
        while command.process.is_alive():
            reports.append(weft("report", tmp_path / "run", "--max-lines", "2", "--output", tmp_path / "page.html"))
        assert command.wait().code == 0
    assert [(report.code, report.err) for report in reports] == [(0, "")] * len(reports)
    assert "of 150" in reports[0].lines[0]
    weights = [tmp_path / name / "best" / "weights.safetensors" for name in ("alone", "run")]
    assert weights[0].read_bytes() == weights[1].read_bytes()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    with open_browser(tmp_path_factory.mktemp("browser")) as context:
        context.set_offline(True)
        yield context


@pytest.fixture(scope="module")
def report_file(runs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "page.html"
    assert weft("report", runs["transformer"], "--output", path).code == 0
    return path


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium; apt-get install chromium")
class TestInBrowser:
    def test_page_opens_from_disk_and_shows_every_section(self, browser: BrowserContext, report_file: Path) -> None:
        page, requested = browser.new_page(), list[str]()
        page.on("request", lambda request: requested.append(request.url))
        opened = OpenPage(page, report_file.as_uri())
        for section in [*SECTIONS, "settings"]:
            expect(page.locator(f"h2#{section}")).to_be_visible()
        assert page.locator("svg[role=img][aria-label]").count() == page.locator("svg").count() > 10
        page.get_by_text("train", exact=False).locator("xpath=ancestor-or-self::summary").first.click()
        expect(page.locator("details[open] pre").first).to_be_visible()
        assert opened.errors == []
        assert [url for url in requested if not url.startswith("data:")] == [report_file.as_uri()]

    @pytest.mark.parametrize("width", [390, 1280])
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_page_is_accessible(self, browser: BrowserContext, report_file: Path, width: int, scheme: Any) -> None:
        page = browser.new_page()
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.goto(report_file.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") == width
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        (bright,) = {int(number) > 128 for number in re.findall(r"\d+", background)}
        assert bright == (scheme == "light")
        violations = Axe().run(page).response["violations"]
        assert [(violation["id"], [node["html"] for node in violation["nodes"]]) for violation in violations] == []
