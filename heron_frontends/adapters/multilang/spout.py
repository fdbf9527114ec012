"""ShellSpout: a spout whose work is done by a child process in any language.

The protocol has turns: a command, the child's emits, then `sync`. Acks and fails are written ahead
of the next command, in one write; their turns end together with the command's turn.
"""

import select
import time
from collections import deque
from dataclasses import dataclass
from math import inf
from typing import Any

from heron_api.spout.spout import Spout
from heron_core.errors import ProtocolError
from heron_frontends.adapters.multilang.child import ShellChild
from heron_frontends.adapters.multilang.component import ShellComponent
from heron_frontends.adapters.multilang.output import StrayLog
from heron_frontends.adapters.multilang.protocol import (
    COMMAND,
    Emit,
    Message,
    check_text,
    emit_of,
    wants_tasks,
)

OWED_MAX = 256
"""Maximum of unfinished turns before the instance waits."""
POLL_SECS = 1.0
"""Maximum wait for the child before its life is checked."""
CLOSE_SECS = 1.0
"""For a child to exit when its stdin has ended; an instance has 5 s."""


@dataclass(frozen=True, slots=True)
class TupleId:
    """Tuple id of a child, with the child that assigned the id: a successor does not know
    the id.
    """

    child: ShellChild
    value: Any


