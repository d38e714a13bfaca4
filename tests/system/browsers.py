"""A real browser, and the server that it looks at."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import BrowserContext, Page, expect, sync_playwright

from system.commands import PATIENCE

CHROMIUM = shutil.which("chromium")
OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def browsing(folder: Path) -> Iterator[BrowserContext]:
    """Chromium, with an empty folder for all that it keeps. Nothing fades: colours are at once what they will be."""
    expect.set_options(timeout=1000 * PATIENCE)  # else 5 seconds, whatever the context's is
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            folder,
            executable_path=CHROMIUM,
            args=OPTIONS,
            viewport={"width": 1280, "height": 900},
            reduced_motion="reduce",
            timeout=1000 * PATIENCE,
        )
        context.set_default_timeout(1000 * PATIENCE)
        yield context
        context.close()


class Opened:
    """The page at an address, with what goes wrong in it."""

    def __init__(self, page: Page, address: str):
        self.page, self.faults = page, list[str]()
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", lambda said: self.faults.append(said.text) if said.type == "error" else None)
        page.goto(address)

    def settle(self, systems: int = 1) -> None:
        """Wait until all words are there, and something is seen of each system."""
        self.page.wait_for_function(
            """(count) => {
              const outputs = [...document.querySelectorAll(".translation")];
              const seen = document.querySelectorAll("#view .pair > div");
              return outputs.length === count && seen.length === count
                && outputs.every((one) => !one.classList.contains("pending") && one.querySelector(".word"))
                && [...seen].every((one) => !one.textContent.includes("Type a sentence"));
            }""",
            arg=systems,
        )

    def output(self, place: int = 0) -> str:
        return self.page.locator(".translation").nth(place).inner_text()

    def focused(self) -> str:
        """What has the focus, in a word."""
        found: str = self.page.evaluate(
            "(({ activeElement: one }) => one.id || one.getAttribute('role') || one.className)(document)"
        )
        return found
