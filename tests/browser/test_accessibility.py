"""Every page by the rules of WCAG 2.2 AA: wide and on a phone, light and dark."""

from collections.abc import Iterator
from itertools import combinations

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from heron_tracker.auth.login import AT_ISSUER, PAGE
from tests.browser.axe import NoAxe, script, violations
from tests.browser.site_support import Site

DEADLINE_MS = 60_000
WIDTHS = (1280, 380)
HEIGHT = 800
SCHEMES = ("light", "dark")
NAME = "PausedByHand"
PAGES = {
    "front": ("/", "All topologies", "table"),
    "topology": ("/ui/topology/NAME", "price", ".graph svg text"),
    "component": ("/ui/topology/NAME/component/price", "no price for", ".trace"),
    "spout": ("/ui/topology/NAME/component/words", "words[0]", "table"),
    "containers": ("/ui/topology/NAME/containers", "price[0]", "table"),
    "checkpoints": ("/ui/topology/NAME/checkpoints", "no checkpoints", ".sentence"),
    "logs": ("/ui/topology/NAME/logs?file=price-2.log", "Traceback", ".lines"),
    "profile": ("/ui/topology/NAME/profile", "Flame graph", "button"),
    "configuration": ("/ui/topology/NAME/configuration", "test.switch", "table"),
    "missing": ("/ui/topology/NAMED", "did you mean", ".sentence"),
}
"""Page -> address, and the text that a drawn page has, with its element."""
OVERLAP_PIXELS_MAX = 2.0
"""Of two texts: the box of a letter is a little higher than the letter."""


@pytest.fixture(scope="module")
def axe() -> str:
    """The script; without npm or the registry the tests are skipped."""
    try:
        return script()
    except NoAxe as error:
        pytest.skip(str(error))


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    page = context.new_page()
    yield page
    page.close()


def draw(page: Page, site: Site, address: str, name: str) -> None:
    """Go to a page of PAGES, and wait for its text."""
    path, text, element = PAGES[name]
    topology = site.name(NAME)
    page.goto(address + path.replace("NAMED", f"{topology}d").replace("NAME", topology))
    if name == "front":
        text = topology
    found = page.locator("#content").locator(element).filter(has_text=text).first
    expect(found).to_be_visible(timeout=DEADLINE_MS)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_violates_no_rule_at_any_width_light_or_dark(
    page: Page, site: Site, address: str, axe: str, name: str
) -> None:
    site.cause(NAME)
    draw(page, site, address, name)
    page.evaluate(f"{axe};0")
    found: dict[str, list[str]] = {}
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": HEIGHT})
        for scheme in SCHEMES:
            page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            is_dark = "true" if scheme == "dark" else "false"
            page.wait_for_function(f"document.body.classList.contains('body--dark') === {is_dark}")
            for line in violations(page):
                found.setdefault(line, []).append(f"{width} {scheme}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert found == {}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_login_violates_no_rule(page: Page, axe: str, scheme: str) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    issuer = AT_ISSUER.format("https://id.example")
    page.set_content(PAGE.format(text="The service's token:", issuer=issuer))
    page.evaluate(f"{axe};0")
    assert violations(page) == []


def test_axe_sees_what_is_wrong(page: Page, axe: str) -> None:
    """A page without a language, with pale text."""
    page.set_content("<p style='color: #bbb; background: #fff'>pale")
    page.evaluate(f"{axe};0")
    lines = violations(page)
    assert any(line.startswith("html-has-lang") for line in lines)
    assert any(line.startswith("color-contrast") for line in lines)


@pytest.mark.parametrize("width", WIDTHS)
def test_labels_of_the_graph_do_not_overlap(
    page: Page, site: Site, address: str, width: int
) -> None:
    """Five components in a row on a phone, where only names are shown."""
    page.set_viewport_size({"width": width, "height": HEIGHT})
    page.goto(f"{address}/ui/topology/{site.name('FiveInARow')}")
    texts = page.locator(".graph svg text")
    expect(texts.filter(has_text="fifth").first).to_be_visible(timeout=DEADLINE_MS)
    found = [(each.text_content(), each.bounding_box()) for each in texts.all()]
    assert len(found) >= 5
    for (text, box), (other, other_box) in combinations(found, 2):
        assert box is not None
        assert other_box is not None
        beside = min(box["x"] + box["width"], other_box["x"] + other_box["width"]) - max(
            box["x"], other_box["x"]
        )
        below = min(box["y"] + box["height"], other_box["y"] + other_box["height"]) - max(
            box["y"], other_box["y"]
        )
        assert min(beside, below) <= OVERLAP_PIXELS_MAX, (text, other)


def test_logs_begin_with_a_file_that_is_there(page: Page, site: Site, address: str) -> None:
    """The first file has the events, which begin with the submit."""
    page.goto(f"{address}/ui/topology/{site.name('FiveInARow')}/logs")
    expect(page.locator(".lines")).to_contain_text("action: submit", timeout=DEADLINE_MS)
    page.goto(f"{address}/ui/topology/{site.name('FiveInARow')}/logs?file=fith-5.log")
    status = page.get_by_role("status")
    expect(status).to_contain_text("did you mean 'fifth-5.log'?", timeout=DEADLINE_MS)


def test_a_misspelt_component_is_answered_by_one_line(page: Page, site: Site, address: str) -> None:
    page.goto(f"{address}/ui/topology/{site.name('FiveInARow')}/component/fith")
    sentence = page.locator("#content .sentence")
    expect(sentence).to_contain_text("did you mean 'fifth'?", timeout=DEADLINE_MS)
    assert page.locator("#content table").count() == 0


def test_the_keyboard_sorts_a_table(page: Page, site: Site, address: str) -> None:
    draw(page, site, address, "front")
    button = page.get_by_role("button", name="Tuples/s", exact=True)
    button.focus()
    page.keyboard.press("Enter")
    expect(page.locator("th.sorted")).to_contain_text("Tuples/s", timeout=DEADLINE_MS)
