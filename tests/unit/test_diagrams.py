"""The pictures of docs/ARCHITECTURE.md and docs/CONCEPTS.md."""

import re
from pathlib import Path

import pytest

from tests.diagrams import DIAGRAMS, PAGES, drawn


@pytest.mark.parametrize("name", DIAGRAMS)
def test_a_drawing_shows_its_table(name: str) -> None:
    """Else run `python -m tests.diagrams`."""
    pictures = [drawn(page.read_text("utf-8"), name) for page in PAGES]
    shown = [each for each in pictures if each is not None]
    assert shown
    assert set(shown) == {DIAGRAMS[name]()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_picture_of_a_page_is_drawn(page: Path) -> None:
    """A name without a drawing would stay empty."""
    names = re.findall(r"<!-- diagram (\S+) -->", page.read_text("utf-8"))
    assert set(names) <= DIAGRAMS.keys()
