"""The ends of a linear topology of requests: PrepareRequest, JoinResult and KeyedFairBolt."""

import random
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any

from heron_api.bolt.bolt import Bolt
from heron_api.requests.basic_bolt import failure_text
from heron_api.requests.expiring import ExpiringEntries
from heron_api.requests.inner_bolt import InnerBolt
from heron_api.stream import Stream

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext

ARGS_STREAM = "default"
RETURN_STREAM = "ret"
ID_STREAM = "id"
FAILED_STREAM = "__failed"
"""Stream for the requests that a bolt fails, with the reason, to JoinResult and ReturnResults. The
tuple is not anchored: the request fails in any case, and the reason follows on a way of its own."""
ID_BITS = 63
"""Range of request ids: drawn at random, so that ids of several tasks differ."""
RETURN_COMPONENT = "drpc.return.component"
"""Config key of JoinResult: the component whose tuples say where a result goes."""
TURN_TUPLES = 64
"""Number of tuples that a KeyedFairBolt executes before reading new input."""


class PrepareRequest(Bolt):
    """Assigns an id to each request (Storm: PrepareRequest): emits the arguments, the return
    address and the request id on separate streams.

    Example:

        builder = LinearDRPCTopologyBuilder("length")
        builder.add_bolt(Length, 2)
        builder.create_remote_topology()  # Length reads from PrepareRequest
    """

    outputs = [
        Stream(fields=["request", "args"], name=ARGS_STREAM),
        Stream(fields=["request", "return"], name=RETURN_STREAM),
        Stream(fields=["request"], name=ID_STREAM),
    ]
    auto_ack = auto_anchor = auto_fail = True

    def process(self, tup: Any) -> None:
        """A request of the spout."""
        arguments, return_info = tup.values
        request_id = random.getrandbits(ID_BITS)
        self.emit([request_id, arguments], ARGS_STREAM)
        self.emit([request_id, return_info], RETURN_STREAM)
        self.emit([request_id], ID_STREAM)


class JoinResult(Bolt):
    """Joins a result and its return address into one tuple (Storm: JoinResult).

    Example:

        builder = LinearDRPCTopologyBuilder("length")
        builder.add_bolt(Length, 2)
        builder.create_remote_topology()  # JoinResult reads from Length
    """

    outputs = [
        Stream(fields=["result", "return-info"]),
        Stream(fields=["why", "return-info"], name=FAILED_STREAM),
    ]
    auto_fail = True
    acks_later = True

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Determine the roles of the inputs."""
        self._returns_from = str(config[RETURN_COMPONENT])
        self._component = context.get_component_id()
        self._waiting: ExpiringEntries[Any] = ExpiringEntries(config, context)
        self._failed: ExpiringEntries[str] = ExpiringEntries(config, context)
        """Failed requests whose return address has not come, and why they failed."""

    def process(self, tup: Any) -> None:
        """Receive one of the two parts; the first part waits for the second."""
        request_id = tup.values[0]
        if tup.stream == FAILED_STREAM:
            self._note_failed(*tup.values)
            self.ack(tup)
            return
        if (why := self._failed.get(request_id)) is not None:
            self._fail(request_id, why, tup)
            return
        other = self._waiting.get(request_id)
        if other is None or other.component == tup.component:
            self._waiting.add(request_id, tup)
            return
        self._waiting.pop(request_id)
        is_return = tup.component == self._returns_from
        result, returned = (other, tup) if is_return else (tup, other)
        text = str(result.values[1])
        try:
            self.emit([text, returned.values[1]], anchors=[result, returned])
        except Exception as error:  # the result is larger than a message
            self.emit([failure_text(self._component, error), returned.values[1]], FAILED_STREAM)
            raise
        self.ack(result)
        self.ack(returned)

    def _note_failed(self, request_id: Any, why: str) -> None:
        self._failed.add(request_id, why)
        if (part := self._waiting.pop(request_id)) is not None:
            self._fail(request_id, why, part)

    def _fail(self, request_id: Any, why: str, part: Any) -> None:
        """Fail a part of a failed request; the return address tells where the reason goes."""
        if part.component == self._returns_from:
            self._failed.pop(request_id)
            self.emit([why, part.values[1]], FAILED_STREAM)
        self.fail(part)

    def process_tick(self, tup: Any) -> None:
        """Remove requests that have failed by timeout."""
        self._failed.expired()
        expired = list(self._waiting.expired())
        if expired:
            self.log(f"{len(expired)} requests had no result within the message timeout", "warn")


class KeyedFairBolt(Bolt):
    """A bolt around another one, `bolt`, whose tuples it executes by turns of their first value
    (Storm: KeyedFairBolt): a request of a million tuples does not hold up one of ten.

        class FairFollowers(KeyedFairBolt):
            bolt = GetFollowers
    """

    bolt: type[Bolt]
    auto_fail = True
    acks_later = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "bolt" in vars(cls) and "outputs" not in vars(cls):
            cls.outputs = cls.bolt.outputs

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Make the bolt inside."""
        delegate = self.delegate
        self._inner = InnerBolt(self.bolt, self, delegate.emit, delegate.ack, delegate.fail)
        self._inner.bolt.initialize(config, context)
        self._waiting: OrderedDict[Any, deque[Any]] = OrderedDict()
        self._is_scheduled = False

    def is_idle(self) -> bool:
        """Whether all queues are empty."""
        return not self._waiting

    def process(self, tup: Any) -> None:
        """Queue the tuple by key; a later call of the main thread (`call_soon`) executes it."""
        self._waiting.setdefault(tup.values[0], deque()).append(tup)
        self._schedule()

    def process_tick(self, tup: Any) -> None:
        """Of the bolt inside."""
        self._inner.process_tick(tup)

    def close(self) -> None:
        """Delegates to the wrapped bolt, if supported."""
        self._inner.close()

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self.delegate.call_soon(self._execute_turns)

    def _execute_turns(self) -> None:
        self._is_scheduled = False
        for _ in range(TURN_TUPLES):
            if not self._waiting:
                return
            key, tuples = self._waiting.popitem(last=False)
            tup = tuples.popleft()
            if tuples:
                self._waiting[key] = tuples  # behind the others
            self._execute(tup)
        self._schedule()

    def _execute(self, tup: Any) -> None:
        try:
            self._inner.process(tup)
        except Exception:
            self.delegate.raised("process")
            self.delegate.fail(tup)
