"""What the tables and lines say about back-pressure: cause, who waits, how long, which share."""

from heron_cli.component_table import paused_share
from heron_cli.stats_text import (
    cause_lines,
    dropped_lines,
    headline,
    pause_lines,
)
from heron_core.records import replace
from heron_core.stats import PauseStats, StreamManagerStats, TopologyStats


def paused(
    instance: str, because_of: list[str], secs: float, this_secs: float, share: float
) -> PauseStats:
    """One entry of `paused`."""
    return PauseStats(
        instance=instance,
        causes=tuple(range(len(because_of))),
        because_of=tuple(because_of),
        paused_secs=secs,
        this_pause_secs=this_secs,
        share=share,
    )


STATS = TopologyStats(
    topology="words",
    state="RUNNING",
    epoch=1,
    phase="running",
    drained=False,
    lost=0,
    containers=(1,),
    containers_expected=(1,),
    registered={},
    components={},
    paused={
        3: paused("split[1]", ["count[0]"], 80.0, 9.0, 0.5),
        1: paused("in[0]", ["split[0]", "split[1]"], 4.5, 3.25, 0.25),
        2: paused("split[0]", [], 4.0, 0.0, 0.08),
    },
    stream_managers={
        1: StreamManagerStats(waiting_bytes={}, dropped=1000),
        2: StreamManagerStats(waiting_bytes={}, dropped=234),
    },
    master={},
    errors={},
)


def test_each_paused_instance_has_its_line() -> None:
    """Somebody asks why lines are slow: who waits, for whom, since when, how much of its time."""
    assert pause_lines(STATS) == [
        "in[0] is paused because of split[0], split[1] since 3.2 s, 4.5 s in all (25% of the time)",
        "split[0] was paused, 4.0 s in all (8% of the time)",
        "split[1] is paused because of count[0] since 9.0 s, 1 min 20 s in all (50% of the time)",
    ]


def test_the_live_view_has_a_line_for_each_cause() -> None:
    """Hundred spouts wait for one bolt: one line names it."""
    assert cause_lines(STATS) == [
        "split[0] pauses in[0]: 3.2 s, 25% of the time",
        "split[1] pauses in[0]: 3.2 s, 25% of the time",
        "count[0] pauses split[1]: 9.0 s, 50% of the time",
    ]
    many = {at: paused(f"lines[{at}]", ["slow[0]"], 1.0, 1.0, 0.5) for at in range(100)}
    (line,) = cause_lines(replace(STATS, paused=many))
    assert line.startswith("slow[0] pauses lines[0], lines[1], lines[2], lines[3] and 96 more: ")


def test_the_table_shows_the_most_paused_instance_of_a_component() -> None:
    """One of ten instances gets all of a key: the mean of all would hide that it holds them up."""
    assert paused_share(STATS, "split") == "50%"
    assert paused_share(STATS, "count") == ""
    assert "paused" not in headline(STATS, 1.0)


def test_what_was_dropped_is_told_once() -> None:
    """Mode drop pauses nobody: what it costs has to be seen elsewhere."""
    assert dropped_lines(STATS) == ["1,234 deliveries dropped: their queues were full"]
    assert dropped_lines(replace(STATS, stream_managers={})) == []
