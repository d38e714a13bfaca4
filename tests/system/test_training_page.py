"""The training page of `weft serve`, over HTTP and in a real browser."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page, expect

from system.browsers import CHROMIUM, OpenPage, open_browser
from system.servers import KEY, Server, start_server
from unit.run_folders import finding, report, validation, write_log, write_run

FIRST_LOG = [
    *(report(step, 9.0 - step / 100, norm=1.0) for step in range(1, 400, 10)),
    *(validation(step, step / 20, f"output at {step}") for step in (100, 200, 300)),
    finding(300),
]
SECOND_LOG = [*(report(step, 8.0) for step in range(1, 300, 10)), validation(200, 30.0, "another output")]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("runs")
    return write_run(folder / "first", FIRST_LOG, steps=500), write_run(folder / "second", SECOND_LOG, steps=500)


@pytest.fixture(scope="module")
def server(folders: tuple[Path, Path]) -> Iterator[Server]:
    """A server without models."""
    with start_server("--training", folders[0], "--training", folders[1]) as server:
        yield server


def test_server_without_models_has_only_the_training_page(server: Server, tmp_path: Path) -> None:
    page = server.get("/training")
    assert page.text == server.get("/").text
    assert "default-src 'none'; script-src 'self'" in page.headers["content-security-policy"]
    assert [run["name"] for run in server.get("/v1/training").json()] == ["first", "second"]
    assert server.post("/translate", {"q": "a", "source": "en", "target": "de"}).status_code == 404
    assert set(server.get("/openapi.json").json()["paths"]) == {"/v1/training", "/health", "/metrics"}
    for path in ("?run=/etc", "/etc/passwd", "/..%2f..%2fetc"):  # only the runs of the command line are shown
        response = server.get(f"/v1/training{path}")
        assert response.status_code == 404 or [run["name"] for run in response.json()] == ["first", "second"]
    (tmp_path / "keys").write_text(f"{KEY}\n")
    with start_server("--training", tmp_path / "later", "--api-keys", tmp_path / "keys") as locked:
        assert locked.get("/v1/training").status_code == 403
        (later,) = locked.get("/v1/training", {"Authorization": f"Bearer {KEY}"}).json()
        assert (later["name"], later["state"]) == ("later", "waiting")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    with open_browser(tmp_path_factory.mktemp("browser")) as context:
        yield context


@pytest.fixture
def page(server: Server, browser: BrowserContext) -> Iterator[Page]:
    opened = OpenPage(browser.new_page(), f"{server.address}/training")
    opened.page.wait_for_selector(".chart polyline")
    yield opened.page
    assert [error for error in opened.errors if "ERR_FAILED" not in error] == []  # a test aborts requests
    opened.page.close()


def chart(page: Page, title: str) -> Any:
    return page.get_by_role("slider", name=f"{title} by step")


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium; apt-get install chromium")
class TestInBrowser:
    def test_page_shows_curves_runs_and_outputs(self, page: Page) -> None:
        titles = page.locator("figure h2").all_text_contents()
        assert titles == ["loss", "bleu", "accuracy", "learning rate", "gradient norm", "tokens per second"]
        assert chart(page, "loss").locator("polyline").count() == 2
        assert chart(page, "loss").locator(".hollow").count() == 4
        expect(page.locator(".run").first).to_contain_text("391 of 500 steps")
        expect(page.locator(".run").first).to_contain_text("best bleu 15.00 at 300")
        expect(page.locator(".diagnosis")).to_contain_text("first: overfitting at step 300")
        expect(page.locator(".sample dd").first).to_have_text("output at 300")
        expect(page.locator(".sample dd").nth(1)).to_have_text("another output")

    def test_page_updates_itself(self, page: Page, folders: tuple[Path, Path]) -> None:
        write_log(folders[0], [*FIRST_LOG, report(500, 2.0), validation(500, 40.0, "the last output")])
        try:
            expect(page.locator(".run").first).to_contain_text("finished")
            expect(page.locator(".sample dd").first).to_have_text("the last output")
        finally:
            write_log(folders[0], FIRST_LOG)
        expect(page.locator(".sample dd").first).to_have_text("output at 300")  # the log was truncated

    def test_hovering_shows_the_values(self, page: Page) -> None:
        box = chart(page, "bleu").bounding_box()
        chart(page, "bleu").hover(position={"x": 46 + (box["width"] - 58) * 0.56, "y": 80})  # step 219 of 391
        assert "step 219: first 10.00" in chart(page, "bleu").get_attribute("aria-valuetext")
        assert "training first 6.89, second 8.00" in chart(page, "loss").get_attribute("aria-valuetext")
        expect(page.locator(".sample dd").first).to_have_text("output at 200")
        page.mouse.move(0, 0)
        expect(page.locator(".sample dd").first).to_have_text("output at 300")

    def test_keyboard_operates_everything(self, page: Page) -> None:
        chart(page, "bleu").focus()
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowLeft")
        assert "step 200: first 10.00, second 30.00" in chart(page, "bleu").get_attribute("aria-valuetext")
        expect(page.locator("#at")).to_have_text("200")
        page.keyboard.press("Escape")
        expect(page.locator("#at")).to_have_text("300")
        page.locator("#step").focus()
        page.keyboard.press("Home")
        expect(page.locator(".sample dd").first).to_have_text("output at 100")
        expect(page.locator(".sample dd").nth(1)).to_have_text("not yet")
        page.keyboard.press("End")
        toggle = page.get_by_role("button", name="second")
        toggle.focus()
        page.keyboard.press("Enter")
        expect(toggle).to_have_attribute("aria-pressed", "false")
        assert chart(page, "loss").locator("polyline").count() == 1
        assert page.evaluate("document.activeElement.id") == "run-1"  # although the card was rebuilt

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    @pytest.mark.parametrize("width", [1280, 390])
    def test_page_is_accessible(self, page: Page, scheme: Any, width: int) -> None:
        page.set_viewport_size({"width": width, "height": 844})
        page.emulate_media(color_scheme=scheme)
        violations = Axe().run(page).response["violations"]
        assert [(violation["id"], violation["nodes"][0]["html"]) for violation in violations] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.set_viewport_size({"width": 1280, "height": 900})

    def test_page_recovers_after_a_server_outage(self, page: Page) -> None:
        page.route("**/v1/training", lambda route: route.abort())
        expect(page.locator("#error")).to_contain_text("The server does not answer.")
        assert chart(page, "loss").locator("polyline").count() == 2  # the curves stay
        page.unroute("**/v1/training")
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        expect(page.locator("#error")).to_be_hidden()
