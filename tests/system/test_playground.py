"""The playground page of `weft serve` and its inspection endpoints, over HTTP and in a real browser."""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, expect

from system import toys
from system.browsers import CHROMIUM, OpenPage, open_browser
from system.commands import weft
from system.servers import Server, start_server
from weft.inference.probability_scale import LEVELS, probability_level
from weft.serve.app import PAGE_FOLDER

ROOT = Path(__file__).parents[2]
SENTENCE = "the red cat sees a dog"
TEXT = f"{SENTENCE}. This tree has a house.\n\n  - the child hears a river"
needs_browser = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium; apt-get install chromium"),
]


@pytest.fixture(scope="module")
def ctc_run(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recurrent encoder with a CTC head, and no decoder."""
    folder, recipe = tmp_path_factory.mktemp("ctc"), toys.learning_recipe(corpus, "bahdanau")
    encoder = {slot: recipe["model"][slot] for slot in ("source", "encoder")}
    recipe["model"] = {**encoder, "target": "none", "decoder": "none", "frame_head": {"type": "ctc", "upsample": 4}}
    recipe["objective"] = "ctc"
    del recipe["translate"]
    assert weft("train", toys.write_recipe(folder / "ctc.yaml", recipe), "--out", folder / "ctc").code == 0
    return folder / "ctc"


@pytest.fixture(scope="module")
def server(runs: dict[str, Path], ctc_run: Path) -> Iterator[Server]:
    """A Transformer, a recurrent model and a CTC model, all from en to de."""
    languages, limit = ("--languages", "en:de") * 3, ("--limit", "response_bytes=20000")
    with start_server(runs["transformer"], runs["bahdanau"], ctc_run, *languages, *limit) as server:
        yield server


def inspect(server: Server, kind: str, **fields: Any) -> Any:
    response = server.post(f"/v1/inspect/{kind}", {"line": SENTENCE, **fields})
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize("model", ["transformer", "bahdanau"])
def test_alternative_word_is_requested_by_its_prefix(server: Server, model: str) -> None:
    data = inspect(server, "words", model=model)
    assert "".join(word["text"] for word in data["words"]) == data["text"]
    for number, word in enumerate(data["words"]):
        alternatives = inspect(server, "alternatives", model=model, word=number, alternatives=3)["alternatives"]
        scores = [other["score"] for other in alternatives]
        assert scores == sorted(scores, reverse=True)
        assert [other["name"] for other in alternatives if other["is_current"]] == [word["name"]]
        assert alternatives[0]["is_current"]  # greedy search takes the most probable token, here a word
    other = inspect(server, "alternatives", model=model, word=1)["alternatives"][1]
    changed = inspect(server, "words", model=model, line={"text": SENTENCE, "prefix": other["prefix"]})
    assert changed["text"].startswith(other["prefix"])
    assert changed["text"] != data["text"]
    for body, problem in (({"word": 99}, f"has {len(data['words'])} words"), ({"model": "ctc"}, "has no decoder")):
        response = server.post("/v1/inspect/alternatives", {"line": SENTENCE, "model": model, **body})
        assert response.status_code == 409
        assert problem in response.json()["error"]


def test_models_have_views_and_examples(server: Server, corpus: Path) -> None:
    assert inspect(server, "words")["views"] == ["attention", "search", "positions"]
    assert inspect(server, "words", model="bahdanau")["views"] == ["attention", "search", "gates"]
    assert inspect(server, "words", model="ctc")["views"] == ["gates", "frames"]
    validation = (corpus / "valid.src").read_text("utf-8").splitlines()
    for model in server.get("/v1/models").json():
        assert model["examples"][0] in validation


@pytest.mark.parametrize(("model", "layers", "heads"), [("transformer", 1, 2), ("bahdanau", 1, 1)])
def test_attention_of_every_head_is_returned(server: Server, model: str, layers: int, heads: int) -> None:
    data = inspect(server, "attention", model=model)
    assert data["source"] == [*SENTENCE.split(), "<end>"]
    assert [len(layer) for layer in data["layers"]] == [heads] * layers
    for matrix in (data["weights"], *data["layers"][0]):
        assert len(matrix) == len(data["target"])
        assert all(sum(row) == pytest.approx(1, abs=1e-3) and len(row) == len(data["source"]) for row in matrix)
    for row, *rows in zip(data["weights"], *data["layers"][-1], strict=True):
        assert row == pytest.approx([sum(cells) / heads for cells in zip(*rows, strict=True)], abs=1e-3)


def test_search_tree_leads_to_the_output(server: Server) -> None:
    data = inspect(server, "search", beam=3)
    path = [node for step in data["steps"] for node in step if node["outcome"] == "output"]
    assert len(path) == len(data["steps"])
    assert path[-1]["text"] == data["text"]
    assert {node["outcome"] for step in data["steps"] for node in step} >= {"output", "extended", "dropped"}
    for before, step in zip(data["steps"], data["steps"][1:], strict=False):
        assert all(node["text"].startswith(before[node["parent"]]["text"]) for node in step)


def test_gates_gradients_and_positions_are_returned(server: Server) -> None:
    data = inspect(server, "gates", model="bahdanau", gradients=True)
    assert {gate["name"] for gate in data["gates"]} == {"reset", "update"}
    assert all(0 <= value <= 1 for gate in data["gates"] for value in gate["activations"])
    assert [flow["module"] for flow in data["gradients"]] == list(
        dict.fromkeys(gate["module"] for gate in data["gates"])
    )
    assert data["gradients"][0]["hidden_state"][-1] == pytest.approx(1)  # the last state with respect to itself
    assert inspect(server, "gates", model="bahdanau")["gradients"] is None
    sides = {side["side"]: side for side in inspect(server, "positions")["sides"]}
    assert sides["source"]["vectors"][0] == [0.0, 1.0] * 8  # sin 0, cos 0
    assert len(sides["target"]["vectors"]) == len(sides["target"]["labels"])


LARGE_RESPONSES = [
    ("/v1/inspect/search", {"line": " ".join([SENTENCE] * 5), "beam": 16}),
    ("/v1/translate", {"lines": [SENTENCE] * 100, "outputs": ["tokens"]}),
    ("/translate", {"q": [SENTENCE] * 150, "source": "en", "target": "de", "alternatives": 10}),
]


@pytest.mark.parametrize(("path", "body"), LARGE_RESPONSES)
def test_response_size_is_limited(server: Server, path: str, body: Any) -> None:
    response = server.post(path, body)
    assert response.status_code == 400
    assert "bytes of the response: " in response.json()["error"]
    assert "the limit is 20000" in response.json()["error"]


def test_page_loads_only_its_own_files(server: Server) -> None:
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
    with open_browser(tmp_path_factory.mktemp("browser")) as context:
        yield context


@pytest.fixture
def opened(server: Server, browser: BrowserContext) -> Iterator[OpenPage]:
    """The empty page. It may log no errors."""
    page = OpenPage(browser.new_page(), f"{server.address}/")
    page.page.wait_for_selector(".system")
    yield page
    assert page.errors == []
    page.page.close()


class TestInBrowser:
    pytestmark = needs_browser

    def test_translation_is_streamed(self, server: Server, opened: OpenPage) -> None:
        page = opened.page
        page.evaluate(
            """() => {
              window.prefixes = [];
              new MutationObserver((changes) => {
                for (const change of changes) for (const node of change.addedNodes) prefixes.push(node.textContent);
              }).observe(document.querySelector(".translation"), { childList: true });
            }"""
        )
        page.locator("#source").press_sequentially(SENTENCE)
        page.wait_for_function("() => location.hash.includes('dog')")
        opened.settle()
        text = inspect(server, "words")["text"]
        assert opened.output() == text
        prefixes = list(dict.fromkeys(page.evaluate("window.prefixes")))
        assert text.split()[0] in prefixes  # the first word was shown alone
        assert page.locator("#status").inner_text() == f"transformer: {text}"

    def test_hovering_a_word_shows_its_attention(self, server: Server, opened: OpenPage) -> None:
        page = opened.page
        page.locator("#source").fill(SENTENCE)
        opened.settle()
        data = inspect(server, "attention")
        page.locator(".word").nth(1).hover()
        best = max(zip(data["weights"][1], data["source"], strict=True))[1]
        expect(page.locator(".info").first).to_contain_text(f"{data['target'][1]} attends to {best}")
        assert page.locator(".heatmap tr.highlighted th").inner_text() == data["target"][1]
        page.get_by_label("Layer").select_option("1")
        page.get_by_label("Head").select_option("2")
        cells = page.locator(".heatmap tbody tr").nth(0).locator("td").all_text_contents()
        assert [float(cell) for cell in cells] == pytest.approx(data["layers"][0][1][0], abs=0.006)

    def test_clicking_a_search_tree_node_sets_the_prefix(self, opened: OpenPage) -> None:
        page = opened.page
        page.locator("#source").fill(SENTENCE)
        page.get_by_label("Search", exact=True).and_(page.locator("select")).select_option("4")
        page.get_by_role("tab", name="Search").click()
        opened.settle()
        page.wait_for_selector("#view .tree g.dropped")
        before = opened.output()
        node = page.locator("#view svg[role=group] g.extended").first
        node.hover()
        prefix = page.locator("#view .info").inner_text().split(":")[0]
        node.click()
        expect(page.locator(".prefix")).to_contain_text(f"begins with “{prefix}”")
        opened.settle()
        assert opened.output().startswith(prefix)
        assert opened.output() != before

    def test_alternative_word_changes_the_translation_and_the_url_keeps_it(self, opened: OpenPage) -> None:
        page = opened.page
        page.locator("#source").fill(SENTENCE)
        opened.settle()
        before = opened.output()
        page.locator(".word").nth(1).click()
        page.wait_for_selector(".alternatives[aria-busy=false]")
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

    def test_keyboard_operates_everything(self, opened: OpenPage) -> None:
        page, press = opened.page, opened.page.keyboard.press
        page.keyboard.type(SENTENCE)  # the input has the initial focus
        page.wait_for_function("() => location.hash.includes('dog')")
        opened.settle()
        before = opened.output()
        for _ in range(4):  # model, search, copy, words
            press("Tab")
        assert opened.focused_element() == "word"
        press("ArrowRight")
        expect(page.locator(".info").first).to_contain_text("attends to")
        press("Enter")
        assert opened.focused_element() == "listbox"
        press("Escape")
        assert opened.focused_element() == "word"
        press("Enter")
        page.wait_for_selector(".alternatives[aria-busy=false]")
        press("ArrowDown")
        press("Enter")
        page.wait_for_selector(".prefix button")
        opened.settle()
        assert opened.output() != before
        assert page.locator(".word").nth(1).evaluate("(word) => word === document.activeElement")
        page.get_by_role("tab", selected=True).focus()
        press("ArrowRight")
        expect(page.get_by_role("tab", selected=True)).to_have_text("Search")
        page.wait_for_selector("#view svg[role=group]")
        press("Tab")
        assert opened.focused_element() == "view"
        press("Tab")
        assert opened.focused_element() == "button"
        first = page.locator("#view .info").inner_text()
        press("ArrowRight")
        assert page.locator("#view .info").inner_text() != first

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    @pytest.mark.parametrize("view", ["attention", "search", "gates", "positions", "frames"])
    def test_page_is_accessible(self, opened: OpenPage, scheme: Any, view: str) -> None:
        page = opened.page
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": 390, "height": 800})
        other = "ctc" if view == "frames" else "bahdanau"
        page.goto(f"{page.url.partition('#')[0]}#text={quote(TEXT)}&view={view}&model2={other}&beam=3")
        opened.settle(2)
        assert page.get_by_role("tab", selected=True).inner_text().lower() == view
        page.locator(".word").nth(1).click()
        page.wait_for_selector(".alternatives[aria-busy=false]")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        violations = Axe().run(page).response["violations"]
        assert [(violation["id"], [node["html"] for node in violation["nodes"]]) for violation in violations] == []

    def test_outdated_request_is_cancelled(self, opened: OpenPage) -> None:
        page = opened.page
        page.route("**/v1/stream", lambda _: None)  # never answered
        with page.expect_request("**/v1/stream") as outdated:
            page.locator("#source").fill(SENTENCE)
        with page.expect_event("requestfailed", lambda request: request == outdated.value):
            page.get_by_role("button", name="Compare").click()
        page.unroute("**/v1/stream")

    def test_many_positions_are_shown(self, opened: OpenPage) -> None:
        page = opened.page
        vectors = [[math.sin(row * column) for column in range(512)] for row in range(500)]
        sides = [{"side": "source", "labels": [str(row) for row in range(500)], "vectors": vectors}]
        page.route("**/v1/inspect/positions", lambda route: route.fulfill(json={"sides": sides}))
        page.locator("#source").fill(SENTENCE)
        page.get_by_role("tab", name="Positions").click()
        expect(page.locator("#view h3")).to_have_text("Positions of the source: 500 rows, 512 dimensions")
        page.unroute("**/v1/inspect/positions")

    def test_sentences_of_a_text_are_shown_side_by_side(self, server: Server, opened: OpenPage) -> None:
        page = opened.page
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.locator("#source").fill(TEXT)
        opened.settle()
        lines = [line for line in TEXT.split("\n") if line]
        first, last = server.post("/v1/translate", {"lines": lines}).json()["lines"]
        sentences = [*first["sentences"], *last["sentences"]]
        rows = page.locator(".sentences button")
        assert [row.split("\n") for row in rows.all_inner_texts()] == [
            [sentences[0]["source"], sentences[0]["text"]],
            [sentences[1]["source"], sentences[1]["text"]],
            [f"  - {sentences[2]['source']}", f"  - {sentences[2]['text']}"],
        ]
        assert opened.output() == sentences[0]["text"]
        rows.nth(2).click()
        expect(page.locator(".translation .word").first).to_be_visible()
        opened.settle()
        assert opened.output() == sentences[2]["text"]
        assert page.locator(".heatmap thead th").first.inner_text() == "the"
        assert rows.nth(2).get_attribute("aria-current") == "true"
        page.get_by_role("button", name="Copy translation").click()
        expect(page.get_by_role("button", name="Copied")).to_be_focused()
        assert page.evaluate("() => navigator.clipboard.readText()") == f"{first['text']}\n\n{last['text']}"

    def test_chosen_words_stay_when_another_sentence_is_selected(self, opened: OpenPage) -> None:
        page = opened.page
        page.locator("#source").fill(TEXT)
        opened.settle()
        page.locator(".word").first.click()
        page.wait_for_selector(".alternatives[aria-busy=false]")
        page.locator(".alternatives").get_by_role("option").nth(1).click()
        page.wait_for_selector(".prefix button")
        opened.settle()
        changed, rows = opened.output(), page.locator(".sentences button")
        page.locator(".sentences [aria-current]").focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(rows.nth(1)).to_have_attribute("aria-current", "true")
        opened.settle()
        assert opened.output() != changed
        page.reload()
        opened.settle()
        expect(rows.first).to_contain_text(changed)
        assert rows.nth(1).get_attribute("aria-current") == "true"

    @pytest.mark.parametrize("width", [400, 1280])
    def test_languages_of_a_model_are_never_cut(self, opened: OpenPage, width: int) -> None:
        page = opened.page
        page.set_viewport_size({"width": width, "height": 800})
        box = page.get_by_label("Model", exact=True)
        assert "English → German" in box.locator("option").first.inner_text()
        assert box.evaluate(
            """(box) => {
              const context = document.createElement("canvas").getContext("2d");
              context.font = getComputedStyle(box).font;
              const frame = box.closest(".system").getBoundingClientRect();
              return context.measureText("English → German").width + 40 < box.clientWidth
                && box.getBoundingClientRect().right <= frame.right;
            }"""
        )

    def test_only_tabs_of_the_model_are_shown(self, opened: OpenPage) -> None:
        page, tabs = opened.page, opened.page.get_by_role("tab")
        assert tabs.count() == 0
        page.locator("#source").fill(SENTENCE)
        expect(tabs).to_have_text(["Attention", "Search", "Positions"])
        tabs.nth(2).click()
        page.get_by_label("Model", exact=True).select_option("ctc")
        expect(tabs).to_have_text(["Gates", "Frames"])
        expect(page.get_by_role("tab", selected=True)).to_have_text("Gates")
        page.get_by_label("Model", exact=True).select_option("transformer")
        expect(tabs).to_have_text(["Attention", "Search", "Positions"])
        expect(page.get_by_role("tab", selected=True)).to_have_text("Positions")

    def test_spinner_replaces_old_results(self, opened: OpenPage) -> None:
        page = opened.page
        page.locator("#source").fill(SENTENCE)
        opened.settle()
        page.route("**/v1/inspect/positions", lambda _: None)  # never answered
        page.get_by_role("tab", name="Positions").click()
        expect(page.locator("#view .spinner")).to_be_visible()
        assert page.locator("#view .heatmap").count() == 0
        page.get_by_role("tab", name="Attention").click()
        opened.settle()
        page.route("**/v1/stream", lambda _: None)
        page.locator("#source").fill("the cat sees a dog")
        expect(page.locator(".translation .spinner")).to_be_visible()
        expect(page.locator("#view .spinner")).to_be_visible()
        assert page.locator(".word, #view .heatmap").count() == 0
        page.unroute_all(behavior="ignoreErrors")

    def test_colors_are_explained(self, server: Server, opened: OpenPage) -> None:
        page = opened.page
        page.locator("#source").fill(SENTENCE)
        opened.settle()
        legend = page.get_by_role("list", name="Probability of a word")
        for level in LEVELS:
            expect(legend).to_contain_text(f"{level.name} {level.description}")
            style = legend.locator(f".{level.name}").evaluate(
                "(node) => [getComputedStyle(node).borderBottomStyle, getComputedStyle(node).borderBottomColor]"
            )
            red, green, blue = bytes.fromhex(level.color.removeprefix("#"))
            assert style == [level.line, f"rgb({red}, {green}, {blue})"]
        for button, word in zip(page.locator(".word").all(), inspect(server, "words")["words"], strict=True):
            level = probability_level(math.exp(sum(word["scores"])))
            assert level.name in (button.get_attribute("class") or "").split()
        expect(page.get_by_role("list", name="Colors: attention")).to_contain_text("0.25")

    def test_swatches_of_the_search_tree_differ(self, opened: OpenPage) -> None:
        page = opened.page
        page.locator("#source").fill(SENTENCE)
        page.get_by_role("tab", name="Search").click()
        opened.settle()
        swatches = page.locator("#view .legend rect")
        styles = swatches.evaluate_all(
            """(nodes) => nodes.map((node) => {
              const style = getComputedStyle(node);
              return [style.fill, style.stroke, style.strokeWidth, style.strokeDasharray].join();
            })"""
        )
        assert len(set(styles)) == len(styles) == 5

    def test_focus_stays_where_it_was(self, opened: OpenPage) -> None:
        page = opened.page
        page.locator("#source").fill(SENTENCE)
        opened.settle()
        page.get_by_label("Layer").focus()
        page.get_by_label("Layer").select_option("1")
        opened.settle()
        expect(page.get_by_label("Layer")).to_be_focused()
        page.get_by_role("tab", name="Search").click()
        opened.settle()
        expect(page.get_by_role("tab", name="Search")).to_be_focused()
        page.locator("#view [data-name=node-1-0]").focus()
        page.keyboard.press("Enter")
        page.wait_for_selector(".prefix button")
        opened.settle()
        expect(page.locator("#view [data-name=node-1-0]")).to_be_focused()
        page.get_by_role("button", name="Remove prefix").focus()
        page.keyboard.press("Enter")
        expect(page.locator(".prefix")).to_be_hidden()
        expect(page.locator(".word").first).to_be_focused()

    def test_example_starts_a_translation(self, corpus: Path, opened: OpenPage) -> None:
        page, button = opened.page, opened.page.get_by_role("button", name="Try an example")
        button.click()
        opened.settle()
        assert page.locator("#source").input_value() in (corpus / "valid.src").read_text("utf-8").splitlines()
        expect(button).to_be_focused()

    def test_errors_are_explained_in_words(self, opened: OpenPage) -> None:
        page, message = opened.page, opened.page.get_by_role("alert")
        page.locator("#source").fill("a cat. " * 4000)
        expect(message).to_contain_text("This text has 28,000 characters; this server takes 20,000.")
        page.locator("#source").fill("cat " * 200)
        expect(message).to_contain_text("This sentence has 799 characters; this server inspects 500.")
        assert opened.output().strip()  # it is translated all the same
        page.route("**/v1/stream", lambda route: route.abort())
        page.locator("#source").fill(SENTENCE)
        expect(message).to_contain_text("The server does not answer. Check that weft serve is running")
        page.unroute("**/v1/stream")
        page.get_by_role("button", name="Try again").click()
        opened.settle()
        assert {error.partition(": ")[2].partition(" ")[0] for error in opened.errors} == {"the", "net::ERR_FAILED"}
        opened.errors.clear()  # the browser logs failed requests

    def test_api_docs_page_works_offline(self, server: Server, browser: BrowserContext) -> None:
        requested = set[str]()
        browser.on("request", lambda request: requested.add(request.url))
        docs = OpenPage(browser.new_page(), f"{server.address}/docs")
        docs.page.locator("#operations-LibreTranslate-translate .opblock-summary-control").click()
        body = f'{{"q": "{SENTENCE}", "source": "en", "target": "de"}}'
        docs.page.locator("textarea.body-param__text").first.fill(body)
        docs.page.get_by_role("button", name="Execute").click()
        expect(docs.page.locator(".live-responses-table")).to_contain_text(server.translate(SENTENCE))
        assert docs.errors == []  # nothing violates the content security policy
        assert {url for url in requested if not url.startswith(server.address)} == set()
        docs.page.close()
