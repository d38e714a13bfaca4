"""Screenshots of the playground of a running server: wide and narrow, light and dark, attention and search.

From the root of the repository:

    python -m benchmarks.screenshots http://127.0.0.1:5000 "A man sleeps." FOLDER
"""

from __future__ import annotations

import shutil
import tempfile
from itertools import product
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlencode

import typer
from benchmarks.command_line import run_command
from playwright.sync_api import Page, ViewportSize, sync_playwright

SIZES: dict[str, ViewportSize] = {"wide": {"width": 1280, "height": 900}, "narrow": {"width": 390, "height": 844}}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
VIEWS = ("attention", "search")
OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


def shoot(address: str, sentence: str, folder: Path) -> list[Path]:
    """Take a screenshot of each view, size and color scheme; return the paths."""
    pictures = []
    with tempfile.TemporaryDirectory() as profile, sync_playwright() as playwright:
        browser = playwright.chromium.launch_persistent_context(
            profile, executable_path=shutil.which("chromium"), args=OPTIONS
        )
        page = browser.new_page()
        for view, (size, shape), scheme in product(VIEWS, SIZES.items(), SCHEMES):
            page.set_viewport_size(shape)
            page.emulate_media(color_scheme=scheme)
            show(page, f"{address}/#{urlencode({'text': sentence, 'view': view, 'beam': 4})}")
            pictures.append(folder / f"{view}-{size}-{scheme}.png")
            page.screenshot(path=pictures[-1], full_page=True)
        browser.close()
    return pictures


def show(page: Page, address: str) -> None:
    """Open the page, wait for the visualization, and hover over a word."""
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector(".translation:not(.pending) .word", timeout=120_000)
    page.wait_for_selector("#view .heatmap, #view svg[role=group]", timeout=120_000)
    page.locator(".word").first.hover()


def main(
    address: Annotated[str, typer.Argument(help="Address of the running server, such as http://127.0.0.1:5000.")],
    sentence: Annotated[str, typer.Argument(help="Sentence to translate.")],
    folder: Annotated[Path, typer.Argument(help="Folder for the images; created if it does not exist.")],
) -> None:
    """Save screenshots of the playground, and print their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    for picture in shoot(address, sentence, folder):
        print(picture)


if __name__ == "__main__":
    run_command(main, "screenshots")
