"""The reference of keys: docs/CONFIGURATION.md, the tables of other pages, `heronpy keys`."""

import re
from pathlib import Path

import pytest

from heron_core.config import names
from heron_core.config.keys import DEFAULTS, KEYS
from heron_core.config.reference import default_text, lines, markdown

DOCS = Path(__file__).parents[3] / "docs"
ROW = re.compile(r"^\| `(topology\.[a-z.]+)` \| `?([^|`]+)`? \|", re.MULTILINE)


def test_the_page_is_made_from_the_table() -> None:
    made = "python -m heron_core.config.reference > docs/CONFIGURATION.md writes it again"
    assert (DOCS / "CONFIGURATION.md").read_text() == markdown(), made


@pytest.mark.parametrize("page", ["CHECKPOINTS.md", "SCALING.md", "WINDOWS.md"])
def test_a_default_in_another_page_is_that_of_the_table(page: str) -> None:
    rows = dict(ROW.findall((DOCS / page).read_text()))
    told = {key: text.strip() for key, text in rows.items() if key in DEFAULTS}
    assert told == {key: default_text(DEFAULTS[key]) for key in told}


def test_each_link_leads_to_a_page() -> None:
    for key in KEYS.values():
        assert not key.see or (DOCS / key.see.partition("#")[0]).is_file(), key.name


def test_keys_are_found_by_name_and_by_meaning() -> None:
    found = "\n".join(lines("unfinished"))
    assert found.startswith(
        f"{names.MAX_SPOUT_PENDING}  (default 1000, of a spout, only in ATLEAST"
    )
    assert len(list(lines())) == 2 * len(KEYS)
    assert not list(lines("no such thing"))
