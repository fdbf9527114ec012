"""Reports each action to the topology master, as an event of the topology.

A master that is away (a crash, a restart) gets the action later; a kill does not wait for the
master, because the outcome of the topology has the user anyway.
"""

import logging
import time
from collections import deque
from collections.abc import Callable

from heron_core.errors import HeronError, StateStoreError
from heron_core.operations import Requester
from heron_core.topology_events import ACTED
from heron_core.typed_json import to_json
from heron_io.master_client import MasterClient, NoAnswer

log = logging.getLogger("operations")

UNSENT_MAX = 100
"""Actions that wait for a master: as many as the events that a master keeps."""
ANSWER_SECS = 0.5
"""For one action: operations wait meanwhile."""
RETRY_SECS = 2.0
"""Between two attempts while the master is away."""


def tell_master(client: MasterClient, what: str, requester: Requester) -> None:
    """Record one action as an event; HeronError if the master is away, or is of an older version
    without the command."""
    client.ask(ACTED, {"what": what, "requester": to_json(requester)}, ANSWER_SECS)


class ActionTrail:
    """The actions on one topology that are not events yet, oldest first."""

    def __init__(self, client: MasterClient, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._unsent: deque[tuple[str, Requester]] = deque()
        self._next_at = float("-inf")

    def add(self, what: str, requester: Requester) -> None:
        """Take an action, and send it if the master answers."""
        if len(self._unsent) >= UNSENT_MAX:
            self._left_out(*self._unsent.popleft(), f"{UNSENT_MAX} newer ones wait for the master")
        self._unsent.append((what, requester))
        self.tell()

    def tell(self) -> None:
        """Send all waiting actions, unless the master was away a moment ago."""
        while self._unsent and self._clock() >= self._next_at:
            what, requester = self._unsent[0]
            try:
                tell_master(self._client, what, requester)
            except (NoAnswer, StateStoreError):
                self._next_at = self._clock() + RETRY_SECS
                return
            except HeronError as error:
                self._left_out(what, requester, str(error))
            self._unsent.popleft()

    def _left_out(self, what: str, requester: Requester, why: str) -> None:
        log.warning("not among the events: %s, asked by %s: %s", what, requester, why)
