"""Bolts that collect tuples: BatchingBolt by ticks, TicklessBatchingBolt by time.

The main thread processes batches in either case, so user code is never concurrent, and a failed
batch affects only its own tuples.
"""

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

from heron_core import config as keys
from heron_core.component import BoltBindings, EngineBolt, TupleLoop
from heron_core.topology import ComponentSpec
from heron_frontends.adapters.awaiting import run_returned
from heron_frontends.adapters.storm.bolt import StormBolt
from heron_frontends.adapters.storm.library import overrides

BATCHER = ("_batch_entry", "_batch_entry_run")
"""A class that overrides a method listed here gets a batcher thread of its own, under the bolt's
lock.
"""


class StormBatchingBolt(StormBolt):
    """A user's BatchingBolt."""

    returns_task_ids = False
    acks_later = True
    retains_until_finish = True

    def __init__(self, user: Any, spec: ComponentSpec, bindings: BoltBindings) -> None:
        super().__init__(user, spec, bindings)
        self._decides_when = overrides(user, "process_batches")
        """Only the user's code then knows the held tuples and the time of their release."""

    def processing(self) -> TupleLoop:
        """BatchingBolt._run without its reading: acks come with the batch."""
        user = self.users_object
        process = self.keyed_process()
        if self.takes_turns:
            return self.turns(process, acks=False)

        def run(some: Iterable[Any]) -> None:
            for tup in some:
                user._current_tups = [tup]
                if (value := process(tup)) is not None:
                    self.refuse_returned(value)
            user._current_tups = []

        return run

    def tick_user(self, tup: Any) -> None:
        """BatchingBolt.process_tick acks its tick."""
        run_returned(self, self.users_object.process_tick(tup))

    def ready(self, storm_conf: dict[str, Any]) -> None:
        """As for every bolt; say so if nothing will ever end a batch."""
        super().ready(storm_conf)
        if not self.is_timed and not self._decides_when:
            self.bindings.logger.warning(
                "%s is a BatchingBolt without ticks, so its batches are processed at the end of a "
                "finite run only: set %s", self._name, keys.TICK_TUPLE_FREQ_SECS
            )  # fmt: skip

    @property
    def is_timed(self) -> bool:
        """Whether batches will be processed after some time."""
        return self._tick_secs is not None

    def handle_exception(self, error: BaseException | None) -> None:
        """Handle the exception as for every bolt, then remove processed batches: pystorm leaves
        these behind, empty, and would pass each to process_batch again.
        """
        try:
            super().handle_exception(error)
        finally:
            batches = self.users_object._batches
            for key in [key for key, batch in batches.items() if not batch]:
                del batches[key]

    def is_idle(self) -> bool:
        """Whether no batch is held that time alone will end."""
        return super().is_idle() and (
            self._decides_when or not self.is_timed or not self.retains_tuples()
        )

    def retains_tuples(self) -> bool:
        """Whether there is a batch with tuples; may be asked by any thread."""
        try:
            return any(self.users_object._batches.values())
        except RuntimeError:  # it grew meanwhile
            return True

    def on_finish(self) -> None:
        """Process the held tuples; each batch once, independently of the others."""
        for _ in range(len(self.users_object._batches)):
            if self.retains_tuples():
                self.process_batches()
        super().on_finish()

    def process_batches(self) -> None:
        """Process all batches now; an exception is reported, then handled as in pystorm."""
        user = self.users_object
        try:
            run_returned(self, user.process_batches())
            user._current_tups = []
        except Exception:
            self.bindings.raised("process_batches")


class StormTicklessBolt(StormBatchingBolt):
    """A user's TicklessBatchingBolt."""

    def __init__(self, user: Any, spec: ComponentSpec, bindings: BoltBindings) -> None:
        super().__init__(user, spec, bindings)
        self._has_own_batcher = any(overrides(user, name) for name in BATCHER)
        if self._has_own_batcher:
            self.has_own_loop = True  # the library's takes the lock around each tuple
        self._closed = False

    @property
    def is_timed(self) -> bool:
        """Always true."""
        return True

    def ready(self, storm_conf: dict[str, Any]) -> None:
        """Start the clock; an overridden _batch_entry was started by the constructor."""
        super().ready(storm_conf)
        user = self.users_object
        if not self._has_own_batcher:
            self._wait()
        elif not overrides(user, "_batch_entry"):
            threading.Thread(target=self._batch, name="batcher", daemon=True).start()

    def process_batches(self) -> None:
        """As for every BatchingBolt, under the lock that a batcher of the user's takes."""
        lock: AbstractContextManager[Any] = self.users_object._batch_lock
        with lock:
            super().process_batches()

    def close(self) -> None:
        """The clock stops."""
        super().close()
        self._closed = True

    def _wait(self) -> None:
        self.bindings.call_later(self.users_object.secs_between_batches, self._on_time)

    def _on_time(self) -> None:
        if self._closed:
            return
        if self.retains_tuples():
            self.process_batches()
        self._wait()

    def _batch(self) -> None:
        """The thread around a user's _batch_entry_run, which waits and processes the batches."""
        user = self.users_object
        while not self._closed:
            try:
                user._batch_entry_run()
                self._take_current()
            except Exception as error:
                self.calls.post(self._raising(error, self._take_current()))
                time.sleep(user.secs_between_batches)

    def _take_current(self) -> list[Any]:
        """Take the batch of the last call, leaving an empty batch."""
        user = self.users_object
        with user._batch_lock:
            current: list[Any] = user._current_tups
            user._current_tups = []
            return current

    def _raising(self, error: Exception, current: list[Any]) -> Callable[[], None]:
        """A call for the main thread: report an exception of the batcher's, fail its batch."""

        def report() -> None:
            self.users_object._current_tups = current
            try:
                raise error
            except Exception:
                self.bindings.raised("_batch_entry_run")

        return report


_bolts: list[type[EngineBolt]] = [StormBatchingBolt, StormTicklessBolt]
