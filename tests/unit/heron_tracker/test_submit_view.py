"""The form of a submission: shown to those who may submit, and sent to the route of submissions."""

import re
from html.parser import HTMLParser

from heron_tracker.auth.access import READ_ONLY, SUBMIT_PATH
from heron_tracker.pages.links import SUBMIT, is_page
from heron_tracker.pages.submit_view import NEEDS_LOGIN, SCRIPT, submit_view
from heron_tracker.submit_routes import ENDINGS


class Fields(HTMLParser):
    """Names of the fields, and the ids that describe them."""

    def __init__(self) -> None:
        super().__init__()
        self.fields: dict[str, dict[str, str | None]] = {}
        self.ids: set[str | None] = set()
        self.form: dict[str, str | None] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self.form = given
        if tag in ("input", "textarea"):
            self.fields[str(given["name"])] = given
        self.ids.add(given.get("id"))


def test_an_operator_has_a_form_whose_fields_are_sent_and_described() -> None:
    view = submit_view(logs_in=True, refused="")
    assert view.note == ""
    parser = Fields()
    parser.feed(view.form)
    assert parser.fields.keys() == {"name", "file", "topology", "config", "deactivated"}
    assert parser.form["data-route"] == SUBMIT_PATH
    assert "action" not in parser.form, "without the script nothing is sent, and no file in a URL"
    described = {each.get("aria-describedby") for each in parser.fields.values()}
    assert described <= parser.ids
    sent = set(re.findall(r"elements\.(\w+)", SCRIPT))
    assert sent == parser.fields.keys()
    shown = str(parser.fields["file"]["accept"]).split(",")
    assert all(each.endswith(tuple(shown)) for each in ENDINGS)


def test_a_reader_and_a_service_without_a_login_have_a_reason_and_no_form() -> None:
    for logs_in, refused, note in ((True, READ_ONLY, READ_ONLY), (False, "", NEEDS_LOGIN)):
        view = submit_view(logs_in, refused)
        assert (view.note, view.form) == (note, "")


def test_the_address_is_that_of_a_page() -> None:
    assert is_page(SUBMIT)
