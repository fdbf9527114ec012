"""Searches for the topology master in the state store, in a separate thread.

A state store may be unavailable or slow for any time while data flows, so the stream manager's
loop never reads the store. The loop requests a search, and receives the result when available.
"""

import logging
import queue
import threading
import time
from typing import Any

from heron_core.ended_topology import over_text
from heron_core.errors import HeronError
from heron_core.state_tree import execution_path, master_path
from heron_io.known_master import KnownMaster
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import CONNECTED, StateStore
from heron_io.waker import Waker

log = logging.getLogger("stream_manager")

RETRY_SECS = 0.05
"""Between two polls: only while there is no master, or a broken connection."""
PATIENCE_SECS = 1.0
"""Without an answer for so long the master is taken to be where it was last."""


class MasterLookup:
    """One search at a time."""

    def __init__(self, store_url: str, topology: str, known: KnownMaster) -> None:
        self._store_url = store_url
        self._store: StateStore | None = None
        self._session = CONNECTED
        self._topology = topology
        self._path = master_path(topology)
        self._known = known
        self._questions: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        self.waker = Waker()
        """Readable when a result is available."""
        self._number = 0
        """Number of the current search; results of other searches are outdated."""
        self._is_asked = False
        self._ask_at = 0.0
        self._recall_at = 0.0
        self._thread: threading.Thread | None = None
        self.over = ""
        """Why there is no master any more: the topology is over."""

    def node(self, now: float) -> Any | None:
        """The master's node, if available or timed out; else None."""
        self.waker.clear()
        while not self._answers.empty():
            number, node = self._answers.get()
            if number == self._number and self._is_asked:
                self._is_asked = False
                self._ask_at = now + RETRY_SECS
                return node
        if not self._is_asked and now >= self._ask_at:
            self._ask(now)
        elif self._is_asked and now >= self._recall_at:
            self._recall_at = now + RETRY_SECS
            return self._known.recall()
        return None

    def forget(self) -> None:
        """A connection exists: results of the current search are outdated."""
        self._is_asked = False
        self._number += 1

    def _ask(self, now: float) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="master lookup", daemon=True)
            self._thread.start()
        self._number += 1
        self._is_asked, self._recall_at = True, now + PATIENCE_SECS
        self._questions.put(self._number)

    def close(self) -> None:
        """End the thread when the state store permits, without waiting."""
        self._questions.put(None)

    # --- in the thread ------------------------------------------------------------------------

    def _run(self) -> None:
        while (number := self._newest_question()) is not None:
            self._answers.put((number, self._read()))
            self.waker.wake()
        if self._store is not None:
            self._store.close()

    def _newest_question(self) -> int | None:
        number = self._questions.get()
        while number is not None and not self._questions.empty():
            number = self._questions.get()
        return number

    def _read(self) -> Any | None:
        """Without a state store to ask, the master is where it was last: data goes on."""
        try:
            if self._store is None:
                self._store = open_store(self._store_url)
                self._store.on_session(self._session_changed)
            if self._session == CONNECTED:
                node = self._store.get(self._path)
                if node is not None:
                    self._known.remember(node)
                else:
                    state = self._store.get(execution_path(self._topology))
                    self.over = over_text(self._topology, state or {}, time.time())
                return node
        except HeronError as error:
            log.warning("cannot look for the topology master: %s", error)
        return self._known.recall()

    def _session_changed(self, state: str) -> None:
        """From a thread of the state store."""
        self._session = state
