"""Adapters of components that are written for heronpy's API, and of plain classes.

The adapter leaves the user's object unchanged and looks up its hooks at each call, because user
code may replace a method at run time. Only `next_tuple`, `process` and `ack` are called for each
tuple; for these the engine takes the user's own bound method.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from heron_api.bolt.batch_bolt import BatchBolt
from heron_api.component.base_component import BaseComponent
from heron_api.state.binding import keyed, provide
from heron_core.component import (
    BoltDefaults,
    ComponentDefaults,
    EngineBolt,
    EngineSpout,
    SpoutDefaults,
    TupleLoop,
)
from heron_core.library import PACKAGES
from heron_core.native import anchored_emit
from heron_core.topology import DEFAULT_STREAM, ComponentSpec
from heron_frontends.adapters.awaiting import ShapedBolt, coroutines_of, run_returned
from heron_frontends.adapters.batch_values import Misfit
from heron_frontends.adapters.request_failures import RequestFailures, request_failures
from heron_frontends.adapters.spout_steps import ShapedSpout

Method = Callable[..., Any]


class HeronpyComponent(ComponentDefaults):
    """Base of spout and bolt adapters; a hook that the user's object lacks has no effect."""

    is_spout: bool
    bound: tuple[str, ...]
    """Names of the bindings that the user's object may have as its own attributes."""

    def __init__(self, user: Any, takes_delegate: bool, spec: ComponentSpec | None = None) -> None:
        """`takes_delegate`: the class of the user's object has the delegate and forwards emits to
        it.
        """
        self._name = type(user).__name__ if spec is None else spec.name
        self._inputs = () if spec is None else spec.inputs
        self.state: Any = None
        self.coroutines = coroutines_of(user, self.is_spout)
        self.users_object = user
        self.driven_object = user
        is_ours = isinstance(user, BaseComponent)
        self._shortened = [
            name
            for name in self.bound
            if (is_not_overridden(user, name) if is_ours else _lacks(user, name, takes_delegate))
        ]

    def bind(self, bindings: Any) -> None:
        """Spare the way over the API's method and the delegate, unless the user overrides it."""
        for name in self._shortened:
            setattr(self.users_object, name, getattr(bindings, name))

    def _hook(self, name: str) -> Method:
        method = getattr(self.users_object, name, None)
        if not callable(method):
            return _nothing
        found: Method = method
        return found

    def _call(self, name: str, *arguments: Any) -> None:
        run_returned(self, self._hook(name)(*arguments))

    def _ours(self, name: str) -> Method:
        """A method of the project's bolts; a user's method of equal name has another meaning."""
        module = getattr(getattr(type(self.users_object), name, None), "__module__", "")
        return self._hook(name) if module.startswith(PACKAGES) else _nothing

    def init_state(self, state: Any) -> None:
        """Provide the states declared by the class, then the state of a StatefulComponent."""
        self.state = state
        provide(self.users_object, state, self._name)
        self._call("init_state", state)

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """The user's own."""
        self._call("initialize", config, context)

    def is_idle(self) -> bool:
        """Whether a component with threads or a child process is idle, by its own `is_idle`."""
        asked = getattr(self.users_object, "is_idle", None)
        return bool(asked()) if callable(asked) else True

    def begin_batch(self, batch_id: int) -> None:
        """Of a BatchAware component."""
        self._call("begin_batch", batch_id)

    def end_batch(self) -> None:
        """Of a BatchAware component."""
        self._call("end_batch")

    def pre_save(self, checkpoint_id: str) -> None:
        """Of a StatefulComponent."""
        self._call("pre_save", checkpoint_id)

    def post_save(self, checkpoint_id: str) -> None:
        """Of a TwoPhaseStatefulComponent."""
        self._call("post_save", checkpoint_id)

    def pre_restore(self, checkpoint_id: str) -> None:
        """Of a TwoPhaseStatefulComponent."""
        self._call("pre_restore", checkpoint_id)

    def close(self) -> None:
        """Call the user's `close`; heronpy defines `close` for spouts only, here bolts may define
        `close` too.
        """
        if self.coroutines is None:
            self._call("close")
            return
        self.coroutines.cancel()
        try:
            self._call("close")
        finally:
            self.coroutines.close()


