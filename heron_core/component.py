"""The contract between an engine and a component: every call an engine makes, and its default.

An engine (an instance process, the tester, the Spark runner) drives an adapter, never the user's
object itself: `EngineSpout` or `EngineBolt`. heron_frontends.adapters.construct makes the
adapter of a user's class, whatever API the class is written for. The adapter gets its
`SpoutBindings` or `BoltBindings` when it is made; these lead back into the engine.

The order of calls: `init_state`, `initialize`, `bind` again if task hooks were put around the
bindings, or `bind_direct` if nothing is around emit; for a bolt `tuple_loop`; then the data;
`close` at the end. All calls come from the main thread but `is_idle`, which may come from any
thread.

What `init_state` and `initialize` raise ends the instance. What any other method raises is
reported as the user code's error and goes to `handle_exception`, unless it says otherwise below.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

Emit = Callable[..., Any]
EmitOf = Callable[..., Emit]
"""emit_of(general, unnamed stream, ...): `general` with fast paths for the streams
(heron_instance.emit.collector)."""
TupleLoop = Callable[[Iterable[Any]], None]
ValuesMaker = Callable[[str, str], Callable[[list[Any]], Any]]
"""(component, stream) -> what makes the values of a tuple of a list."""
ExceptionHandler = Callable[[BaseException | None], None]


def _may(anchors: Any, stream: str) -> None:
    """Any thread may emit."""


@dataclass(kw_only=True)
class Bindings:
    """Services for a component: emit, log, main thread, error reports.

    heronpy's components know the object as `delegate`. The object is complete when a component
    is constructed; emit, ack and fail are replaced after `initialize` if task hooks exist.
    """

    emit: Emit
    emit_batch: Emit
    """Emits the rows of a frame (heron_instance.emit.frames), each as a tuple."""
    logger: Any
    """The component's logging.Logger."""
    call_soon: Callable[[Callable[[], None]], None]
    """Lets the main thread make a call soon; from any thread. All else is for the main thread."""
    call_later: Callable[[float, Callable[[], None]], None]
    """call_later(secs, function): the main thread makes the call after so many seconds."""
    raised: Callable[[str], None]
    """The exception being handled is user code's, and this is where it came from: report it, then
    let the component's `handle_exception` decide."""
    record_error: Callable[[str, str], None]
    """Report an error: event, and its text."""
    record_loss: Callable[[str, str], None]
    """The same of data that is lost: the run ends INCOMPLETE, with exit code 3."""
    leave: Callable[[str], NoReturn]
    """End the process for a reason; the process is restarted."""
    check_thread: Callable[[Any, str], None] = _may
    """check_thread(anchors, stream): a thread of user code is about to leave an emit for the main
    thread; ComponentError if it may not."""


@dataclass(kw_only=True)
class SpoutBindings(Bindings):
    """emit(tup, tup_id, stream, direct_task, need_task_ids), emit_batch(frame, tup_id, stream,
    direct_task)."""

    finish: Callable[[], None]
    """The spout has nothing more to emit."""
    reopen: Callable[[], None]
    """Reopen the spout."""
    abandon_emitted: Callable[..., bool]
    """abandon_emitted(tup_id, values, failures, why=…): a tuple of the default stream that has
    failed so often is not emitted again, or for a reason never was; whether it is a dead letter
    now."""
    emit_watermark: Callable[[int], None]
    """The spout emits no event that happened before then, in ms since 1970, from here on."""


@dataclass(kw_only=True)
class BoltBindings(Bindings):
    """emit(tup, stream, anchors, direct_task, need_task_ids), emit_batch(frame, stream, anchors,
    direct_task); ack and fail of a component that takes batches are those of batches."""

    ack: Callable[[Any], None]
    fail: Callable[[Any], None]
    abandon_rows: Callable[[Sequence[str], list[tuple[list[Any], str]]], None]
    """abandon_rows(fields, [(values, why), …]): tuples that were acked turned out not to be
    processed."""


class EngineComponent(Protocol):
    """What spouts and bolts have in common."""

    @property
    def users_object(self) -> Any:
        """The object of the user's class."""

    @property
    def driven_object(self) -> Any:
        """The object whose methods the calls end in: the user's, or the adapter where that does
        more. The tester puts its watch around its methods, the Spark engine saves its attributes.
        """

    @property
    def coroutines(self) -> Any:
        """Event loop of coroutine methods (adapters.coroutines); None without coroutines."""

    @property
    def handle_exception(self) -> ExceptionHandler | None:
        """Decides the consequence of a user exception (failed tuples, end of the process), after
        its report. None: the engine decides (a tuple fails alone)."""

    def bind(self, bindings: Any) -> None:
        """emit, ack and fail are those of `bindings` now: take the shortest way to them."""

    def bind_direct(self, emit_of: EmitOf) -> None:
        """Nothing is around the engine's emit: an emit of the adapter's own may have its fast
        path."""

    def init_state(self, state: Any) -> None:
        """State of the component (heron_api.state), empty or restored, if supported."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Before the first tuple; user code may emit in it."""

    def is_idle(self) -> bool:
        """Whether no tuple is under way in a child process, a thread or a window; any thread."""

    def begin_batch(self, batch_id: int) -> None:
        """Start of a batch on an engine that repeats batches (api.batch_aware)."""

    def end_batch(self) -> None:
        """All of a batch is processed; what it raises makes the batch come again."""

    def pre_save(self, checkpoint_id: str) -> None:
        """The state is about to be saved; what it raises makes the batch come again."""

    def post_save(self, checkpoint_id: str) -> None:
        """The checkpoint is complete: the states of all instances are saved."""

    def pre_restore(self, checkpoint_id: str) -> None:
        """The state will be restored to the checkpoint."""

    def close(self) -> None:
        """Graceful end of the instance; exceptions are only reported."""


