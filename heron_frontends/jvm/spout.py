"""Spouts whose work is done by a Java class in a JVM of their own.

The JVM works in turns: acks and fails, then nextTuple until a number of tuples is emitted. The next
turn is requested as soon as a turn with tuples has ended. Its tuples are emitted call by call:
`topology.max.spout.pending` holds for each tuple.
"""

import time
from collections import deque
from typing import Any

from heron_api.spout.spout import Spout
from heron_core import config as keys
from heron_frontends.jvm.component import JavaComponent
from heron_frontends.jvm.frames import BATCH, NEXT, TURN, Frame, command

BUDGET_MAX = 256
"""Tuples of one turn."""
WAIT_SECS = 0.02
"""A call of next_tuple waits so long for the JVM: acks and control go on behind it."""


class JvmSpout(JavaComponent, Spout):
    """Runs a Java class that is an IRichSpout.

    Component config as for JvmBolt. A class whose public `boolean isFinished()` returns true has
    finished, as after Spout.finish().
    """

    is_spout = True

    def __init__(self, delegate: Any) -> None:
        super().__init__(delegate)
        self._events: deque[list[Any]] = deque()
        """Emits of the JVM that are not emitted here yet."""
        self._acked: list[int] = []
        self._failed: list[int] = []
        self._turns = 0
        """That are asked for and have not ended."""
        self._settle_is_called = False

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """As JavaComponent."""
        super().initialize(config, context)
        pending = keys.value_of(self.settled_config, keys.MAX_SPOUT_PENDING)
        self._budget = max(1, min(BUDGET_MAX, int(pending or BUDGET_MAX)))

    # --- what the engine calls --------------------------------------------------------------------

    def next_tuple(self) -> None:
        """Emit one tuple of the JVM; an empty queue requests a turn first."""
        if not self._events:
            self._ask(self._budget)
            self._wait_for_turn()
        if self._events:
            self._emit(*self._events.popleft())

    def ack(self, tup_id: Any) -> None:
        """Pass it on with the next turn."""
        self._acked.append(tup_id)
        self._settle_soon()

    def fail(self, tup_id: Any) -> None:
        """Forward the fail with the next turn; the spout may replay the tuple."""
        self.delegate.reopen()
        self._failed.append(tup_id)
        self._settle_soon()

    def activate(self) -> None:
        """The topology runs."""
        self.send(command("activate"))

    def deactivate(self) -> None:
        """The topology is paused."""
        self.send(command("deactivate"))

    def is_idle(self) -> bool:
        """Whether the JVM has got all acks and fails, and is done with them."""
        return not (self._turns or self._events or self._acked or self._failed or self.inbox)

    # --- turns ------------------------------------------------------------------------------------

    def _ask(self, budget: int) -> None:
        if self._turns == 0 and self.jvm is not None:
            self._turns += 1
            acked, self._acked = self._acked, []
            failed, self._failed = self._failed, []
            self.send(command(NEXT, budget, acked, failed))

    def _wait_for_turn(self) -> None:
        deadline = time.monotonic() + WAIT_SECS
        while self._turns and not self._events and self.jvm is not None:
            left_secs = deadline - time.monotonic()
            if left_secs <= 0:
                return
            self.wait(left_secs)

    def _settle_soon(self) -> None:
        """If no further turn takes care of it."""
        if not self._settle_is_called:
            self._settle_is_called = True
            self.delegate.call_soon(self._settle)

    def _settle(self) -> None:
        self._settle_is_called = False
        if self._acked or self._failed:
            self._ask(0)

    # --- what the JVM says ------------------------------------------------------------------------

    def handle(self, frame: Frame) -> None:
        """Its emits, and the end of a turn."""
        if frame[0] == BATCH:
            self._events += frame[2]
        elif frame[0] == TURN:
            self._turn_ended(*frame[1:])
        else:
            self.warn_once("unknown frame", str(frame[0]))

    def _turn_ended(self, is_idle: bool, is_finished: bool, events: list[list[Any]]) -> None:
        self._turns -= 1
        self._events += events
        if is_finished and not self._events:
            self.finish()
        if events and not is_idle:
            self._ask(self._budget)
        elif self._acked or self._failed:
            self._settle_soon()

    def _emit(
        self,
        wants_tasks: bool,
        stream: str,
        key: int | None,
        values: list[Any],
        direct_task: int | None,
    ) -> None:
        tasks = None
        try:
            tasks = self.emit(values, key, stream, direct_task, wants_tasks)
        except Exception as error:
            self.delegate.record_error(f"{self.label}: an emit failed", str(error))
            if key is not None:
                self.fail(key)
        if wants_tasks:
            self.answer_tasks(tasks)

    def abandon(self) -> None:
        """Drop the tuples not yet emitted, which end with the JVM as with a worker in Storm."""
        self._events.clear()
        self._acked, self._failed, self._turns = [], [], 0
