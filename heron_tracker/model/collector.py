"""Threads that read the state store and query masters; requests read their results."""

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from heron_core.records import replace
from heron_tracker.model.core import Tracker
from heron_tracker.model.snapshot import Nodes, TopologySnapshot, snapshot_of
from heron_tracker.model.tracker_problem import TrackerProblem
from heron_tracker.options import TrackerOptions

log = logging.getLogger("tracker")

TICK_SECS = 0.25
"""Interval between checks for due queries."""

Find = Callable[[], list[str]]
ReadSnapshot = Callable[[str], TopologySnapshot]
Clock = Callable[[], float]


class TrackerCollector:
    """Runs a Tracker: `find` lists the topologies, `read` asks about one and may block for as long
    as a master is given; `record` keeps what came."""

    def __init__(
        self,
        options: TrackerOptions,
        find: Find,
        read: ReadSnapshot,
        record: Callable[[TopologySnapshot], None],
        gone: Callable[[str], None],
        clock: Clock = time.monotonic,
        calendar: Clock = time.time,
    ) -> None:
        self._options = options
        self._find, self._read_snapshot, self._record, self._gone = find, read, record, gone
        self._clock, self._calendar = clock, calendar
        self._tracker = Tracker(options)
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._changed = threading.Condition(self._lock)
        self._askers = ThreadPoolExecutor(options.askers, "ask a master")
        self._thread = threading.Thread(target=self._run, name="find topologies", daemon=True)
        self._failure = ""

    def start(self) -> None:
        """Begin, and wait until something is known of each topology, but not for long."""
        self._thread.start()
        with self._changed:
            self._changed.wait_for(
                lambda: self._has_polled and self._tracker.is_complete,
                self._options.first_poll_secs,
            )

    _has_polled = False

    def stop(self) -> None:
        """End; questions that are under way end with their deadline."""
        self._stopped.set()
        self._askers.shutdown(wait=True, cancel_futures=True)
        if self._thread.is_alive():
            self._thread.join()

    def snapshots(self) -> list[TopologySnapshot]:
        """The newest of each topology."""
        with self._lock:
            return self._tracker.snapshots()

    def snapshot(self, name: str) -> TopologySnapshot | None:
        """The newest of one, which counts as looked at from now on."""
        with self._lock:
            self._tracker.watch(name, self._clock())
            return self._tracker.snapshot(name)

    def scraped(self) -> None:
        """Prometheus asks: for a while all masters are asked often enough for alerts."""
        with self._lock:
            self._tracker.scraped(self._clock())

    def problems(self, name: str) -> list[tuple[TrackerProblem, float]]:
        """A topology's trouble, and its start."""
        with self._lock:
            return self._tracker.problems(name)

    def _run(self) -> None:
        poll_at = self._clock()
        while not self._stopped.is_set():
            now = self._clock()
            if now >= poll_at:
                poll_at = now + self._options.find_secs
                self._find_topologies(now)
            self._ask_those_due(now)
            self._stopped.wait(TICK_SECS)

    def _ask_those_due(self, now: float) -> None:
        with self._lock:
            due = self._tracker.due(now)
        for name in due:
            try:
                self._askers.submit(self._ask, name)
            except RuntimeError:  # it was stopped meanwhile
                return

    def _find_topologies(self, now: float) -> None:
        try:
            names = self._find()
        except Exception as error:
            if str(error) != self._failure:
                log.warning("the state store cannot be read: %s", error)
            self._failure = str(error)
            return
        self._failure = ""
        with self._changed:
            gone = self._tracker.found(names, now)
            self._has_polled = True
            self._changed.notify_all()
        for name in gone:
            self._gone(name)

    def _ask(self, name: str) -> None:
        """Whatever happens, the topology does not count as being asked for ever."""
        snapshot = self._polled(name)
        with self._changed:
            self._tracker.answered(snapshot, self._clock(), self._calendar())
            self._changed.notify_all()
        if snapshot.stats is not None:
            try:
                self._record(snapshot)
            except Exception as error:
                log.warning("the numbers of %s are not in the history: %s", name, error)

    def _polled(self, name: str) -> TopologySnapshot:
        """New data of a topology; the previous data if the state store does not answer."""
        try:
            return self._read_snapshot(name)
        except Exception as error:
            log.warning("%s cannot be read: %s", name, error)
            with self._lock:
                known = self._tracker.snapshot(name)
            bare = known or snapshot_of(name, Nodes(), alive=True)
            return replace(bare, stats=None, trouble=f"it cannot be read: {error}")
