"""Pictures of the playground of a server that runs: wide and narrow, light and dark, its attention and its search.

python -m benchmarks.screenshots http://127.0.0.1:5000 "A man sleeps." FOLDER
"""

import argparse
import shutil
import tempfile
from itertools import product
from pathlib import Path
from typing import Literal
from urllib.parse import urlencode

from playwright.sync_api import Page, ViewportSize, sync_playwright

SIZES: dict[str, ViewportSize] = {"wide": {"width": 1280, "height": 900}, "narrow": {"width": 390, "height": 844}}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
VIEWS = ("attention", "search")
OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


def shoot(address: str, sentence: str, folder: Path) -> list[Path]:
    """A picture for each view, size and scheme; returns where they are."""
    pictures = []
    with tempfile.TemporaryDirectory() as kept, sync_playwright() as playwright:
        browser = playwright.chromium.launch_persistent_context(
            kept, executable_path=shutil.which("chromium"), args=OPTIONS
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
    """Open it, wait until there is something to see, and point at a word."""
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector(".translation:not(.pending) .word", timeout=120_000)
    page.wait_for_selector("#view .heatmap, #view svg[role=group]", timeout=120_000)
    page.locator(".word").nth(1).hover()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("sentence")
    parser.add_argument("folder", type=Path)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    for picture in shoot(asked.address, asked.sentence, asked.folder):
        print(picture)


if __name__ == "__main__":
    main()
