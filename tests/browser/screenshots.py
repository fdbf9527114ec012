"""The pictures of docs/UI.md: `python -m tests.browser.screenshots`, with real topologies.

The topologies run below a temporary folder and end with it. Pillow makes the files small.
"""

import io
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser.chromium import browser
from tests.browser.site_support import Site
from tests.process.process_support import REPOSITORY, Place

FOLDER = REPOSITORY / "docs" / "images"
TOPOLOGIES = ("SlowBolt", "SkewedKey", "FailingBolt", "StuckCall", "KilledContainer", "Healthy")
HISTORY_MS = 60_000
"""Duration for the charts to fill; nothing depends on it."""
DEADLINE_MS = 60_000
COLOURS = 128
NARROW = 400
TOPOLOGY = "/ui/topology/"
PAGES = {
    "all-topologies": ("/", "nothing holds it back"),
    "topology": (f"{TOPOLOGY}SlowBolt", "Critical path"),
    "component": (f"{TOPOLOGY}SkewedKey/component/count", "does"),
    "containers": (f"{TOPOLOGY}Healthy/containers", "count[0]"),
    "checkpoints": (f"{TOPOLOGY}Healthy/checkpoints", "Checkpoint"),
    "logs": (f"{TOPOLOGY}FailingBolt/logs?file=price-2.log", "Traceback"),
    "configuration": (f"{TOPOLOGY}Healthy/configuration", "Packing plan"),
}
"""Picture -> address, and a text of the drawn page."""


def keep(page: Page, name: str) -> None:
    """The page as a small file."""
    page.mouse.move(0, 0)
    picture = Image.open(io.BytesIO(page.screenshot(full_page=True)))
    small = picture.convert("RGB").quantize(COLOURS)
    FOLDER.mkdir(exist_ok=True)
    small.save(FOLDER / f"ui-{name}.png", optimize=True)


def draw(page: Page, address: str, path: str, text: str) -> None:
    """Open the page, and wait until drawn."""
    page.goto(address + path)
    expect(page.locator("#content")).to_contain_text(text, timeout=DEADLINE_MS)
    page.wait_for_timeout(1500)


def profile(page: Page, address: str) -> None:
    """A flame graph takes some seconds; without py-spy the page says how to get it."""
    draw(page, address, f"{TOPOLOGY}Healthy/profile?instance=count[0]", "Flame graph")
    page.get_by_role("button", name="Flame graph").click()
    expect(page.locator("#content")).to_contain_text("samples", timeout=DEADLINE_MS)
    keep(page, "profile")


def main() -> None:
    """All of them, light, and two dark or narrow."""
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        try:
            site = Site(place, "")
            for each in TOPOLOGIES[:4]:
                site.cause(each)
            site.submit(*TOPOLOGIES)
            address = site.serve()
            with browser(Path(folder, "light")) as context:
                page = context.new_page()
                page.goto(address)
                page.wait_for_timeout(HISTORY_MS)
                for name, (path, text) in PAGES.items():
                    draw(page, address, path, text)
                    keep(page, name)
                profile(page, address)
            with browser(Path(folder, "dark"), dark=True, width=NARROW) as context:
                page = context.new_page()
                draw(page, address, f"{TOPOLOGY}SlowBolt", "Critical path")
                keep(page, "phone-dark")
        finally:
            for each in TOPOLOGIES:  # nothing about them names the place, so it does not find them
                place.heronpy("kill", each, "--wait", 0)
            place.close()


if __name__ == "__main__":
    main()
