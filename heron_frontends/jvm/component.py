"""Base of Java bolts and Java spouts: start and end of the JVM, and its reports."""

import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from heron_api.component.base_component import BaseComponent
from heron_core import config as keys
from heron_core.errors import ComponentError
from heron_frontends.adapters.reported_metrics import NAMES_MAX
from heron_frontends.jvm.frames import TASKS, Frame, command, packed
from heron_frontends.jvm.java_process import JavaProcess
from heron_frontends.jvm.launch import Launch, ended_at_start
from heron_frontends.jvm.metrics import JavaMetrics
from heron_io.waker import Waker

ODDITIES = "java.oddities"
POLL_SECS = 0.5
CLOSE_SECS = 3.0
"""For `cleanup` or `close` of user code; an instance has 5 s."""
INBOX_FRAMES_MAX = 64
"""Maximum of frames in the inbox, of 64 KiB each or one tuple more. A full inbox stops the reads,
so the JVM blocks in its write.
"""


class JavaComponent(BaseComponent):
    """One JVM. Its end ends the instance; the successor of the instance starts a new JVM.

    A thread reads the JVM's frames; all methods but the thread's are for the main thread.
    """

    is_spout = False

    def __init__(self, delegate: Any) -> None:
        super().__init__(delegate)
        self.jvm: JavaProcess | None = None
        self.inbox: deque[Frame] = deque()
        self._has_ended = threading.Event()
        self._has_capacity = threading.Event()
        self._waker = Waker()
        self._waits = self._take_is_called = self._leaving = False
        self._read_problem = ""
        self._is_odd = False

    # --- start ------------------------------------------------------------------------------------

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Start the JVM and wait until the user's `prepare` or `open` has returned; ComponentError
        with the reason if it raises, or the JVM ends."""
        self.context = context
        self.metrics = JavaMetrics(context)
        self.name: str = context.get_component_id()
        self.settled_config = keys.with_fallbacks(keys.with_defaults(config))
        file = context.get_topology_pex_path()
        folder = os.path.dirname(os.path.abspath(file)) if file else os.getcwd()
        recipe = _class_of(config)
        self.label = f"{self.name} ({recipe})"
        self.jvm = Launch.of(config, folder).start(self.logger, self.label)
        self._reader = threading.Thread(target=self._read, name="java frames", daemon=True)
        self._reader.start()
        try:
            self.jvm.put(command("open", self._settings(config, folder)))
            self._wait_until_ready(self.jvm)
        except BaseException:
            self.end_process()
            raise

    def _settings(self, config: Mapping[str, Any], folder: str) -> dict[str, Any]:
        context = self.context
        components = context.to_storm_components()
        tasks = context.to_storm()["task->component"]
        own = next(entry for entry in components if entry["name"] == self.name)
        return {
            "component": self.name,
            "topology": context.get_topology_name(),
            "folder": folder,
            "task": context.get_task_id(),
            "spout": self.is_spout,
            "recipe": keys.value_of(config, keys.JAVA_RECIPE),
            "config": self._crossing(config),
            "components": components,
            "tasks": [[int(task), component] for task, component in tasks.items()],
            "streams": own["streams"],
            "types": keys.given(self.settled_config, keys.JAVA_TYPES) or {},
            "exact": self.settled_config[keys.RELIABILITY_MODE] == keys.EFFECTIVELY_ONCE,
            "state": self.saved_state(),
        }

    def saved_state(self) -> bytes | None:
        """What a checkpoint has of the user's object."""
        return None

    def _crossing(self, config: Mapping[str, Any]) -> dict[str, Any]:
        crossing: dict[str, Any] = {}
        for key, value in config.items():
            if key == keys.JAVA_RECIPE:
                continue
            try:
                packed(value)
            except (TypeError, ValueError, OverflowError) as error:
                self.logger.warning("config %s is left out of the JVM's: it is %s", key, error)
            else:
                crossing[key] = value
        return crossing

    def _wait_until_ready(self, process: JavaProcess) -> None:
        early: list[Frame] = []
        is_ready = False
        while not is_ready:
            process.write()
            self._sleep(POLL_SECS)
            while self.inbox and not is_ready:
                frame = self.inbox.popleft()
                is_ready = frame[0] == "ready"
                if frame[0] == "problem":
                    self.delegate.record_error(f"{self.label} cannot start", frame[2])
                    raise ComponentError(f"{self.label}: {frame[1]}")
                if not is_ready and not self._handled(frame):
                    early.append(frame)
            if not is_ready and not self.inbox and self._has_ended.is_set():
                raise ended_at_start(self.label, self._reaped())
        self.inbox.extendleft(reversed(early))  # an emit needs a plan

    # --- the reader's thread ----------------------------------------------------------------------

    def _read(self) -> None:
        process = self.jvm
        assert process is not None
        try:
            while True:
                if not process.wait(POLL_SECS):
                    if process.has_exited:
                        break
                    continue
                frames = process.read()
                if frames is None:
                    break
                if frames:
                    self.inbox.extend(frames)
                    self._notify()
                    self._pause_reading()
        except Exception as error:
            self._read_problem = f"sent unreadable data: {error}"
            process.kill(self._read_problem)
        self._has_ended.set()
        self._notify()

    def _pause_reading(self) -> None:
        while len(self.inbox) > INBOX_FRAMES_MAX and not self._leaving:
            self._has_capacity.clear()
            if len(self.inbox) > INBOX_FRAMES_MAX:
                self._has_capacity.wait(POLL_SECS)

    def _notify(self) -> None:
        if not self._take_is_called:
            self._take_is_called = True
            self.delegate.call_soon(self._take)
        if self._waits:
            self._waker.wake()

    # --- taking -----------------------------------------------------------------------------------

    def _take(self) -> None:
        self._take_is_called = False
        self.drain()

    def drain(self) -> None:
        """See to all frames that have arrived, and to the JVM's end."""
        for _ in range(len(self.inbox)):
            frame = self.inbox.popleft()
            self._has_capacity.set()
            if not self._handled(frame):
                self.handle(frame)
        if self._has_ended.is_set() and not self.inbox and self.jvm is not None:
            self._end_instance()

    def _handled(self, frame: Frame) -> bool:
        kind = frame[0]
        if kind == "error":
            self.delegate.record_error(f"{self.label}: {frame[1]} raised", frame[2])
        elif kind == "metrics":
            self._report_metrics(frame[1], frame[2])
        else:
            return False
        return True

    def handle(self, frame: Frame) -> None:
        """A frame that is not of all components."""
        raise NotImplementedError

    def _report_metrics(self, counts: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        for name, value in counts.items():
            self._report_metric(self.metrics.count, name, value)
        for name, value in values.items():
            self._report_metric(self.metrics.report, name, value)

    def _report_metric(self, report: Callable[[str, Any], bool], name: str, value: Any) -> None:
        try:
            is_known = report(name, value)
        except ValueError as error:  # the engine has a metric of this name
            self.warn_once("a metric's name", str(error))
        else:
            if not is_known:
                self.warn_once("metrics are left out", f"more than {NAMES_MAX} names")

    def warn_once(self, what: str, text: str) -> None:
        """Something odd: counted, and logged the first time."""
        self.metrics.count(ODDITIES, 1)
        if not self._is_odd:
            self._is_odd = True
            self.logger.warning("%s: %s: %s (counted as %s)", self.label, what, text, ODDITIES)

    def answer_tasks(self, tasks: list[int] | None) -> None:
        """The tasks of an emit that the JVM waits for."""
        self.send(command(TASKS, tasks or []))

    # --- writing and waiting ----------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        """Write a frame, or leave what the pipe does not take now to the next call."""
        process = self.jvm
        if process is None:
            return
        process.put(data)
        if not process.write():
            self.delegate.call_soon(self._write_on)

    def _write_on(self) -> None:
        if self.jvm is not None and not self.jvm.write():
            self.delegate.call_later(0.005, self._write_on)

    def wait(self, secs: float = POLL_SECS) -> None:
        """Wait until the JVM sends or accepts data, for `secs` at most, and handle its frames."""
        self._sleep(secs)
        if self.jvm is not None:
            self.jvm.write()
        self.drain()

    def _sleep(self, secs: float) -> None:
        poll = select.poll()
        poll.register(self._waker.readable, select.POLLIN)
        if self.jvm is not None and self.jvm.unwritten:
            poll.register(self.jvm.write_end, select.POLLOUT)
        self._waits = True
        if not self.inbox and not self._has_ended.is_set():
            poll.poll(secs * 1000)
        self._waits = False
        self._waker.clear()

    @property
    def is_gone(self) -> bool:
        """Whether the JVM has ended."""
        return self.jvm is None

    # --- end --------------------------------------------------------------------------------------

    def _reaped(self) -> str:
        process, self.jvm = self.jvm, None
        assert process is not None
        self._reader.join()
        return process.reap()

    def _end_instance(self) -> None:
        """Stop the instance later: an exception here would count as the error of one tuple."""
        how = self._reaped()
        self.abandon()
        self.delegate.call_soon(lambda: self.delegate.leave(f"{self.label}: its JVM {how}"))

    def abandon(self) -> None:
        """The JVM is dead: its tuples fail."""

    def end_process(self) -> None:
        """End the JVM at once."""
        self._leaving = True
        self._has_capacity.set()
        if self.jvm is not None:
            self.jvm.kill("is not needed any more")
            self._reaped()

    def close(self) -> None:
        """Let user code clean up, then end the JVM, by force if that takes too long."""
        self._leaving = True
        self._has_capacity.set()
        if self.jvm is not None:
            self._close_in_order(self.jvm)
        self.end_process()
        self._waker.close()

    def _close_in_order(self, process: JavaProcess) -> None:
        process.put(command("close"))
        deadline = time.monotonic() + CLOSE_SECS
        is_closed = False
        while not is_closed and time.monotonic() < deadline and not self._has_ended.is_set():
            process.write()
            self._sleep(0.05)
            while self.inbox:
                frame = self.inbox.popleft()
                is_closed = is_closed or frame[0] == "closed"
                if not self._handled(frame):
                    self.handle_last(frame)
        if not is_closed and not self._has_ended.is_set():
            self.logger.warning(
                "%s: the component did not close within %g s", self.label, CLOSE_SECS
            )

    def handle_last(self, frame: Frame) -> None:
        """A frame that arrives while the component is closed."""


def _class_of(config: Mapping[str, Any]) -> str:
    recipe = keys.given(config, keys.JAVA_RECIPE)
    if recipe is None:
        raise ComponentError(f"a Java component without {keys.JAVA_RECIPE}")
    return str(recipe["object"]["class"])
