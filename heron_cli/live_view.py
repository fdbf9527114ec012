"""Shows a running topology: a live table on a terminal, a line now and then anywhere else."""

import sys
import time
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from heron_cli.component_table import BAD, GAP, PLAIN, WARNING, ComponentCell, component_table
from heron_cli.stats_text import (
    cause_lines,
    clock_lines,
    error_lines,
    event_lines,
    headline,
    processed_per_sec,
    start_error_lines,
    stuck_lines,
)
from heron_core.ending_text import end_lines
from heron_core.number_text import short
from heron_core.stats import TopologyStats
from heron_core.topology_events import BAD_KINDS, TopologyEvent

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

PLAIN_EVERY_SECS = 10.0
EVENTS_SHOWN = 5
RATES_SHOWN = 30
"""A quarter of a minute, at two looks a second."""


class Screen(Protocol):
    """Display of events during `run`."""

    @property
    def width(self) -> int | None:
        """Width in characters; None: unlimited."""

    @property
    def shows_all_events(self) -> bool:
        """Whether events stay visible, so that the summary can omit them."""

    def show(self, stats: TopologyStats, elapsed_secs: float) -> None:
        """The newest numbers."""

    def line(self, text: str, is_error: bool = False) -> None:
        """Print a component's line; `is_error`: from stderr or the log."""

    def note(self, text: str) -> None:
        """A line of ours."""

    def alarm(self, text: str) -> None:
        """Print a highlighted line of the command."""

    def close(self) -> None:
        """End the live display."""


class NewEvents:
    """Events not shown yet."""

    def __init__(self) -> None:
        self._seen = float("-inf")

    def of(self, stats: TopologyStats) -> list[TopologyEvent]:
        """Events newer than all returned events."""
        events = [each for each in stats.events if each.at > self._seen]
        self._seen = max([self._seen, *(each.at for each in events)])
        return events


class PlainScreen:
    """Lines for a file or a pipe: how it goes every few seconds, events and components' lines as
    they come; no escape codes."""

    width: int | None = None
    shows_all_events = True

    def __init__(self) -> None:
        self._next = PLAIN_EVERY_SECS
        self._events = NewEvents()

    def show(self, stats: TopologyStats, elapsed_secs: float) -> None:
        """New events, and a status line when due."""
        for line in event_lines(self._events.of(stats), len(stats.events)):
            self.note(line)
        if elapsed_secs >= self._next:
            self._next = elapsed_secs + PLAIN_EVERY_SECS
            self.note(progress_line(stats, elapsed_secs))

    def line(self, text: str, is_error: bool = False) -> None:
        """Components' output goes to stdout or stderr."""
        print(text, file=sys.stderr if is_error else sys.stdout, flush=True)

    def note(self, text: str) -> None:
        """Ours goes to stderr."""
        sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def alarm(self, text: str) -> None:
        """Plain text: a file has no colours."""
        self.note(text)

    def close(self) -> None:
        """Nothing to undo."""


def progress_line(stats: TopologyStats, elapsed_secs: float) -> str:
    """Status in one line: headline, throughput, bottleneck, and errors of user code."""
    words = [headline(stats, elapsed_secs), f"{short(processed_per_sec(stats))}/s"]
    ends = () if processed_per_sec(stats) else end_lines(stats)
    obstacles = (*ends, *stuck_lines(stats), *cause_lines(stats))
    return GAP.join((*words, *obstacles, *error_lines(stats)))


class LiveView:
    """Content of the terminal, as lines of styled cells."""

    def __init__(self) -> None:
        self._rates: deque[float] = deque(maxlen=RATES_SHOWN)

    def lines(
        self, stats: TopologyStats, elapsed_secs: float, width: int | None
    ) -> list[list[ComponentCell]]:
        """The whole view."""
        rate = processed_per_sec(stats)
        self._rates.append(rate)
        title = f"{headline(stats, elapsed_secs)}  {short(rate)}/s"
        width_left = None if width is None else width - len(title) - len(GAP)
        sparks = sparkline(list(self._rates))
        sparks = sparks if width_left is None else sparks[-width_left:] if width_left > 0 else ""
        lines = [
            [
                ComponentCell(title, "bold"),
                *([ComponentCell(GAP + sparks, "cyan")] if sparks else []),
            ]
        ]
        rows = component_table(stats, width).rows()
        lines += [
            [part for each in row for part in (each, ComponentCell(GAP))][:-1] for row in rows
        ]
        lines += [[ComponentCell(text, PLAIN)] for text in clock_lines(stats)[:1]]
        lines += [
            [ComponentCell(text, BAD)] for text in (*stuck_lines(stats), *start_error_lines(stats))
        ]
        lines += [[ComponentCell(text, BAD)] for text in error_lines(stats)]
        obstacles = (*cause_lines(stats), *(() if rate else end_lines(stats)))
        lines += [[ComponentCell(text, WARNING)] for text in obstacles]
        newest = stats.events[-EVENTS_SHOWN:]
        for event, text in zip(newest, event_lines(newest, EVENTS_SHOWN), strict=True):
            lines.append([ComponentCell(text, BAD if event.kind in BAD_KINDS else PLAIN)])
        return lines


def rendered(lines: Sequence[Sequence[ComponentCell]]) -> "RenderableType":
    """Lines as drawn by rich; a line wider than the terminal ends in an ellipsis."""
    from rich.text import Text

    text = Text(no_wrap=True, overflow="ellipsis")
    for number, line in enumerate(lines):
        text.append("\n" if number else "")
        for cell in line:
            text.append(cell.text, cell.style)
    return text


class LiveScreen:
    """A live display at the bottom of the terminal."""

    shows_all_events = False

    def __init__(self, console: "Console | None" = None) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = console or Console(stderr=True)
        self._view = LiveView()
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._live.start()

    @property
    def width(self) -> int | None:
        """Of the terminal now."""
        return int(self._console.width)

    def show(self, stats: TopologyStats, elapsed_secs: float) -> None:
        """Draw the numbers again."""
        lines = self._view.lines(stats, elapsed_secs, self.width)
        self._live.update(rendered(lines), refresh=True)

    def line(self, text: str, is_error: bool = False) -> None:
        """Print above the display, or to stdout without a terminal."""
        if is_error or sys.stdout.isatty():
            self._print(text)
        else:
            print(text, flush=True)

    def note(self, text: str) -> None:
        """Above the view as well."""
        self._print(text, style="dim")

    def alarm(self, text: str) -> None:
        """In colour."""
        self._print(text, style=BAD)

    def _print(self, text: str, **how: Any) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True, **how)

    def close(self) -> None:
        """Take the view away; the summary follows."""
        self._live.stop()


def screen() -> Screen:
    """The display suitable for stderr."""
    return LiveScreen() if sys.stderr.isatty() else PlainScreen()


class Stopwatch:
    """Seconds since the start of the display."""

    def __init__(self) -> None:
        self._begun = time.monotonic()

    @property
    def secs(self) -> float:
        """Elapsed seconds."""
        return time.monotonic() - self._begun


SPARKS = "▁▂▃▄▅▆▇█"


def sparkline(values: list[float]) -> str:
    """A bar for each value, the highest is full; empty without any."""
    highest = max(values, default=0.0)
    if highest <= 0:
        return ""
    last = len(SPARKS) - 1
    return "".join(SPARKS[round(max(0.0, each) / highest * last)] for each in values)
