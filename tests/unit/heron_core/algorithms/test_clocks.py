"""Event-time clocks: what an instance says of its own, and which of many is the slowest."""

from typing import Any

import pytest

from heron_core.algorithms.clock_state import IDLE_MAX, clock_state, is_clock_state
from heron_core.algorithms.clocks import clock_stats, slowest
from heron_core.algorithms.event_windows.values import END_OF_TIME, NO_WATERMARK
from heron_core.algorithms.event_windows.watermarks import WatermarkGenerator
from heron_core.plans import ContainerPlan, InstancePlan, PackingPlan, Resource
from heron_core.wire import message_codec, messages

NOTHING = Resource(0.0, 0, 0)
NAMES = ("clicks", "clicks", "counts", "counts")
PACKING = PackingPlan(
    "t",
    (
        ContainerPlan(
            1,
            tuple(InstancePlan(at + 1, name, at % 2, NOTHING) for at, name in enumerate(NAMES)),
            NOTHING,
        ),
    ),
)


def clock(task: int, state: Any) -> Any:
    return clock_stats(PACKING, task, state)


def test_who_holds_the_clock_back_and_who_is_idle() -> None:
    generator = WatermarkGenerator([("clicks", 1), ("clicks", 2)], 5, 1000, 0)
    generator.seen(("clicks", 1), 100, 10)
    generator.seen(("clicks", 2), 50, 10)
    generator.advance(200)
    found = clock(3, generator.statistics(510))
    assert (found.instance, found.watermark_ms) == ("counts[0]", 45)
    assert (found.waits_for, found.waits_for_task, found.silent_secs) == ("clicks[1]", 2, 0.5)
    assert not found.idle
    generator.seen(("clicks", 1), 101, 900)
    generator.advance(1200)
    found = clock(3, generator.statistics(1200))
    assert (found.waits_for, found.idle, found.watermark_ms) == ("clicks[0]", ("clicks[1]",), 96)


def test_a_clock_whose_sources_have_finished_is_complete() -> None:
    generator = WatermarkGenerator([("clicks", 1)], 0, None, 0)
    assert clock(3, generator.statistics(7)).watermark_ms is None
    generator.received(("clicks", 1), END_OF_TIME, 7)
    found = clock(3, generator.statistics(7))
    assert (found.complete, found.watermark_ms, found.waits_for) == (True, None, None)
    assert generator.has_ended
    generator.seen(("clicks", 1), 3, 8)
    assert not generator.has_ended


def test_the_slowest_of_many() -> None:
    ahead, behind, none, done = (
        clock(task, clock_state(at, ("clicks", "default"), 0, ()))
        for task, at in ((1, 70), (2, 60), (3, NO_WATERMARK), (4, END_OF_TIME))
    )
    assert slowest([ahead, None, behind, done]) is behind
    assert slowest([ahead, none]) is none
    assert slowest([None]) is None
    assert ahead.waits_for == "clicks.default"


@pytest.mark.parametrize(
    "wrong",
    [
        7, {}, {"watermark_ms": 1.5},
        {**clock_state(1, ("a", 1), 0, ()), "waits_for": ["a"]},
        {**clock_state(1, ("a", 1), 0, ()), "idle": [["a", None]]},
        {**clock_state(1, ("a", 1), 0, ()), "silent_secs": "long"},
        clock_state(2**63, None, 0, ()),
    ],
)  # fmt: skip
def test_what_is_no_clock(wrong: Any) -> None:
    assert not is_clock_state(wrong)


def test_what_is_one() -> None:
    many = [("a", number) for number in range(100)]
    made = clock_state(-5, ("clicks", 2, ("p", 7)), 1.5, many)
    sent = message_codec.encode(messages.InstanceHeartbeat(3, {"clock": made}))
    arrived = message_codec.decode(sent).metrics["clock"]
    assert is_clock_state(made)
    assert is_clock_state(arrived)
    assert clock(3, arrived).waits_for == "clicks[1] partition ('p', 7)"
    assert len(clock_state(-5, None, 0, many)["idle"]) == IDLE_MAX
    assert is_clock_state(None)
