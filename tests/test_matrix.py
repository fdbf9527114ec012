"""docs/MATRIX.md, and the table of back ends in docs/DEPLOY.md: each "yes" has a link to a test."""

import re
from collections import Counter
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "MATRIX.md"
IDS = {"G": 32, "H": 13, "N": 8, "F": 6, "A": 6, "B": 5, "P": 8, "S": 5, "T": 5}
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


LATE_PARTS = re.compile(r"^cluster-long .*?\n\"", re.MULTILINE | re.DOTALL)
"""The last parts of .ci/run, which a slow machine leaves out."""
FOLDERS = {"python": "", "beam": "tests/extras/beam/", "cluster-long": "", "hosts": "tests/hosts/"}
"""Part of CI -> the folder of its tests, if the part has its own."""


def test_each_capability_has_a_test_in_a_part_of_ci_that_is_reached() -> None:
    """Tests of hosts wait for root and time, and those of extras install packages."""
    root = PAGE.parents[1]
    (late,) = LATE_PARTS.findall((root / ".ci" / "run").read_text("utf-8"))
    parts = {"hosts", *(line.split()[0] for line in late.splitlines() if line[0] != '"')}
    (files,) = re.findall(
        r"^CLUSTER_LONG := .*?\n(.*?)\)$", (root / "Makefile").read_text("utf-8"), re.MULTILINE
    )
    left_out = [f"tests/cluster/{each}" for each in files.split()]
    left_out += [FOLDERS[part] for part in parts if FOLDERS[part]]
    assert len(left_out) >= 4

    def is_reached(file: str) -> bool:
        in_beam = file.startswith(FOLDERS["beam"])
        is_extra = file.startswith("tests/extras/") and not in_beam
        return not is_extra and not file.startswith(tuple(left_out))

    late_ids = [
        name
        for name, here, evidence, _ in ROWS
        if here == "yes" and not any(is_reached(file) for _, file in LINK.findall(evidence))
    ]
    assert not late_ids, late_ids


BACK_ENDS = ["", "this machine", "Spark", "YARN", "Kubernetes", "Aurora's stand-in"]
WITHOUT_TEST = {"not applicable", "not tried", "refused by name"}


def test_each_step_of_each_back_end_says_where_its_test_is() -> None:
    """A cell without a test has one of a few words."""
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


def test_each_example_says_where_its_oracle_is() -> None:
    """Each file or folder has its rows, and each row a test of an engine."""
    root = PAGE.parents[1] / "examples"
    section = PAGE.read_text("utf-8").partition("## Examples\n")[2]
    _, _, *lines = [line for line in section.splitlines() if line.startswith("|")]
    named: set[str] = set()
    for line in lines:
        names, *cells = [cell.strip() for cell in line.split("|")[1:-1]]
        named |= {name.strip() for name in names.partition(":")[0].split(",")}
        assert len(cells) == 3, names
        links = [LINK.findall(cell) for cell in cells]
        assert any(links), names
        for cell, found in zip(cells, links, strict=True):
            assert found or cell in WITHOUT_TEST, (names, cell)
            the_tests_exist(found)
    cases = {each for each in root.glob("use_cases/*.py") if each.stem != "numbered"}
    files = {*root.glob("*.py"), *cases}
    folders = {each for each in root.iterdir() if each.is_dir() and each.name[0] not in "_."}
    expected = {str(each.relative_to(root)) for each in files}
    expected |= {f"{each.name}/" for each in folders if each.name != "use_cases"}
    assert named == expected


def the_tests_exist(links: list[tuple[str, str]]) -> None:
    """A link has the words of the test's name."""
    for words, file in links:
        function = f"def test_{re.sub(r'[^a-z0-9]', '_', words)}("
        assert function in (PAGE.parents[1] / file).read_text("utf-8"), (function, file)
