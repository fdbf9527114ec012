"""What a topology's keys of rights leave a reader of the pages: buttons that act, a refusal before
the question, nothing."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.site_support import Site

DEADLINE_MS = 60_000
"""A page is right within some seconds; the machine may be busy."""
OPERATOR, READER = "an-operators-token", "a-readers-token-1"
USER = "reader-token"
"""User of the readers' token."""


@pytest.fixture
def page(site: Site, context: BrowserContext) -> Iterator[Page]:
    """The front page of a service with tokens, logged in by the readers'."""
    files = [site.place.path / "operators", site.place.path / "readers"]
    for file, token in zip(files, (OPERATOR, READER), strict=True):
        file.write_text(token)
        file.chmod(0o600)
    page = context.new_page()
    page.goto(site.serve("--token-file", files[0], "--read-token-file", files[1]) + "/login")
    page.get_by_label("token").fill(READER)
    page.get_by_role("button", name="Log in").click()
    yield page
    page.close()
    context.clear_cookies()


def test_buttons_act_for_a_topologys_users_alone(page: Page, site: Site) -> None:
    used = site.submit_with_rights("Used", topology_users=USER)
    read = site.submit_with_rights("Read", topology_users="ada", topology_readonly_users=USER)
    hidden = site.submit_with_rights("Hidden", topology_users="ada")
    for name in (read, used):
        page.get_by_role("table").get_by_role("link", name=name, exact=True).click()
        page.get_by_role("button", name="Deactivate", exact=True).click(timeout=DEADLINE_MS)
        if name == read:
            status = page.get_by_text(
                f"{USER} may not act on {read}: its submitter, topology.users"
            )
            expect(status).to_be_visible(timeout=DEADLINE_MS)
            expect(page.get_by_role("button", name="Yes, deactivate")).to_have_count(0)
            page.go_back()
    expect(page.get_by_role("link", name=hidden)).to_have_count(0)
    page.get_by_role("button", name="Yes, deactivate").click()
    activate = page.get_by_role("button", name="Activate", exact=True)
    expect(activate).to_be_visible(timeout=DEADLINE_MS)
    page.goto(page.url.replace(used, hidden))
    refusal = page.get_by_role("status").get_by_text(f"{USER} may not see {hidden}")
    expect(refusal).to_be_visible(timeout=DEADLINE_MS)
