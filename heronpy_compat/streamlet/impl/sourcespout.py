"""Common base of sources: end of a source, and replay under ATLEAST_ONCE."""

from collections import deque
from collections.abc import Iterable
from itertools import count
from typing import Any

from heron_api.spout.spout import Spout
from heron_api.state.state import State
from heron_api.state.stateful_component import StatefulComponent
from heron_api.topology import TopologyBuilder
from heron_core import config as keys
from heronpy_compat.streamlet.impl.streamletboltbase import OUTPUT_STREAM
from heronpy_compat.streamlet.impl.streamletspoutbase import StreamletSpoutBase
from heronpy_compat.streamlet.streamlet import Streamlet


class SourceSpout(Spout, StatefulComponent, StreamletSpoutBase):
    """Emits the elements of `next_element` until StopIteration.

    Under ATLEAST_ONCE each element is retained until the ack and emitted again on failure. At most
    `topology.max.spout.pending` elements are retained, in memory: after the process dies, the
    source restarts as its function or Generator defines. With checkpoints a Generator with a
    position continues there.
    """

    def init_state(self, stateful_state: State) -> None:
        """Keep the state for the generator."""
        self._state = stateful_state

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Start without pending elements."""
        self._tracked = config.get(keys.RELIABILITY_MODE) == keys.ATLEAST_ONCE
        self._pending: dict[int, Any] = {}
        self._failed: deque[int] = deque()
        self._numbers = count(1)
        self._ended = False

    def next_element(self) -> None:
        """Emit the next element, if available, through `emit_element`."""
        raise NotImplementedError

    def next_tuple(self) -> None:
        """Emit a failed element again, or the next element."""
        if self._failed:
            self._send(self._failed.popleft())
        elif not self._ended:
            self._advance()
        else:
            self.finish()

    def _advance(self) -> None:
        try:
            self.next_element()
        except StopIteration:
            self._ended = True
            self.finish()

    def emit_element(self, element: Any) -> None:
        """Emit `element`, tracked under ATLEAST_ONCE."""
        if not self._tracked:
            self.emit([element], stream=OUTPUT_STREAM)
            return
        number = next(self._numbers)
        self._pending[number] = element
        self._send(number)

    def emit_again(self, elements: Iterable[Any]) -> None:
        """Queue elements for another emit that a previous process emitted without an ack."""
        for element in elements:
            number = next(self._numbers)
            self._pending[number] = element
            self._failed.append(number)

    def _send(self, number: int) -> None:
        self.emit([self._pending[number]], tup_id=number, stream=OUTPUT_STREAM)

    def ack(self, tup_id: Any) -> None:
        """Release the processed element."""
        self._pending.pop(tup_id, None)

    def fail(self, tup_id: Any) -> None:
        """Queue the failed element for replay."""
        if tup_id in self._pending:
            self._failed.append(tup_id)


class SourceStreamlet(Streamlet):
    """A streamlet of a spout; subclasses set `prefix`, `spout` and `key`."""

    prefix: str
    spout: type[SourceSpout]
    key: str

    def __init__(self, source: Any) -> None:
        super().__init__()
        self._source = source

    def _build_this(self, builder: TopologyBuilder, stage_names: set[str]) -> bool:
        builder.add_spout(
            self._take_name(self.prefix, stage_names),
            self.spout,
            self.get_num_partitions(),
            config={self.key: self._source},
        )
        return True
