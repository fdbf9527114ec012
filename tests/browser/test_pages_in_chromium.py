"""Five kinds of trouble, caused for real: the front page names component, cause and cure."""

import re
from collections.abc import Iterator
from contextlib import suppress

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect
from playwright.sync_api import TimeoutError as NotYet

from site_support import Site

DEADLINE_MS = 60_000
"""A page is right within some seconds; the machine may be busy."""


@pytest.fixture
def page(context: BrowserContext, address: str) -> Iterator[Page]:
    """The front page; whatever it complains of, or fetches from elsewhere, fails the test."""
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "request",
        lambda request: (
            None if request.url.startswith((address, "data:")) else complaints.append(request.url)
        ),
    )
    page.goto(address)
    yield page
    page.close()
    assert complaints == []


def card(page: Page, name: str) -> Locator:
    """The problem of a topology."""
    return page.get_by_role("article").filter(has=page.get_by_role("link", name=name, exact=True))


TROUBLES = {
    "SlowBolt": (
        "bottleneck", "store", r"store is the bottleneck", r"component-parallelism store:\d"
    ),
    "SkewedKey": ("skewed", "count", r"count\[\d\] does \d+% of the work", "group by a finer key"),
    "FailingBolt": ("failing", "price", r"price has failed \d+ tuples", "ValueError: no price for"),
    "StuckCall": ("stuck", "fetch", r"fetch\[0\] has been in one call", "a timeout"),
}  # fmt: skip


@pytest.mark.parametrize("topology", TROUBLES)
def test_the_front_page_names_component_cause_and_cure(
    page: Page, site: Site, topology: str
) -> None:
    """Somebody opens it at three in the morning."""
    kind, component, cause, cure = TROUBLES[topology]
    found = card(page, site.name(topology))
    for text in (re.compile(kind, re.IGNORECASE), re.compile(cause), re.compile(cure)):
        expect(found).to_contain_text(text, timeout=DEADLINE_MS)
    expect(found.get_by_role("link", name=component, exact=True)).to_be_visible()


def test_a_killed_container_is_named_with_its_instances(page: Page, site: Site) -> None:
    """It is started again by itself, so it is killed until the page has shown it."""
    found = card(page, site.name("KilledContainer"))
    for _ in range(DEADLINE_MS // 500):
        site.kill_container("KilledContainer", 2)
        with suppress(NotYet):
            found.wait_for(timeout=500)
            break
    text = found.inner_text()
    assert re.search(r"instances? of last (is|are) down|instances of words are down", text), text
    assert "restarted by themselves" in text


def test_a_topology_is_paused_from_its_page_and_every_page_is_drawn(
    page: Page, site: Site, address: str
) -> None:
    """The button asks once, the request is carried out, and who asked stands in the events."""
    name = site.name("FailingBolt")
    page.get_by_role("table").get_by_role("link", name=name, exact=True).click()
    expect(page.locator(".graph svg text", has_text="price").first).to_be_visible(
        timeout=DEADLINE_MS
    )
    page.get_by_role("button", name="Deactivate", exact=True).click()
    page.get_by_role("button", name="Yes, deactivate").click()
    activate = page.get_by_role("button", name="Activate", exact=True)
    expect(activate).to_be_visible(timeout=DEADLINE_MS)
    events = page.get_by_role("row").filter(has_text="deactivate done")
    expect(events).to_contain_text("asked by", timeout=DEADLINE_MS)
    shown = {
        "component/price": "no price for",
        "containers": "price[0]",
        "checkpoints": "It takes no checkpoints",
        "logs?file=price-2.log": "Traceback",
        "profile": "Flame graph",
        "configuration": "Packing plan",
    }
    for path, text in shown.items():
        page.goto(f"{address}/ui/topology/{name}/{path}")
        expect(page.locator("#content")).to_contain_text(text, timeout=DEADLINE_MS)
