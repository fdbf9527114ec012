"""What the autoscaler does while Linear Road runs."""

import time
from collections.abc import Mapping

from benchmarks.engine_run import EngineRun
from heron_core.errors import HeronError
from heron_core.stats import TopologyStats
from heron_core.topology_events import EventKind
from heron_io.master_client import MasterClient
from heron_io.state_store.file_store import FileStore

NAME = "LinearRoad"
AUTOSCALE: Mapping[str, object] = {
    "topology.autoscale.mode": "on",
    "topology.autoscale.interval.secs": 2,
    "topology.autoscale.window.secs": 10,
    "topology.autoscale.cooldown.secs": 15,
}
"""Sooner than by default: a run takes minutes, not hours."""
KINDS = (EventKind.AUTOSCALE, EventKind.RESCALE)
LOOK_SECONDS = 1.0


class Scaling:
    """The autoscaler of one run: what it has said, and how many instances there are now."""

    def __init__(self, engine: EngineRun) -> None:
        self._engine = engine
        self._said: dict[float, str] = {}
        """Seconds since 1970 -> what and why."""
        self._instances: Mapping[str, int] = {}
        self._look_at = 0.0

    def look(self) -> None:
        """Ask the topology master, if it is time and it is there."""
        now = time.monotonic()
        if now < self._look_at or (stats := self._stats()) is None:
            return
        self._look_at = now + LOOK_SECONDS
        self._instances = {name: each.instances for name, each in stats.components.items()}
        for each in stats.events:
            if each.kind in KINDS:
                self._said[each.at] = f"{each.what}: {each.why}"

    def _stats(self) -> TopologyStats | None:
        try:
            with (
                FileStore(str(self._engine.home / "state")) as store,
                MasterClient(store, NAME) as client,
            ):
                return client.try_stats()
        except HeronError:
            return None

    def lines(self, begin: float) -> tuple[str, ...]:
        """All of it, with the second of the run."""
        said = [f"at {at - begin:.0f} s: {what}" for at, what in sorted(self._said.items())]
        counts = ", ".join(f"{name} {each}" for name, each in self._instances.items())
        return (*said, f"instances: {counts}")
