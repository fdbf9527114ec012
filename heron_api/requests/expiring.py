"""What a bolt remembers of requests that are under way, for as long as a tuple may take."""

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from heron_core import config as keys

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext

Entry = TypeVar("Entry")
SWEEPS_PER_TIMEOUT = 4


class ExpiringEntries(Generic[Entry]):
    """Entries by the id of their request. One that is older than the message timeout belongs to a
    request that has failed by then (Storm: TimeCacheMap)."""

    def __init__(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Asks for the ticks with which `expired` is to be called."""
        self._secs = keys.seconds(keys.with_defaults(config), keys.MESSAGE_TIMEOUT_SECS)
        self._entries: dict[Any, tuple[float, Entry]] = {}
        context.request_ticks(self._secs / SWEEPS_PER_TIMEOUT)

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, request_id: Any) -> Entry | None:
        """That of a request; None if there is none."""
        known = self._entries.get(request_id)
        return None if known is None else known[1]

    def add(self, request_id: Any, entry: Entry) -> Entry:
        """The entry, which is that of the request from now on."""
        self._entries[request_id] = (time.monotonic(), entry)
        return entry

    def pop(self, request_id: Any) -> Entry | None:
        """Forget that of a request."""
        known = self._entries.pop(request_id, None)
        return None if known is None else known[1]

    def expired(self) -> Iterable[Any]:
        """Forget those that are too old; the ids of their requests."""
        oldest = time.monotonic() - self._secs
        # In order of their age: an entry is added once.
        ids = []
        for request_id, (began, _) in self._entries.items():
            if began > oldest:
                break
            ids.append(request_id)
        for request_id in ids:
            del self._entries[request_id]
        return ids
