"""Calls of user code without a single tuple: ticks, watermarks, windows, timers, on_finish.

Exceptions follow `topology.bolt.on.exception`, like exceptions of `process`. A window or batch
fails its tuples, each abandoned individually; without tuples to fail, the call itself is a dead
letter, or counts as an error outside of a tuple.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from heron_instance.emit.dead_letters import LetterFault, present_fault
from heron_instance.input.dividing import DividingCalls


class FailedCalls(DividingCalls):
    """Makes the calls, and handles exceptions as configured."""

    _in_call = False
    """User code is running and may emit."""

    @contextmanager
    def calling(self, where: str) -> Iterator[None]:
        """A call of user code; `where` is its name for people."""
        self._in_call = True
        failed = self.collector.failed
        try:
            yield
        except Exception:
            self._call_failed(where, failed)
        finally:
            self._in_call = False

    def _call_failed(self, where: str, failed_before: int) -> None:
        """`failed_before`: how many tuples had failed before the call."""
        fault = present_fault()
        self.failed_in(where)
        if self.collector.failed == failed_before:
            self.abandon_call(where, fault)
        if self._handle is not None:
            return
        if self.options.stops_on_exception:
            self.stop_topology(where)
        if self.options.exits_on_exception:
            self.outbox.flush()  # emits before the exception, e.g. a letter
            error = " ".join(str(sys.exc_info()[1]).split())
            self.leave(f"{where} raised, and topology.bolt.on.exception is exit: {error}")

    def abandon_call(self, where: str, fault: LetterFault) -> bool:
        """Whether the failed call becomes a letter; else it counts as abandoned."""
        letters = self.collector.letters
        if letters is not None and letters.takes_call(where, fault):
            return True
        self.metrics.callback_errors += 1
        self.metrics.calls_given_up += 1
        return False
