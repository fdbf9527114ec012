"""ShellBolt: a bolt whose work is done by a child process in any language."""

import time
from collections.abc import Callable
from typing import Any

from heron_api.bolt.bolt import Bolt
from heron_core.errors import ComponentError, ProtocolError
from heron_frontends.adapters.multilang.child import ChildExit
from heron_frontends.adapters.multilang.child_channel import ChildChannel
from heron_frontends.adapters.multilang.in_flight import ChildInFlight
from heron_frontends.adapters.multilang.protocol import (
    OWN_ID,
    Emit,
    Message,
    check_text,
    emit_of,
    heartbeat,
    tick,
    wants_tasks,
)

UNSETTLED_MAX = 100_000
"""Maximum of unsettled tuples in the child. Batches have some thousands, and an older tracked tuple
has timed out; a child without acks would fill the instance's memory.
"""


class ShellBolt(ChildChannel, Bolt):
    """Hosts a program that speaks Storm's multilang protocol (org.apache.storm.task.ShellBolt).

    Component config: `heronpy.shell.command` [program, argument, ...],
    `heronpy.shell.environment` {NAME: value}; `topology.multilang.serializer`,
    `topology.subprocess.timeout.secs` and `topology.shellbolt.max.pending` as in Storm.
    """

    acks_later = True

    def __init__(self, delegate: Any) -> None:
        super().__init__(delegate)
        self._flight = ChildInFlight()

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Start the child and wait for its pid; ComponentError with the cause if the child dies."""
        self.prepare(config, context)
        self._given_at = 0.0
        self.commands |= {
            "ack": lambda message: self._settled(message, self.ack),
            "fail": lambda message: self._settled(message, self.fail),
            "emit": self._emit,
            "sync": self._sync,
        }
        self.open_channel()

    def process(self, tup: Any) -> None:
        """Give a tuple to the child; waits while it has `topology.shellbolt.max.pending` unread.

        ComponentError if a value cannot be said, or if the child is not started again.
        """
        flight = self._flight
        if self.child is None or flight.unanswered >= self.settings.pending_max:
            self._wait_for_capacity()
        assert self.child is not None
        self._given_at = time.monotonic()
        key = flight.add(tup)
        try:
            data = self.child.codec.encode_tuple(key, tup)
        except Exception as error:
            flight.settle(key)
            raise ComponentError(self._unsayable(tup, error)) from None
        if len(flight) > UNSETTLED_MAX:
            self._fail_oldest()
        self.put(data)

    def process_tick(self, tup: Any) -> None:
        """Send a tick to the child. A tick that is due while the child is down, or still works on
        the previous tick, is skipped, as for Python bolts: a child slower than the tick interval
        would never catch up.
        """
        every_secs = self.settings.tick_secs
        if self.child is None or every_secs is None:
            return
        if self._flight.has_tick:
            self.warn_once("ticks_left_out", "a tick is due and the last one is not answered yet")
            return
        self._given_at = time.monotonic()
        self.put(self.child.codec.encode(tick(self._flight.add_tick(), every_secs)))
        self.ask()  # a child that leaves ticks without an ack answers this one behind it

    def is_idle(self) -> bool:
        """Whether the child has neither a tuple nor a tick; a tuple older than the message timeout
        counts as lost.
        """
        if self.child is not None and self.reader.inbox:
            return False
        kept_secs = time.monotonic() - self._given_at
        has_work = bool(self._flight) or self._flight.has_tick
        return not has_work or kept_secs > self.settings.message_timeout_secs

    def close(self) -> None:
        """Stop the child; its unsettled tuples fail."""
        self.close_channel()
        for tup in self._flight.clear():
            self.fail(tup)

    def _wait_for_capacity(self) -> None:
        """Wait until the child has read half of its tuples, so that several follow at a time."""
        enough = self.settings.pending_max // 2
        while self.child is None or self._flight.unanswered > enough:
            if self.has_failed:
                raise ComponentError(f"{self.settings.component}: its child will not be restarted")
            self.write_all()
            self.wait()

    def _unsayable(self, tup: Any, error: Exception) -> str:
        return (
            f"{self.settings.component}: a tuple of {tup.component}.{tup.stream} cannot be sent "
            f"to the child ({self.settings.serializer}): {error}"
        )

    def _fail_oldest(self) -> None:
        self.warn_once("never_settled", f"the child neither acks nor fails {UNSETTLED_MAX} tuples")
        tup = self._flight.pop_oldest()
        if tup is not None:
            self.fail(tup)

    def ask(self) -> None:
        """A heartbeat, unless the child has not answered the last one."""
        if self.child is not None and self.response_timer.asked_at is None:
            self._flight.ask()
            self.child.say(heartbeat(self._flight.own_number()))
            self.response_timer.ask(time.monotonic())

    def child_exited(self, child_exit: ChildExit) -> None:
        """Fail the child's tuples, and start the next child."""
        lost = self._flight.clear()
        for tup in lost:
            self.fail(tup)
        pause_secs = self.report_death(child_exit, f"failed tuples of the child: {len(lost)}")
        if pause_secs is not None:
            self.start_if_due()
            if self.child is None:
                self.delegate.call_later(pause_secs, self.start_if_due)

    # --- what the child says ----------------------------------------------------------------------

    def _settled(self, message: Message, settle: Callable[[Any], None]) -> None:
        key = str(message.get("id"))
        try:
            tup = self._flight.settle(key)
        except KeyError:
            if key.startswith(OWN_ID):
                self._flight.settle_own(key)
            else:
                self._unknown([key])
            return
        if tup is not None:
            settle(tup)

    def _unknown(self, keys: list[str]) -> None:
        if keys:
            what = (
                f"id {keys[0]!r} belongs to none of its pending tuples (acked twice, or after "
                "its fail?)"
            )
            self.warn_once("unknown_ids", what)

    def _sync(self, message: Message) -> None:
        if self.is_ready and self.response_timer.asked_at is not None:
            self._flight.answer()
            self.response_timer.answered()

    def _emit(self, message: Message) -> None:
        try:
            emit = emit_of(message)
        except ProtocolError as error:
            self.report(str(error))
            if wants_tasks(message):
                self._answer([])
            return
        anchors, unknown = self._flight.anchors(emit.anchors)
        self._unknown(unknown)
        tasks = self._emitted(emit, anchors)
        if emit.wants_tasks:
            self._answer(tasks)

    def _emitted(self, emit: Emit, anchors: list[Any]) -> list[int]:
        """The task ids; empty if the emit failed, after which the anchor tuples fail too."""
        try:
            check_text([emit.values, emit.stream])
            tasks = self.emit(emit.values, emit.stream, anchors, emit.task, emit.wants_tasks)
        except Exception as error:
            self.report(f"emit failed: {error}")
            for key in emit.anchors:
                tup = self._flight.mark_failed(key)
                if tup is not None:
                    self.fail(tup)
            return []
        return tasks or []

    def _answer(self, tasks: list[int]) -> None:
        if self.child is not None:
            self.child.say(tasks)
