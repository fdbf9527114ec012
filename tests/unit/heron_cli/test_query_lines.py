"""What `stats` says of live queries."""

from heron_cli.stats_text import query_lines
from heron_core.records import replace
from heron_core.stats import TopologyStats
from tests.unit.heron_cli.view_support import STATS


def test_what_has_become_of_queries_is_a_line() -> None:
    counts = {"asked": 1200, "answered": 1198, "timed_out": 2, "late": 3}
    asked = replace(STATS, live_queries=counts)
    line = "live queries: 1,200, 1,198 answered, 2 timed out, 3 late"
    assert query_lines(asked) == [line]
    travelled = TopologyStats.from_json(asked.to_json())
    assert query_lines(travelled) == [line]
    assert query_lines(replace(STATS, live_queries={"overloaded": 1})) == [
        "live queries: 0, 1 overloaded"
    ]


def test_where_nobody_asks_there_is_none() -> None:
    assert query_lines(STATS) == []
