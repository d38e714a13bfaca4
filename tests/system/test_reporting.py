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
from unit.test_comparison_page import Elements
from weft.config.document import as_text, read_document
from weft.core.errors import UserError
from weft.engine.load import load_translator
from weft.report.run import gathering
from weft.report.run.gathering import Wish, gather, load_undisturbed
from weft.report.run.held import check_test
from weft.report.run.known import read_run
from weft.report.run.outcome import outcome_of
from weft.report.run.page import page
from weft.store.run_log import History

PARTS = ["diagnosis", "scores", "curves", "examples", "over-time", "attention", "length", "words", "data", "model"]


def told(run: Path, **wish: Any) -> str:
    """The page, made in this process."""
    return page(gather(read_run(run), Wish(**{"sentences": 1, **wish})))


def words_of(source: str) -> str:
    """What a reader sees; what is in pieces for its marks is one text."""
    return "".join(Elements(source).words)


def copied(run: Path, place: Path, **settings: Any) -> Path:
    """A run folder like this one, whose data is said to be otherwise."""
    shutil.copytree(run, place)
    node = read_document(place / "config.yaml")
    assert isinstance(node["data"], dict)
    node["data"] |= settings
    (place / "config.yaml").write_text(as_text(node), "utf-8")
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
    source = told(runs["bahdanau"], test=True, lines=7)
    files = [corpus / name for name in toys.files("test")]
    translations = weft("translate", runs["bahdanau"], files[0]).lines[:7]
    assert "on the first 7 lines of the test data" in source
    assert "--test" not in source
    assert any(translation in words_of(source) for translation in translations)
    assert "What each word looked at" in source
    assert "Each of the" not in source  # one head


def test_a_language_model_tells_what_it_expects(language_model: Path) -> None:
    said = words_of(told(language_model))
    for words in ("perplexity per token", "Foreseen least", "Completions", "A language model reads no source"):
        assert words in said
    assert "bits per character" in said


def test_changed_missing_and_absent_data_are_told(
    places: dict[str, Path], runs: dict[str, Path], tmp_path: Path
) -> None:
    assert "have changed since the run began" in told(places["changed"] / "run")
    gone = words_of(told(copied(runs["transformer"], tmp_path / "gone", folder=str(tmp_path))))
    assert "Nothing was measured:" in gone
    assert "valid.src: there is no such file" in gone
    assert "The same sentences over time" in gone
    unheld = words_of(told(copied(runs["transformer"], tmp_path / "unheld", valid=[], test=[])))
    assert "nothing was held out for validation" in unheld
    assert "These sentences are from the training data" in unheld
    with pytest.raises(UserError, match="there is no such file"):
        told(tmp_path / "gone", test=True)
    with pytest.raises(UserError, match="--test: this run names no test data"):
        check_test(read_run(tmp_path / "unheld"))


def test_a_run_is_told_from_its_first_moment(runs: dict[str, Path], tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(runs["transformer"], run, ignore=shutil.ignore_patterns("best", "last", "checkpoints", "log.jsonl"))
    said = words_of(told(run))
    assert "before the first report of 80" in said
    assert "no model is written yet: the first one is at step 40" in said
    assert "The log has no report yet." in said
    lines = (runs["transformer"] / "log.jsonl").read_text("utf-8").split("\n")
    (run / "log.jsonl").write_text("\n".join(lines[:3]) + '\n{"step": 41, "lo', "utf-8")  # a report is being written
    assert "at step 40 of 80" in words_of(told(run))
    record = {"step": 41, "diagnosis": "not-finite", "what": "no <b>number</b>", "cause": "rate", "setting": "less"}
    (run / "log.jsonl").write_text("\n".join([*lines[:3], json.dumps(record), ""]), "utf-8")
    said = words_of(told(run))
    assert "stopped at step 40, where numbers were no longer finite" in said
    assert "no <b>number</b>" in said


def test_a_log_whose_lines_hold_other_line_ends_is_read(runs: dict[str, Path], tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(runs["transformer"], run, ignore=shutil.ignore_patterns("best", "last", "checkpoints"))
    examples = [{"source": "a\u2028b\x85c", "target": "d", "output": "e"}]
    record = {"step": 80, "valid": {"bleu": 99.0, "examples": examples}}
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

    monkeypatch.setattr(gathering, "fingerprint", lambda path: next(marks))
    monkeypatch.setattr(gathering, "load_translator", load)
    assert load_undisturbed(runs["transformer"], "cpu").trained.metrics["step"] in (40, 80)
    monkeypatch.setattr(gathering, "fingerprint", lambda path: "same")
    tries = iter([UserError("damaged")])
    with pytest.raises(UserError, match="damaged"):
        load_undisturbed(runs["transformer"], "cpu")


def test_patience_and_minutes_are_told(runs: dict[str, Path]) -> None:
    known = read_run(runs["transformer"])
    history = History()
    for step, bleu in ((10, 5.0), (20, 7.0), (30, 7.0), (40, 6.0)):
        history.add({"step": step, "valid": {"bleu": bleu}})
    known = replace(known, history=history)
    assert outcome_of(known).best == ("bleu", 20, 7.0)
    assert outcome_of(known).told() == "at step 40 of 80"
    patient = replace(known.recipe.train, validation=replace(known.recipe.train.validation, patience=2))
    ended = outcome_of(replace(known, recipe=replace(known.recipe, train=patient)))
    assert ended.told() == "ended at step 40, when validation no longer improved"
    timed = replace(known.recipe.train, steps=None, minutes=5.0)
    assert outcome_of(replace(known, recipe=replace(known.recipe, train=timed))).told() == (
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
        reports = [weft("report", tmp_path / "run", "--lines", "2", "--output", tmp_path / "page.html")]
        command.let_go()
        while command.process.is_alive():
            reports.append(weft("report", tmp_path / "run", "--lines", "2", "--output", tmp_path / "page.html"))
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
