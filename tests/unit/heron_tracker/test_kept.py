"""A bolt that does not ack is named, not the spout that waits; so is memory near its limit."""

from typing import Any

import pytest

from heron_core.records import replace
from heron_core.stats import TopologyStats
from heron_tracker.model.kept import UNSETTLED_SECS
from heron_tracker.model.problems import problems, summary
from tests.unit.heron_tracker.tracker_support import paused, stats

MIB = 1 << 20
WAITS = {"lines": {"pending": 1000, "silent_secs": 75.0}}
READS = {
    "split": {"executed_by_input": {"lines/default": 1000}},
    "count": {"executed_by_input": {"split/default": 1000}},
}


def unacked(bolt: str = "count", secs: float = UNSETTLED_SECS, **given: Any) -> TopologyStats:
    """`bolt` has acked none of 1,000 tuples for so long, and `lines` waits for them."""
    numbers: dict[str, dict[str, Any]] = {**READS, **WAITS}
    numbers[bolt] = {**READS[bolt], "unsettled_tuples": 1000, "unsettled_secs": secs}
    return stats(numbers, **{"tracked": True, **given})


def test_a_bolt_that_does_not_ack_is_named_and_the_silent_spout_says_the_same() -> None:
    first, second = problems(unacked())
    assert first.sentence == (
        "`count` holds 1,000 tuples and has acked none for 10 s, while `lines` waits for acks; call"
        " self.ack(tup) for each tuple, or set auto_ack = True in the class"
    )
    assert first.label == ("unsettled", "count", "does not ack")
    assert second.remedy == "`count` does not ack them"


def test_the_bolt_that_holds_them_is_named_also_in_the_middle() -> None:
    assert [each.component for each in problems(unacked("split"))] == ["split", "lines"]


def test_tuples_that_expire_lead_to_the_bolt() -> None:
    found = unacked()
    lines = replace(found.components["lines"], expired=50, failed=50, silent_secs=1.0)
    _, expired = problems(replace(found, components={**found.components, "lines": lines}))
    assert (expired.cause, expired.remedy) == ("not acked in time", "`count` does not ack them")


@pytest.mark.parametrize(
    "found",
    [
        unacked(secs=UNSETTLED_SECS - 1),
        unacked(tracked=False),
        unacked(stuck={"count[0]": 9.0}),
        unacked(paused={4: paused("count[0]", "count[1]", 1.0)}),
        stats({"count": {"unsettled_tuples": 9, "unsettled_secs": 99.0}}, tracked=True),
    ],
    ids=["not for long", "without acks", "stuck", "held back", "nobody waits"],
)
def test_others_do_not_hold_their_tuples(found: TopologyStats) -> None:
    assert "unsettled" not in [each.kind for each in problems(found)]


def test_memory_near_its_limit_is_named_before_the_instance_is_restarted() -> None:
    limits: dict[str, Any] = {"memory_bytes_max": {"count": 100 * MIB}}
    below = stats(instances={4: {"memory_bytes": 89 * MIB}}, **limits)
    assert "nothing holds it back" in summary(below)
    rows = {4: {"memory_bytes": 95 * MIB}, 2: {"memory_bytes": 999 * MIB}}
    near = stats(instances=rows, **limits)
    assert summary(near) == (
        "`count[0]` uses 95 MiB of its 100 MiB, above which it is restarted; find what it keeps"
        " for each tuple, or raise topology.component.rammap"
    )
