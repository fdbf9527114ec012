"""Bolts of pystorm and streamparse."""

import threading
from collections.abc import Callable, Iterable
from typing import Any

from heron_api.state.binding import keyed
from heron_core import config as keys
from heron_core.component import BoltBindings, BoltDefaults, EmitOf, EngineBolt, TupleLoop
from heron_core.native import COMPILED, HOT_PATH, CurrentTuples
from heron_core.topology import DEFAULT_STREAM, ComponentSpec
from heron_frontends.adapters.awaiting import ShapedBolt, run_returned
from heron_frontends.adapters.storm.component import StormComponent, stream_name
from heron_frontends.adapters.storm.library import module_of, overrides
from heron_frontends.adapters.storm.tuples import (
    LiveTuples,
    ValuesMakers,
    tick,
    tick_class,
    tuple_class,
)
from heronpy_compat.pystorm.bolt import values_class

_OWN_LOOP = ("_run", "read_tuple", "read_command", "read_message")
"""A class that overrides a method listed here receives tuples as pystorm reads the tuples."""
NOTHING: tuple[Any, ...] = ()


class StormBolt(ShapedBolt, StormComponent, BoltDefaults):
    """A user's bolt, driven by the engine.

    It is given tuples of `tuple_class` with values made by `values_maker`.
    """

    bindings: BoltBindings
    exits_by_default = True
    unnamed_stream = None
    takes_turns = HOT_PATH == COMPILED
    """Whether its loop over tuples is compiled."""
    returns_task_ids = True
    """Whether emit returns task ids on request; a BatchingBolt's emit never does."""

    def __init__(self, user: Any, spec: ComponentSpec, bindings: BoltBindings) -> None:
        super().__init__(user, spec, bindings)
        self.find_shape()
        self._inputs = spec.inputs
        self.live = LiveTuples()
        self._plain = module_of(type(user), "component").Tuple
        self.tuple_class = tuple_class(self._plain, self.live)
        self._makers = ValuesMakers({})
        self.values_maker = self._makers
        self._tick_class = tick_class(self.tuple_class)
        self._tick_secs: float | None = None
        self.has_own_loop = any(overrides(user, name) for name in _OWN_LOOP)
        self._shadow_ack = _settle(self, "ack")
        self._loop: TupleLoop = self._own_loop
        self._emit: Callable[..., Any] | None = None
        """Created once the main thread is known."""
        self._warned = False
        self._acts["ack"] = lambda each: self.settle("ack", each["id"])
        self._acts["fail"] = lambda each: self.settle("fail", each["id"])
        self.serializer.as_message = self._as_message

    def prepare(self, storm_conf: dict[str, Any], context: dict[str, Any]) -> None:
        """The user's `initialize` may emit."""
        fields = context["source->stream->fields"]
        self._tick_secs = keys.tick_interval_secs(storm_conf)
        self._makers = self.values_maker = ValuesMakers(fields)
        self._emit = _emit(self)
        self.shadow("emit", self._emit)
        self.shadow("ack", self._shadow_ack)
        self.shadow("fail", _settle(self, "fail"))
        self.shadow("read_tuple", self._read_tuple)
        if self.has_own_loop:
            for source, streams in fields.items():
                for stream, names in streams.items():
                    tuple_type = values_class(source, stream, names)
                    self.users_object._source_tuple_types[source][stream] = tuple_type

    def ready(self, storm_conf: dict[str, Any]) -> None:
        """Make the loop over tuples from the current methods of the user's object."""
        self._loop = self._own_loop if self.has_own_loop else self.processing()

    @property
    def acks_later(self) -> bool:  # type: ignore[override]
        """Whether the class leaves acks to user code."""
        return not self.users_object.auto_ack

    @property
    def retains_until_finish(self) -> bool:  # type: ignore[override]
        """See EngineBolt."""
        return callable(getattr(self.users_object, "on_finish", None))

    def tuple_loop(self) -> TupleLoop:
        """Spare a call for each tuple, unless the tester has put its watch around `process`."""
        return self._watched_loop if "process" in vars(self) else self._loop

    def _watched_loop(self, tuples: Iterable[Any]) -> None:
        for tup in tuples:
            self.process(tup)

    def bind_direct(self, emit_of: EmitOf) -> None:
        """Spare the way over our emit where the engine's has a fast path, and most of our ack."""
        user, own = self.users_object, vars(self.users_object)
        if self.has_own_loop:
            return
        if self._emit and own.get("emit") is self._emit:
            user.emit = emit_of(self._emit, None, user, threading.get_ident)
        if own.get("ack") is self._shadow_ack:
            user.ack = self._shadow_ack = _quick_ack(self, self._shadow_ack)

    # --- what the engine calls ------------------------------------------------------------------

    def process(self, tup: Any) -> Any:
        """Process one tuple, with its ack; an async `process` returns its coroutine."""
        return super().process_coroutine(tup) if self.is_async else self._loop((tup,))

    def process_coroutine(self, tup: Any) -> Any:
        """By way of what the tester has put around `process`."""
        return self.process(tup)

    def process_tick(self, tup: Any) -> None:
        """One tick through user code."""
        made = tick(self._tick_class, self._tick_secs, tup.creation_time)
        try:
            if self.has_own_loop:
                self._run_once(made)
            else:
                self._tick(made)
        finally:
            self.live.forget(made)

    def ack(self, tup: Any) -> None:
        """A tuple is processed, whatever the user's class makes of that."""
        self.settle("ack", tup)

    def fail(self, tup: Any) -> None:
        """A tuple failed, whatever the user's class makes of that."""
        self.settle("fail", tup)

    def on_finish(self) -> None:
        """The end of a finite run: an extension that a user's class may have."""
        on_finish = getattr(self.users_object, "on_finish", None)
        if on_finish is not None:
            run_returned(self, on_finish())

    def close(self) -> None:
        """Cancel running coroutines."""
        if self.coroutines is not None:
            self.coroutines.close()

    @property
    def exits_on_exception(self) -> bool:  # type: ignore[override]
        """As its class says."""
        return bool(self.users_object.exit_on_exception)

    def handle_exception(self, error: BaseException | None) -> None:
        """As for every component; afterwards no tuple is the current one."""
        try:
            super().handle_exception(error)
        finally:
            self.users_object._current_tups = []

    # --- one tuple ------------------------------------------------------------------------------

    def processing(self) -> TupleLoop:
        """Bolt._run without its reading; created once, because every tuple passes the loop.

        After an exception the loop keeps its tuple: _current_tups are the tuples to fail.
        """
        user, live, bindings = self.users_object, self.live, self.bindings
        process, named = self.keyed_process(), live.by_id
        own_ack, refuse = self._has_own_ack, self.refuse_returned
        if self.takes_turns and not own_ack:
            return self.turns(process, acks=True)

        def run(some: Iterable[Any]) -> None:
            ack = bindings.ack
            for tup in some:
                user._current_tups = [tup]
                if (value := process(tup)) is not None:
                    refuse(value)
                if user.auto_ack:
                    if own_ack:
                        user.ack(tup)
                    else:
                        if named:
                            live.forget(tup)
                        ack(tup)
            user._current_tups = []

        return run

    def turns(self, process: Callable[[Any], Any], acks: bool) -> TupleLoop:
        """The loop with compiled surroundings of `process`: only the call is Python's."""
        user, live, bindings = self.users_object, self.live, self.bindings
        named, forget, refuse = live.by_id, live.forget, self.refuse_returned

        def run(some: Iterable[Any]) -> None:
            ack = bindings.ack if acks else None
            for tup in CurrentTuples(some, user, ack, named, forget):
                if (value := process(tup)) is not None:
                    refuse(value)

        return run

    def keyed_process(self) -> Callable[[Any], None]:
        """The user's `process`, with the current key set if the bolt has keyed states."""
        fields_of = self._makers.fields_of
        return keyed(self.shaped_process(), self.state, self._inputs, fields_of)

    @property
    def _has_own_ack(self) -> bool:
        return vars(self.users_object).get("ack") is not self._shadow_ack

    def _tick(self, tup: Any) -> None:
        user = self.users_object
        user._current_tups = [tup]
        self.tick_user(tup)
        user._current_tups = []

    def tick_user(self, tup: Any) -> None:
        """Deliver a tick, with an ack only for a user's own `ack`."""
        user = self.users_object
        run_returned(self, user.process_tick(tup))
        if user.auto_ack and self._has_own_ack:
            user.ack(tup)

    # --- the library's way of reading -------------------------------------------------------------

    def _own_loop(self, some: Iterable[Any]) -> None:
        for tup in some:
            self._run_once(tup)

    def _run_once(self, tup: Any) -> None:
        self.serializer.inbox.append(tup)
        self.users_object._run()

    def _read_tuple(self) -> Any:
        """In place of Bolt.read_tuple: the tuple from the engine."""
        while isinstance(found := self.serializer.read(), list):
            self.users_object._pending_task_ids.append(found)
        return found

    def _as_message(self, found: Any) -> Any:
        if not isinstance(found, self.tuple_class):
            return found
        return {
            "id": found.id,
            "comp": found.component,
            "stream": found.stream,
            "task": found.task,
            "tuple": list(found.values),
        }

    # --- acks and anchors -------------------------------------------------------------------------

    def find(self, tup: Any) -> Any:
        """The engine's tuple for `tup`: a live tuple, a Tuple of equal id, or an id. None for a
        settled or unknown tuple.
        """
        if isinstance(tup, self.tuple_class):
            return tup
        name = tup.id if isinstance(tup, self._plain) else tup
        live_tuple = self.live.by_id.get(str(name))
        if live_tuple is None and not self._warned:
            self._warned = True
            self.bindings.logger.warning(
                "%s: no tuple has the id %r (any more): an ack, fail or anchor is ignored; "
                "further ones are ignored without a word", self._name, name
            )  # fmt: skip
        return live_tuple

    def find_all(self, anchors: Iterable[Any]) -> list[Any]:
        """The engine's tuples for anchors: Tuples, ids, or one id alone."""
        given = [anchors] if isinstance(anchors, str) else anchors
        return [live_tuple for each in given if (live_tuple := self.find(each)) is not None]

    def settle(self, name: str, tup: Any) -> None:
        """Ack or fail a Tuple or an id; an unknown tuple, or a tick, is ignored."""
        found = self.find(tup)
        if found is None:
            return
        self.live.forget(found)
        if not isinstance(found, self._tick_class):
            getattr(self.bindings, name)(found)

    def emit_direct(
        self, tup: list[Any], stream: str, anchors: Any, task: int | None, need_task_ids: bool
    ) -> Any:
        """Emit to one task, or return the tasks of an emit."""
        self.check_direct(stream, task)
        return self.bindings.emit(tup, stream, anchors, task, need_task_ids)

    def emit_message(self, message: dict[str, Any], direct_task: Any, wanted: bool) -> Any:
        """Emit what a message of the library's code says."""
        anchors = message.get("anchors", NOTHING)
        stream = message.get("stream")
        return _emit(self)(message["tuple"], stream, anchors, direct_task, wanted)


