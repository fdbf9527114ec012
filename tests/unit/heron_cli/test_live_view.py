"""Output of `heronpy run`, at usual widths of terminals, and into a file."""

import io
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console, Group

from heron_cli.component_table import BAD, PAUSED, WARNING, component_table
from heron_cli.live_view import LiveView, NewEvents, PlainScreen, progress_line, rendered, sparkline
from heron_core.records import replace
from heron_core.stats import TopologyStats
from tests.unit.heron_cli.view_support import COMPONENTS, EVENTS, STATS, component

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Events are shown in local time: everybody's is Greenwich's here."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def shown(stats: TopologyStats, width: int) -> list[str]:
    """The live view at a terminal's width."""
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    console.print(Group(rendered(LiveView().lines(stats, 12.3, width))))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return [line.rstrip() for line in text.rstrip("\n").split("\n")]


@pytest.mark.parametrize("width", [80, 120, 160])
def test_the_view_at_each_width(width: int) -> None:
    """In half a screen, in a wide one: the important columns, whole names, no line too long; below
    the table stuck instances, exceptions, causes of pauses, and events."""
    lines = shown(STATS, width)
    assert lines == (GOLDEN / f"live-view-{width}.txt").read_text("utf-8").splitlines()
    assert all(len(line) <= width for line in lines)


def test_a_run_that_does_not_end_says_what_its_end_waits_for() -> None:
    """Once processing has stopped; until then the end is on its way."""
    idle = {"count": component("bolt", executed=10)}
    stats = replace(STATS, phase="draining", components=idle, paused={}, stuck={})
    line = "the end waits for count[0]"
    assert progress_line(stats, 12.3).endswith(f"0/s  {line}")
    assert line in shown(stats, 80)
    busy = replace(stats, components={"count": component("bolt", executed_per_sec=5.0)})
    assert line not in progress_line(busy, 12.3)
    assert line not in shown(busy, 80)


def test_at_80_columns_a_long_line_ends_in_an_ellipsis() -> None:
    """Events tell much; the table above must stay."""
    *_, crash, stuck = shown(STATS, 80)
    assert [len(crash), len(stuck)] == [80, 80]
    assert [crash[-1], stuck[-1]] == ["…", "…"]


def test_a_quiet_topology_shows_no_columns_of_zeros() -> None:
    """Without failures and waits, columns of both are hidden."""
    quiet = {
        "lines": component("spout", emitted=10, emitted_per_sec=5.0),
        "count": component("bolt", executed=10, executed_per_sec=5.0),
    }
    stats = replace(STATS, components=quiet, paused={}, stuck={})
    assert str(component_table(stats)).split("\n") == [
        "component  inst  exec/s  emit/s  executed  emitted",
        "lines         1               5                 10",
        "count         1       5       0        10        0",
    ]


def test_colours_say_what_fails_is_full_or_paused() -> None:
    """Red, yellow and magenta are seen before any number is read."""

    def style(stats: TopologyStats, row: int, heading: str) -> str:
        (column,) = [x for x in component_table(stats).columns if x.heading == heading]
        return column.cells[row].style

    assert style(STATS, 2, "component") == BAD, "stuck"
    assert style(STATS, 2, "inst") == BAD, "down"
    assert style(STATS, 1, "failed") == BAD
    assert style(STATS, 1, "capacity") == WARNING
    assert style(STATS, 1, "paused") == PAUSED
    assert style(STATS, 0, "component") == ""
    healthy = replace(COMPONENTS["split_sentences_into_words"], failed_for_good=0)
    paused = replace(STATS, components={"split_sentences_into_words": healthy})
    assert style(paused, 0, "component") == PAUSED
    assert style(replace(paused, paused={}), 0, "component") == WARNING


def test_into_a_file_it_is_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    """A night's run with 2> log: events as they come, one line every ten seconds, no escapes."""
    screen = PlainScreen()
    for tenth in range(250):
        screen.show(STATS, tenth / 10)
    told = capsys.readouterr().err
    assert "\x1b" not in told
    events, lines = told.split("\n")[:2], told.rstrip("\n").split("\n")[2:]
    assert ["was killed" in events[0], "is busy" in events[1]] == [True, True]
    assert lines == [progress_line(STATS, 10.0), progress_line(STATS, 20.0)]
    assert lines[0].startswith("words  RUNNING  10 s  1 of 2 containers  13.2M processed  1.12M/s")


def test_a_spout_that_only_raises_says_so_in_a_log_file_too() -> None:
    """`heronpy run > log`: processing stands still, and each line has the reason."""
    trace = "Traceback\n  File\nRuntimeError: emitted 2 values for the 1 fields ['n'] (wrong.py:4)"
    raising = component("spout", errors=8570, callback_errors=8570, last_error=trace)
    line = progress_line(replace(STATS, components={"n": raising}), 10.0)
    assert line.endswith("n: 8,570 errors, last: RuntimeError: emitted 2 values for the 1 fields "
                         "['n'] (wrong.py:4)")  # fmt: skip


def test_an_event_is_new_once() -> None:
    """The master repeats all its events each time."""
    new = NewEvents()
    assert new.of(replace(STATS, events=EVENTS[1:])) == [EVENTS[1]]
    later = replace(EVENTS[0], at=62.0)
    assert new.of(replace(STATS, events=(*EVENTS[1:], later))) == [later]


def test_the_sparkline_has_a_bar_for_each_value() -> None:
    assert sparkline([0, 50, 100, 12]) == "▁▅█▂"
    assert sparkline([0.0, 0.0]) == ""
