"""Bolts: declaration in a topology, emits and acks (heronpy.api.bolt.base_bolt)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic

from heron_api.component.base_component import BaseComponent
from heron_api.component.component_spec import HeronComponentSpec, Inputs, checked_outputs
from heron_api.component.local_classes import class_path_of
from heron_api.stream import Outputs
from heron_api.tuple import ReadRow
from heron_core.topology import DEFAULT_STREAM, TICK_STREAM


class BaseBolt(BaseComponent):
    """Base of bolts; `outputs` lists the fields of the default stream and further Streams.

    Three class attributes, all False as in Heron, take work off you as pystorm does:
    `auto_ack` acks a tuple when `process` has returned, `auto_anchor` anchors what `process`
    emits without `anchors` to the tuple it processes, `auto_fail` fails the tuple when `process`
    raises.

        class Split(Bolt):
            outputs = ["word"]
            auto_ack = auto_anchor = auto_fail = True

            def process(self, tup):
                for word in tup.values[0].split():
                    self.emit([word])
    """

    outputs: Outputs
    """Declared without a value, so that a later mixin may define the value (heronpy)."""
    auto_ack = False
    auto_anchor = False
    auto_fail = False
    acks_later = False
    """Whether the bolt acks or fails each tuple explicitly, possibly long after `process` has
    returned: from a thread pool or batch by batch. In EFFECTIVELY_ONCE a checkpoint contains
    unsettled tuples, and a restore processes them again (GUIDE.md, "Calls to the outside")."""

    if not TYPE_CHECKING:

        def __class_getitem__(cls, row):
            """Bolt[Click] is Bolt: a declared row is for editors and type checkers."""
            return cls

    @classmethod
    def spec(
        cls,
        name: str | None = None,
        inputs: Inputs | None = None,
        par: int = 1,
        config: dict[str, Any] | None = None,
        optional_outputs: Outputs | None = None,
    ) -> HeronComponentSpec:
        """This bolt as a component of a topology.

        `inputs` is a dict of component (or one of its streams, as in `words["errors"]`) to
        grouping, or a list of them, each grouped SHUFFLE. `name` defaults to the attribute of the
        Topology class, `par` is the number of instances, `config` is laid over the topology's for
        this component, `optional_outputs` are added to `outputs`. Arguments of the wrong type
        raise TypeError.
        """
        outputs = [
            *checked_outputs(cls.__name__, getattr(cls, "outputs", ())),
            *checked_outputs(f"{cls.__name__}: optional_outputs", optional_outputs or ()),
        ]
        return HeronComponentSpec(name, class_path_of(cls), False, par, inputs, outputs, config)

    def emit(
        self,
        tup: Sequence[Any],
        stream: str = DEFAULT_STREAM,
        anchors: Sequence[Any] | None = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> Any:
        """Emit the values `tup`, one for each field of `stream`.

        `anchors` are the input tuples of the emitted tuple: the spout's tuple counts as
        processed only after the emitted tuple is processed. `direct_task` names an additional
        receiving task; `need_task_ids` requests the list of receiving task ids.
        """
        return self.delegate.emit(tup, stream, anchors, direct_task, need_task_ids)

    def emit_batch(
        self,
        frame: Any,
        stream: str = DEFAULT_STREAM,
        anchors: Sequence[Any] | None = None,
        direct_task: int | None = None,
    ) -> None:
        """Emit the rows of a frame, each a tuple of `stream`, which has to declare types.

        `frame` is a RecordBatch or Table of pyarrow, a DataFrame of pandas or polars, or a dict of
        columns; its columns are found by their names. The rest is as with `emit` (COLUMNS.md).
        heronpy has none.
        """
        self.delegate.emit_batch(frame, stream, anchors, direct_task)

    @staticmethod
    def is_tick(tup: Any) -> bool:
        """Whether `tup` is a tick of `topology.tick.tuple.freq.secs`."""
        return bool(tup.stream == TICK_STREAM)

    def ack(self, tup: Any) -> None:
        """Ack `tup`: processed successfully."""
        self.delegate.ack(tup)

    def fail(self, tup: Any) -> None:
        """Fail `tup`; the spout is notified at once."""
        self.delegate.fail(tup)


if TYPE_CHECKING:

    class RowBolt(BaseBolt, Generic[ReadRow]):
        """A bolt that reads rows of a declared type, as type checkers see it."""

else:
    RowBolt = BaseBolt
