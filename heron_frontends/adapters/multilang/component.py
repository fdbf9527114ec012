"""Base of ShellBolt and ShellSpout: life cycle of the child, and its reports about itself."""

import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from heron_api.component.base_component import BaseComponent
from heron_api.metrics import IMetric
from heron_core.algorithms.backoff import RestartPolicy
from heron_core.config.names import MSGPACK
from heron_core.errors import ComponentError
from heron_frontends.adapters.multilang.child import ChildExit, ShellChild
from heron_frontends.adapters.multilang.json_codec import JsonCodec, json_text
from heron_frontends.adapters.multilang.protocol import COMMAND, PID, Message, MultilangCodec
from heron_frontends.adapters.multilang.response_timer import ResponseTimer
from heron_frontends.adapters.multilang.settings import ShellSettings
from heron_frontends.adapters.reported_metrics import NAMES_MAX, ReportedMetrics

COUNTS_METRIC = "multilang"
COUNTS_SECS = 1
_LEVELS = (logging.DEBUG, logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)
"""Storm's trace, debug, info, warn, error (ShellMsg.ShellLogLevel)."""
_INFO = 2
_FINAL_COMMANDS = ("log", "error", "metrics")
"""Commands still handled while a child ends."""


class Counts(IMetric):
    """How often something happened that should not; a metric of the instance."""

    def __init__(self) -> None:
        self.total: Counter[str] = Counter()
        """Since the start; several threads count in it."""
        self._read: Mapping[str, int] = {}

    def get_value_and_reset(self) -> dict[str, int]:
        """What -> how often since the last call."""
        counted = self.unread()
        self._read = {what: self._read.get(what, 0) + times for what, times in counted.items()}
        return counted

    def unread(self) -> dict[str, int]:
        """What -> how often since the last read."""
        total = dict(self.total)
        return {what: times - self._read.get(what, 0) for what, times in total.items()}


