"""Streams of requests (Storm: newDRPCStream): each request is a batch.

The coordinator fetches requests, so a request is the metadata of its batch, and a replay has an
equal request. Results are returned when the batch is processed. If the batch fails, the request is
failed at its server, and the batch is replayed without tuples: a request that always fails does not
block later requests.
"""

import json
from collections import deque
from typing import Any

from heron_api.requests.basic_bolt import FAILED_TEXT, failure_text
from heron_connectors.requests.fetching import FetchingThread
from heron_connectors.requests.local import LocalRequests, local_requests
from heron_connectors.requests.returns import ReturnClients
from heron_connectors.requests.settings import servers_of
from heron_connectors.requests.table import TEXT_BYTES_MAX
from heron_core import config as keys
from heron_core.errors import ComponentError
from heronpy_compat.trident.errors import FailedException
from heronpy_compat.trident.execution.attempt import TransactionAttempt
from heronpy_compat.trident.operations import MultiReducer, TridentCollector
from heronpy_compat.trident.spouts import BatchCoordinator, Emitter, ITridentSpout
from heronpy_compat.trident.tuples import TridentTuple

ARGUMENTS, RETURN_INFO = "args", "return-info"
REQUESTS_MAX = 64
"""Under way at a time: each is a batch, whose metadata is stored."""
METADATA_BYTES = 1024
"""Of a message beside the arguments: the attempt, the id of the request, and its server."""
_NOTHING: list[Any] = []
"""The metadata of a batch whose request has failed."""


class RequestSpout(ITridentSpout):
    """The requests for a function of topologies."""

    output_fields = (ARGUMENTS, RETURN_INFO)
    max_task_parallelism = 1

    def __init__(self, function: str, service_id: str | None) -> None:
        """`service_id`: id of a LocalDRPC that supplies the calls."""
        self._function = function
        self._service_id = service_id

    def get_coordinator(self, stream_id: str, conf: dict[str, Any], context: Any) -> Any:
        """See ITridentSpout."""
        most = keys.value_of(keys.with_defaults(conf), keys.MESSAGE_BYTES_MAX)
        source: _LocalSource | _ServerSource
        if self._service_id is not None:
            source = _LocalSource(self._function, self._service_id)
        else:
            source = _ServerSource(self._function, conf, context)
        return RequestCoordinator(source, most)

    def get_emitter(self, stream_id: str, conf: dict[str, Any], context: Any) -> Any:
        """See ITridentSpout."""
        return RequestEmitter(ReturnClients(conf, context.get_component_id()))


class RequestEmitter(Emitter):
    """Emits the request of a batch."""

    def __init__(self, clients: ReturnClients) -> None:
        """`clients`: for the reason why a request cannot be emitted."""
        self._clients = clients

    def emit_batch(
        self, attempt: TransactionAttempt, metadata: Any, collector: TridentCollector
    ) -> None:
        """See Emitter."""
        if metadata:
            arguments, *origin = metadata
            try:
                collector.emit([arguments, origin])
            except Exception as error:  # the arguments are larger than a message
                request_id, host, port = origin
                why = failure_text("the spout of the requests", error)
                self._clients.fail(request_id, host, port, why)
                raise


class _ServerSource:
    """Requests of servers, fetched by threads."""

    def __init__(self, function: str, conf: dict[str, Any], context: Any) -> None:
        component = context.get_component_id()
        self._clients = ReturnClients(conf, component)
        self._problems: deque[str] = deque()
        self._threads = [
            FetchingThread(server, function, _nothing, self._problems.append)
            for server in servers_of(conf, component)
        ]
        for thread in self._threads:
            thread.resume()

    def next_request(self) -> list[Any] | None:
        """Arguments, id, host and port of a request, if available; FailedException for a server
        problem."""
        for thread in self._threads:
            request = thread.take()
            if request is not None:
                address = thread.address
                return [request.arguments, request.id, address.host, address.port]
        if self._problems:
            raise FailedException(f"no requests come from a server: {self._problems.popleft()}")
        return None

    def fail(self, request_id: str, host: str, port: int, why: str | None) -> None:
        """The caller gets an error."""
        problem = self._clients.fail(request_id, host, port, why)
        if problem is not None:
            raise FailedException(
                f"the failure of a request cannot be reported to its server: {problem}"
            )

    def close(self) -> None:
        """Fail requests fetched but not started."""
        for thread in self._threads:
            for request in thread.close():
                self._clients.fail(request.id, thread.address.host, thread.address.port, None)
        self._clients.close()


