"""What a person reads who waits for the end of a finite run."""

from heron_core.ending_text import end_lines
from heron_core.records import replace
from heron_core.stats import TopologyStats
from tests.unit.heron_cli.view_support import STATS, component


def draining(*waiting_for: str, tracked: bool = True) -> TopologyStats:
    """A run whose spouts have finished, and whose windows hold tuples."""
    components = {
        "clicks": component("spout", emitted=20, acked=2, pending=18),
        "counts": component("bolt", executed=20, acked=2, failed=1),
        "show": component("bolt", executed=3, acked=3),
    }
    return replace(
        STATS, phase="draining", waiting_for=waiting_for, components=components, tracked=tracked
    )


def test_a_bolt_that_keeps_tuples_is_named_with_their_number() -> None:
    assert end_lines(draining("counts[0]", "counts[1]")) == [
        "the end waits for counts[0], counts[1] (counts keeps 17 tuples)"
    ]


def test_what_only_works_or_waits_is_named_alone() -> None:
    assert end_lines(draining("show[0]")) == ["the end waits for show[0]"]
    assert end_lines(draining("clicks[0]")) == ["the end waits for clicks[0]"]


def test_where_acks_do_not_count_nothing_is_kept() -> None:
    assert end_lines(draining("counts[0]", tracked=False)) == ["the end waits for counts[0]"]


def test_a_run_that_goes_on_waits_for_no_end() -> None:
    assert end_lines(STATS) == []
    assert end_lines(draining()) == []
