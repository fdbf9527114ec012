"""What `stats` says of event time: how far the topology is, who is behind, and who is idle."""

from heron_cli.stats_text import clock_lines, minimum_clock_lines
from heron_core.clock_stats import ClockStats, MinimumClockStats
from heron_core.records import replace
from heron_core.stats import TopologyStats
from tests.unit.heron_cli.view_support import COMPONENTS, STATS

SLOW = ClockStats(
    instance="count[0]", task=5, watermark_ms=1_357_016_400_250, complete=False,
    waits_for="lines[1]", waits_for_task=2, silent_secs=12.0, idle=("lines[2]", "lines[3]"),
)  # fmt: skip


def stats(**clocks: ClockStats) -> TopologyStats:
    components = {name: replace(each, clock=clocks.get(name)) for name, each in COMPONENTS.items()}
    return replace(STATS, components=components, clock=next(iter(clocks.values()), None))


def test_the_slowest_clock_names_who_holds_it_back() -> None:
    (line,) = clock_lines(stats(count=SLOW))
    assert line == (
        "event time: 2013-01-01 05:00:00.250; count[0] waits for lines[1], silent for 12 s;"
        " idle and left out: lines[2], lines[3]"
    )
    travelled = TopologyStats.from_json(stats(count=SLOW).to_json())
    assert clock_lines(travelled) == [line]


def test_each_component_has_a_line_if_there_are_several() -> None:
    done = replace(SLOW, complete=True, watermark_ms=None)
    first = replace(SLOW, watermark_ms=None, silent_secs=0.0, idle=())
    two = list(COMPONENTS)[-2:]
    lines = clock_lines(stats(**{two[0]: first, two[1]: done}))
    assert lines[0] == "event time: none yet; count[0] waits for lines[1]"
    assert lines[1:] == [
        f"  {two[0]}: none yet; count[0] waits for lines[1]",
        f"  {two[1]}: complete: all sources have finished",
    ]


def test_what_is_no_time_of_a_calendar_is_a_number() -> None:
    strange = replace(SLOW, watermark_ms=2**62, waits_for=None, idle=())
    assert clock_lines(stats(count=strange)) == [
        f"event time: {2**62} ms; count[0] has the lowest watermark"
    ]
    assert clock_lines(STATS) == []


HELD = MinimumClockStats(
    clock_ms=1_357_016_400_250, behind_secs=12.0, location="trees", holder="count[0]",
    components={"lines": 12.0, "count": 11.0, "split": 1.0},
)  # fmt: skip


def test_the_minimum_clock_names_who_holds_it_and_the_components_behind() -> None:
    assert minimum_clock_lines(replace(STATS, minimum_clock=HELD)) == [
        (
            "minimum clock: 2013-01-01 05:00:00.250; 12 s behind; a tuple that is not acked at"
            " count[0]; lines 12 s, count 11 s"
        )
    ]
    nowhere = replace(HELD, holder="", components={"lines": 12.0})
    assert minimum_clock_lines(replace(STATS, minimum_clock=nowhere)) == [
        (
            "minimum clock: 2013-01-01 05:00:00.250; 12 s behind; a tuple that is not acked, in no"
            " queue"
        )
    ]
    assert minimum_clock_lines(STATS) == []


def test_a_minimum_clock_between_two_reports_is_now() -> None:
    fresh = replace(HELD, behind_secs=1.9, holder="count[0]")
    assert minimum_clock_lines(replace(STATS, minimum_clock=fresh)) == [
        "minimum clock: 2013-01-01 05:00:00.250; nothing in flight is older than 3 s"
    ]
