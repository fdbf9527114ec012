"""docs/MATRIX.md and the table of back ends in docs/DEPLOY.md: what works here, and which test
shows it."""

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
    the_tests_exist(links)


BACK_ENDS = ["", "this machine", "Spark", "YARN", "Kubernetes", "Aurora's stand-in"]
WITHOUT_TEST = {"not applicable", "not tried", "refused by name"}


def test_each_step_of_each_back_end_says_where_its_test_is() -> None:
    """A cell without a test says so in one of a few words."""
    page = (PAGE.parent / "DEPLOY.md").read_text("utf-8")
    section = page.partition("## What is shown where\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    names, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    assert names == BACK_ENDS
    assert len(rows) >= 6
    for step, *cells in rows:
        assert len(cells) == len(BACK_ENDS) - 1, step
        for cell in cells:
            links = LINK.findall(cell)
            assert links or cell in WITHOUT_TEST, (step, cell)
            the_tests_exist(links)


def the_tests_exist(links: list[tuple[str, str]]) -> None:
    """A link has the words of the test's name."""
    for words, file in links:
        function = f"def test_{re.sub(r'[^a-z0-9]', '_', words)}("
        assert function in (PAGE.parents[1] / file).read_text("utf-8"), (function, file)
