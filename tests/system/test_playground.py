"""The page at / of a server, and what it asks for: over HTTP, and in a real browser."""

import math
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, expect

from system.browsers import CHROMIUM, Opened, browsing
from system.servers import Server, serving
from weft.serve.app import PAGE_FOLDER

ROOT = Path(__file__).parents[2]
SENTENCE = "the red cat sees a dog"
in_a_browser = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium; apt-get install chromium"),
]


@pytest.fixture(scope="module")
def server(runs: dict[str, Path]) -> Iterator[Server]:
    """A Transformer and a recurrent model, both from en to de."""
    languages = ("--languages", "en:de") * 2
    with serving(runs["transformer"], runs["bahdanau"], *languages, "--limit", "response_bytes=20000") as one:
        yield one


def seen(server: Server, kind: str, **asked: Any) -> Any:
    answer = server.post(f"/v1/inspect/{kind}", {"line": SENTENCE, **asked})
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("model", ["transformer", "bahdanau"])
def test_another_word_is_asked_for_by_its_prefix(server: Server, model: str) -> None:
    told = seen(server, "words", model=model, alternatives=3)
    assert "".join(word["text"] for word in told["words"]) == told["text"]
    for word in told["words"]:
        scores = [other["score"] for other in word["alternatives"]]
        assert scores == sorted(scores, reverse=True)
        assert word["scores"][0] in scores  # greedy search takes the likeliest
    other = told["words"][1]["alternatives"][1]
    changed = seen(server, "words", model=model, line={"text": SENTENCE, "prefix": other["prefix"]})
    assert changed["text"].startswith(other["prefix"])
    assert changed["text"] != told["text"]


@pytest.mark.parametrize(("model", "layers", "heads"), [("transformer", 1, 2), ("bahdanau", 1, 1)])
def test_every_head_is_told(server: Server, model: str, layers: int, heads: int) -> None:
    told = seen(server, "attention", model=model)
    assert told["source"] == [*SENTENCE.split(), "<end>"]
    assert [len(layer) for layer in told["layers"]] == [heads] * layers
    for matrix in (told["weights"], *told["layers"][0]):
        assert len(matrix) == len(told["target"])
        assert all(sum(row) == pytest.approx(1, abs=1e-3) and len(row) == len(told["source"]) for row in matrix)
    for row, *rows in zip(told["weights"], *told["layers"][-1], strict=True):
        assert row == pytest.approx([sum(cells) / heads for cells in zip(*rows, strict=True)], abs=1e-3)


def test_the_tree_leads_to_the_output(server: Server) -> None:
    told = seen(server, "search", beam=3)
    path = [node for step in told["steps"] for node in step if node["outcome"] == "output"]
    assert len(path) == len(told["steps"])
    assert path[-1]["text"] == told["text"]
    assert {node["outcome"] for step in told["steps"] for node in step} >= {"output", "extended", "dropped"}
    for before, step in zip(told["steps"], told["steps"][1:], strict=False):
        assert all(node["text"].startswith(before[node["parent"]]["text"]) for node in step)


def test_gates_gradients_and_positions_are_told(server: Server) -> None:
    told = seen(server, "gates", model="bahdanau", gradients=True)
    assert {gate["name"] for gate in told["gates"]} == {"reset", "update"}
    assert all(0 <= value <= 1 for gate in told["gates"] for value in gate["activations"])
    assert [flow["module"] for flow in told["gradients"]] == list(
        dict.fromkeys(gate["module"] for gate in told["gates"])
    )
    assert told["gradients"][0]["hidden_state"][-1] == pytest.approx(1)  # of the last state by itself
    assert seen(server, "gates", model="bahdanau")["gradients"] is None
    sides = {one["side"]: one for one in seen(server, "positions")["sides"]}
    assert sides["source"]["vectors"][0] == [0.0, 1.0] * 8  # sin 0, cos 0
    assert len(sides["target"]["vectors"]) == len(sides["target"]["labels"])


TOO_LONG = [
    ("/v1/inspect/search", {"line": " ".join([SENTENCE] * 5), "beam": 16}),
    ("/v1/translate", {"lines": [SENTENCE] * 100, "outputs": ["tokens"]}),
    ("/translate", {"q": [SENTENCE] * 150, "source": "en", "target": "de", "alternatives": 10}),
]


@pytest.mark.parametrize(("path", "body"), TOO_LONG)
def test_an_answer_may_not_be_too_long(server: Server, path: str, body: Any) -> None:
    answer = server.post(path, body)
    assert answer.status_code == 400
    assert "bytes of the response: " in answer.json()["error"]
    assert "the limit is 20000" in answer.json()["error"]


