"""Every block of docs/GUIDE.md is a file with the behaviour of its section."""

import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from heron_frontends.loading.load import load
from heron_frontends.loading.load_request import LoadRequest
from heronpy_compat.testing import TopologyTester

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "GUIDE.md").read_text("utf-8")
BLOCKS = {
    name: block
    for block in re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    for name in re.findall(r"\A# (\w+)\.py\n", block)
}
"""Name of a module -> its text."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The files of the page; their modules are gone for later tests."""
    for name, block in BLOCKS.items():
        (tmp_path / f"{name}.py").write_text(block)
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield tmp_path
    for name in BLOCKS:
        sys.modules.pop(name, None)


Check = Callable[[TopologyTester, Callable[[], list[str]]], Callable[[], None] | None]
CHECKS: dict[str, Check] = {}
"""Name of a module -> the promise of its section."""


def checks(name: str) -> Callable[[Check], Check]:
    """The function checks the named block, given the tester and the output since the last request.
    Its result is called at the topology's end."""

    def add(check: Check) -> Check:
        CHECKS[name] = check
        return check

    return add


def run_to_its_end(tester: TopologyTester) -> None:
    """All input of the spouts, then on_finish."""
    tester.run_spouts()
    tester.finish()


@checks("words")
def words_are_counted(tester: TopologyTester, printed: Callable[[], list[str]]) -> None:
    run_to_its_end(tester)
    assert sorted(printed()) == ["2026 1", "heron 1", "storm 2"]


@checks("by_length")
def words_of_equal_length_meet(tester: TopologyTester, printed: Callable[[], list[str]]) -> None:
    run_to_its_end(tester)
    assert [sorted(bolt.counts) for bolt in tester.component("count")] == [
        ["2026"],
        ["heron", "storm"],
    ]


@checks("streams")
def two_streams_have_a_bolt_each(tester: TopologyTester, printed: Callable[[], list[str]]) -> None:
    tester.run_spouts()
    assert sorted(printed()) == [
        "sort default heron",
        "sort default storm",
        "sort default storm",
        "sort numbers 2026",
    ]
    assert [each.values for each in tester.received("numbers")] == [[2026]]


@checks("paced")
def ten_tuples_a_second(tester: TopologyTester, printed: Callable[[], list[str]]) -> None:
    for _ in range(50):
        tester.run_spouts(calls=5)
        tester.advance(0.02)
    assert 9 <= len(printed()) <= 11


@checks("replay")
def a_failed_line_is_replayed(tester: TopologyTester, printed: Callable[[], list[str]]) -> None:
    run_to_its_end(tester)
    assert len(tester.failed("lines")) == 1
    assert sorted(printed()) == ["processed: storm 2026", "processed: storm heron"]


@checks("top")
def what_on_finish_emits_is_processed(
    tester: TopologyTester, printed: Callable[[], list[str]]
) -> None:
    run_to_its_end(tester)
    assert printed() == ["storm 2"]


@checks("ticks")
def counts_come_each_minute(tester: TopologyTester, printed: Callable[[], list[str]]) -> None:
    tester.run_spouts()
    assert tester.values("count") == []
    tester.advance(61)
    assert sorted(tester.values("count")) == [["2026", 1], ["heron", 1], ["storm", 2]]
    tester.finish()
    assert printed() == [], "counts start from scratch"


@checks("windows")
def a_window_has_what_arrived(tester: TopologyTester, printed: Callable[[], list[str]]) -> None:
    tester.run_spouts(2)
    tester.advance(39)
    windows = tester.values("busiest")
    assert len(windows) == 3, "one every ten seconds"
    assert windows[0] == ["storm", 2]
    tester.run_spouts()
    assert tester.values("busiest") == [["storm", 2]] * 6, "all are complete at the end"
    tester.advance(60)
    assert len(tester.values("busiest")) == 6, "the words are too old"


@checks("letters")
def states_are_by_key(tester: TopologyTester, printed: Callable[[], list[str]]) -> None:
    run_to_its_end(tester)
    assert sorted(printed()) == ["2026 1 2026", "heron 1 heron", "storm 2 storm"]


@checks("metrics")
def long_words_are_counted(tester: TopologyTester, printed: Callable[[], list[str]]) -> None:
    tester.run_spouts()
    assert tester.metrics("split")["user"] == {"long_words": 3}


@checks("hooks")
def a_hook_sees_each_call(
    tester: TopologyTester, printed: Callable[[], list[str]]
) -> Callable[[], None]:
    tester.run_spouts()

    def when_it_has_ended() -> None:
        assert [line.partition(",")[0] for line in printed()] == ["2 calls"]

    return when_it_has_ended


