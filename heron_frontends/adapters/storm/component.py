"""What the adapters of spouts and bolts have in common."""

import logging
import threading
import traceback
from collections.abc import Callable
from typing import Any

from heron_api.state.binding import provide
from heron_core import config as keys
from heron_core.component import Bindings, ComponentDefaults
from heron_core.topology import DEFAULT_STREAM, ComponentSpec
from heron_frontends.adapters.awaiting import coroutines_of, run_returned
from heron_frontends.adapters.reported_metrics import ReportedMetrics
from heron_frontends.adapters.storm.handshake import shake_hands, storm_conf_of
from heron_frontends.adapters.storm.in_process import InProcess
from heron_frontends.adapters.storm.library import overrides
from heron_frontends.adapters.thread_calls import ThreadCalls
from heronpy_compat.pystorm.logs import DEBUG, ERROR, INFO, TRACE, WARN

_PYTHON_LEVELS = {
    TRACE: logging.DEBUG,
    DEBUG: logging.DEBUG,
    INFO: logging.INFO,
    WARN: logging.WARNING,
    ERROR: logging.ERROR,
}


class StormComponent(ComponentDefaults):
    """A user's object of pystorm's or streamparse's, as the engine drives it."""

    exits_by_default = False
    """Default of exit_on_exception where the user's class keeps the library's True."""

    bindings: Bindings

    def __init__(self, user: Any, spec: ComponentSpec, bindings: Bindings) -> None:
        self.users_object = user
        self.bindings = bindings
        """Names of methods looked up at each call, because task hooks wrap them."""
        self.calls = ThreadCalls(bindings.call_soon, self._call_failed)
        self.main_thread = threading.get_ident()
        self._name = spec.name
        self.state: Any = None
        self.coroutines = coroutines_of(user, spec.is_spout)
        self._direct = {output.name for output in spec.outputs if output.direct}
        self._streams = {output.name for output in spec.outputs}
        self._metrics = ReportedMetrics()
        self._context: Any = None
        self._handling = False
        """An exception was reported and is being handled: it needs no second report."""
        self._acts: dict[str, Callable[[dict[str, Any]], None]] = {
            "emit": self.take_emit,
            "log": self._take_log,
            "error": self._take_error,
            "metrics": lambda each: self.report_metric(each["name"], each["params"]),
        }
        self.serializer = self._connected(user)

    @property
    def driven_object(self) -> Any:
        """The adapter itself; user objects are among its attributes."""
        return self

    def _connected(self, user: Any) -> InProcess:
        """Serializer of the user's object, with its peer in the process; a user's own serializer is
        replaced.
        """
        if not isinstance(user.serializer, InProcess):
            user.serializer = InProcess()
        found: InProcess = user.serializer
        found.connect(self.take_message)
        return found

    def init_state(self, state: Any) -> None:
        """Provide the states declared by the user's class. The class's own `init_state`, an
        extension, comes after `initialize`: in Storm initState comes after prepare.
        """
        self.state = state
        provide(self.users_object, state, self._name)

    def _hook(self, name: str) -> Callable[..., Any]:
        method = getattr(self.users_object, name, None)
        return method if callable(method) else _nothing

    def pre_save(self, checkpoint_id: str) -> None:
        """An extension that a user's class may have."""
        run_returned(self, self._hook("pre_save")(checkpoint_id))

    def post_save(self, checkpoint_id: str) -> None:
        """An extension that a user's class may have."""
        run_returned(self, self._hook("post_save")(checkpoint_id))

    def pre_restore(self, checkpoint_id: str) -> None:
        """An extension that a user's class may have."""
        run_returned(self, self._hook("pre_restore")(checkpoint_id))

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """The handshake, then the user's own `initialize`."""
        user = self.users_object
        self._context = context
        self.main_thread = threading.get_ident()
        storm_conf, storm_context = storm_conf_of(config), context.to_storm()
        shake_hands(user, storm_conf, storm_context)
        if not overrides(user, "exit_on_exception"):
            user.exit_on_exception = self.exits_by_default and keys.exits_on_exception(
                keys.with_defaults(config)
            )
        self.shadow("raise_exception", self.raise_exception)
        self.shadow("report_metric", self.report_metric)
        self.prepare(storm_conf, storm_context)
        run_returned(self, user.initialize(storm_conf, storm_context))
        run_returned(self, self._hook("init_state")(self.state))
        self.ready(storm_conf)
        _quicken(user)

    def prepare(self, storm_conf: dict[str, Any], context: dict[str, Any]) -> None:
        """Before the user's `initialize`: set up everything that `initialize` may call."""

    def ready(self, storm_conf: dict[str, Any]) -> None:
        """After the user's `initialize`: read attributes that `initialize` may have changed."""

    def shadow(self, name: str, function: Callable[..., Any]) -> None:
        """Give the object a `name` of ours instead of the library's; the user's own stays."""
        if not overrides(self.users_object, name):
            setattr(self.users_object, name, function)

    def is_idle(self) -> bool:
        """Whether no call of another thread waits."""
        return not self.calls.pending

    # --- errors -------------------------------------------------------------------------------

    def handle_exception(self, error: BaseException | None) -> None:
        """After the error's report: handle the error as pystorm does; the process ends for a class
        with exit_on_exception, or by the topology's setting (topology.bolt.on.exception).
        """
        user = self.users_object
        self._handling = True
        try:
            user._handle_run_exception(error)
        except Exception:
            self.bindings.record_error("_handle_run_exception raised", traceback.format_exc())
        finally:
            self._handling = False
        if user.exit_on_exception:
            kind = type(error).__name__
            self.bindings.leave(
                f"{self._name}: exit_on_exception is set, and the component raised {kind}: {error}"
            )

    def raise_exception(self, exception: BaseException, tup: Any = None) -> None:
        """Report an exception as this component's error (Component.raise_exception)."""
        if not self._handling:
            about = f" while processing Tuple {tup!r}" if tup else ""
            what = f"Python {type(exception).__name__} raised{about}"
            text = "".join(traceback.format_exception(exception))
            self.in_main_thread(lambda: self.bindings.record_error(what, text))

    def _take_error(self, message: dict[str, Any]) -> None:
        if not self._handling:
            what, _, text = str(message["msg"]).partition("\n")
            self.in_main_thread(lambda: self.bindings.record_error(what, text or what))

    def _call_failed(self, what: str, text: str) -> None:
        self.bindings.record_error(what, text)

    # --- messages of the library's code ---------------------------------------------------------

    def take_message(self, message: dict[str, Any]) -> None:
        """Execute a message's command; `sync`, `pid` and unknown commands are ignored."""
        act = self._acts.get(message.get("command", ""))
        if act is not None:
            act(message)

    def take_emit(self, message: dict[str, Any]) -> None:
        """An emit as a message; the task ids are put where read_task_ids looks first."""
        direct_task = message.get("task")
        wanted = message.get("need_task_ids", True) and direct_task is None
        tasks = self.emit_message(message, direct_task, wanted)
        if wanted:
            self.serializer.inbox.appendleft(tasks)

    def emit_message(self, message: dict[str, Any], direct_task: Any, wanted: bool) -> Any:
        """Emit the tuple of a message; returns the task ids if wanted."""
        raise NotImplementedError

    def _take_log(self, message: dict[str, Any]) -> None:
        level = _PYTHON_LEVELS.get(message.get("level", INFO), logging.INFO)
        self.bindings.logger.log(level, "%s", message["msg"])

    def report_metric(self, name: str, value: Any) -> None:
        """Show the newest value of a metric among this instance's (Component.report_metric)."""
        self._metrics.report(self._context, name, value)

    # --- other threads --------------------------------------------------------------------------

    def in_main_thread(self, call: Callable[[], Any]) -> None:
        """Make a call in the main thread: immediately, or queued from another thread."""
        if threading.get_ident() == self.main_thread:
            call()
        else:
            self.calls.post(call)

    def emit_from_thread(self, emit: Callable[..., Any], tup: Any, *rest: Any) -> Any:
        """Have the main thread emit; `rest` ends with whether its task ids are waited for."""
        values = self.listed(tup)
        if rest[-1]:
            return self.calls.ask(lambda: emit(values, *rest))
        self.calls.post(lambda: emit(values, *rest))
        return None

    # --- values and streams ---------------------------------------------------------------------

    def listed(self, tup: Any) -> list[Any]:
        """The values as a list of our own; TypeError for what pystorm does not take."""
        if not isinstance(tup, (list, tuple)):
            raise TypeError(
                f"All Tuples must be either lists or tuples, received {type(tup)!r} instead."
            )
        return list(tup)

    def check_direct(self, stream: str, task: int | None) -> None:
        """RuntimeError unless `stream` may be emitted to one task (Storm: emitDirect)."""
        if task is not None and stream in self._streams and stream not in self._direct:
            raise RuntimeError(
                f"{self._name}.{stream} is not a direct stream: declare it with "
                f"Stream(..., name={stream!r}, direct=True), or emit without direct_task"
            )


def _nothing(*arguments: Any) -> None:
    pass


def stream_name(stream: str | None) -> str:
    """Stream name for pystorm's None."""
    return DEFAULT_STREAM if stream is None else stream


def _quicken(user: Any) -> None:
    """Restore fast attribute look-ups of an object after a read of its `vars`.

    From then on CPython 3.11 takes five times as long for each (15 ns), because the dict shares its
    keys with other objects of the class. Taking an item out gives it keys of its own.
    """
    attributes = vars(user)
    name, value = attributes.popitem()
    attributes[name] = value