class HeronpySpout(ShapedSpout, HeronpyComponent, SpoutDefaults):
    """A spout of heronpy's API, or a plain class with next_tuple()."""

    is_spout = True
    bound = ("emit", "emit_batch")
    _step: Callable[[], None] | None = None
    """Where `next_tuple` yields, or is a coroutine."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.find_shape()

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """The user's own."""
        super().initialize(config, context)
        self._step = self.stepping()

    @property
    def next_tuple(self) -> Callable[[], None]:
        """The user's own."""
        if self._step is not None:
            return self._step
        method: Callable[[], None] = self.users_object.next_tuple
        return method

    @property
    def ack(self) -> Callable[[Any], None]:
        """The user's own."""
        return self._hook("ack")

    @property
    def fail(self) -> Callable[[Any], None]:
        """The user's own."""
        return self._hook("fail")

    @property
    def wants_acks(self) -> bool:  # type: ignore[override]
        """Whether the user's class has an ack of its own."""
        return self.ack is not _nothing and not is_not_overridden(self.users_object, "ack")

    def activate(self) -> None:
        """The user's own."""
        self._call("activate")

    def deactivate(self) -> None:
        """The user's own."""
        self._call("deactivate")


class HeronpyBolt(ShapedBolt, HeronpyComponent, BoltDefaults):
    """A bolt of heronpy's API, or a plain class with process(tup)."""

    is_spout = False
    bound = ("emit", "emit_batch", "ack", "fail")

    _failures: RequestFailures | None = None
    """Of a bolt that processes requests."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.find_shape()

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """The user's own."""
        super().initialize(config, context)
        self._failures = request_failures(self._name, self._inputs, config, context)

    def close(self) -> None:
        """The user's own."""
        super().close()
        if self._failures is not None:
            self._failures.close()

    @property
    def takes_batches(self) -> bool:  # type: ignore[override]
        """Of a BatchBolt."""
        return isinstance(self.users_object, BatchBolt)

    @property
    def acks_later(self) -> bool:  # type: ignore[override]
        """As its class says (api.bolt.base_bolt)."""
        return bool(getattr(self.users_object, "acks_later", False))

    @property
    def retains_until_finish(self) -> bool:  # type: ignore[override]
        """Whether the class defines `is_idle`, or overrides `on_finish`."""
        user = self.users_object
        if callable(getattr(user, "is_idle", None)):
            return True
        return hasattr(user, "on_finish") and not is_not_overridden(user, "on_finish")

    @property
    def process(self) -> Callable[[Any], None]:
        """The user's own."""
        method: Callable[[Any], None] = self.users_object.process
        return method

    def process_tick(self, tup: Any) -> None:
        """The user's own."""
        self._call("process_tick", tup)

    def source_watermark(self, component: str, task: int, watermark_ms: int) -> None:
        """Of a window bolt."""
        self._ours("source_watermark")(component, task, watermark_ms)

    def on_watermark(self, watermark_ms: int) -> None:
        """The user's own."""
        self._call("on_watermark", watermark_ms)

    def clock_state(self) -> Any:
        """Of a window bolt."""
        return self._ours("clock_state")()

    def on_finish(self) -> None:
        """The user's own."""
        self._call("on_finish")

    def tuple_loop(self) -> TupleLoop:
        """The shortest loop that this component's acks, anchors and shape allow."""
        user = self.users_object
        auto_ack = bool(getattr(user, "auto_ack", False))
        auto_anchor = bool(getattr(user, "auto_anchor", False))
        process = self._keyed_process()
        if self._failures is not None:
            process = self._failures.around(user, process)
        if self.process_yields and not auto_ack and not self.acks_later:
            process = _acked_at_end(user, process)
        if auto_ack or auto_anchor:
            return _auto_loop(self, process, auto_ack, auto_anchor)
        refuse = self.refuse_returned

        def loop(tuples: Iterable[Any]) -> None:
            for tup in tuples:
                if (value := process(tup)) is not None:
                    refuse(value)

        return loop

    def _keyed_process(self) -> Callable[[Any], Any]:
        if self.takes_batches:  # whose rows have keys of their own
            return _refusing(self.shaped_process())
        return keyed(self.shaped_process(), self.state, self._inputs, _fields_of)


