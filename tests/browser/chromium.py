"""Chromium as the system has it: no browser is downloaded.

`python tests/browser/chromium.py` says in one line what to install where there is none.
"""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import BrowserContext, sync_playwright

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
EXIT_NO_BROWSER = 69
"""EX_UNAVAILABLE of sysexits.h: .ci/run goes on without these tests."""
NEEDED = "this needs Chromium: apt-get install chromium"
OPTIONS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip
WIDTH, HEIGHT = 1280, 800


def program() -> str | None:
    """The path of the browser; None where there is none."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


@contextmanager
def browser(folder: Path, dark: bool = False, width: int = WIDTH) -> Iterator[BrowserContext]:
    """A headless browser with a folder of its own."""
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            folder,
            executable_path=program(),
            headless=True,
            args=list(OPTIONS),
            viewport={"width": width, "height": HEIGHT},
            color_scheme="dark" if dark else "light",
        )
        try:
            yield context
        finally:
            context.close()


def main() -> int:
    """0 if there is a browser; else one line and EXIT_NO_BROWSER."""
    if program() is not None:
        return 0
    print(NEEDED, file=sys.stderr)
    return EXIT_NO_BROWSER


if __name__ == "__main__":
    sys.exit(main())
