"""Updates of a topology while its processes are killed and stopped, and in moments without that."""

import random
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import psutil

from heron_core.stats import TopologyStats
from tests.process.process_support import Master, Place, Running

PARALLELISM_MAX_FACTOR = 2
"""A component gets between one instance and so many times those of its beginning."""
CALM_SECS = 40.0
"""A topology that has not got over the last fault by then is not waited for any longer."""
UPDATE_SECS = 100.0
"""More than an update waits for its containers, its checkpoint and its instances in their turn."""
LOOK_SECS = 0.2
CALM_LOOKS = 5
"""So many looks in a row have to find the same processes."""

_never = threading.Event()


@dataclass(slots=True)
class Rescaled:
    """What came of the updates of one run."""

    done: int = 0
    given_up: int = 0
    """Refused (the last one is under way, the topology ends), or taken back."""
    in_quiet: int = 0
    """Of those that are done: how many were while nobody was harmed."""
    wrong: list[str] = field(default_factory=list)
    """A line for each process that ended though no update concerned it."""
    reasons: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        quiet = f"{self.in_quiet} of them in quiet with all pids kept"
        return f"rescaled {self.done} ({quiet}), given up {self.given_up}"


class Rescales:
    """The updates of one run, all of them drawn from its seed."""

    def __init__(
        self, place: Place, running: Running, name: str, tasks: Mapping[str, int], seed: int
    ) -> None:
        """`tasks`: of the components that may be scaled, at the beginning."""
        self.found = Rescaled()
        self._place = place
        self._running = running
        self._name = name
        self._tasks = tasks
        self._chance = random.Random(f"rescales {seed}")
        self._begun: Running | None = None
        """The newest update, as long as nobody has looked at its end."""

    def begin_one(self) -> bool:
        """Ask for an update and do not wait for it; False if one is under way."""
        if self._begun is not None and self._begun.process.poll() is None:
            return False
        self.wait()
        component = self._chance.choice(sorted(self._tasks))
        most = self._tasks[component] * PARALLELISM_MAX_FACTOR
        words = ("--component-parallelism", f"{component}:{self._chance.randint(1, most)}")
        self._begun = self._place.start("update", self._name, *words)
        return True

    def wait(self) -> bool:
        """Until the update that was begun has ended; whether it is done."""
        begun, self._begun = self._begun, None
        if begun is None:
            return False
        ended = begun.wait(UPDATE_SECS)
        is_done = ended.code == 0
        self.found.done += is_done
        self.found.given_up += not is_done
        self.found.reasons.append((ended.out + ended.err).strip())
        return is_done

    def in_quiet(self, until: float) -> None:
        """One while nobody is harmed, if the topology is calm soon: whom it does not concern stays
        the same process. `until`: when the run is near its end."""
        self.wait()
        before = self._calm(min(until, time.monotonic() + CALM_SECS))
        if before is None or not self.begin_one() or not self.wait():
            return
        self.found.in_quiet += 1
        now = self._pids()
        # Who is scaled away is the only one that may end.
        ended = [title for title, pid in before.items() if now.get(title, pid) != pid]
        self.found.wrong += [f"{title} ended by an update in quiet" for title in ended]

    def _calm(self, until: float) -> dict[str, int] | None:
        """The processes, when they have got over all faults; None if they do not in time."""
        before: dict[str, int] = {}
        looks = 0
        with Master(self._place.store_url, self._name) as master:
            while time.monotonic() < until and self._running.process.poll() is None:
                now, stats = self._pids(), master.stats()
                is_same = now == before and stats is not None and self._is_calm(stats, now)
                looks, before = looks + 1 if is_same else 0, now
                if looks == CALM_LOOKS:
                    return before
                _never.wait(LOOK_SECS)
        return None

    def _is_calm(self, stats: TopologyStats, pids: Mapping[str, int]) -> bool:
        once, update = stats.checkpoints, stats.update
        wanted = sum(each.instances for each in stats.components.values())
        found = sum(" task " in title for title in pids)
        return (
            found == wanted
            and stats.containers == stats.containers_expected
            and any(title.startswith("heron: operations") for title in pids)
            and (once is None or once.released)
            and (update is None or not update.under_way)
        )

    def _pids(self) -> dict[str, int]:
        found = {}
        for each in self._running.processes():
            with suppress(psutil.Error):
                title = " ".join(each.cmdline()).rstrip()
                if title.startswith("heron: "):
                    found[title] = each.pid
        return found
