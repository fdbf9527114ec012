"""Bolts whose work is done by a Java class in a JVM of their own."""

import time
from typing import Any

from heron_api.bolt.bolt import Bolt
from heron_api.state.stateful_component import StatefulComponent
from heron_core import config as keys
from heron_core.errors import ComponentError
from heron_frontends.jvm.component import JavaComponent
from heron_frontends.jvm.frames import BATCH, Frame, command, packed, run_head, tuples_frame
from heron_frontends.jvm.send_window import SendWindow

ROWS_MAX = 512
"""Tuples of one frame."""
FRAME_BYTES = 1 << 16
"""A frame with more is sent."""
SYSTEM_TASK = -1
TICK = ("__system", SYSTEM_TASK, "__tick")
STATE = "java"


class JvmBolt(JavaComponent, Bolt):
    """Runs a Java class that is an IRichBolt, IBasicBolt or IWindowedBolt.

    Component config: `heronpy.java.recipe`, `heronpy.java.types`; `topology.classpath` and
    `topology.worker.childopts` are the topology's or the component's.
    """

    acks_later = True

    def __init__(self, delegate: Any) -> None:
        super().__init__(delegate)
        self._tuples: dict[int, Any] = {}
        """Unsettled tuples in the JVM, by key."""
        self._failed_here: set[int] = set()
        """Keys of tuples that failed because of an emit; the JVM settles the keys, too."""
        self._window = SendWindow()
        self._key = 0
        self._runs: list[tuple[bytes, list[bytes]]] = []
        self._source: Any = None
        self._rows: list[bytes] = []
        self._first_key = 1
        self._bytes = 0
        self._flush_is_called = False
        self._given_at = 0.0
        self._ticks: set[int] = set()
        self._heads: dict[Any, bytes] = {}

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """As JavaComponent."""
        super().initialize(config, context)
        self._timeout_secs = keys.seconds(self.settled_config, keys.MESSAGE_TIMEOUT_SECS)
        self._tick_secs = keys.tick_interval_secs(self.settled_config)

    # --- to the JVM -------------------------------------------------------------------------------

    def process(self, tup: Any) -> None:
        """Send a tuple to the JVM, after a wait while the JVM's window is full.

        ComponentError if a value cannot cross, or if the JVM has ended.
        """
        try:
            row = packed(tup.values)
        except (TypeError, ValueError, OverflowError) as error:
            raise ComponentError(
                f"{self.label}: a tuple of {tup.component}.{tup.stream} has {error}, which cannot"
                " cross to Java"
            ) from None
        if self._window.is_full:
            self._wait_for_capacity()
        self._tuples[self._add((tup.component, tup.task, tup.stream), row)] = tup

    def process_tick(self, tup: Any) -> None:
        """Send a tick to the JVM, unless the previous tick is unprocessed."""
        if self.is_gone or self._ticks or self._tick_secs is None:
            return
        self._ticks.add(self._add(TICK, packed([self._tick_secs])))
        self._flush()

    def _add(self, source: tuple[str, int, str], row: bytes) -> int:
        if source != self._source:
            self._source, self._rows = source, []
            self._runs.append((self._head(source), self._rows))
        self._rows.append(row)
        self._key += 1
        self._bytes += len(row)
        if self._key - self._first_key + 1 >= ROWS_MAX or self._bytes >= FRAME_BYTES:
            self._flush()
        elif not self._flush_is_called:
            self._flush_is_called = True
            self.delegate.call_soon(self._flush_soon)
        return self._key

    def _head(self, source: tuple[str, int, str]) -> bytes:
        head = self._heads.get(source)
        if head is None:
            head = self._heads[source] = run_head(*source)
        return head

    def _flush_soon(self) -> None:
        self._flush_is_called = False
        self._flush()

    def _flush(self) -> None:
        """Send the tuples that are collected."""
        if not self._runs:
            return
        data = tuples_frame(self._first_key, self._runs)
        self._runs, self._source, self._bytes = [], None, 0
        self._first_key = self._key + 1
        self._given_at = time.monotonic()
        self._window.sent(self._key, len(data), self._given_at)
        self.send(data)

    def _wait_for_capacity(self) -> None:
        """Wait for capacity for more than one tuple."""
        self._flush()
        while not self._window.has_capacity:
            if self.is_gone:
                raise ComponentError(f"{self.label}: its JVM has ended")
            self.wait()

    # --- from the JVM -----------------------------------------------------------------------------

    def handle(self, frame: Frame) -> None:
        """What user code has done."""
        if frame[0] != BATCH:
            self.warn_once("unknown frame", str(frame[0]))
            return
        done, events = frame[1], frame[2]
        tuples = self._tuples
        for event in events:
            if event.__class__ is not int:
                self._emit(*event)
            elif (tup := tuples.pop(abs(event), None)) is None:
                self._settled_before(abs(event))
            elif event > 0:
                self.ack(tup)
            else:
                self.fail(tup)
        self._window.processed(done, time.monotonic())
        if self._ticks:
            self._ticks = {key for key in self._ticks if key > done}

    def _settled_before(self, key: int) -> None:
        if key in self._failed_here:
            self._failed_here.discard(key)
        else:
            self.warn_once("a tuple was acked or failed twice", f"number {key}")

    def _emit(
        self,
        wants_tasks: bool,
        stream: str,
        anchor_keys: list[int],
        values: list[Any],
        direct_task: int | None,
    ) -> None:
        tuples = self._tuples
        anchors = [tuples[key] for key in anchor_keys if key in tuples]
        if len(anchors) < len(anchor_keys):
            unknown = [key for key in anchor_keys if key not in tuples]
            if not self._failed_here.issuperset(unknown):
                self.warn_once("an emit has an anchor that was already acked or failed", stream)
        tasks = None
        try:
            tasks = self.emit(values, stream, anchors, direct_task, wants_tasks)
        except Exception as error:
            self.delegate.record_error(f"{self.label}: an emit failed", str(error))
            for key in anchor_keys:
                if key in tuples:
                    self._failed_here.add(key)
                    self.fail(tuples.pop(key))
        if wants_tasks:
            self.answer_tasks(tasks)

    def abandon(self) -> None:
        """Fail what the JVM had."""
        lost, self._tuples = self._tuples, {}
        self._ticks = set()
        for tup in lost.values():
            self.fail(tup)

    # --- the engine's questions -------------------------------------------------------------------

    def is_idle(self) -> bool:
        """Whether the JVM has neither a tuple nor a tick; a tuple older than the message timeout
        counts as lost.
        """
        if self.inbox or self._runs:
            return False
        kept_secs = time.monotonic() - self._given_at
        is_at_work = bool(self._window.under_way)
        return not (is_at_work or (self._tuples and kept_secs <= self._timeout_secs))

    def close(self) -> None:
        """Stop the JVM; its unsettled tuples fail."""
        super().close()
        self.abandon()

    def handle_last(self, frame: Frame) -> None:
        """What cleanup does with tuples counts."""
        if frame[0] == BATCH:
            self.handle(frame)


class JvmStatefulBolt(JvmBolt, StatefulComponent):
    """JvmBolt for an IStatefulBolt: its KeyValueState is part of each checkpoint."""

    def init_state(self, stateful_state: Any) -> None:
        """Keep the state until the JVM starts, which then receives the content."""
        self._state = stateful_state

    def saved_state(self) -> bytes | None:
        """What the last checkpoint has."""
        saved: bytes | None = self._state.get(STATE)
        return saved

    def pre_save(self, checkpoint_id: Any) -> None:
        """Have the JVM process all its tuples, and return its state."""
        self._flush()
        self._saved: tuple[bytes | None, str | None] | None = None
        number = int(checkpoint_id) if str(checkpoint_id).isdigit() else 0
        self.send(command("save", number))
        while self._saved is None:
            if self.is_gone:
                raise ComponentError(f"{self.label}: its JVM ended before its state was saved")
            self.wait()
        saved, problem = self._saved
        if problem is not None:
            raise ComponentError(f"{self.label}: its state cannot be saved: {problem}")
        self._state.put(STATE, saved)

    def handle(self, frame: Frame) -> None:
        """The state, or what user code has done."""
        if frame[0] == "saved":
            self._saved = (frame[1], frame[2])
        else:
            super().handle(frame)
