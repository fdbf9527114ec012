"""One place, one service and one browser for all of these tests."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext

from tests.browser.chromium import browser
from tests.browser.site_support import Site
from tests.process.process_support import Place

TOPOLOGIES = (
    "SlowBolt", "SkewedKey", "FailingBolt", "StuckCall", "KilledContainer", "PausedByHand",
    "FiveInARow",
)  # fmt: skip


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The topologies run; whatever happens nothing of them is left."""
    place = Place(tmp_path_factory.mktemp("browser"))
    try:
        made = Site(place, f"{place.name}-")
        made.submit(*TOPOLOGIES)
        yield made
    finally:
        place.close()


@pytest.fixture(scope="session")
def address(site: Site) -> str:
    """Where the service serves."""
    return site.serve()


@pytest.fixture(scope="session")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    """A browser."""
    with browser(tmp_path_factory.mktemp("chromium")) as found:
        yield found