class EngineSpout(EngineComponent, Protocol):
    """A spout. Engines take `next_tuple` and `ack` out once for many calls: they are to be the
    user's own bound methods, so that no call is added to a tuple."""

    @property
    def next_tuple(self) -> Callable[[], None]:
        """Emit available tuples, usually one, and return at once."""

    def refuse_returned(self, value: Any) -> None:
        """ComponentError: a value returned by `next_tuple` is not sent."""

    @property
    def ack(self) -> Callable[[Any], None]:
        """The tuple with the id and all derived tuples are processed."""

    @property
    def fail(self) -> Callable[[Any], None]:
        """The tuple of this id failed or expired."""

    @property
    def wants_acks(self) -> bool:
        """False where `ack` does nothing: engines then leave the call out."""

    def activate(self) -> None:
        """The topology runs (again)."""

    def deactivate(self) -> None:
        """The topology is paused."""


class EngineBolt(EngineComponent, Protocol):
    """A bolt."""

    @property
    def tuple_class(self) -> Any:
        """A class made from an iterable of the items of adapters.tuple_layout; None: the engine's.
        Read once, after `initialize`."""

    @property
    def values_maker(self) -> ValuesMaker | None:
        """Constructor of tuple values; None: plain lists. Read once, after `initialize`."""

    @property
    def takes_batches(self) -> bool:
        """Whether it gets tuples whose values are record batches, each with all rows of a message,
        instead of tuples. It never changes."""

    @property
    def is_async(self) -> bool:
        """Whether `process_coroutine` takes tuples in place of `tuple_loop`."""

    def process_coroutine(self, tup: Any) -> Any:
        """The coroutine that processes a tuple and returns None; None if no work is needed."""

    @property
    def exits_on_exception(self) -> bool:
        """For an async component: whether an exception of `process` ends the process."""

    def refuse_returned(self, value: Any) -> None:
        """ComponentError: a value returned by `process` is not sent."""

    @property
    def acks_later(self) -> bool:
        """Whether the component acks or fails tuples explicitly, possibly late. Read once,
        before `initialize`."""

    @property
    def retains_until_finish(self) -> bool:
        """For late acks: whether the component may be idle, by its `is_idle`, with retained
        tuples settled in `on_finish`."""

    def tuple_loop(self) -> TupleLoop:
        """Loop that runs tuples through user code and propagates exceptions; requested once,
        after `initialize`. The loop takes a tuple only after finishing the previous one."""

    def process_tick(self, tup: Any) -> None:
        """A tick is due; it needs no ack."""

    def source_watermark(self, component: str, task: int, watermark_ms: int) -> None:
        """What a task sends from here on happened at `watermark_ms` or later; END_OF_TIME: it has
        finished."""

    def on_watermark(self, watermark_ms: int) -> None:
        """The combined watermark of all sources has risen."""

    def clock_state(self) -> Any:
        """Event-time clock (heron_core.algorithms.clock_state), if the component has its own;
        any thread."""

    def on_finish(self) -> None:
        """The end of a finite run: emit what was collected until then."""


class ComponentDefaults:
    """Defaults of `EngineComponent`, for adapters to inherit."""

    handle_exception: ExceptionHandler | None = None
    coroutines: Any = None

    def bind(self, bindings: Any) -> None:
        """No fast path."""

    def bind_direct(self, emit_of: EmitOf) -> None:
        """No specialised emit."""

    def init_state(self, state: Any) -> None:
        """Keeps no state."""

    def is_idle(self) -> bool:
        """All is done when a call returns."""
        return True

    def begin_batch(self, batch_id: int) -> None:
        """Batches are ignored."""

    def end_batch(self) -> None:
        """Batches are ignored."""

    def pre_save(self, checkpoint_id: str) -> None:
        """Keeps no state."""

    def post_save(self, checkpoint_id: str) -> None:
        """Keeps no state."""

    def pre_restore(self, checkpoint_id: str) -> None:
        """Keeps no state."""

    def close(self) -> None:
        """No resources to close."""


class SpoutDefaults(ComponentDefaults):
    """Defaults of `EngineSpout`."""

    wants_acks = True

    def refuse_returned(self, value: Any) -> None:
        """Ignored."""

    def activate(self) -> None:
        """No action."""

    def deactivate(self) -> None:
        """No action."""


class BoltDefaults(ComponentDefaults):
    """Defaults of `EngineBolt`."""

    tuple_class: Any = None
    values_maker: ValuesMaker | None = None
    takes_batches = False
    acks_later = False
    is_async = False
    exits_on_exception = False
    retains_until_finish = False

    def process_coroutine(self, tup: Any) -> Any:
        """Not async."""
        raise NotImplementedError

    def refuse_returned(self, value: Any) -> None:
        """Not async."""
        raise NotImplementedError

    def process_tick(self, tup: Any) -> None:
        """Ticks are ignored."""

    def source_watermark(self, component: str, task: int, watermark_ms: int) -> None:
        """Event time is ignored."""

    def on_watermark(self, watermark_ms: int) -> None:
        """Event time is ignored."""

    def clock_state(self) -> Any:
        """Event time is ignored."""
        return None

    def on_finish(self) -> None:
        """No collected tuples."""
