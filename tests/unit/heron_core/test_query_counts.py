"""Each count of live queries has a meaning, in METRICS.md and for whoever reads JSON."""

import msgspec

from heron_core.query_counts import MEANINGS, QueryCounts


def test_each_count_has_a_meaning() -> None:
    assert list(MEANINGS) == list(msgspec.structs.asdict(QueryCounts()))


def test_only_what_has_happened_is_told() -> None:
    assert QueryCounts().by_name() == {}
    assert QueryCounts(asked=3, answered=2, timed_out=1).by_name() == {
        "asked": 3, "answered": 2, "timed_out": 1,
    }  # fmt: skip
