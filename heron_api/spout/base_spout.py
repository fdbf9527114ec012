"""Spouts: declaration in a topology and emits (heronpy.api.spout.base_spout)."""

from collections.abc import Sequence
from typing import Any

from heron_api.component.base_component import BaseComponent
from heron_api.component.component_spec import HeronComponentSpec, checked_outputs
from heron_api.component.local_classes import class_path_of
from heron_api.stream import Outputs
from heron_core.topology import DEFAULT_STREAM


class BaseSpout(BaseComponent):
    """Base of spouts; `outputs` lists the fields of the default stream and further Streams."""

    outputs: Outputs
    """Declared without a value, so that a later mixin may define the value (heronpy)."""

    @classmethod
    def spec(
        cls,
        name: str | None = None,
        par: int = 1,
        config: dict[str, Any] | None = None,
        optional_outputs: Outputs | None = None,
    ) -> HeronComponentSpec:
        """This spout as a component of a topology.

        `name` defaults to the attribute of the Topology class, `par` is the number of instances,
        `config` is laid over the topology's for this component, `optional_outputs` are added to
        `outputs`. Arguments of the wrong type raise TypeError.
        """
        outputs = [
            *checked_outputs(cls.__name__, getattr(cls, "outputs", ())),
            *checked_outputs(f"{cls.__name__}: optional_outputs", optional_outputs or ()),
        ]
        return HeronComponentSpec(name, class_path_of(cls), True, par, None, outputs, config)

    def emit(
        self,
        tup: Sequence[Any],
        tup_id: Any = None,
        stream: str = DEFAULT_STREAM,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> Any:
        """Emit the values `tup`, one for each field of `stream`.

        With a `tup_id` (any object) the tuple is tracked: `ack(tup_id)` or `fail(tup_id)` is
        called at the end. `direct_task` names an additional receiving task; `need_task_ids`
        requests the list of receiving task ids.
        """
        return self.delegate.emit(tup, tup_id, stream, direct_task, need_task_ids)

    def emit_batch(
        self,
        frame: Any,
        tup_id: Any = None,
        stream: str = DEFAULT_STREAM,
        direct_task: int | None = None,
    ) -> None:
        """Emit the rows of a frame, each a tuple of `stream`, which has to declare types.

        `frame` is a RecordBatch or Table of pyarrow, a DataFrame of pandas or polars, or a dict of
        columns; its columns are found by their names. With a `tup_id` all of them are tracked as
        one: `ack(tup_id)` is called when every row is processed (COLUMNS.md). heronpy has none.
        """
        self.delegate.emit_batch(frame, tup_id, stream, direct_task)
