"""Shows a running topology: a live table on a terminal, plain lines anywhere else."""

import sys
import time
from typing import Any, Protocol

from heron_cli.stats_text import (
    HEADINGS,
    cause_lines,
    component_rows,
    components_text,
    error_lines,
    headline,
)
from heron_core.stats import TopologyStats

PLAIN_EVERY_SECS = 5.0


class Screen(Protocol):
    """Where `run` shows what happens."""

    def show(self, stats: TopologyStats, elapsed_secs: float) -> None:
        """The newest numbers."""

    def line(self, text: str) -> None:
        """A line that a component printed."""

    def note(self, text: str) -> None:
        """A line of ours."""

    def close(self) -> None:
        """Nothing more is shown live."""


class PlainScreen:
    """Lines for a file or a pipe: a table every few seconds, components' lines as they come."""

    def __init__(self) -> None:
        self._next = PLAIN_EVERY_SECS

    def show(self, stats: TopologyStats, elapsed_secs: float) -> None:
        """A table when it is time for one."""
        if elapsed_secs >= self._next:
            self._next = elapsed_secs + PLAIN_EVERY_SECS
            lines = (headline(stats, elapsed_secs), components_text(stats), *cause_lines(stats))
            self.note("\n".join(lines))

    def line(self, text: str) -> None:
        """What a component printed goes to our stdout."""
        sys.stdout.write(text)
        sys.stdout.flush()

    def note(self, text: str) -> None:
        """Ours goes to stderr."""
        sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def close(self) -> None:
        """Nothing to undo."""


class LiveScreen:
    """A table that stays at the bottom of the terminal."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console(stderr=True)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._live.start()

    def show(self, stats: TopologyStats, elapsed_secs: float) -> None:
        """Draw the numbers anew."""
        self._live.update(self._table(stats, elapsed_secs), refresh=True)

    def _table(self, stats: TopologyStats, elapsed_secs: float) -> Any:
        from rich.table import Table
        from rich.text import Text

        below = "\n".join((*error_lines(stats), *cause_lines(stats))) or None
        title = headline(stats, elapsed_secs)
        table = Table(title=Text(title), caption=below and Text(below), title_justify="left")
        for heading in HEADINGS:
            table.add_column(heading, justify="left" if heading == HEADINGS[0] else "right")
        for row in component_rows(stats):
            table.add_row(*row)
        return table

    def line(self, text: str) -> None:
        """Above the table."""
        self._console.print(text.rstrip("\n"), markup=False, highlight=False)

    def note(self, text: str) -> None:
        """Above the table as well."""
        self._console.print(text, markup=False, highlight=False, style="dim")

    def close(self) -> None:
        """Take the table away; the summary follows."""
        self._live.stop()


def screen() -> Screen:
    """What suits our stderr."""
    return LiveScreen() if sys.stderr.isatty() else PlainScreen()


class Stopwatch:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self._begun = time.monotonic()

    @property
    def secs(self) -> float:
        """Elapsed seconds."""
        return time.monotonic() - self._begun
