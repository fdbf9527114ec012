"""A submission by the form of the pages, in a browser with a login."""

import re
import shutil

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.site_support import START_SECS
from tests.process.process_support import EXAMPLES, Place, until

TOKEN = "operators-token-of-1"
DEADLINE_MS = 60_000


def test_a_file_is_submitted_from_the_page(
    context: BrowserContext, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A mistake is told below the button; the right file leads to the topology's page, and the
    event says who has submitted it, and from a page."""
    place = Place(tmp_path_factory.mktemp("submission"))
    try:
        (place.path / "token").write_text(TOKEN)
        (place.path / "token").chmod(0o600)
        shutil.copy(EXAMPLES / "word_count.py", place.path / "words.py")
        (place.path / "mistake.py").write_text("import nothing_of_this_name\n")
        service = place.start("ui", "--port", 0, "--token-file", place.path / "token")
        found = service.until(
            lambda: re.search(r"serving at (\S+)", service.out), "it serves", START_SECS
        )
        page = context.new_page()
        page.goto(f"{found[1].rstrip('/')}/ui/submit")
        page.locator("input[name=token]").fill(TOKEN)
        page.locator("input[name=token]").press("Enter")
        page.goto(f"{found[1].rstrip('/')}/ui/submit")
        name = f"{place.name}-words"
        page.get_by_label("Name of the topology").fill(name)
        page.get_by_label("Config").fill("topology.message.timeout.secs=77\n")
        page.locator("input[type=file]").set_input_files(place.path / "mistake.py")
        page.get_by_role("button", name="Submit").click()
        expect(page.get_by_role("status").last).to_contain_text(
            "nothing_of_this_name", timeout=DEADLINE_MS
        )
        page.locator("input[type=file]").set_input_files(place.path / "words.py")
        page.get_by_role("button", name="Submit").click()
        page.wait_for_url(f"**/ui/topology/{name}", timeout=DEADLINE_MS)
        events = until(
            lambda: place.log(name, "events") or place.heronpy("stats", name).out, "its events"
        )
        assert "submit: asked by operator-token" in events
        assert "page" in events
        page.close()
        place.heronpy("kill", name, "--wait", 0).succeeded()
    finally:
        place.close()
