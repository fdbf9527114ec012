"""Storm's JoinBolt as docs/PORTING.md writes it: rows of a window that have one key."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heron_api.topology import TopologyBuilder
from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.testing import TopologyTester
from heronpy_compat.windows import Tumbling

PAGE = (Path(__file__).parents[3] / "docs" / "PORTING.md").read_text("utf-8")
PORTED = re.findall(r"```python\n(# ported_join\.py\n.*?)```", PAGE, re.DOTALL)
MODES = ("ATMOST_ONCE", "ATLEAST_ONCE", "EFFECTIVELY_ONCE")
INNER = [[1, "male", 21], [1, "male", 22], [3, "male", 23]]


@pytest.mark.usefixtures("fresh_imports")
@pytest.mark.parametrize("mode", MODES)
def test_a_bolt_joins_two_streams_by_their_key_in_each_window(tmp_path: Path, mode: str) -> None:
    (block,) = PORTED
    (tmp_path / "ported_join.py").write_text(block)
    config = {"topology.reliability.mode": mode}
    with TopologyTester(str(tmp_path / "ported_join.py"), config=config) as tester:
        tester.run_spouts()
        tester.finish()
        assert sorted(tester.values("joiner")) == INNER


@pytest.mark.usefixtures("fresh_imports")
def test_a_left_join_has_the_rows_without_a_match(tmp_path: Path) -> None:
    (block,) = PORTED
    left = block.replace("in matches:", "in matches or [None]:").replace(
        'match["age"]], anchors=[tup, match]', 'match and match["age"]], anchors=[tup]'
    )
    (tmp_path / "ported_join.py").write_text(left)
    with TopologyTester(str(tmp_path / "ported_join.py")) as tester:
        tester.run_spouts()
        tester.finish()
        assert sorted(tester.values("joiner")) == [*INNER[:2], [2, "female", None], INNER[2]]


def at_the_same_time(rows: list[Any]) -> Any:
    """A supplier of rows, then the end."""
    found: Iterator[Any] = iter(rows)
    return lambda: next(found)


def test_streamlets_join_three_streams_one_after_the_other() -> None:
    """A first join's results have the end of its window as their time for the second one."""
    builder, topology = Builder(), TopologyBuilder("Three")
    genders, ages, towns = (
        builder.new_source(at_the_same_time(rows)).with_event_time(lambda row: row[-1])
        for rows in (
            [(1, "male", 1000), (2, "female", 2000), (1, "other", 11_000)],
            [(1, 21, 3000), (2, 22, 4000), (1, 31, 12_000)],
            [(1, "Pune", 5000), (2, "Lima", 19_000)],
        )
    )
    by_id = [each.key_by(lambda row: row[0]) for each in (genders, ages, towns)]
    both = by_id[0].window_join(by_id[1], Tumbling(10_000), lambda one, other: (*one[:2], other[1]))
    timed = both.with_event_time(lambda result: int(result[0].window.end_time * 1000) - 1)
    timed.key_by(lambda result: result[1][0]).window_join(
        by_id[2], Tumbling(10_000), lambda result, town: (*result[1], town[1])
    ).consume(print)
    topology.set_config({"topology.streamlet.fusion": False})
    builder.build(topology)
    with TopologyTester(topology) as tester:
        tester.run_spouts()
        tester.finish()
        rows = [each[0][1] for each in tester.values("windowjoin-2", "output")]
        assert rows == [(1, "male", 21, "Pune")]
