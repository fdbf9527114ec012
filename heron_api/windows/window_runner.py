"""Runner of a WindowOperator in a bolt: time as input, results and acks as output.

A tracked tuple is retained with its accumulator: results are anchored to their input tuples, and
a tuple is acked after its last result (Storm: on expiry). An untracked tuple is acked at once,
and only the accumulator is retained.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from heron_api.method_shapes import checked_call, has_run, refuse_methods
from heron_api.windows.clocked_bolt import BoltCalls, ClockRunner
from heron_api.windows.event_time import EventClock, EventTimeSettings
from heron_api.windows.saved_windows import KeyOf, restore_windows, save_windows
from heron_core.algorithms.event_windows.aggregates import Aggregate, Reduce
from heron_core.algorithms.event_windows.operator import WindowOperator
from heron_core.algorithms.event_windows.values import Dropped, Failed, Late, Output, Result
from heron_core.errors import ComponentError

LATE_FIELD = "late_tuple"
"""The one field of a late stream (Storm); the value is the list of the late tuple's values."""

KEY_SHOWN = 100
"""Characters of a key in an error's note."""
Show = Callable[[Result, list[Any]], None]
"""show(result, anchors)"""


class AnchoredAggregate:
    """An aggregate over (value, tuple or None); accumulators also retain the tuples.
    ComponentError for a method that returns a coroutine or generator, whose code has not run."""

    def __init__(self, inner: Aggregate) -> None:
        if isinstance(inner, Reduce):
            inner = Reduce(checked_call("Reduce", inner.function))
        self._inner = inner
        self._name = type(inner).__name__
        self._add = f"{self._name}.add"
        self._pack = getattr(inner, "pack", _same)
        self._unpack = getattr(inner, "unpack", _same)

    def create(self) -> list[Any]:
        """[the aggregate's own, tuples]"""
        return [has_run(f"{self._name}.create", self._inner.create()), []]

    def add(self, accumulator: list[Any], value: Any) -> list[Any]:
        """Add a value; the tuple is retained only if the call succeeds."""
        accumulator[0] = has_run(self._add, self._inner.add(accumulator[0], value[0]))
        if value[1] is not None:
            accumulator[1].append(value[1])
        return accumulator

    def merge(self, left: list[Any], right: list[Any]) -> list[Any]:
        """Both."""
        left[0] = has_run(f"{self._name}.merge", self._inner.merge(left[0], right[0]))
        left[1].extend(right[1])
        return left

    def result(self, accumulator: list[Any]) -> tuple[Any, list[Any]]:
        """The aggregate's result, and the result's anchors."""
        result = has_run(f"{self._name}.result", self._inner.result(accumulator[0]))
        return result, list(accumulator[1])

    def pack(self, accumulator: list[Any]) -> Any:
        """Without the tuples: where a checkpoint is restored, sources restart from it."""
        return self._pack(accumulator[0])

    def unpack(self, packed: Any) -> list[Any]:
        """With no tuples."""
        return [self._unpack(packed), []]