@checks("streamlets")
def words_are_counted_in_a_window(tester: TopologyTester, printed: Callable[[], list[str]]) -> None:
    tester.run_spouts()
    tester.advance(11)
    counts = [count for ((_, count),) in tester.values("reducebykeyandwindow-1")]
    assert sorted(counts) == [1, 1, 2]


@checks("running")
def each_word_gives_its_count_so_far(
    tester: TopologyTester, printed: Callable[[], list[str]]
) -> None:
    tester.run_spouts()
    assert [each[0] for each in tester.values("sum-1", "output")] == [
        ("storm", 1),
        ("heron", 1),
        ("storm", 2),
        ("2026", 1),
    ]


@checks("totals")
def totals_are_kept(tester: TopologyTester, printed: Callable[[], list[str]]) -> None:
    run_to_its_end(tester)
    assert printed() == [f"{key} {sum(range(key, 1000, 3))}" for key in range(3)]


@checks("clicks")
def clicks_are_counted_by_page(tester: TopologyTester, printed: Callable[[], list[str]]) -> None:
    run_to_its_end(tester)
    assert sorted(tester.values("total")) == [["help", 1], ["home", 1], ["home", 2]]


@checks("pages")
def each_page_is_printed(tester: TopologyTester, printed: Callable[[], list[str]]) -> None:
    run_to_its_end(tester)
    assert printed() == ["Home", "Help", "Home"]


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_of_the_guide_does_what_its_section_says(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def printed() -> list[str]:
        return capsys.readouterr().out.splitlines()

    with TopologyTester(str(folder / f"{name}.py")) as tester:
        at_the_end = CHECKS[name](tester, printed)
    if at_the_end is not None:
        at_the_end()


def test_each_block_is_checked_and_each_section_can_be_reached() -> None:
    assert BLOCKS.keys() == CHECKS.keys()
    assert GUIDE.count("```python") == len(BLOCKS)
    sections = re.findall(r"^## (.*)$", GUIDE, re.MULTILINE)
    contents = " ".join(GUIDE.partition("\n## ")[0].split())
    assert [text for text, _ in re.findall(r"\[(.*?)\]\(#(.*?)\)", contents)] == sections


def test_the_files_of_the_connectors_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first file reads and writes a table, the next copies a file, a further one is only
    loaded, for lack of brokers, the last runs as in tests/extras; and a user's sink passes its
    test."""
    page = (ROOT / "docs" / "CONNECTORS.md").read_text("utf-8")
    files = dict(re.findall(r"```python\n# (\w+)\.py\n(.*?)```", page, re.DOTALL))
    own = {"my_sink", "test_my_sink"}
    loaded = {
        "copy_topic": ["numbers", "sink"],
        "lines_to_delta": ["lines", "table"],
        "lines_to_iceberg": ["lines", "table"],
        "orders_once": ["orders", "written"],
        "orders_to_files": ["changes", "written"],
        "prices_in_avro": ["prices", "copy"],
        "shouting": ["requests", "shout", "results"],
    }
    assert files.keys() == {"late_flights", "copy_lines", *loaded, *own}
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("own").mkdir()
    Path("lines.txt").write_text("one\ntwo\n")
    Path("flights").mkdir()
    Path("flights", "day.csv").write_text("carrier,dep_delay\nUA,2\nAA,45\nDL,\n")
    for name, text in files.items():
        Path(f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
    try:
        with TopologyTester("late_flights.py") as tester:
            run_to_its_end(tester)
        assert pq.read_table("late").to_pylist() == [{"carrier": "AA", "dep_delay": 45}]
        with TopologyTester("copy_lines.py") as tester:
            run_to_its_end(tester)
        assert [each.read_text() for each in Path("copy").glob("part-*")] == ["one\ntwo\n"]
        import_module("test_my_sink").test_it_is_exact(Path("own"))
        assert any(Path("own").iterdir())
        for name, components in loaded.items():
            topology = load(LoadRequest(f"{name}.py"))
            assert [each.name for each in topology.components] == components, name
    finally:
        for name in files:
            sys.modules.pop(name, None)


def test_the_readme_s_topology_is_the_example_and_does_not_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    example = ROOT / "examples" / "endless_words.py"
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert block == example.read_text("utf-8")
    try:
        with TopologyTester(str(example)) as tester:
            for _ in range(100):
                tester.run_spouts(calls=200)
                tester.advance(0.06)
    finally:
        sys.modules.pop("endless_words", None)
    assert sorted(set(capsys.readouterr().out.splitlines())) == sorted(
        f"{word} 100" for word in ("storm", "heron", "stream", "spout", "bolt")
    )
