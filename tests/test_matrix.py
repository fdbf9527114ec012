"""docs/MATRIX.md: each capability says whether it works here, and which test shows it."""

import re
from collections import Counter
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "MATRIX.md"
IDS = {"G": 32, "H": 13, "N": 8, "P": 8, "S": 5, "T": 5}
"""Letter of the system -> how many capabilities it is known for."""
ROW = re.compile(
    r"^\| ([A-Z]\d+) \| (.*?) \| (yes|partly|not yet) \| (.*?) ?\| (.*?) ?\|$", re.MULTILINE
)
LINK = re.compile(r"\[([^\]]+)\]\(\.\./(tests/[^)]+\.py)\)")
ROWS = [(match[1], match[3], match[4], match[5]) for match in ROW.finditer(PAGE.read_text("utf-8"))]


def test_each_capability_stands_there_once() -> None:
    expected = {f"{letter}{number + 1}" for letter, most in IDS.items() for number in range(most)}
    assert Counter(row[0] for row in ROWS) == Counter(expected)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_each_capability_says_where_its_test_is(row: tuple[str, str, str, str]) -> None:
    _, here, evidence, missing = row
    links = LINK.findall(evidence)
    if here == "yes":
        assert links, "a yes is shown by a test"
        assert not missing
    else:
        assert missing, "what is not there has a reason, or a next step"
    for words, file in links:
        function = f"def test_{re.sub(r'[^a-z0-9]', '_', words)}("
        assert function in (PAGE.parents[1] / file).read_text("utf-8"), (function, file)
