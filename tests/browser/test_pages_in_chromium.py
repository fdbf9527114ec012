"""Five kinds of trouble, caused for real: the front page names component, cause and cure."""

import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.site_support import Site

DEADLINE_MS = 60_000
"""A page is right within some seconds; the machine may be busy."""
LOOK_MS = 250
"""Between two looks at the page."""


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
    "SlowBolt": ("bottleneck", "store", r"store is the bottleneck: \d+% busy",
                 r"\d would do \(heronpy update \S+ --component-parallelism store:\d"),
    "SkewedKey": ("skewed", "count", r"count\[\d\] does \d+% of the work", "group by a finer key"),
    "FailingBolt": ("failing", "price", r"price has failed \d+ tuples",
                    "last error is ValueError: no price for"),
    "StuckCall": ("stuck", "fetch", r"fetch\[0\] has been in one call of user code for \d",
                  "give what it waits for a timeout"),
    "KilledContainer": ("crashed", "(last|words)",
                        r"container 2, with (last|words).*, crashed: .*SIGKILL",
                        "restarted; if it was not killed on purpose, its machine was out of"),
}  # fmt: skip
"""Topology -> kind, component, cause and remedy, as on its card."""


@pytest.mark.parametrize("topology", TROUBLES)
def test_the_front_page_names_component_cause_and_cure(
    page: Page, site: Site, topology: str
) -> None:
    """A page is open when the trouble starts."""
    kind, component, cause, cure = TROUBLES[topology]
    found = card(page, site.name(topology))
    row = page.get_by_role("row").filter(has_text=site.name(topology))
    expect(row).to_contain_text("nothing holds it back", timeout=DEADLINE_MS)
    wanted = [rf"(?im)^{kind}$", rf"(?m)^{component}$", cause, cure]
    site.cause(topology)
    began, shown = time.monotonic(), ""
    while not all(re.search(each, shown) for each in wanted):
        assert time.monotonic() - began < DEADLINE_MS / 1000, shown or "there is no such card"
        page.wait_for_timeout(LOOK_MS)
        shown = "\n".join(found.all_inner_texts())
    print(f"{topology}: named {time.monotonic() - began:.1f} s after it began")


def test_a_topology_is_paused_from_its_page_and_every_page_is_drawn(
    page: Page, site: Site, address: str
) -> None:
    """The button asks for a confirmation, the request is carried out, and the events name
    its user."""
    name = site.name("PausedByHand")
    site.cause("PausedByHand")
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
