"""How long data stops when a process is killed (kill -9) while a topology works.

python -m benchmarks.recovery --rounds 3

One spout, four bolts on two containers, 4,000 acked tuples a second. A time is from the kill until
every bolt has processed, and the spout has had acked, a tuple emitted after the kill. For the
master, which is outside of the data path: the longest time between two tuples at any task. Each
round kills each kind four times: the median of the four, and the slowest.
"""

import os
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks import figures
from benchmarks.engine_run import EngineRun
from benchmarks.figures import Column
from benchmarks.measure import BenchmarkError, living_descendants
from benchmarks.titles import title_of
from benchmarks.topologies.recovery import BOLTS, NOTES_KEY, TASKS, Note, notes

KILLS = 4
"""Of each kind in a round, so three rounds are twelve."""
LOOK_SECONDS = 0.001
DYING_SECONDS = 0.01
"""Delay after the kill of the first relevant tuple: a dying process may process one or two tuples
more."""
RECOVERY_SECONDS_MAX = 40.0
"""Longer than the message timeout: what takes longer will never be."""
MASTER_SECONDS = 5.0
"""A stream manager misses its master after 3 s and then looks for the next master."""
STABLE_SECONDS = 11.0
"""A process that ran for ten seconds is started again at once (heron_core.algorithms.backoff)."""
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")

INSTANCE, MANAGER, CONTAINER, MASTER, CALM = (
    "instance", "stream manager", "container", "master", "calm",
)  # fmt: skip


def columns_of(name: str, what: str, at_most: float | None) -> list[Column]:
    """The median and the slowest of a round's kills."""
    return [
        Column(name, what, "s", ".3f", at_most),
        Column(f"{name}, slowest", f"{what}, slowest of {KILLS}", "s", ".3f", at_most),
    ]


COLUMNS = [
    *columns_of(INSTANCE, "bolt killed: data flows again", 0.2),
    *columns_of(MANAGER, "stream manager killed: data flows again", 1.0),
    *columns_of(CONTAINER, "executor and so its container killed: data flows again", 2.0),
    # Data never stops: the remaining gap is the machine's own noise, as in the next row.
    *columns_of(MASTER, "topology master killed: longest gap in the data", 0.2),
    *columns_of(CALM, f"nobody killed for {MASTER_SECONDS:g} s: longest gap in the data", None),
]


class Watched:
    """The running topology and its tasks' notes."""

    def __init__(self, path: str) -> None:
        self._notes = notes(path)

    def wait_for_flow(self, since: float) -> float:
        """Seconds from `since` until all tasks have processed later tuples."""
        deadline = since + RECOVERY_SECONDS_MAX
        late = set(range(TASKS))
        newest = since
        while late:
            if time.monotonic() > deadline:
                raise BenchmarkError(f"{len(late)} tasks did not come back in time")
            for task in sorted(late):
                first = task * len(Note)
                if self._notes[first + Note.EMITTED] > since + DYING_SECONDS:
                    newest = max(newest, self._notes[first + Note.AT])
                    late.discard(task)
            time.sleep(LOOK_SECONDS)
        return newest - since

    def longest_gap(self, seconds: float) -> float:
        """The longest time between two tuples at any task, from now on for some seconds."""
        for task in range(TASKS):
            self._notes[task * len(Note) + Note.GAP] = 0.0
        time.sleep(seconds)
        now = time.monotonic()
        ended = max(self._notes[Note.GAP :: len(Note)])
        return max(ended, *(now - at for at in self._notes[Note.AT :: len(Note)]))


def victim(beginning: str) -> int:
    """The process whose title begins so, once it has run for long enough to count as stable."""
    deadline = time.monotonic() + RECOVERY_SECONDS_MAX
    while time.monotonic() < deadline:
        for pid in living_descendants():
            if title_of(pid).startswith(beginning) and age_seconds(pid) > STABLE_SECONDS:
                return pid
        time.sleep(10 * LOOK_SECONDS)
    raise BenchmarkError(f"no process called {beginning!r}")


def age_seconds(pid: int) -> float:
    """Age of a process; 0 after its end."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / CLOCK_TICKS


def kill(beginning: str) -> float:
    """kill -9; returns when."""
    pid = victim(beginning)
    killed_at = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    return killed_at


def one_round() -> figures.Round:
    """One run with a kill of each kind in turn."""
    with tempfile.NamedTemporaryFile(prefix="heronpy-notes-") as file:
        file.truncate(TASKS * len(Note) * 8)
        watched = Watched(file.name)
        with EngineRun("recovery", {NOTES_KEY: file.name}, until_done=False) as run:
            watched.wait_for_flow(run.started_at)
            found = [measured(watched, number) for number in range(KILLS)]
    values: dict[str, float] = {}
    for name in found[0]:
        of_all = [each[name] for each in found]
        values[name], values[f"{name}, slowest"] = median(of_all), max(of_all)
    return values


def measured(watched: Watched, number: int) -> dict[str, float]:
    """One kill of each kind, of another process each time, then a calm period."""
    container = 1 + number % 2
    steps: dict[str, Callable[[], float]] = {
        CALM: lambda: watched.longest_gap(MASTER_SECONDS),
        INSTANCE: lambda: watched.wait_for_flow(kill(f"heron: keep[{number % BOLTS}]")),
        MASTER: lambda: gap_after_kill(watched, "heron: topology master"),
        MANAGER: lambda: watched.wait_for_flow(kill(f"heron: stream manager {container} ")),
        CONTAINER: lambda: watched.wait_for_flow(kill(f"heron: container {3 - container} ")),
    }
    return {name: step() for name, step in steps.items()}


def gap_after_kill(watched: Watched, beginning: str) -> float:
    """Kill a process outside of the data path, and measure the longest gap in the data."""
    kill(beginning)
    return watched.longest_gap(MASTER_SECONDS)


if __name__ == "__main__":
    figures.run("recovery", __doc__, COLUMNS, one_round)