def test_the_page_is_ours_alone(server: Server) -> None:
    page = server.get("/")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'" in policy
    assert "unsafe" not in policy
    assert "data:" not in policy
    again = server.get("/", {"If-None-Match": page.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    for text in (page.text, server.get("/training").text):
        assert (
            {path.name for path in PAGE_FOLDER.iterdir()}
            >= set(re.findall(r'(?:src|href)="static/([^"]+)"', text))
            != set()
        )
    for path in PAGE_FOLDER.iterdir():
        text = path.read_text("utf-8")
        assert set(re.findall(r"https?://[^\"' ]+", text)) <= {"http://www.w3.org/2000/svg"}
        assert "style=" not in text
        if path.suffix != ".html":
            assert server.get(f"/static/{path.name}").text == text
    assert server.get("/static/../app.py").status_code == server.get("/static/none.js").status_code == 404


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    with browsing(tmp_path_factory.mktemp("browser")) as context:
        yield context


@pytest.fixture
def opened(server: Server, browser: BrowserContext) -> Iterator[Opened]:
    """The page, with nothing in it. Nothing may go wrong in it; what a model has not, it does not show as an error."""
    page = Opened(browser.new_page(), f"{server.address}/")
    page.page.wait_for_selector(".system")
    yield page
    assert [fault for fault in page.faults if "409" not in fault] == []
    page.page.close()


class TestInABrowser:
    pytestmark = in_a_browser

    def test_a_translation_comes_as_it_is_written(self, server: Server, opened: Opened) -> None:
        page = opened.page
        page.evaluate(
            """() => {
              window.written = [];
              new MutationObserver((changes) => {
                for (const change of changes) for (const node of change.addedNodes) written.push(node.textContent);
              }).observe(document.querySelector(".translation"), { childList: true });
            }"""
        )
        page.locator("#source").press_sequentially(SENTENCE)
        page.wait_for_function("() => location.hash.includes('dog')")
        opened.settle()
        text = seen(server, "words")["text"]
        assert opened.output() == text
        written = list(dict.fromkeys(page.evaluate("window.written")))
        assert text.split()[0] in written  # the first word stood there alone
        assert page.locator("#status").inner_text() == f"transformer: {text}"

    def test_a_word_shows_what_it_looked_at(self, server: Server, opened: Opened) -> None:
        page = opened.page
        page.locator("#source").fill(SENTENCE)
        opened.settle()
        told = seen(server, "attention")
        page.locator(".word").nth(1).hover()
        best = max(zip(told["weights"][1], told["source"], strict=True))[1]
        expect(page.locator(".info").first).to_contain_text(f"{told['target'][1]} attends to {best}")
        assert page.locator(".heatmap tr.highlighted th").inner_text() == told["target"][1]
        page.get_by_label("Layer").select_option("1")
        page.get_by_label("Head").select_option("2")
        cells = page.locator(".heatmap tbody tr").nth(0).locator("td").all_text_contents()
        assert [float(cell) for cell in cells] == pytest.approx(told["layers"][0][1][0], abs=0.006)

    def test_the_search_is_a_tree_to_go_on_from(self, opened: Opened) -> None:
        page = opened.page
        page.locator("#source").fill(SENTENCE)
        page.get_by_label("Search", exact=True).and_(page.locator("select")).select_option("4")
        page.get_by_role("tab", name="Search").click()
        opened.settle()
        page.wait_for_selector("#view .tree g.dropped")
        before = opened.output()
        node = page.locator("#view svg[role=group] g.extended").first
        node.hover()
        told = page.locator("#view .info").inner_text().split(":")[0]
        node.click()
        expect(page.locator(".prefix")).to_contain_text(f"begins with “{told}”")
        opened.settle()
        assert opened.output().startswith(told)
        assert opened.output() != before

    def test_another_word_changes_the_rest_and_the_address_keeps_it(self, opened: Opened) -> None:
        page = opened.page
        page.locator("#source").fill(SENTENCE)
        opened.settle()
        before = opened.output()
        page.locator(".word").nth(1).click()
        options = page.locator(".alternatives").get_by_role("option")
        assert options.count() > 2
        options.nth(2).click()
        page.wait_for_selector(".prefix button")
        opened.settle()
        changed = opened.output()
        assert changed != before
        assert changed.split()[0] == before.split()[0]
        page.get_by_role("button", name="Compare").click()
        page.get_by_role("tab", name="Gates").click()
        opened.settle(2)
        states = [opened.output(0), opened.output(1), page.url]
        page.reload()
        opened.settle(2)
        assert [opened.output(0), opened.output(1), page.url] == states
        assert page.get_by_role("tab", selected=True).inner_text() == "Gates"
        assert page.get_by_label("Model", exact=True).nth(1).input_value() == "bahdanau"

    def test_everything_is_done_by_keys(self, opened: Opened) -> None:
        page, press = opened.page, opened.page.keyboard.press
        page.keyboard.type(SENTENCE)  # the focus is there from the beginning
        page.wait_for_function("() => location.hash.includes('dog')")
        opened.settle()
        before = opened.output()
        for _ in range(3):  # model, search, words
            press("Tab")
        assert opened.focused() == "word"
        press("ArrowRight")
        expect(page.locator(".info").first).to_contain_text("attends to")
        press("Enter")
        assert opened.focused() == "listbox"
        press("Escape")
        assert opened.focused() == "word"
        press("Enter")
        press("ArrowDown")
        press("Enter")
        page.wait_for_selector(".prefix button")
        opened.settle()
        assert opened.output() != before
        page.get_by_role("tab", selected=True).focus()
        press("ArrowRight")
        expect(page.get_by_role("tab", selected=True)).to_have_text("Search")
        page.wait_for_selector("#view svg[role=group]")
        press("Tab")
        assert opened.focused() == "view"
        press("Tab")
        assert opened.focused() == "button"
        first = page.locator("#view .info").inner_text()
        press("ArrowRight")
        assert page.locator("#view .info").inner_text() != first

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    @pytest.mark.parametrize("view", ["attention", "search", "gates", "positions", "frames"])
    def test_nothing_is_in_the_way_of_anybody(self, opened: Opened, scheme: Any, view: str) -> None:
        page = opened.page
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": 390, "height": 800})
        page.goto(f"{page.url.partition('#')[0]}#text={SENTENCE}&view={view}&model2=bahdanau&beam=3")
        opened.settle(2)
        page.locator(".word").nth(1).click()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        found = Axe().run(page).response["violations"]
        assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == []

    def test_what_is_no_longer_shown_is_no_longer_asked_for(self, opened: Opened) -> None:
        page = opened.page
        page.route("**/v1/stream", lambda _: None)  # never answered
        with page.expect_request("**/v1/stream") as asked:
            page.locator("#source").fill(SENTENCE)
        with page.expect_event("requestfailed", lambda request: request == asked.value):
            page.get_by_role("button", name="Compare").click()
        page.unroute("**/v1/stream")

    def test_many_positions_are_shown(self, opened: Opened) -> None:
        page = opened.page
        vectors = [[math.sin(row * column) for column in range(512)] for row in range(500)]
        sides = [{"side": "source", "labels": [str(row) for row in range(500)], "vectors": vectors}]
        page.route("**/v1/inspect/positions", lambda route: route.fulfill(json={"sides": sides}))
        page.get_by_role("tab", name="Positions").click()
        page.locator("#source").fill(SENTENCE)
        expect(page.locator("#view h3")).to_have_text("Positions of the source: 500 rows, 512 dimensions")
        page.unroute("**/v1/inspect/positions")

    def test_the_api_page_works_offline(self, server: Server, browser: BrowserContext) -> None:
        requested = set[str]()
        browser.on("request", lambda request: requested.add(request.url))
        docs = Opened(browser.new_page(), f"{server.address}/docs")
        docs.page.locator("#operations-LibreTranslate-translate .opblock-summary-control").click()
        body = f'{{"q": "{SENTENCE}", "source": "en", "target": "de"}}'
        docs.page.locator("textarea.body-param__text").first.fill(body)
        docs.page.get_by_role("button", name="Execute").click()
        expect(docs.page.locator(".live-responses-table")).to_contain_text(server.translated(SENTENCE))
        assert docs.faults == []  # nothing violates the content security policy
        assert {url for url in requested if not url.startswith(server.address)} == set()
        docs.page.close()

    def test_pictures_of_it_can_be_taken(self, server: Server, tmp_path: Path) -> None:
        command = [sys.executable, "-m", "benchmarks.screenshots", server.address, SENTENCE, str(tmp_path)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        taken = [Path(line) for line in done.stdout.split("\n")[:-1]]
        assert len({path.read_bytes() for path in taken}) == 8
