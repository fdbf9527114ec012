"""Requests without a server, in one process: shared state of a LocalDRPC and the components of a
topology."""

import json
from uuid import uuid4

from heron_connectors.requests.table import Ending, Request, RequestLimits, RequestTable

_services: dict[str, "LocalRequests"] = {}
"""Open services, by id (Storm: ServiceRegistry)."""


class LocalRequests:
    """The calls of one LocalDRPC; the owner supplies the time."""

    def __init__(self, limits: RequestLimits) -> None:
        self.id = f"local-{uuid4().hex}"
        self.table = RequestTable(limits, self.id)
        self.now = 0.0
        self.endings: dict[str, Ending] = {}
        _services[self.id] = self

    def fetch_request(self, function: str) -> Request | None:
        """The next request, if available."""
        requests = self.table.fetch(function, 1, self.now)
        return requests[0] if requests else None

    def result(self, request_id: str, text: str) -> None:
        """A result."""
        self._take(self.table.result(request_id, text, self.now))

    def fail_request(self, request_id: str, why: str | None = None) -> None:
        """There is no result. Without a reason the call ends by `settle`."""
        self._take(self.table.fail(request_id, why, self.now))

    def settle(self) -> None:
        """End the failed calls whose reason has not come: no message is under way."""
        for ending in self.table.settle():
            self._take(ending)

    def expire(self) -> None:
        """End the calls whose time is over."""
        for ending in self.table.expire(self.now):
            self._take(ending)

    def close(self) -> None:
        """Components do not find it any more."""
        _services.pop(self.id, None)

    def _take(self, ending: Ending | None) -> None:
        if ending is not None:
            self.endings[ending.id] = ending


def local_requests(service_id: str) -> LocalRequests | None:
    """The service of an id; None if absent in the process."""
    return _services.get(service_id)


def return_info(request_id: str, host: str, port: int) -> str:
    """Where a result goes, as Storm's spout writes it."""
    return json.dumps({"id": request_id, "host": host, "port": port})
