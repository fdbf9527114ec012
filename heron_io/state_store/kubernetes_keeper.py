"""Thread of a store: renews the session, notices outages, and polls other sessions.

The thread starts with the first need for it: a reading command has no thread.
"""

import logging
import os
import socket
import threading
from collections.abc import Callable

from heron_core.errors import HeronError
from heron_io.kubernetes.client import ApiClient
from heron_io.state_store.kubernetes_session import RENEWALS, Leases
from heron_io.state_store.protocol import CONNECTED, LOST, SUSPENDED, SessionListener

PROBED = "/version"
"""Path requested when there is nothing to renew, without data."""

_log = logging.getLogger(__name__)


class SessionKeeper:
    """The session of one store."""

    def __init__(self, client: ApiClient, leases: Leases) -> None:
        self._client = client
        self._leases = leases
        self._closed = threading.Event()
        self._mutex = threading.Lock()
        self._listeners: list[SessionListener] = []
        self._pollers: list[Callable[[], None]] = []
        self._state = CONNECTED
        self._session: tuple[str, str] | None = None
        self._thread: threading.Thread | None = None

    @property
    def session(self) -> str:
        """The name of our session; empty without a session."""
        return "" if self._session is None else self._session[0]

    def begun(self) -> tuple[str, str]:
        """Name and uid of our session, which is begun by the first call."""
        with self._mutex:
            if self._session is None:
                self._leases.sweep()
                self._session = self._leases.begin(f"{socket.gethostname()} pid {os.getpid()}")
                self._start()
            return self._session

    def listen(self, listener: SessionListener) -> None:
        """Call the listener with the state now and after each change."""
        with self._mutex:
            self._listeners.append(listener)
            listener(self._state)
            self._start()

    def poll(self, poller: Callable[[], None]) -> None:
        """Call the poller while the API server answers, several times in the life of a session."""
        with self._mutex:
            self._pollers.append(poller)
            self._start()

    def close(self) -> None:
        """End the session."""
        self._closed.set()
        with self._mutex:
            session = self.session
        if session:
            try:
                self._leases.end(session)
            except HeronError as error:  # it ends by itself
                _log.warning("the session %s is left to end: %s", session, error)

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="session", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        period_secs = self._leases.session_secs / RENEWALS
        while not self._closed.wait(period_secs):
            try:
                self._renew()
                for poller in list(self._pollers):
                    poller()
            except HeronError as error:
                self._enter(SUSPENDED, error)

    def _renew(self) -> None:
        session = self.session
        if not session:
            if self._listeners:
                self._client.get(PROBED)
        elif not self._leases.renew(session):
            self._session = None
            self._enter(LOST)
        self._enter(CONNECTED)

    def _enter(self, state: str, reason: object = "") -> None:
        if state == self._state or self._closed.is_set():
            return
        with self._mutex:
            self._state = state
            _log.debug("the session is %s %s", state, reason)
            for listener in self._listeners:
                try:
                    listener(state)
                except Exception:
                    _log.exception("a session listener failed at %s", state)
