"""ReturnResults: the bolt that answers requests."""

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from heron_api.bolt.bolt import Bolt
from heron_api.requests.linear_bolts import FAILED_STREAM
from heron_connectors.requests.local import local_requests
from heron_connectors.requests.returns import (
    LOCAL_PREFIX,
    Origin,
    ReturnClients,
    origin_of,
)
from heron_connectors.requests.table import TEXT_BYTES_MAX

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext

BATCH_BYTES_MAX = 1 << 20
"""Maximum size of a message of results; a single result may be larger."""


class WaitingResult(Struct, frozen=True):
    """A result, waiting for the common message of its batch."""

    request_id: str
    text: str
    tup: Any


class ReturnResults(Bolt):
    """Returns each result to the server of its request (Storm: ReturnResults).

    Input: the result, a text, and the return-info emitted by DRPCSpout. A result rejected by the
    server fails its tuple.
    """

    outputs: list[str] = []
    acks_later = True

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Connections are made when there is a result."""
        self._clients = ReturnClients(config, context.get_component_id())
        self._waiting: dict[tuple[str, int], list[WaitingResult]] = {}
        self._bytes = 0

    def is_idle(self) -> bool:
        """Whether all results are returned."""
        return not self._waiting

    def process(self, tup: Any) -> None:
        """Add a result, to be returned and acked with the rest of the message."""
        result, info = tup.values
        if info is None:
            self.ack(tup)
            return
        origin = origin_of(info)
        if origin is None:
            self._settle([tup], f"return-info {info!r:.100} is not that of a DRPCSpout")
        elif tup.stream == FAILED_STREAM:
            self._tell(tup, origin, result)
        elif not isinstance(result, str):
            self._refuse(tup, origin, f"the result is {result!r:.100}, and not a text")
        elif origin[1].startswith(LOCAL_PREFIX):
            self._settle([tup], _return_here(origin[0], origin[1], result))
        else:
            self._take(result, *origin, tup)

    def _take(self, result: str, request_id: str, host: str, port: int, tup: Any) -> None:
        size = len(result.encode("utf-8", "replace"))
        if size > TEXT_BYTES_MAX:
            why = f"the result has {size} bytes, and {TEXT_BYTES_MAX} is the limit"
            self._refuse(tup, (request_id, host, port), why)
            return
        if not self._waiting:
            self.delegate.call_soon(self.return_waiting)
        waiting = self._waiting.setdefault((host, port), [])
        waiting.append(WaitingResult(request_id, result, tup))
        self._bytes += size
        if self._bytes > BATCH_BYTES_MAX:
            self.return_waiting()

    def _tell(self, tup: Any, origin: Origin, why: str) -> None:
        """The caller gets the reason of a failure; the tuples of the request have failed."""
        self._settle([tup], self._clients.fail(*origin, why))

    def _refuse(self, tup: Any, origin: Origin, why: str) -> None:
        """The caller gets the reason, and the tuple fails."""
        problem = self._clients.fail(*origin, why)
        self._settle([tup], why if problem is None else f"{why}; the caller is not told: {problem}")

    def return_waiting(self) -> None:
        """Return the collected results, to each server in one call."""
        taken, self._waiting, self._bytes = self._waiting, {}, 0
        for (host, port), results in taken.items():
            pairs = [(each.request_id, each.text) for each in results]
            problem = self._clients.results(host, port, pairs)
            self._settle([each.tup for each in results], problem)

    def _settle(self, tuples: list[Any], problem: str | None) -> None:
        if problem is not None:
            self.delegate.record_error("a result is not returned", problem)
        for tup in tuples:
            (self.ack if problem is None else self.fail)(tup)

    def close(self) -> None:
        """Return remaining results and close the connections."""
        self.return_waiting()
        self._clients.close()


def _return_here(request_id: str, service_id: str, result: str) -> str | None:
    service = local_requests(service_id)
    if service is None:
        return f"the LocalDRPC of request {request_id} is closed"
    service.result(request_id, result)
    return None