class _LocalSource:
    """Requests of a LocalDRPC."""

    def __init__(self, function: str, service_id: str) -> None:
        self._function = function
        self._requests = _local(service_id)

    def next_request(self) -> list[Any] | None:
        request = self._requests.fetch_request(self._function)
        if request is None:
            return None
        return [request.arguments, request.id, self._requests.id, 0]

    def fail(self, request_id: str, host: str, port: int, why: str | None) -> None:
        self._requests.fail_request(request_id, why)

    def close(self) -> None:
        return None


def _local(service_id: str) -> LocalRequests:
    requests = local_requests(service_id)
    if requests is None:
        raise ComponentError(
            "new_drpc_stream takes the calls of a LocalDRPC, which is in the process of a"
            " TopologyTester: for `heronpy run` leave out drpc="
        )
    return requests


def _nothing() -> None:
    """The coordinator asks often enough."""


class RequestCoordinator(BatchCoordinator):
    """Gives each batch a request."""

    def __init__(self, source: Any, message_bytes_max: int) -> None:
        """`message_bytes_max`: of the tuple that tells a batch's request to the emitters."""
        self._source = source
        self._message_bytes_max = message_bytes_max
        self._fetched: deque[list[Any]] = deque()
        self._given: dict[int, list[Any]] = {}

    def is_ready(self, txid: int) -> bool:
        """See BatchCoordinator: whether a request is available, for a replay or a new batch."""
        if txid in self._given or self._fetched:
            return True
        request = self._source.next_request()
        if request is not None and not self._refuses(request):
            self._fetched.append(request)
        return bool(self._fetched)

    def _refuses(self, request: list[Any]) -> bool:
        """Fail a request that is larger than a message: its batch would never begin."""
        arguments, *origin = request
        size = len(arguments.encode("utf-8", "surrogatepass")) + METADATA_BYTES
        if size <= self._message_bytes_max:
            return False
        why = (
            f"{FAILED_TEXT}: a batch with its arguments has {size} bytes, over the limit of"
            f" {self._message_bytes_max} (topology.message.bytes.max)"
        )
        self._source.fail(*origin, why)
        raise FailedException(why)

    def initialize_transaction(self, txid: int, previous: Any, current: Any) -> Any:
        """See BatchCoordinator; a replay keeps its request."""
        if txid not in self._given:
            self._given[txid] = self._fetched.popleft() if current is None else current
        return self._given[txid]

    def failed(self, txid: int) -> None:
        """Fail the request of the failed batch."""
        request = self._given.get(txid)
        if request:
            self._given[txid] = _NOTHING
            self._source.fail(*request[1:], None)

    def success(self, txid: int) -> None:
        """See BatchCoordinator."""
        self._given.pop(txid, None)

    def close(self) -> None:
        """See BatchCoordinator."""
        self._source.close()


class ReturnResultsReducer(MultiReducer):
    """Returns all rows of a batch as one text: a list of lists in JSON, as Storm's."""

    def prepare(self, conf: dict[str, Any], context: Any) -> None:
        """See Operation."""
        component = context.topology_context.get_component_id()
        self._clients = ReturnClients(conf, component)

    def init(self, collector: TridentCollector) -> Any:
        """See MultiReducer: where the result goes, and the rows."""
        return [None, []]

    def execute(
        self, value: Any, stream_index: int, tup: TridentTuple, collector: TridentCollector
    ) -> None:
        """See MultiReducer."""
        if stream_index == 0:
            value[0] = tup[0]
        else:
            value[1].append(list(tup.values))

    def complete(self, value: Any, collector: TridentCollector) -> None:
        """See MultiReducer; FailedException if the server does not take the result."""
        origin, rows = value
        if origin is None:
            return
        request_id, host, port = origin
        text = json.dumps(rows, default=str)
        size = len(text)  # of ASCII
        if size > TEXT_BYTES_MAX:
            why = f"the result has {size} bytes, and {TEXT_BYTES_MAX} is the limit"
            self._clients.fail(request_id, host, port, why)
            raise FailedException(why)
        service = local_requests(host)
        if service is not None:
            service.result(request_id, text)
        elif (problem := self._clients.results(host, port, [(request_id, text)])) is not None:
            raise FailedException(f"a result is not returned: {problem}")

    def cleanup(self) -> None:
        """See Operation."""
        self._clients.close()