def _refusing(process: Method) -> Method:
    """`process` of a bolt for batches; TypeError for rows that do not fit the batch."""

    def run(tup: Any) -> Any:
        if isinstance(tup.values, Misfit):
            raise TypeError(tup.values.why)
        return process(tup)

    return run


def _fields_of(tup: Any) -> Sequence[str]:
    fields: Sequence[str] = tup.fields
    return fields


def _acked_at_end(user: Any, process: Method) -> Method:
    """`process` of a bolt that yields; a tuple not yet acked or failed is acked at the end."""
    settled: list[Any] = []
    ack = user.ack

    def noting(settle: Method) -> Method:
        def noted(tup: Any) -> None:
            settled.append(tup)
            settle(tup)

        return noted

    user.ack, user.fail = noting(user.ack), noting(user.fail)

    def run(tup: Any) -> None:
        settled.clear()
        process(tup)
        if not any(acked is tup for acked in settled):
            ack(tup)

    return run


def _auto_loop(bolt: Any, process: Method, auto_ack: bool, auto_anchor: bool) -> TupleLoop:
    """The loop of a bolt with auto_ack or auto_anchor (api.bolt.base_bolt)."""
    user = bolt.users_object
    ack = user.ack if auto_ack else _nothing
    if not auto_anchor:
        return _acking(process, ack, bolt.refuse_returned)
    current: list[Any] = []
    user.emit = anchored_emit(user.emit, current, DEFAULT_STREAM)
    if hasattr(user, "emit_batch"):
        user.emit_batch = _auto_anchored_batch(user.emit_batch, current)
    return _anchoring(process, ack, bolt.refuse_returned, current)


def _acking(process: Method, ack: Method, refuse: Method) -> TupleLoop:
    def loop(tuples: Iterable[Any]) -> None:
        for tup in tuples:
            if (value := process(tup)) is not None:
                refuse(value)
            ack(tup)

    return loop


def _anchoring(process: Method, ack: Method, refuse: Method, current: list[Any]) -> TupleLoop:
    """The same with the tuple in `current` during its call: what runs besides, such as a tick or a
    user's own `ack`, has no tuple to anchor to."""
    begin, end = current.append, current.clear

    def loop(tuples: Iterable[Any]) -> None:
        try:
            for tup in tuples:
                begin(tup)
                if (value := process(tup)) is not None:
                    refuse(value)
                end()
                ack(tup)
        finally:
            end()

    return loop


def _auto_anchored_batch(emit_batch: Method, current: list[Any]) -> Method:
    def anchored(
        frame: Any,
        stream: str = "default",
        anchors: Any = None,
        direct_task: int | None = None,
    ) -> Any:
        chosen = current if anchors is None else anchors
        return emit_batch(frame, stream, chosen, direct_task)

    return anchored


def is_not_overridden(user: Any, name: str) -> bool:
    """Whether a component's method is the one of our API's base class."""
    method = getattr(type(user), name, None)
    return getattr(method, "__module__", "").startswith("heron_api.")


def _lacks(user: Any, name: str, takes_delegate: bool) -> bool:
    return not takes_delegate and not hasattr(user, name)


def _nothing(*arguments: Any) -> None:
    pass


_spout: type[EngineSpout] = HeronpySpout
_bolt: type[EngineBolt] = HeronpyBolt
