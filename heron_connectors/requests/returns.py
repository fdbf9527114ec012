"""Delivery of results and failures to the servers of the requests."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from heron_connectors.requests.client import (
    DRPCInvocationsClient,
    RequestDenied,
    ServerAddress,
    ServerAway,
    UnknownMethod,
)
from heron_connectors.requests.local import local_requests
from heron_connectors.requests.settings import servers_of

ATTEMPTS = 3
"""Attempts, as in Storm: the first, and two on new connections."""
AWAY_SECS = 2.0
"""Pause after all attempts to a server failed, so that results for other servers are not
delayed."""
ANSWER_SECS = 5.0
LOCAL_PREFIX = "local-"
"""Of the "host" of a LocalDRPC."""

Origin = tuple[str, str, int]
"""Of a request: its id, host and port of its server."""


def origin_of(info: Any) -> Origin | None:
    """The origin in a return-info of DRPCSpout; None if invalid."""
    try:
        known = json.loads(info)
        request_id, host, port = known["id"], known["host"], known["port"]
    except (ValueError, TypeError, KeyError):
        return None
    is_known = isinstance(request_id, str) and isinstance(host, str) and type(port) is int
    return (request_id, host, port) if is_known else None


class ReturnClients:
    """A connection to each server with requests."""

    def __init__(
        self, config: Mapping[str, Any], component: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._known = {(each.host, each.port): each for each in servers_of(config, component)}
        self._clients: dict[tuple[str, int], DRPCInvocationsClient] = {}
        self._away: dict[tuple[str, int], tuple[float, str]] = {}
        """server -> until when it is not tried, and why"""
        self._clock = clock

    def results(self, host: str, port: int, results: Sequence[tuple[str, str]]) -> str | None:
        """Return results, by the ids of their requests; the error, or None."""
        return self._attempt((host, port), lambda client: client.results(results))

    def fail(self, request_id: str, host: str, port: int, why: str | None) -> str | None:
        """Report a failed request, also of a LocalDRPC; the error of the report, or None."""
        if host.startswith(LOCAL_PREFIX):
            service = local_requests(host)
            if service is None:
                return f"the LocalDRPC of request {request_id} is closed"
            service.fail_request(request_id, why)
            return None
        return self._attempt((host, port), lambda client: client.fail_request(request_id, why))

    def close(self) -> None:
        """End the connections."""
        for client in self._clients.values():
            client.close()

    def _attempt(
        self, server: tuple[str, int], call: Callable[[DRPCInvocationsClient], None]
    ) -> str | None:
        until, problem = self._away.get(server, (0.0, ""))
        if self._clock() < until:
            return problem
        client = self._client(server)
        for _ in range(ATTEMPTS):
            try:
                call(client)
            except ServerAway as error:
                problem = str(error)
            except (RequestDenied, UnknownMethod) as error:
                return str(error)
            else:
                self._away.pop(server, None)
                return None
        self._away[server] = (self._clock() + AWAY_SECS, problem)
        return problem

    def _client(self, server: tuple[str, int]) -> DRPCInvocationsClient:
        client = self._clients.get(server)
        if client is None:
            # Servers outside of the spout's config never receive the token.
            other = ServerAddress(host=server[0], port=server[1])
            address = self._known.get(server, other)
            client = self._clients[server] = DRPCInvocationsClient(address, ANSWER_SECS)
        return client
