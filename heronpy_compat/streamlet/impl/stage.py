"""What the stages have in common: bolts that turn one tuple into elements, and their streamlets."""

from collections.abc import Callable, Sequence
from typing import Any

from heronpy_compat.api.bolt.bolt import Bolt
from heronpy_compat.api.component.component_spec import GlobalStreamId
from heronpy_compat.api.state.stateful_component import StatefulComponent
from heronpy_compat.api.stream import Grouping
from heronpy_compat.api.topology import TopologyBuilder
from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.streamlet.impl.streamletboltbase import OUTPUT_STREAM, StreamletBoltBase
from heronpy_compat.streamlet.streamlet import Streamlet

FUNCTION = "function"
"""The key of a stage's function in its component's config; it travels as cloudpickle."""


class ElementBolt(Bolt, StatefulComponent, StreamletBoltBase):
    """A bolt that emits what `results` makes of an element, anchored, and then acks."""

    FUNCTION = FUNCTION

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Take the function out of the config."""
        self.function: Any = config.get(FUNCTION)

    def process(self, tup: Any) -> None:
        """Emit the results."""
        for result in self.results(tup.values[0]):
            self.emit([result], stream=OUTPUT_STREAM, anchors=[tup])
        self.ack(tup)

    def results(self, element: Any) -> "Sequence[Any] | Any":
        """What to emit for `element`: anything to iterate over."""
        return (element,)


class StageStreamlet(Streamlet):
    """A streamlet that comes from others by a bolt.

    Classes of it set `prefix` (of default names) and `bolt`. It has as many partitions as the
    first streamlet it comes from, and is built when all of them are.
    """

    prefix: str
    bolt: type[Bolt]

    def __init__(self, *parents: Streamlet, config: dict[str, Any] | None = None) -> None:
        super().__init__()
        for parent in parents:
            if not isinstance(parent, Streamlet):
                raise StreamletError(f"{self.prefix}: its partner must be a Streamlet: {parent!r}")
        self._parents = parents
        self._config = config or {}
        self.set_num_partitions(parents[0].get_num_partitions())

    def _grouping(self) -> Any:
        return Grouping.SHUFFLE

    def _calculate_inputs(self) -> dict[GlobalStreamId, Any]:
        return {
            GlobalStreamId(parent.get_name() or "", parent._output): self._grouping()
            for parent in self._parents
        }

    def _build_this(self, builder: TopologyBuilder, stage_names: set[str]) -> bool:
        if not all(parent._built for parent in self._parents):
            return False
        builder.add_bolt(
            self._take_name(self.prefix, stage_names),
            self.bolt,
            self.get_num_partitions(),
            self._calculate_inputs(),
            config=self._component_config(),
        )
        return True

    def _component_config(self) -> dict[str, Any]:
        return self._config


def checked_function(what: str, function: Any) -> Callable[..., Any]:
    """`function` if it can be called, RuntimeError otherwise."""
    if not callable(function):
        raise StreamletError(f"{what} takes a function, not {function!r}")
    found: Callable[..., Any] = function
    return found
