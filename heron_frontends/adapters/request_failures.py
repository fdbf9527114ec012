"""Why a bolt failed a request, told to the server of the request.

A failed tuple reaches its spout without a reason; DRPCSpout reports the failure to the server, and
the server waits `REASON_SECS` for the reason. A bolt whose input has the field `return-info` knows
the server: an exception of `process` is reported here, before the tuple fails. Results that cannot
be encoded, or are larger than a message, are among them. Bolts of a linear topology have no such
field; CoordinatedBolt sends their reasons to JoinResult.

Under checkpoints a failed call is tried again, so nothing is reported.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from heron_api.requests.basic_bolt import failure_text
from heron_core import config as keys
from heron_core.topology import InputSpec

Method = Callable[..., Any]
RETURN_INFO = "return-info"
"""The field of DRPCSpout with the destination of a result."""


class RequestFailures:
    """Of one bolt."""

    def __init__(
        self, component: str, positions: Mapping[tuple[str, str], int], config: dict[str, Any]
    ) -> None:
        """`positions`: of the return-info, by component and stream of the tuple."""
        # Late: a bolt without requests needs no client.
        from heron_connectors.requests.returns import ReturnClients

        self._component = component
        self._positions = positions
        self._clients = ReturnClients(config, component)

    def around(self, user: Any, process: Method) -> Method:
        """`process` with reports of its exceptions, also where a base class catches one and fails
        the tuple in its `except` clause."""
        fail = user.fail

        def reported_fail(tup: Any) -> None:
            if (error := sys.exc_info()[1]) is not None:
                self._tell(tup, error)
            fail(tup)

        def run(tup: Any) -> Any:
            try:
                return process(tup)
            except Exception as error:
                self._tell(tup, error)
                raise

        user.fail = reported_fail
        return run

    def close(self) -> None:
        """End the connections."""
        self._clients.close()

    def _tell(self, tup: Any, error: BaseException) -> None:
        from heron_connectors.requests.returns import origin_of

        position = self._positions.get((tup.component, tup.stream))
        origin = None if position is None else origin_of(tup.values[position])
        if origin is not None:
            # A server that is away fails the call by its time-out; the error itself is reported.
            self._clients.fail(*origin, failure_text(self._component, error))


def request_failures(
    component: str, inputs: Iterable[InputSpec], config: dict[str, Any], context: Any
) -> RequestFailures | None:
    """None for a bolt without a field `return-info` in its input, and under checkpoints."""
    if keys.value_of(keys.with_defaults(config), keys.RELIABILITY_MODE) == keys.EFFECTIVELY_ONCE:
        return None
    positions = {}
    for entry in inputs:
        fields = context.get_component_output_fields(entry.component, entry.stream)
        if RETURN_INFO in fields:
            positions[entry.component, entry.stream] = list(fields).index(RETURN_INFO)
    return RequestFailures(component, positions, config) if positions else None