def _emit(bolt: StormBolt) -> Callable[..., Any]:
    """Bolt.emit, straight to the engine."""
    user, bindings, main_thread = bolt.users_object, bolt.bindings, bolt.main_thread
    get_ident, returns_ids, foreign = threading.get_ident, bolt.returns_task_ids, bolt.has_own_loop
    direct, is_async = bolt.emit_direct, bolt.is_async

    def emit(
        tup: Any,
        stream: str | None = None,
        anchors: Any = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> Any:
        if is_async:
            of_own = anchors is None and user.auto_anchor
            given = None if of_own else bolt.find_all(anchors or NOTHING)
            values = bolt.listed(tup)
            return bindings.emit(values, stream_name(stream), given, direct_task, need_task_ids)
        is_here = get_ident() == main_thread
        if not is_here:
            bindings.check_thread(anchors, stream_name(stream))
        if anchors is None:
            anchors = user._current_tups if user.auto_anchor else NOTHING
            if foreign:
                anchors = bolt.find_all(anchors)
        elif anchors:
            anchors = bolt.find_all(anchors)
        if not is_here:
            rest = (stream_name(stream), list(anchors), direct_task, need_task_ids and returns_ids)
            return bolt.emit_from_thread(direct, tup, *rest)
        if type(tup) is not list:
            tup = bolt.listed(tup)
        if direct_task is not None or need_task_ids:
            wanted = need_task_ids and returns_ids
            return direct(tup, stream_name(stream), anchors, direct_task, wanted)
        return bindings.emit(tup, stream or DEFAULT_STREAM, anchors)

    return emit


def _settle(bolt: StormBolt, name: str) -> Callable[[Any], None]:
    """Bolt.ack or Bolt.fail, straight to the engine."""
    bindings, live, kind = bolt.bindings, bolt.live, bolt.tuple_class
    get_ident, named = threading.get_ident, live.by_id

    def settle(tup: Any) -> None:
        if get_ident() != bolt.main_thread:
            bolt.calls.post(lambda: bolt.settle(name, tup))
        elif type(tup) is kind:
            if named:
                live.forget(tup)
            getattr(bindings, name)(tup)
        else:
            bolt.settle(name, tup)

    return settle


def _quick_ack(bolt: StormBolt, ack: Callable[[Any], None]) -> Callable[[Any], None]:
    """Bolt.ack where nothing is around the engine's: all but a tuple of the engine's own, in the
    main thread, while no tuple is known by its id, is left to `ack`."""
    settle, kind, named = bolt.bindings.ack, bolt.tuple_class, bolt.live.by_id
    get_ident, main_thread = threading.get_ident, bolt.main_thread

    def quick(tup: Any) -> None:
        if type(tup) is kind and not named and get_ident() == main_thread:
            settle(tup)
        else:
            ack(tup)

    return quick


_bolt: type[EngineBolt] = StormBolt
