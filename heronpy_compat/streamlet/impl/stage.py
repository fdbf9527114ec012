"""Common base of stages: bolts that map one tuple to elements, and their streamlets."""

from collections.abc import Callable, Sequence
from typing import Any

from heron_api.bolt.bolt import Bolt
from heron_api.component.component_spec import GlobalStreamId
from heron_api.method_shapes import refusal, refuse_methods
from heron_api.state.stateful_component import StatefulComponent
from heron_api.stream import Grouping
from heron_api.submissions import with_loaders_config
from heron_api.topology import TopologyBuilder
from heron_core.errors import ComponentError
from heronpy_compat.streamlet.elements import Element
from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.streamlet.fusion import Fusion, fused_name, fusion_of
from heronpy_compat.streamlet.impl.fusedbolt import OPERATORS, FusedBolt, function_key
from heronpy_compat.streamlet.impl.streamletboltbase import OUTPUT_STREAM, StreamletBoltBase
from heronpy_compat.streamlet.streamlet import Streamlet

FUNCTION = "function"
"""Config key of a stage's function, serialised by cloudpickle."""


class ElementBolt(Bolt, StatefulComponent, StreamletBoltBase):
    """A bolt that emits the `results` of an element, anchored, and then acks."""

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
        """The elements to emit for `element`, as an iterable."""
        return (element,)


class StageStreamlet(Streamlet[Element]):
    """A streamlet computed from other streamlets by a bolt.

    Subclasses set `prefix` (of default names) and `bolt`. The stage has as many partitions as the
    first parent, and is built after all parents are built.
    """

    prefix: str
    bolt: type[Bolt]
    begins_chain = False
    """The stage's bolt is an ElementBolt: later stages may be fused into the bolt."""
    joins_chain = False
    """The stage may be fused into the preceding stage if partitions are equal in number."""

    def __init__(self, *parents: Streamlet, config: dict[str, Any] | None = None) -> None:
        super().__init__()
        for parent in parents:
            if not isinstance(parent, Streamlet):
                raise StreamletError(
                    f"{self.prefix}: its partner must be a Streamlet, not {parent!r}"
                )
        self._parents = parents
        self._config = config or {}
        self.set_num_partitions(parents[0].get_num_partitions())

    def _grouping(self) -> Any:
        return Grouping.SHUFFLE

    def _calculate_inputs(self) -> dict[GlobalStreamId, Any]:
        return {
            GlobalStreamId(parent._component_name(), parent._output): self._grouping()
            for parent in self._parents
        }

    def _build_this(self, builder: TopologyBuilder, stage_names: set[str]) -> bool:
        if not all(parent._built for parent in self._parents):
            return False
        if self._component is None:
            self._add_bolt(builder, stage_names)
        return True

    def _add_bolt(self, builder: TopologyBuilder, stage_names: set[str]) -> None:
        chain = self._chain(fusion_of(with_loaders_config(builder.get_config())), stage_names)
        names = [each._name or "" for each in chain]
        for streamlet in chain:
            streamlet._component = fused_name(names)
        fused = len(chain) > 1
        builder.add_bolt(
            self._component_name(),
            FusedBolt if fused else self.bolt,
            self.get_num_partitions(),
            self._calculate_inputs(),
            config=_fused_config(chain) if fused else self._component_config(),
        )

    def _chain(self, fusion: Fusion, stage_names: set[str]) -> "list[StageStreamlet]":
        """The stage and the stages fused into the same bolt; all of them have names by then."""
        self._take_name(self.prefix, stage_names)
        chain, names = [self], [self._name or ""]
        while fusion.enabled and (following := chain[-1]._joining()) is not None:
            following._take_name(following.prefix, stage_names)
            names.append(following._name or "")
            if not fusion.may_fuse(names):
                break
            chain.append(following)
        return chain

    def _joining(self) -> "StageStreamlet | None":
        """The only reader of the stage, if fusion with the reader is possible."""
        if not self.begins_chain or len(self._children) != 1:
            return None
        child = self._children[0]
        if not isinstance(child, StageStreamlet) or not child.joins_chain:
            return None
        return child if child.get_num_partitions() == self.get_num_partitions() else None

    def _component_config(self) -> dict[str, Any]:
        return self._config


def _fused_config(chain: list[StageStreamlet]) -> dict[str, Any]:
    config: dict[str, Any] = {
        OPERATORS: [[each._name, each.bolt.__module__, each.bolt.__qualname__] for each in chain]
    }
    for each in chain:
        if FUNCTION in each._config:
            config[function_key(each._name or "")] = each._config[FUNCTION]
    return config


YIELDING = ("flat_map", "process")
"""Operations whose function may be a generator: they take several values."""


def checked_function(what: str, function: Any) -> Callable[..., Any]:
    """`function` if it can be called, RuntimeError otherwise: no operation waits for a coroutine,
    and a filter would take one for True."""
    if not callable(function):
        raise StreamletError(f"{what} takes a function, not {function!r}")
    if problem := refusal(f"the function of {what}", function, what in YIELDING):
        raise StreamletError(problem)
    found: Callable[..., Any] = function
    return found


def checked_object(
    what: str, thing: Any, names: Sequence[str], yielding: Sequence[str] = ()
) -> Any:
    """Check an object with callback methods; RuntimeError for a coroutine, or for a generator
    outside `yielding`."""
    try:
        refuse_methods(f"{what} of {type(thing).__name__}", thing, names, yielding)
    except ComponentError as error:
        raise StreamletError(str(error)) from None
    return thing
