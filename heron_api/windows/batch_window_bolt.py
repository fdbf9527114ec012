"""BatchWindowBolt: a KeyedWindowBolt on record batches. An extension of heronpy's API."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from heron_api.bolt.batch_bolt import BatchBolt
from heron_api.component.component_spec import checked_outputs
from heron_api.stream import Stream
from heron_api.tuple import ReadRow
from heron_api.windows.event_time import EventClock, EventTimeSettings
from heron_api.windows.keyed_window_bolt import KeyedWindowBolt
from heron_api.windows.window_runner import WindowRunner, is_tracked
from heron_core import config as keys
from heron_core.algorithms.event_windows.assigners import Sliding, Tumbling
from heron_core.algorithms.event_windows.column_aggregates import Aggregates, kept_columns
from heron_core.algorithms.event_windows.triggers import AT_WATERMARK
from heron_core.algorithms.event_windows.values import Output, Result
from heron_core.errors import ComponentError, TopologyError
from heron_core.topology import DEFAULT_STREAM
from heron_core.validation import choices

if TYPE_CHECKING:
    from pyarrow import Array, RecordBatch

    from heron_core.algorithms.event_windows.column_windows import ColumnWindows


@dataclass(slots=True)
class RetainedTuple:
    """A tracked batch: acked when the last slice is released, failed at most once."""

    tuple: Any
    slices: int


class RetainedCalls:
    """Callbacks of a WindowRunner for retained batches."""

    def __init__(self, bolt: Any) -> None:
        self.logger = bolt.logger
        self._bolt = bolt

    def emit(self, tup: Any, stream: str = DEFAULT_STREAM, anchors: Any = None) -> None:
        """Emit."""
        self._bolt.emit(tup, stream, anchors)

    def ack(self, tup: RetainedTuple) -> None:
        """One slice is complete."""
        tup.slices -= 1
        if tup.slices == 0:
            self._bolt.ack(tup.tuple)

    def fail(self, tup: RetainedTuple) -> None:
        """Emitting a result has failed."""
        if tup.slices > 0:
            tup.slices = 0  # the batch is not acked any more
            self._bolt.fail(tup.tuple)


class BatchRunner(WindowRunner):
    """A WindowRunner for batches; the operator is a ColumnWindows."""

    def process_batch(self, tup: Any, add: Callable[[int], list[Output]]) -> None:
        """A batch, which `add` puts into the operator at the time of now; a watermark comes behind
        all of its rows."""
        now_ms = self.now_ms()
        latest_ms = self._clock.timestamp_of(tup, now_ms) if self._by_event_time else now_ms
        outputs = add(now_ms)
        self._clock.seen(tup, latest_ms, now_ms)
        self._retains_tuples = self._retains_tuples or is_tracked(tup)
        self._handle(outputs)
        if self._settings.interval_ms == 0:
            self.tick()

    def release(self) -> list[Any]:
        """See WindowRunner."""
        operator: Any = self.operator
        found: list[Any] = operator.release()
        return found

    def drop_retained(self) -> list[Any]:
        """See WindowRunner."""
        operator: Any = self.operator
        found: list[Any] = operator.drop_retained()
        return found


class BatchWindowBolt(KeyedWindowBolt[ReadRow], BatchBolt[ReadRow]):
    """Aggregates the rows of batches by key and window, and emits the results of a window as one
    batch when it is complete.

        class SumsByShop(BatchWindowBolt):
            outputs = {"shop": "string", "start_ms": "bigint", "end_ms": "bigint",
                       "total": "bigint", "orders": "bigint"}
            key_fields = ["shop"]
            timestamp_field = "time_ms"
            window = Tumbling(60_000)
            aggregates = {"total": ("price", "sum"), "orders": "count"}

    The functions are sum, min, max, mean and count of a column, which leave nulls out; "count"
    alone is that of rows. The results have the columns of `key_fields`, `start_ms`, `end_ms` and
    one for each aggregate; `outputs` selects from them by name. The late stream has to declare
    types, too: it gets the columns of the late rows. All else is as of KeyedWindowBolt, but that
    `timestamp` and `key` return a column and columns, and `values` a frame.
    """

    auto_ack = auto_anchor = auto_fail = False
    needed_package = ("pyarrow", "a BatchWindowBolt")
    aggregates: Aggregates = {}
    _windows: "ColumnWindows"

    @classmethod
    def load_problem(cls, config: Mapping[str, Any], runs_here: bool) -> str | None:
        """Also rejects unsupported options of a KeyedWindowBolt."""
        if problem := super().load_problem(config, runs_here):
            return problem
        if not isinstance(cls.window, Tumbling | Sliding):
            return f"class {cls.__name__}: windows of batches are Tumbling or Sliding"
        if cls.trigger is not AT_WATERMARK:
            return f"class {cls.__name__}: windows of batches have no trigger"
        if not cls.aggregates:
            return (
                f"class {cls.__name__} has no aggregates, as in"
                ' aggregates = {"total": ("price", "sum"), "orders": "count"}'
            )
        try:
            kept_columns(cls.aggregates)
        except TopologyError as error:
            return f"class {cls.__name__}: {error}"
        return None

    @classmethod
    def outputs_problem(cls, config: Mapping[str, Any], streams: Iterable[str]) -> str | None:
        """Problem with the output streams, or None: a late stream that is not declared, a stream
        without types (it cannot carry batches), a field that is not a result."""
        late = cls.with_settings(config).get(keys.LATE_STREAM)
        if late is not None and late not in streams:
            return (
                f"late rows are to go to stream {late!r}, which is not declared: add"
                f' Stream({{"time_ms": "bigint", …}}, name={late!r}) to its outputs'
            )
        declared = [
            output if isinstance(output, Stream) else Stream([output])
            for output in checked_outputs(cls.__name__, getattr(cls, "outputs", ()))
        ]
        for stream in declared:
            if stream.stream_id in (DEFAULT_STREAM, late) and not stream.types:
                return (
                    f"class {cls.__name__}: its stream {stream.stream_id!r} gets batches, so its"
                    ' fields need types, as in outputs = {"shop": "string", "total": "bigint"}'
                )
            if stream.stream_id == DEFAULT_STREAM and (left := set(stream.fields) - cls._results()):
                return (
                    f"class {cls.__name__}: no result is called {min(left)!r};"
                    f" {choices('results', min(left), sorted(cls._results()))}"
                )
        return None

    @classmethod
    def _results(cls) -> set[str]:
        return {*cls.key_fields, "start_ms", "end_ms", *cls.aggregates}

    def made_runner(
        self, clock: EventClock, settings: EventTimeSettings, by_event_time: bool
    ) -> WindowRunner:
        """Create the window runner; imports pyarrow."""
        from heron_core.algorithms.event_windows.column_windows import ColumnWindows

        self._by_event_time = by_event_time
        assert isinstance(self.window, Tumbling | Sliding), "load_problem refuses others"
        windows = ColumnWindows(self.window, self.aggregates, lateness_ms=settings.lateness_ms)
        operator: Any = windows
        self._windows = windows
        return BatchRunner(
            RetainedCalls(self), operator, clock, settings, self._show, by_event_time
        )

    process = BatchBolt.process

    def process_batch(self, batch: "RecordBatch") -> None:
        """Add the rows of a batch."""
        tup, runner = self.current_tuple, self.time_runner
        assert isinstance(runner, BatchRunner), "made_runner makes no other"
        if batch.num_rows:
            runner.process_batch(tup, lambda now_ms: self._add(tup, batch, now_ms))
        else:
            self.ack(tup)

    def values(self, result: Result) -> Any:
        """Output of a window: results by name, with columns `result.value`, unless overridden;
        None emits no batch."""
        return result.value

    def _add(self, tup: Any, batch: "RecordBatch", now_ms: int) -> list[Output]:
        import pyarrow as pa
        import pyarrow.compute as pc

        times = self._times(tup) if self._by_event_time else pa.repeat(now_ms, batch.num_rows)
        starts, late = self._windows.starts(times)
        columns: dict[str, Any] = {name: self._column(tup, name) for name in self._windows.columns}
        key_columns = list(self.key(tup))  # type: ignore[call-overload]
        if late is not None:
            self._drop_late(tup, batch.filter(late))
            live = pc.invert(late)
            starts, key_columns = starts.filter(live), [each.filter(live) for each in key_columns]
            columns = {name: each.filter(live) for name, each in columns.items()}
        is_retained = is_tracked(tup) and len(starts) > 0
        retained = [RetainedTuple(tup, len(pc.unique(starts)))] if is_retained else []
        outputs = self._windows.add(key_columns, columns, starts, retained) if len(starts) else []
        if not retained:
            self.ack(tup)
        return outputs

    def _drop_late(self, tup: Any, rows: "RecordBatch") -> None:
        late = self.settings.late_stream
        if late is not None:
            self.emit_batch(rows, stream=late, anchors=[tup])
        else:
            self.time_runner.late_dropped(rows.num_rows)
            self.logger.info("%d late rows of %s are dropped", rows.num_rows, tup.component)

    def _column(self, tup: Any, name: str) -> "Array":
        if name not in tup.fields:
            raise ComponentError(
                f"class {type(self).__name__}: {name!r}, the field to aggregate, is not a field "
                f"of {tup.component}, stream {tup.stream!r}; "
                f"{choices('fields', name, tup.fields)}"
            )
        return tup.values.column(tup.fields.index(name))

    def _times(self, tup: Any) -> "Array":
        """Milliseconds since 1970 of the rows."""
        from pyarrow import int64, timestamp, types

        column: Any = self.timestamp(tup)
        if types.is_timestamp(column.type):
            column = column.cast(timestamp("ms", column.type.tz), safe=False)
        elif not types.is_integer(column.type):
            raise ComponentError(
                f"class {type(self).__name__}: timestamps are whole numbers of milliseconds since"
                f" 1970 or timestamps of Arrow, and those of {tup.component} are {column.type}"
            )
        if column.null_count:
            raise ComponentError(
                f"class {type(self).__name__}: {column.null_count} rows of {tup.component} have no"
                " timestamp"
            )
        return column.cast(int64())

    def _timestamp(self, tup: Any) -> Any:
        from pyarrow.compute import max as latest

        return latest(self._times(tup)).as_py()

    def _show(self, result: Result, anchors: list[Any]) -> None:
        import pyarrow as pa

        from heron_core.algorithms.event_windows.column_groups import results

        parts, _ = result.value
        columns = {name: parts[f"k{at}"] for at, name in enumerate(self.key_fields)}
        for name, time_ms in zip(("start_ms", "end_ms"), result.window, strict=True):
            columns[name] = pa.repeat(time_ms, parts.num_rows)
        columns |= results(self.aggregates, parts)
        frame = self.values(Result(None, result.window, columns, result.firing, result.number))
        if frame is not None:
            self.emit_batch(frame, anchors=[each.tuple for each in anchors])
