"""Open pages in a real browser."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import BrowserContext, Page, expect, sync_playwright

from system.commands import TIMEOUT

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
def open_browser(folder: Path) -> Iterator[BrowserContext]:
    """Start Chromium with `folder` as its profile. Reduced motion: colors change without transitions."""
    expect.set_options(timeout=1000 * TIMEOUT)  # the context's timeout does not apply to expect
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            folder,
            executable_path=CHROMIUM,
            args=OPTIONS,
            viewport={"width": 1280, "height": 900},
            reduced_motion="reduce",
            timeout=1000 * TIMEOUT,
        )
        context.set_default_timeout(1000 * TIMEOUT)
        yield context
        context.close()


class OpenPage:
    """A page in a tab, and the errors that it logs."""

    def __init__(self, page: Page, address: str):
        self.page, self.errors = page, list[str]()
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.goto(address)

    def settle(self, systems: int = 1) -> None:
        """Wait until the translation and the view of each system are complete."""
        self.page.wait_for_function(
            """(count) => {
              const outputs = [...document.querySelectorAll(".translation")];
              const panels = document.querySelectorAll("#view .pair > div");
              return outputs.length === count && panels.length === count
                && outputs.every((output) => output.querySelector(".word"))
                && !document.querySelector("[aria-busy=true]");
            }""",
            arg=systems,
        )

    def output(self, index: int = 0) -> str:
        return self.page.locator(".translation").nth(index).inner_text()

    def focused_element(self) -> str:
        """Return the id, role or class of the focused element."""
        name: str = self.page.evaluate(
            "(({ activeElement: node }) => node.id || node.getAttribute('role') || node.classList[0])(document)"
        )
        return name
