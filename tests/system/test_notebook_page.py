"""The notebook representation of a translation, in a real browser, on light and dark pages."""

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from system.browsers import CHROMIUM, open_browser
from weft import load

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Cell</title>
<style>
body {{ background: {background}; color: {color}; }}
.output td, .output th {{ padding: .5em; text-align: right; border: 1px solid red; }}
.output tbody tr:nth-child(odd) {{ background: red; }}
</style></head>
<body><main class="output"><h1>Cell</h1>{html}</main></body></html>"""
SENTENCE = "the red cat sees a dog"
COLORS = {"light": ("#ffffff", "#1b1d20"), "dark": ("#111111", "#dedede")}


def open_page(page: Page, folder: Path, html: str, background: str, color: str) -> None:
    file = folder / "cell.html"
    file.write_text(PAGE.format(background=background, color=color, html=html), "utf-8")
    page.goto(file.as_uri())


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium; apt-get install chromium")
def test_table_is_accessible_on_light_and_dark_pages(runs: dict[str, Path], tmp_path: Path) -> None:
    [short, long] = load(runs["bahdanau"], beam=3, n_best=3).translate([SENTENCE, " ".join([SENTENCE] * 5)])
    with open_browser(tmp_path / "browser") as context:
        page = context.new_page()
        for background, color in COLORS.values():
            open_page(page, tmp_path, short._repr_html_(), background, color)
            expect(page.locator("th[scope=col]").first).to_be_visible()
            assert page.locator("thead th[scope=col]").all_inner_texts()[1:] == [*SENTENCE.split(), "<end>"]
            rows = [row.split("\t") for row in page.locator("tbody tr").all_inner_texts()]
            assert [row[0] for row in rows] == [*short.text.split(), "<end>"]
            for row in rows:
                assert 90 <= sum(int(cell) for cell in row[2:] if cell.strip()) <= 105
            page.locator("summary").click()
            assert page.locator("li").count() == 2
            page.set_viewport_size({"width": 400, "height": 700})
            open_page(page, tmp_path, long._repr_html_(), background, color)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")  # only the table scrolls
            page.set_viewport_size({"width": 1280, "height": 900})
            result = Axe().run(page)
            assert result.violations_count == 0, result.generate_report()
