"""Spouts of pystorm and streamparse."""

import threading
from collections.abc import Callable
from typing import Any

from heron_core.component import EmitOf, EngineSpout, SpoutBindings, SpoutDefaults
from heron_core.topology import DEFAULT_STREAM, ComponentSpec
from heron_frontends.adapters.spout_steps import ShapedSpout
from heron_frontends.adapters.storm.component import StormComponent, stream_name
from heron_frontends.adapters.storm.library import module_of, overrides
from heronpy_compat.pystorm.spout import check_id

_OWN_LOOP = ("_run", "read_command", "read_message")
"""A class that overrides a method listed here receives commands as pystorm reads them."""


class StormSpout(ShapedSpout, StormComponent, SpoutDefaults):
    """A user's spout, driven by the engine."""

    bindings: SpoutBindings
    unnamed_stream = None

    def __init__(self, user: Any, spec: ComponentSpec, bindings: SpoutBindings) -> None:
        super().__init__(user, spec, bindings)
        self.find_shape()
        self._has_own_loop = any(overrides(user, name) for name in _OWN_LOOP)
        self._is_reliable = isinstance(user, module_of(type(user), "spout").ReliableSpout)
        self.wants_acks = self._has_own_loop or self._is_reliable or overrides(user, "ack")
        self._emit: Callable[..., Any] | None = None
        """Created once the main thread is known."""
        if not hasattr(user, "finish"):
            user.finish = self.finish

    def prepare(self, storm_conf: dict[str, Any], context: dict[str, Any]) -> None:
        """The user's `initialize` may emit."""
        user = self.users_object
        emit = self._emit = _plain_emit(self, self.main_thread)
        self.shadow("emit", _reliable_emit(user, emit) if self._is_reliable else emit)

    def ready(self, storm_conf: dict[str, Any]) -> None:
        """Save a call for each tuple, unless a wrapper is set on the method."""
        for name in ("next_tuple", "ack"):
            if not self._has_own_loop and name not in vars(self):
                setattr(self, name, getattr(self.users_object, name))
        if not self._has_own_loop:
            step = self.stepping()
            if step is not None:
                self.next_tuple = step  # type: ignore[method-assign]

    def close(self) -> None:
        """Cancel running coroutines."""
        if self.coroutines is not None:
            self.coroutines.close()

    def bind_direct(self, emit_of: EmitOf) -> None:
        """Spare the way over our emit where the engine's has a fast path."""
        user = self.users_object
        if self._emit and vars(user).get("emit") is self._emit:
            user.emit = emit_of(self._emit, None, threading.get_ident)

    def finish(self) -> None:
        """Mark the end of the spout's emits, an extension of every spout here."""
        self.in_main_thread(self.bindings.finish)

    def emit_direct(
        self, tup: list[Any], tup_id: Any, stream: str, task: int | None, need_task_ids: bool
    ) -> Any:
        """Emit to one task, or return the tasks of an emit."""
        self.check_direct(stream, task)
        return self.bindings.emit(tup, tup_id, stream, task, need_task_ids)

    def emit_message(self, message: dict[str, Any], direct_task: Any, wanted: bool) -> Any:
        """Emit the tuple of a message from the library's code."""
        stream = message.get("stream")
        return _plain_emit(self, self.main_thread)(
            message["tuple"], message.get("id"), stream, direct_task, wanted
        )

    # --- what the engine calls ------------------------------------------------------------------

    def next_tuple(self) -> Any:
        """Let the spout emit."""
        return self._command("next", "")

    def ack(self, tup_id: Any) -> None:
        """A tuple is processed."""
        self._command("ack", tup_id)

    def fail(self, tup_id: Any) -> None:
        """A tuple failed."""
        self._command("fail", tup_id)

    def activate(self) -> None:
        """The topology runs."""
        self._command("activate", "")

    def deactivate(self) -> None:
        """The topology is paused."""
        self._command("deactivate", "")

    def _command(self, name: str, tup_id: Any) -> Any:
        user = self.users_object
        if self._has_own_loop:
            self.serializer.inbox.append({"command": name, "id": tup_id})
            return user._run()
        if name in ("ack", "fail"):
            return getattr(user, name)(tup_id)
        return getattr(user, "next_tuple" if name == "next" else name)()


_spout: type[EngineSpout] = StormSpout


def _plain_emit(spout: StormSpout, main_thread: int) -> Callable[..., Any]:
    bindings, get_ident, direct = spout.bindings, threading.get_ident, spout.emit_direct

    def emit(
        tup: Any,
        tup_id: Any = None,
        stream: str | None = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> Any:
        if get_ident() != main_thread:
            rest = (tup_id, stream_name(stream), direct_task, need_task_ids)
            bindings.check_thread(None, stream_name(stream))
            return spout.emit_from_thread(direct, tup, *rest)
        if type(tup) is not list:
            tup = spout.listed(tup)
        if direct_task is not None or need_task_ids:
            return direct(tup, tup_id, stream_name(stream), direct_task, need_task_ids)
        return bindings.emit(tup, tup_id, stream or DEFAULT_STREAM)

    return emit


def _reliable_emit(user: Any, plain: Callable[..., Any]) -> Callable[..., Any]:
    """ReliableSpout.emit: keeps each emitted tuple until its ack."""

    def emit(
        tup: Any,
        tup_id: Any = None,
        stream: str | None = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> Any:
        if tup_id is None:
            check_id(tup_id)
        user.unacked_tuples[tup_id] = (tup, stream, direct_task, need_task_ids)
        return plain(tup, tup_id, stream, direct_task, need_task_ids)

    return emit
