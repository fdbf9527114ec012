"""How a bolt stands in a topology, how it emits and acks (heronpy.api.bolt.base_bolt)."""

from collections.abc import Sequence
from typing import Any

from heron_api.component.base_component import BaseComponent
from heron_api.component.component_spec import HeronComponentSpec, checked_outputs
from heron_api.component.local_classes import class_path_of
from heron_api.stream import Outputs
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
    """Declared without a value: a class mixed in behind this one may bring it (heronpy)."""
    auto_ack = False
    auto_anchor = False
    auto_fail = False
    acks_later = False
    """Whether it acks or fails each tuple itself when it is done with it, maybe long after
    `process` has returned: in a pool of threads, or batch by batch. In EFFECTIVELY_ONCE a
    checkpoint has those that are not settled yet, and they are processed again after a restore
    (GUIDE.md, "Calls to the outside")."""

    @classmethod
    def spec(
        cls,
        name: str | None = None,
        inputs: Any = None,
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

        `anchors` are the input tuples it was made of: the spout's tuple counts as processed only
        when this one is, too. `direct_task` names the task that gets it besides the groupings.
        `need_task_ids` asks for the list of task ids that got it.
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
        """Say that `tup` is processed."""
        self.delegate.ack(tup)

    def fail(self, tup: Any) -> None:
        """Say that `tup` could not be processed; its spout hears of it at once."""
        self.delegate.fail(tup)
