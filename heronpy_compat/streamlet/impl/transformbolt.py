"""transform (heronpy.streamlet.impl.transformbolt)."""

import copy
from typing import Any

from heron_api.bolt.bolt import Bolt
from heron_api.method_shapes import refuse_coroutine
from heron_api.state.state import State
from heron_api.state.stateful_component import StatefulComponent
from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.streamlet.impl.contextimpl import ContextImpl
from heronpy_compat.streamlet.impl.stage import StageStreamlet, checked_object
from heronpy_compat.streamlet.impl.streamletboltbase import OUTPUT_STREAM, StreamletBoltBase
from heronpy_compat.streamlet.streamlet import Streamlet
from heronpy_compat.streamlet.transformoperator import TransformOperator


class TransformBolt(Bolt, StatefulComponent, StreamletBoltBase):
    """Gives each tuple to the operator; what that emits meanwhile is anchored to it."""

    OPERATOR = "operator"

    def init_state(self, stateful_state: State) -> None:
        """Keep the state for the operator."""
        self._state = stateful_state

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Set the operator up."""
        self._anchors: list[Any] = []
        # A copy: partitions in one process (under test) must not share what `setup` sets.
        self._operator: TransformOperator = copy.copy(config[self.OPERATOR])
        state = getattr(self, "_state", None)
        self._operator.setup(ContextImpl(context, state, self._emit_element))

    def process(self, tup: Any) -> None:
        """Let the operator emit, then ack."""
        self._anchors = [tup]
        try:
            result: Any = self._operator.transform(tup)  # type: ignore[func-returns-value]
            refuse_coroutine(self._operator.transform, result)
        finally:
            self._anchors = []
        self.ack(tup)

    def _emit_element(self, element: Any) -> None:
        self.emit([element], stream=OUTPUT_STREAM, anchors=self._anchors)


class TransformStreamlet(StageStreamlet):
    """What `Streamlet.transform` returns."""

    prefix = "transform"
    bolt = TransformBolt

    def __init__(self, transform_operator: Any, parent: Streamlet) -> None:
        if not isinstance(transform_operator, TransformOperator):
            raise StreamletError(f"transform takes a TransformOperator, not {transform_operator!r}")
        checked_object("transform", transform_operator, ("setup", "transform"))
        super().__init__(parent, config={TransformBolt.OPERATOR: transform_operator})