class ShellComponent(BaseComponent):
    """One child at a time, restarted after its death. For the main thread only."""

    child: ShellChild | None = None
    """The running child; None before the start, between two children, and after the end."""
    has_failed = False
    """No child is started any more."""
    is_ending = False
    """The child's stdin was closed: it is to exit."""

    def prepare(self, config: Mapping[str, Any], context: Any) -> None:
        """Read the settings; ComponentError or TopologyError if they are wrong."""
        self.settings = ShellSettings.of(config, context)
        self.response_timer = ResponseTimer(self.settings.timeout_secs)
        self.is_ready = False
        """Whether the child has sent its pid."""
        self.counts = Counts()
        context.register_metric(COUNTS_METRIC, self.counts, COUNTS_SECS)
        self._context = context
        self._reported = ReportedMetrics()
        self._restarts = RestartPolicy(self.settings.restart_limit)
        self._restart_at = 0.0
        self._handshake = {"conf": self._json_config(config), "context": context.to_storm()}
        self._pid_dir_removed = False
        self.commands: dict[str, Callable[[Message], None]] = {
            "log": self._log,
            "error": self._error,
            "metrics": self._metrics,
        }

    def _json_config(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The config as JSON; values without a JSON form are dropped with a warning."""
        found: dict[str, Any] = {}
        for key, value in config.items():
            try:
                found[key] = json.loads(json_text(value))
            except (TypeError, ValueError):
                self.logger.warning("config %s is not sent to the child: %r", key, value)
        return found

    # --- start, restart, end ----------------------------------------------------------------------

    def start_child(self) -> ShellChild:
        """Start a child and say the handshake; ComponentError if it cannot be started."""
        self.is_ready = self._pid_dir_removed = False
        try:
            child = self.child = ShellChild(self.settings, _codec(self.settings), self.logger)
        except OSError as error:  # no process, file descriptor or folder to be had
            raise ComponentError(f"{self._whose} cannot be started: {error}") from None
        child.say({**self._handshake, "pidDir": child.pid_dir})
        child.write()
        self.response_timer.answered()
        self.response_timer.ask(time.monotonic())
        return child

    def start_if_due(self) -> None:
        """Start the successor of a dead child once the pause is over."""
        if self.child is None and not self.has_failed and time.monotonic() >= self._restart_at:
            try:
                self.start_child()
            except ComponentError as error:
                self._end_instance(str(error))

    @property
    def pause_left_secs(self) -> float:
        """Until a child may be started again."""
        return max(0.0, self._restart_at - time.monotonic())

    def report_death(self, child_exit: ChildExit, taken_along: str) -> float | None:
        """Report the death of the child; returns seconds until the restart, or None without a
        restart.
        """
        self.child = None
        self.counts.total["deaths"] += 1
        pause_secs = None if self.has_failed else self._restarts.pause_secs(child_exit.lived_secs)
        text = f"{self._whose} (pid {child_exit.pid}) {child_exit.how}; {taken_along}; "
        if pause_secs is None:
            self._record(f"{text}the child will not be restarted", child_exit)
            if not self.has_failed:
                times = self._restarts.failures
                last = f"the last time it {child_exit.how}{child_exit.last_line}"
                self._end_instance(f"{self._whose} died {times} times in a row, {last}")
            return None
        when = f"in {pause_secs:g} s" if pause_secs else "at once"
        self._record(f"{text}the child is restarted {when}", child_exit)
        self._restart_at = time.monotonic() + pause_secs
        return pause_secs

    @property
    def _whose(self) -> str:
        return f"{self.settings.component}: its child {' '.join(self.settings.command)}"

    def _end_instance(self, reason: str) -> None:
        """Stop the instance later: an exception here would count as the error of one tuple."""
        self.has_failed = True
        self.delegate.call_soon(lambda: self.delegate.leave(reason))

    def died_at_start(self, child_exit: ChildExit) -> ComponentError:
        """Error of `initialize` for a first child that died before its pid."""
        self.child = None
        self._record(
            f"{self._whose} (pid {child_exit.pid}) {child_exit.how} at its start", child_exit
        )
        return ComponentError(f"{self._whose} {child_exit.how} at its start{child_exit.last_line}")

    # --- what it says -----------------------------------------------------------------------------

    def handle(self, message: Message) -> None:
        """Handle one message of the child; a failure is reported as the component's error."""
        try:
            self._see_to(message)
        except Exception as error:  # a task hook that raises, a command that is a list
            self.report(f"{message!r:.200} failed: {error!r}")

    def _see_to(self, message: Message) -> None:
        handler = self.commands.get(message.get(COMMAND, ""))
        if handler is not None:
            if self.is_ready and not self._pid_dir_removed and self.child is not None:
                # storm.py and storm.rb send their pid first and write the file then.
                self._pid_dir_removed = True
                self.child.remove_pid_dir()
            handler(message)
        elif PID in message:
            self.is_ready = True
            self.response_timer.answered()
        else:
            self.warn_once("unknown_commands", f"an unknown command: {message!r:.200}")

    def handle_final_messages(self, messages: Iterable[Message]) -> None:
        """Handle the remaining messages of a child that has ended."""
        for message in messages:
            if message.get(COMMAND) in _FINAL_COMMANDS:
                self.handle(message)

    def warn_once(self, what: str, text: str) -> None:
        """Count something odd; only the first time is logged."""
        self.counts.total[what] += 1
        if self.counts.total[what] == 1:
            self.logger.warning("%s: %s (counted as %s from now on)", self._whose, text, what)

    def report(self, text: str) -> None:
        """Report an error of the child's."""
        self.delegate.record_error(self._whose, text)

    def _record(self, text: str, child_exit: ChildExit) -> None:
        lines = ("last lines of its stderr:", *child_exit.lines) if child_exit.lines else ()
        self.delegate.record_error("a child died", "\n    ".join((text, *lines)))

    def _log(self, message: Message) -> None:
        level = message.get("level")
        if not isinstance(level, int) or not 0 <= level < len(_LEVELS):
            level = _INFO
        self.logger.log(_LEVELS[level], "%s", message.get("msg"))

    def _error(self, message: Message) -> None:
        """Storm's own libraries take the end of their stdin, a stop in good order, for an error."""
        text = str(message.get("msg"))
        if self.is_ending:
            self.logger.debug("%s wrote at its end: %s", self._whose, text)
        else:
            self.report(text)

    def _metrics(self, message: Message) -> None:
        """Update metrics as IShellMetric.updateMetricFromRPC does for registered names; for other
        names the newest value is shown.
        """
        name, params = str(message.get("name")), message.get("params")
        registered = getattr(self._context, "metrics", {})
        try:
            if name in registered and name not in self._reported:
                _update(registered[name][0], params)
            elif not self._reported.report(self._context, name, params):
                self.warn_once("unknown_metrics", f"more than {NAMES_MAX} names of metrics")
        except Exception as error:
            self.report(f"metric {name!r} does not take {params!r:.80}: {error}")


def _update(metric: Any, params: Any) -> None:
    change = metric.update if hasattr(metric, "update") else metric.incr
    if isinstance(params, Mapping):
        for key, value in params.items():
            change(key, value)
    elif isinstance(params, (list, tuple)):
        change(*params)
    else:
        change(*(() if params is None else (params,)))


def _codec(settings: ShellSettings) -> MultilangCodec:
    if settings.serializer == MSGPACK:
        from heron_frontends.adapters.multilang.msgpack_codec import MsgpackCodec

        return MsgpackCodec()
    return JsonCodec()