class ShellSpout(ShellComponent, Spout):
    """Hosts a program that speaks Storm's multilang protocol (org.apache.storm.spout.ShellSpout).

    Component config as for ShellBolt. An extension to Storm: {"command": "finish"} marks the end of
    the child's emits, as Spout.finish() does.
    """

    def __init__(self, delegate: Any) -> None:
        super().__init__(delegate)
        self._messages: deque[Message] = deque()
        self._owed = 0
        """Turns begun and not ended by a sync."""
        self._is_active = self._settle_is_called = False
        self._refused: list[TupleId] = []
        """Ids of tuples that could not be emitted; the child gets a fail for each."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Start the child and wait for its pid; ComponentError with the cause if the child dies."""
        self.prepare(config, context)
        self.commands |= {
            "emit": self._emit,
            "sync": self._sync,
            "finish": lambda message: self.finish(),
        }
        self._open(self.start_child())

    def start_child(self) -> ShellChild:
        """Start a child; a successor is activated if the previous child was active."""
        child = super().start_child()
        self._strays = StrayLog(self.logger, child.label, self.counts.total)
        self._owed = 0
        self._messages.clear()
        if self._is_active:
            self._begin("activate", "")
        return child

    def _open(self, child: ShellChild) -> None:
        """Read until the pid; what is emitted before the topology runs waits."""
        while not self.is_ready:
            if self._messages:
                self.handle(self._messages.popleft())
            elif not self._read(child):
                raise self.died_at_start(child.reap())

    # --- what the engine calls --------------------------------------------------------------------

    def next_tuple(self) -> None:
        """Have the child emit; without effect while the child is down."""
        self.start_if_due()
        self._turn("next", "")

    def ack(self, tup_id: Any) -> None:
        """Forward the ack to the child, unless a previous child emitted the tuple."""
        self._send_outcome("ack", tup_id)

    def fail(self, tup_id: Any) -> None:
        """Forward the fail to the child, unless a previous child emitted the tuple."""
        self._send_outcome("fail", tup_id)

    def activate(self) -> None:
        """The topology runs."""
        self._is_active = True
        self._turn("activate", "")

    def deactivate(self) -> None:
        """The topology is paused."""
        self._is_active = False
        self._turn("deactivate", "")

    def is_idle(self) -> bool:
        """Whether the child has got all acks and fails, and is done with them."""
        return not (self._owed or self._messages or self._refused)

    def close(self) -> None:
        """Stop the child: by closing stdin, then by force."""
        self.has_failed = True
        self._settle(time.monotonic() + CLOSE_SECS)
        child, self.child = self.child, None
        if child is None:
            return
        self.is_ending = True
        child.close_stdin()
        deadline = time.monotonic() + CLOSE_SECS
        while (left_secs := deadline - time.monotonic()) > 0:
            if _readable(child, left_secs) and not self._take(child):
                break
        child.kill("did not end")
        child.reap()
        self.handle_final_messages(self._messages)

    # --- turns ------------------------------------------------------------------------------------

    def _turn(self, command: str, tup_id: Any) -> None:
        if self.child is not None:
            self._begin(command, tup_id)
            self._settle()

    def _send_outcome(self, command: str, tup_id: TupleId) -> None:
        if self.child is None or tup_id.child is not self.child:
            return
        self._begin(command, tup_id.value)
        if self._owed >= OWED_MAX:
            self._settle()
        elif not self._settle_is_called:
            self._settle_is_called = True
            self.delegate.call_soon(self._settle_soon)

    def _settle_soon(self) -> None:
        """When no further command took care of it."""
        self._settle_is_called = False
        self._settle()

    def _begin(self, command: str, tup_id: Any) -> None:
        assert self.child is not None
        self.child.say({COMMAND: command, "id": tup_id})
        self._owed += 1

    def _settle(self, until: float = inf) -> None:
        """Wait until the child has ended its turns, or died, or the time `until` has come."""
        while self.child is not None and self._owed and time.monotonic() < until:
            if self._messages:
                self.handle(self._messages.popleft())
            elif not self._read(self.child):
                self._end_of_child(self.child)
        # A turn of their own, later: a child may emit the same again at once, for ever.
        refused, self._refused = self._refused, []
        for tup_id in refused:
            self._send_outcome("fail", tup_id)

    def _read(self, child: ShellChild) -> bool:
        """Write pending bytes, then wait for messages; False at the child's end."""
        self.response_timer.ask(time.monotonic())
        child.write()
        if _readable(child, POLL_SECS):
            return self._take(child)
        if self.response_timer.is_overdue(time.monotonic()):
            child.kill(f"sent nothing for {self.response_timer.timeout_secs:g} s")
        # Processes started by the child may hold its stdout open for ever.
        return not child.has_exited

    def _take(self, child: ShellChild) -> bool:
        try:
            messages = child.read()
        except ProtocolError as error:
            child.kill(str(error))
            return False
        finally:
            self._strays.take(child.codec.strays)
        if messages:
            self.response_timer.heard_at = time.monotonic()
            self._messages += messages
        return messages is not None

    def _end_of_child(self, child: ShellChild) -> None:
        self._messages.clear()
        self._refused.clear()
        self._owed = 0
        self.report_death(child.reap(), "tuples of the ended process are not replayed")

    # --- what the child says ----------------------------------------------------------------------

    def _sync(self, message: Message) -> None:
        if self._owed:
            self._owed -= 1
        if not self._owed:
            self.response_timer.answered()

    def _emit(self, message: Message) -> None:
        try:
            emit = emit_of(message)
        except ProtocolError as error:
            self.report(str(error))
            if wants_tasks(message) and self.child is not None:
                self.child.say([])
            return
        tasks = self._emitted(emit)
        if emit.wants_tasks and self.child is not None:
            self.child.say(tasks)

    def _emitted(self, emit: Emit) -> list[int]:
        """The task ids; none if the emit failed, and then the child gets a fail."""
        assert self.child is not None
        tup_id = None
        try:
            check_text(emit.id)
            tup_id = None if emit.id is None else TupleId(self.child, emit.id)
            check_text([emit.values, emit.stream])
            tasks = self.emit(emit.values, tup_id, emit.stream, emit.task, emit.wants_tasks)
        except Exception as error:
            self.report(f"emit failed: {error}")
            if tup_id is not None:
                self._refused.append(tup_id)
            return []
        return tasks or []


def _readable(child: ShellChild, secs: float) -> bool:
    """Wait for output of the child, or until pending bytes can be written."""
    poll = select.poll()
    poll.register(child.stdout, select.POLLIN)
    if child.unwritten:
        poll.register(child.stdin, select.POLLOUT)
    return any(number == child.stdout for number, _ in poll.poll(secs * 1000))
