"""The drawings of state machines in docs/ARCHITECTURE.md."""

import pytest

from tests.diagrams import DIAGRAMS, PAGE, drawn


@pytest.mark.parametrize("name", DIAGRAMS)
def test_a_drawing_shows_its_table(name: str) -> None:
    """Else run `python -m tests.diagrams`."""
    assert drawn(PAGE.read_text("utf-8"), name) == DIAGRAMS[name]()
