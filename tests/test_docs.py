"""The documentation: its links lead somewhere, and its words are technical terms."""

import re
from functools import cache
from pathlib import Path

import pytest

from tests.tidy_rules import PHRASES

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md"), ROOT / "benchmarks" / "README.md"]
)
PRESENT = [page for page in PAGES if page.name != "CHANGELOG.md"]
"""The changelog is a record of the past."""
LINK = re.compile(r"\]\(([^)\s]+)\)")


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of its headings, as they are made from them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    broken = []
    for link in LINK.findall(page.read_text("utf-8")):
        if link.startswith("http"):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", PRESENT, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_is_in_plain_technical_english(page: Path) -> None:
    """These phrases were there, translated word by word."""
    text = " ".join(page.read_text("utf-8").lower().split())
    found = {phrase: better for phrase, better in PHRASES.items() if phrase in text}
    assert found == {}


@pytest.mark.parametrize("name", ["STATE.md", "SCALING.md", "TRIDENT.md"])
def test_the_tests_that_a_page_names_exist(name: str) -> None:
    page = (ROOT / "docs" / name).read_text("utf-8")
    named = set(re.findall(r"`([\w/]+\.py)::(\w+)`", page))
    assert len(named) >= 9
    missing = {
        f"{file}::{name}"
        for file, name in named
        if not (ROOT / "tests" / file).exists()
        or f"def {name}(" not in (ROOT / "tests" / file).read_text("utf-8")
    }
    assert missing == set()
