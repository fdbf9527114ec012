"""DRPCSpout: requests as tuples."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from heron_api.component.component_spec import HeronComponentSpec
from heron_api.errors import WrongArgumentError
from heron_api.requests.basic_bolt import failure_text
from heron_api.spout.spout import Spout
from heron_api.stream import Outputs
from heron_connectors.requests.fetching import FetchingThread
from heron_connectors.requests.local import LocalRequests, local_requests, return_info
from heron_connectors.requests.returns import Origin, ReturnClients
from heron_connectors.requests.settings import FUNCTION, LOCAL, servers_of
from heron_core.errors import ComponentError

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext

NOT_STARTED = "the topology ended before it processed the request"


class DRPCSpout(Spout):
    """Emits the requests for a function (Storm: DRPCSpout): its arguments, and where the result
    goes, for ReturnResults.

        class ManualDRPC(Topology):
            config = {"topology.reliability.mode": "ATLEAST_ONCE"}
            drpc = DRPCSpout.spec(function="exclamation")
            exclaim = Exclaim.spec(par=3, inputs=[drpc])
            back = ReturnResults.spec(par=3, inputs=[exclaim])

    `drpc.servers` and `drpc.invocations.port` say where the servers are. A request whose tuple
    fails, or times out, is failed at its server, so that the caller gets an error.
    """

    outputs = ["args", "return-info"]

    @classmethod
    def spec(
        cls,
        name: str | None = None,
        par: int = 1,
        config: dict[str, Any] | None = None,
        optional_outputs: Outputs | None = None,
        function: str | None = None,
        drpc: Any = None,
    ) -> HeronComponentSpec:
        """This spout for a `function`; with a LocalDRPC as `drpc`, for its calls.
        WrongArgumentError without a function."""
        given: dict[str, Any] = dict(config or {})
        if function is not None:
            given[FUNCTION] = function
        if not isinstance(given.get(FUNCTION), str) or not given[FUNCTION]:
            raise WrongArgumentError(
                f"{cls.__name__}.spec needs function=, the name that callers use, not "
                f"{given.get(FUNCTION)!r}"
            )
        if drpc is not None:
            given[LOCAL] = drpc.service_id
        return super().spec(name, par, given, optional_outputs)

    @classmethod
    def load_problem(cls, config: Mapping[str, Any], runs_here: bool) -> str | None:
        """Checks before the start."""
        if LOCAL in config:
            return None
        try:
            servers_of(config, cls.__name__)
        except ComponentError as error:
            return str(error) if runs_here else None
        return None

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Learn the servers; requests are fetched from the first activation on. ComponentError with
        a LocalDRPC outside of a tester."""
        self._component = context.get_component_id()
        self._function = str(config[FUNCTION])
        self._local: LocalRequests | None = None
        self._fetching: list[FetchingThread] = []
        if LOCAL in config:
            self._local = local_requests(config[LOCAL])
            if self._local is None:
                raise ComponentError(
                    f"{context.get_component_id()}: it takes the calls of a LocalDRPC, which is in"
                    " the process of a TopologyTester: for `heronpy run` leave out drpc=, or use"
                    " create_remote_topology()"
                )
            return
        self._clients = ReturnClients(config, context.get_component_id())
        servers = servers_of(config, context.get_component_id())
        tasks = context.get_component_tasks(context.get_component_id())
        index = context.get_this_task_index()
        mine = servers if len(tasks) < len(servers) else [servers[index % len(servers)]]
        self._fetching = [
            FetchingThread(server, self._function, self._wake, self._report) for server in mine
        ]
        self._next = 0

    def activate(self) -> None:
        """Fetch requests."""
        for thread in self._fetching:
            thread.resume()

    def deactivate(self) -> None:
        """Stop fetching: calls wait at the server and time out there."""
        for thread in self._fetching:
            thread.pause()

    def next_tuple(self) -> None:
        """Emit the next request, of each server in turn."""
        if self._local is not None:
            request = self._local.fetch_request(self._function)
            if request is not None:
                self._emit(request, self._local.id, 0)
            return
        for _ in self._fetching:
            thread = self._fetching[self._next % len(self._fetching)]
            self._next += 1
            request = thread.take()
            if request is not None:
                self._emit(request, thread.address.host, thread.address.port)
                return

    def _emit(self, request: Any, host: str, port: int) -> None:
        info = return_info(request.id, host, port)
        try:
            self.emit([request.arguments, info], tup_id=(request.id, host, port))
        except Exception as error:  # the arguments are larger than a message
            self._tell((request.id, host, port), failure_text(self._component, error))
            raise

    def fail(self, tup_id: Origin) -> None:
        """The caller gets an error, with a reason reported by a bolt."""
        self._tell(tup_id, None)

    def _tell(self, tup_id: Origin, why: str | None) -> None:
        request_id, host, port = tup_id
        if self._local is not None:
            self._local.fail_request(request_id, why)
        elif (problem := self._clients.fail(request_id, host, port, why)) is not None:
            self.delegate.record_error(
                ("the failure of a request cannot be reported to its server"), problem
            )

    def close(self) -> None:
        """Requests that were fetched and not emitted fail."""
        for thread in self._fetching:
            for request in thread.close():
                host, port = thread.address.host, thread.address.port
                self._clients.fail(request.id, host, port, NOT_STARTED)
        if self._local is None:
            self._clients.close()

    def _wake(self) -> None:
        self.delegate.call_soon(_nothing)

    def _report(self, problem: str) -> None:
        """From the thread."""
        self.delegate.call_soon(
            lambda: self.delegate.record_error("no requests come from a server", problem)
        )


def _nothing() -> None:
    """What a loop is woken by."""
