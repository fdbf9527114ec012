"""ReturnResults: the bolt that answers requests."""

import json
from typing import TYPE_CHECKING, Any

from heron_api.bolt.bolt import Bolt
from heron_connectors.requests.local import local_requests
from heron_connectors.requests.returns import ReturnClients
from heron_connectors.requests.table import TEXT_BYTES_MAX

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext

LOCAL_PREFIX = "local-"


class ReturnResults(Bolt):
    """Returns each result to the server that its request came from (Storm: ReturnResults).

    Its input has the result, a text, and what DRPCSpout has emitted as return-info. A result that
    the server does not take fails its tuple.
    """

    outputs: list[str] = []

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Connections are made when there is a result."""
        self._clients = ReturnClients(config, context.get_component_id())

    def process(self, tup: Any) -> None:
        """Return a result; then ack."""
        result, info = tup.values
        if info is None:
            self.ack(tup)
            return
        problem = self._return(result, info)
        if problem is None:
            self.ack(tup)
            return
        self.delegate.record_error("a result is not returned", problem)
        self.fail(tup)

    def _return(self, result: Any, info: Any) -> str | None:
        """Why it is not returned; None if it is."""
        origin = _origin_of(info)
        if origin is None:
            return f"return-info {info!r:.100} is not that of a DRPCSpout"
        if not isinstance(result, str):
            return f"the result is {result!r:.100}, and not a text"
        request_id, host, port = origin
        if host.startswith(LOCAL_PREFIX):
            return _return_here(request_id, host, result)
        size = len(result.encode("utf-8", "replace"))
        if size > TEXT_BYTES_MAX:
            why = f"the result has {size} bytes, and {TEXT_BYTES_MAX} is the limit"
            return self._clients.fail(request_id, host, port, why) or why
        return self._clients.result(request_id, host, port, result)

    def close(self) -> None:
        """End the connections."""
        self._clients.close()


def _origin_of(info: Any) -> tuple[str, str, int] | None:
    """Id, host and port; None if it does not say them."""
    try:
        known = json.loads(info)
        request_id, host, port = known["id"], known["host"], known["port"]
    except (ValueError, TypeError, KeyError):
        return None
    is_known = isinstance(request_id, str) and isinstance(host, str) and type(port) is int
    return (request_id, host, port) if is_known else None


def _return_here(request_id: str, service_id: str, result: str) -> str | None:
    service = local_requests(service_id)
    if service is None:
        return f"the LocalDRPC of request {request_id} is closed"
    service.result(request_id, result)
    return None
