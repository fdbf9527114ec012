"""A bolt's state of open requests, retained for the message timeout."""

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from heron_core import config as keys

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext

Entry = TypeVar("Entry")
SWEEPS_PER_TIMEOUT = 4


class ExpiringEntries(Generic[Entry]):
    """Entries by request id. An entry older than the message timeout belongs to a failed request
    (Storm: TimeCacheMap)."""

    def __init__(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Request the ticks for calls of `expired`."""
        self._secs = keys.seconds(keys.with_defaults(config), keys.MESSAGE_TIMEOUT_SECS)
        self._entries: dict[Any, tuple[float, Entry]] = {}
        context.request_ticks(self._secs / SWEEPS_PER_TIMEOUT)

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, request_id: Any) -> Entry | None:
        """The entry of a request, or None."""
        known = self._entries.get(request_id)
        return None if known is None else known[1]

    def add(self, request_id: Any, entry: Entry) -> Entry:
        """Store the entry of the request, as the newest; the entry of a previous attempt ends."""
        self._entries.pop(request_id, None)  # a dict would keep the previous position
        self._entries[request_id] = (time.monotonic(), entry)
        return entry

    def pop(self, request_id: Any) -> Entry | None:
        """Remove the entry of a request."""
        known = self._entries.pop(request_id, None)
        return None if known is None else known[1]

    def expired(self) -> Iterable[Any]:
        """Remove expired entries; return the ids of their requests."""
        oldest = time.monotonic() - self._secs
        # In order of their age: `add` appends.
        ids = []
        for request_id, (began, _) in self._entries.items():
            if began > oldest:
                break
            ids.append(request_id)
        for request_id in ids:
            del self._entries[request_id]
        return ids