class WindowRunner(ClockRunner):
    """An operator (created with an AnchoredAggregate), the operator's clock, and the bolt."""

    def __init__(
        self,
        bolt: BoltCalls,
        operator: WindowOperator,
        clock: EventClock,
        settings: EventTimeSettings,
        show: Show,
        by_event_time: bool = True,
        late_value: Callable[[Any], Any] = lambda tup: list(tup.values),
    ) -> None:
        """`late_value`: content of the late stream for a tuple."""
        super().__init__(clock, settings, by_event_time)
        self._bolt = bolt
        self.operator = operator
        self._show = show
        self._late_value = late_value
        self._retains_tuples = False
        """Whether tuples have arrived since the last ack on idle input."""

    def process(self, tup: Any, key: Hashable, make_value: Callable[[int], Any]) -> None:
        """Process a tuple; `make_value` receives the timestamp."""
        now_ms = self.now_ms()
        timestamp_ms = now_ms
        if self._by_event_time:
            timestamp_ms = self._clock.timestamp_of(tup, now_ms)
        retained = tup if is_tracked(tup) else None
        outputs = self.operator.add(key, timestamp_ms, (make_value(timestamp_ms), retained), now_ms)
        self._clock.seen(tup, timestamp_ms, now_ms)
        if any(isinstance(each, Late) for each in outputs):
            drop_late(self._bolt, self._settings, self._clock, tup, self._late_value(tup))
        else:
            self._retains_tuples = self._retains_tuples or retained is not None
            if retained is None:
                self._bolt.ack(tup)
            self._handle(outputs)
        if self._settings.interval_ms == 0:
            self.tick()

    def now_ms(self) -> int:
        """Processing time in ms since 1970. For windows in processing time the value never
        decreases, so no tuple is late."""
        now_ms = self._clock.now_ms()
        return now_ms if self._by_event_time else max(now_ms, self.operator.watermark_ms)

    def tick(self) -> None:
        """Time has passed."""
        now_ms = self.now_ms()
        watermark_ms = self._clock.watermark_ms(now_ms) if self._by_event_time else now_ms
        self._handle(self.operator.advance_watermark(watermark_ms))
        self._handle(self.operator.advance_time(now_ms))
        if self._retains_tuples and self._clock.is_quiet(now_ms):
            self._show_so_far()
        if not self._by_event_time:
            return
        if self._clock.has_ended(now_ms, self.operator.open_windows, self._bolt.logger):
            self._handle(self.operator.complete_open())
            self._clock.generator.raise_to(self.operator.watermark_ms)

    def _show_so_far(self) -> None:
        """Idle input: retained tuples would time out and be replayed. Emit early results and ack
        the tuples; the windows stay open."""
        self._retains_tuples = False
        self._bolt.logger.info(
            "no tuple has come for a while: %d open windows are shown so far, and stay open",
            self.operator.open_windows,
        )
        self._handle(self.operator.show_so_far())
        for tup in self.release():
            self._bolt.ack(tup)

    def release(self) -> list[Any]:
        """Remove and return the tuples retained by accumulators."""
        released: list[Any] = []
        for accumulator in self.operator.accumulators():
            released += accumulator[1]
            accumulator[1] = []
        return released

    def fail_retained(self) -> None:
        """See Runner."""
        self._retains_tuples = False
        self._fail({id(tup): tup for tup in self.drop_retained()}.values())

    def drop_retained(self) -> list[Any]:
        """Discard accumulators with tuples; return the tuples, once per retention."""
        dropped = self.operator.drop_cells(lambda accumulator: bool(accumulator[1]))
        return [tup for _, tuples in dropped for tup in tuples]

    def save(self, state: Any, key_of: KeyOf) -> None:
        """See Runner."""
        save_windows(state, self.operator, key_of)

    def restore(self, state: Any, key_of: KeyOf) -> None:
        """See Runner."""
        restore_windows(state, self.operator, key_of)

    def source_watermark(self, component: str, task: int, watermark_ms: int) -> None:
        """See Runner. When all have finished, the open windows are complete."""
        self._clock.source_watermark(component, task, watermark_ms)
        self.tick()
        if self._clock.is_complete(self._retains_tuples):
            self._handle(self.operator.show_open())

    def late_dropped(self, number: int) -> None:
        """Count late rows without a late stream."""
        self._clock.late_dropped(number)

    def finish(self) -> None:
        """The end of the input."""
        if not self._by_event_time:
            self.tick()
            self._handle(self.operator.show_open())
            return
        self._handle(self.operator.finish())

    def _handle(self, outputs: Iterable[Output]) -> None:
        """Run all callbacks despite exceptions; then raise the first exception."""
        errors: list[Exception] = []
        for output in outputs:
            match output:
                case Result(value=(_, anchors)):
                    try:
                        self._show(output, anchors)
                    except Exception as error:
                        errors.append(noted(error, output))
                        self._fail(anchors)
                case Dropped(accumulator=(_, tuples)):
                    for tup in tuples:
                        self._bolt.ack(tup)
                case Failed(error=error):
                    errors.append(error)
                    for _, tuples in output.accumulators:
                        self._fail(tuples)
        if errors:
            if further := len(errors) - 1:
                errors[0].add_note(
                    f"{further} further windows raised, most recently {errors[-1]!r}"
                )
            raise errors[0]

    def _fail(self, tuples: Iterable[Any]) -> None:
        """The spout replays the tuples; later acks of some tuples have no effect."""
        for tup in tuples:
            self._bolt.fail(tup)


def noted(error: Exception, result: Result) -> Exception:
    """An exception that names the window of the result."""
    key = "" if result.key is None else f" of key {result.key!r:.{KEY_SHOWN}}"
    error.add_note(f"the window from {result.window.start_ms} to {result.window.end_ms} ms{key}")
    return error


def is_tracked(tup: Any) -> bool:
    """Whether a spout waits for the ack."""
    return bool(tup.id != "0")


def drop_late(
    bolt: BoltCalls, settings: EventTimeSettings, clock: EventClock, tup: Any, value: Any
) -> None:
    """A late tuple goes to the late stream, or is counted and logged; then it is acked (Storm)."""
    if settings.late_stream is not None:
        bolt.emit([value], stream=settings.late_stream, anchors=[tup])
    else:
        clock.late_dropped(1)
        bolt.logger.info("a late tuple of %s is dropped: %s", tup.component, value)
    bolt.ack(tup)


def late_stream_problem(name: str | None, streams: Iterable[str]) -> str | None:
    """Problem with a late stream that the bolt does not declare."""
    if name is None or name in streams:
        return None
    return (
        f"late tuples go to stream {name!r}, which is not declared: add "
        f"Stream(fields=[{LATE_FIELD!r}], name={name!r}) to its outputs"
    )


def checked_aggregate(aggregate: Any, where: str) -> Aggregate:
    """Check `aggregate` for the four methods; ComponentError otherwise."""
    for name in ("create", "add", "merge", "result"):
        if not callable(getattr(aggregate, name, None)):
            raise ComponentError(
                f"{where}: its aggregate has no {name}(); it takes an object with create(),"
                f" add(accumulator, value), merge(left, right) and result(accumulator):"
                f" {aggregate!r}"
            )
    names = ("create", "add", "merge", "result", "pack", "unpack")
    refuse_methods(f"{where}: its aggregate {type(aggregate).__name__}", aggregate, names)
    if isinstance(aggregate, Reduce):
        checked_call(f"Reduce in {where}", aggregate.function)
    checked: Aggregate = aggregate
    return checked


def _same(value: Any) -> Any:
    return value
