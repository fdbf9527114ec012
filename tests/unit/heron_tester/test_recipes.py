"""Each program of docs/RECIPES.md and docs/RECIPES_TIME.md prints the lines of the page."""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from heronpy_compat.testing import TopologyTester
from tests.unit.heron_tester.recipes_support import programs, shown, text_of

PAGES = ("RECIPES.md", "RECIPES_TIME.md")
PROGRAMS = programs(PAGES[0]) | programs(PAGES[1])
SHOWN = shown(PAGES[0]) | shown(PAGES[1])
SHARED = "rows"
"""Imported by all programs of the pages."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder with the files of the page; a later test finds none of their modules."""
    monkeypatch.chdir(tmp_path)
    for name, program in PROGRAMS.items():
        (tmp_path / f"{name}.py").write_text(program)
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield tmp_path
    for name in PROGRAMS:
        sys.modules.pop(name, None)


Drive = Callable[[TopologyTester], None]
PREPARED: dict[str, Callable[[], None]] = {}
"""Name of a module -> preparation of its input."""
DRIVEN: dict[str, Drive] = {}
"""Name of a module -> driver of its topology, instead of `to_the_end`."""
IN_ANY_ORDER = {
    "split_by_content",
    "merge_sources",
    "cached_lookup",
    "distinct_visitors",
    "slow_services",
}
"""Modules with lines from several instances or sources."""
WITH_A_FILE = {"keep_late_data": "late"}
"""Name of a module -> folder of its files, with a command in front of their lines on the page."""


def to_the_end(tester: TopologyTester) -> None:
    """All tuples of the spouts, then on_finish."""
    tester.run_spouts()
    tester.finish()


def drives(name: str) -> Callable[[Drive], Drive]:
    """The function drives the topology of the module `name`."""

    def add(drive: Drive) -> Drive:
        DRIVEN[name] = drive
        return drive

    return add


def prepare(name: str, file: str, text: str) -> None:
    """Write the file before the program of the module `name` begins."""

    def write() -> None:
        Path(file).write_text(text)

    PREPARED[name] = write


prepare("daily_report", "orders.txt", "a1\na2\na3\n")
prepare("enrich_by_file", "customers.csv", "id,name\n7,Ada\n8,Grace\n")
prepare("heartbeats", "beats.txt", "web1\n")


@drives("urgent_first")
def jobs_are_done_at_ticks(tester: TopologyTester) -> None:
    tester.run_spouts(8)
    assert tester.values("work") == []
    tester.advance(0.5)
    assert sorted(tester.acked("jobs")) == [0, 1, 2, 3]


@drives("daily_report")
def a_day_passes(tester: TopologyTester) -> None:
    tester.run_spouts(10)
    tester.advance(86_300)
    assert tester.values("report") == []
    assert tester.checkpoint()
    tester.crash("report")
    tester.advance(200)


@drives("heartbeats")
def half_a_minute_passes(tester: TopologyTester) -> None:
    tester.run_spouts(3)
    tester.advance(29)
    assert tester.values("watch") == [["web1", "up"]]
    tester.advance(40)


WITH_SKETCHES = ("estimated_visitors", "slow_services", "heavy_hitters")


@pytest.mark.parametrize("name", [each for each in PROGRAMS if each != SHARED])
def test_a_recipe_prints_what_the_page_shows(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if name in WITH_SKETCHES:
        pytest.importorskip("datasketches")
    PREPARED.get(name, lambda: None)()
    with TopologyTester(str(folder / f"{name}.py")) as tester:
        DRIVEN.get(name, to_the_end)(tester)
    printed = capsys.readouterr().out.splitlines()
    expected = SHOWN[name][0 if name in WITH_A_FILE else -1]
    if name in IN_ANY_ORDER:
        printed.sort()
        expected.sort()
    assert printed == expected
    if name in WITH_A_FILE:
        (file,) = Path(WITH_A_FILE[name]).glob("part-*")
        assert file.read_text().splitlines() == SHOWN[name][1][1:]


@pytest.mark.parametrize("name", PAGES)
def test_each_section_can_be_reached(name: str) -> None:
    page = text_of(name)
    sections = re.findall(r"^## (.*)$", page, re.MULTILINE)
    contents = " ".join(page.partition("\n## ")[0].split())
    assert [text for text, _ in re.findall(r"\[([^]]*)\]\(#(.*?)\)", contents)] == sections
    assert page.count("```python") == len(programs(name)) == len(sections)
