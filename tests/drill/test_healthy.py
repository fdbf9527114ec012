"""Healthy topologies have no problem: idle, ended, slow to start, long windows; rescaled, paused,
restarted, restored, other code."""

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from heron_tracker.model.silence import SILENT_SECS
from tests.drill.drilled_topology import DrilledTopology, Observers, kill_all
from tests.drill.trouble import Trouble
from tests.process.process_support import TOPOLOGIES, Place, Running, until

pytestmark = pytest.mark.skipif(
    os.environ.get("HERONPY_DRILL") != "1", reason="it takes minutes: make test-drill"
)

AT_ONCE = 4
"""Submits at a time: two cores start so many topologies within the limit of a submit."""
WATCHED_SECS = 35.0
"""Above all limits except the minute of a silent spout, tested by unit tests."""
OF_SILENCE = ("has emitted nothing for", "alert HeronSpoutSilent")
"""Texts about a silent spout: right for the idle topology once SILENT_SECS have passed. The
operations of the others take so long on a busy machine."""
PATIENT = "HeronMasterSilent"
"""This rule fires after a minute without a master, a start takes seconds; the drill's Prometheus
does not wait."""
OPERATIONS_SECS = 150.0
"""Of all operations, on a busy machine."""

Words = tuple[object, ...]
"""Of a command; the topology's name follows the first word."""
Operation = Callable[[DrilledTopology], Words]


def command(*words: object) -> Operation:
    """The same words for each run."""
    return lambda drilled: words


def restore(drilled: DrilledTopology) -> Words:
    """Restore the second newest checkpoint."""

    def older() -> int:
        stats = drilled.master.stats()
        found = 0 if stats is None or stats.checkpoints is None else stats.checkpoints.completed
        return max(0, found - 1)

    return ("restore", "--checkpoint", until(older, "two checkpoints"))


def other_code(drilled: DrilledTopology) -> Words:
    """The sink saves another number."""
    text = (TOPOLOGIES / "drilled.py").read_text("utf-8")
    changed = text.replace('self.state.put("count", 1)', 'self.state.put("count", 2)')
    assert changed != text
    (folder := drilled.runs.path / "changed").mkdir(exist_ok=True)
    (folder / "drilled.py").write_text(changed, "utf-8")
    return ("update", "--code", folder / "drilled.py")


@dataclass(frozen=True, slots=True)
class Healthy:
    """A topology and the operations of a user."""

    name: str
    topology: str
    """A class of tests/process/topologies/drilled.py."""
    operations: tuple[Operation, ...] = ()
    is_idle: bool = False
    options: tuple[str, ...] = ()


HEALTHY = (
    Healthy("rescaled", "Plain", (command("update", "--component-parallelism", "sink:3"),)),
    Healthy("slow-start", "SlowStart"),
    Healthy("long-windows", "LongWindows"),
    Healthy("batches", "TickBatches"),
    Healthy("ending", "Ending"),
    Healthy("idle", "Idle", is_idle=True),
    Healthy("paused", "Plain", (command("deactivate"), command("activate"), command("restart"))),
    Healthy(
        "restored",
        "Saving",
        (command("checkpoint"), restore, other_code),
        options=("topology.checkpoint.retained=50",),
        # One each second: the older one is still there for a slow command.
    ),
)


class Watch:
    """All problems and alerts of some topologies while a test waits. `idle`: a name among them."""

    def __init__(
        self, topologies: list[DrilledTopology], observers: Observers, idle: str = ""
    ) -> None:
        self._topologies, self._observers, self._idle = topologies, observers, idle
        self.wrong: dict[str, float] = {}
        """Sentence -> seconds from the begin to its first appearance."""
        self._began = time.monotonic()

    def look(self) -> None:
        """One look."""
        now = time.monotonic() - self._began
        for each in self._topologies:
            for sentence in each.found():
                self._note(each.name, sentence, now)
        names = {each.name for each in self._topologies}
        for alert in self._observers.alerts():
            if alert.get("topology") in names and alert["alertname"] != PATIENT:
                self._note(alert["topology"], f"alert {alert['alertname']}", now)

    def _note(self, name: str, sentence: str, now: float) -> None:
        is_silence = any(text in sentence for text in OF_SILENCE)
        if not (name == self._idle and is_silence and now >= SILENT_SECS):
            self.wrong.setdefault(f"{name}: {sentence}", now)

    def until_ended(self, commands: list[Running]) -> None:
        """Look until all commands have ended well."""
        until(lambda: self._has_ended(commands), "the commands end", OPERATIONS_SECS)
        for each in commands:
            each.wait().succeeded()

    def _has_ended(self, commands: list[Running]) -> bool:
        self.look()
        return all(each.process.poll() is not None for each in commands)

    def for_secs(self, secs: float) -> None:
        """Look for so long."""
        began = time.monotonic()

        def is_over() -> bool:
            self.look()
            return time.monotonic() - began > secs

        until(is_over, "the end of the watch", secs + OPERATIONS_SECS)


def drilled(row: Healthy, runs: Place, observers: Observers) -> DrilledTopology:
    """Topology of a row; the spout of an idle topology does not emit."""
    trouble = Trouble(
        name=row.name, topology=row.topology, kind="", cause="", remedy="", alert="",
        options=row.options,
    )  # fmt: skip
    topology = DrilledTopology(runs, trouble, observers)
    if row.is_idle:
        trouble.make(topology)
    return topology


@pytest.mark.timeout(600)
def test_healthy_topologies_raise_nothing_while_they_are_watched(
    runs: Place, observers: Observers
) -> None:
    topologies = {row: drilled(row, runs, observers) for row in HEALTHY}
    idle = next(topology.name for row, topology in topologies.items() if row.is_idle)
    watch = Watch(list(topologies.values()), observers, idle)
    with ExitStack() as ends:
        ends.callback(kill_all, list(topologies.values()))
        every = list(topologies.values())
        for first in range(0, len(every), AT_ONCE):
            watch.until_ended([each.submit() for each in every[first : first + AT_ONCE]])
        for step in range(max(len(row.operations) for row in HEALTHY)):
            begun = []
            for row, topology in topologies.items():
                if step < len(row.operations):
                    name, *rest = row.operations[step](topology)
                    begun.append(runs.start(name, topology.name, *rest))
            watch.until_ended(begun)
        watch.for_secs(WATCHED_SECS)
    assert not watch.wrong, "\n".join(f"{at:.1f} s: {text}" for text, at in watch.wrong.items())
