"""Every block of docs/WINDOWS.md is a file that does what the page says."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from heron_core.config import spelling
from heronpy_compat.testing import TopologyTester

PAGE = (Path(__file__).parents[3] / "docs" / "WINDOWS.md").read_text("utf-8")
BLOCKS = dict(re.findall(r"```python\n(?=# (\w+)\.py\n)(.*?)```", PAGE, re.DOTALL))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_imports: None) -> Iterator[Path]:
    for name, block in BLOCKS.items():
        (tmp_path / f"{name}.py").write_text(block)
        sys.modules.pop(name, None)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in BLOCKS:
        sys.modules.pop(name, None)


def test_clicks_are_counted_as_the_page_prints_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with TopologyTester(str(folder / "click_counts.py")) as tester:
        tester.run_spouts()
        tester.finish()
    printed = capsys.readouterr().out.splitlines()
    assert printed == re.findall(r"^    ((?:default|late) .*)$", PAGE, re.MULTILINE)


def test_storms_windows(folder: Path) -> None:
    with TopologyTester(str(folder / "click_rates.py")) as tester:
        tester.run_spouts(6)
        tester.advance(1)
        shown = tester.values("rate")
        assert shown[0] == [10_000, 1, 1]
        assert sum(new for _, _, new in shown) == 5  # the watermark is at 195 s
        tester.finish()
        assert sum(new for _, _, new in tester.values("rate")) == 6


def test_the_streamlets_of_the_page(folder: Path) -> None:
    with TopologyTester(str(folder / "timed_streamlets.py")) as tester:
        tester.run_spouts()
        tester.finish()
        assert [count for ((_, count),) in tester.values("eventwindow-1", "output")] == [2, 1, 1]
        assert tester.values("intervaljoin-1", "output") == [[("tea", 3000)]]
        pairs = [pair for ((_, pair),) in tester.values("windowjoin-1", "output")]
        assert len(pairs) == 4
        assert (("tea", 61_000), None) in pairs


def test_ads_that_nobody_clicks_any_more(folder: Path) -> None:
    with TopologyTester(str(folder / "inactive.py")) as tester:
        tester.run_spouts()
        assert tester.values("inactive") == [["shoes", 50_000], ["tea", 200_000]]


def test_every_key_of_the_page_is_one_that_is_read() -> None:
    named = set(re.findall(r"`(topology\.bolts\.[a-z.]+)`", PAGE))
    assert named <= spelling.READ_HERE
    assert len(named) > 10
