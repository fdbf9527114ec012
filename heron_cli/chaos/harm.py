"""Harms processes: kill -9, SIGSTOP for a while, or SIGSTOP again and again.

What is stopped is continued however the command ends, but for its own kill -9.
"""

import signal
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from heron_cli.chaos.faults import Fault
from heron_cli.chaos.processes import is_ours
from heron_io.processes import signal_process

SLOW_SECS = 0.05
"""Period of a slow process: runs and stops in turn, with half of the CPU time in slices."""


class Harm:
    """Faults with a duration, and a thread that ends each fault in time: the main thread may
    wait for a stopped topology master. `clock`: seconds since the start of the run."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lasting: list[Fault] = []
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="harm", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def begin(self, fault: Fault) -> bool:
        """Signal the process; False if the process is gone or the pid was reused."""
        with self._lock:
            if not is_ours(fault.process.pid):
                return False
            if fault.action == "kill":
                return signal_process(fault.process.pid, signal.SIGKILL)
            self._lasting.append(fault)
            return signal_process(fault.process.pid, signal.SIGSTOP)

    def _run(self) -> None:
        while not self._ended.wait(SLOW_SECS):
            self._go_on(self._clock())
        self._go_on(float("inf"))

    def _go_on(self, now_secs: float) -> None:
        """Continue processes whose fault is over; alternate slow processes."""
        with self._lock:
            for fault in self._lasting:
                is_stopped = now_secs < fault.over_at_secs and (
                    fault.action == "stop" or int((now_secs - fault.at_secs) / SLOW_SECS) % 2 == 0
                )
                if is_ours(fault.process.pid):  # a supervisor may have killed the silent process
                    number = signal.SIGSTOP if is_stopped else signal.SIGCONT
                    signal_process(fault.process.pid, number)
            self._lasting = [each for each in self._lasting if now_secs < each.over_at_secs]
