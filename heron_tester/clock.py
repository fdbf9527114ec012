"""The virtual clock, and how user code comes to read it by the functions of the time module."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType, ModuleType
from typing import Any

Time = Callable[..., Any]

START_TIME = 1_704_067_200.0
"""Initial time.time(): 2024-01-01 00:00 UTC, equal in every run."""
START_MONOTONIC = 100_000.0
"""Initial time.monotonic(): a different number, to detect code that mixes both clocks."""
NANOSECONDS = 1_000_000_000

real_monotonic = time.monotonic
_real_sleep = time.sleep


class VirtualClock:
    """Virtual seconds, advanced by the test; a call reads the clock, like time.monotonic."""

    def __init__(self, start_time: float = START_TIME) -> None:
        self.now = START_MONOTONIC
        self._ahead = start_time - START_MONOTONIC

    def __call__(self) -> float:
        return self.now

    def time(self) -> float:
        """Current time.time()."""
        return self.now + self._ahead

    def sleep(self, secs: float) -> None:
        """Let time pass at once."""
        if secs < 0:
            raise ValueError("sleep length must be non-negative")
        self.now += secs
        _real_sleep(0)  # a thread that is waited for may go on


class PatchedTime:
    """The time module's functions answer from a virtual clock while `patched` is open.

    Only in the thread that opened it: whatever else runs in the process keeps real time. Modules
    and classes that hold the functions by names of their own (`from time import time`) are reached
    when `cover` was called for them.
    """

    def __init__(self, clock: VirtualClock) -> None:
        self._thread = 0
        self._open = 0
        self._covered: set[int] = set()
        self._attributes: list[tuple[ModuleType | type, str, Any, Any]] = []
        """(module or class, name, original value, value while open)"""
        self._fakes = {
            real: self._only_here(real, fake) for real, fake in _replacements(clock).items()
        }
        self.cover(time)

    def _only_here(self, real: Time, fake: Time) -> Time:
        def answer(*arguments: Any) -> Any:
            here = self._open and threading.get_ident() == self._thread
            return (fake if here else real)(*arguments)

        return answer

    def cover(self, holder: ModuleType | type) -> None:
        """Reach the functions that a module or class holds by a name of its own, too."""
        if id(holder) in self._covered:
            return
        self._covered.add(id(holder))
        for name, value in list(vars(holder).items()):
            fake = self._fake_of(value)
            if fake is not None:
                self._attributes.append((holder, name, value, fake))
                if self._open:
                    setattr(holder, name, fake)

    def _fake_of(self, value: Any) -> Any:
        if isinstance(value, staticmethod):
            fake = self._fake_of(value.__func__)
            return None if fake is None else staticmethod(fake)
        return self._fakes.get(value) if isinstance(value, BuiltinFunctionType) else None

    def cover_class(self, cls: type) -> None:
        """`cover` a class, its bases, and their modules."""
        for each in cls.__mro__:
            self.cover(each)
            module = sys.modules.get(each.__module__)
            if module is not None:
                self.cover(module)

    @contextmanager
    def patched(self) -> Iterator[None]:
        """User code of this thread reads the virtual clock; may be opened within itself."""
        if not self._open:
            self._thread = threading.get_ident()
            self._put(3)
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            if not self._open:
                self._put(2)

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Real time again, for work with other processes."""
        thread, self._thread = self._thread, 0
        try:
            yield
        finally:
            self._thread = thread

    def _put(self, which: int) -> None:
        for attribute in self._attributes:
            setattr(attribute[0], attribute[1], attribute[which])


def _replacements(clock: VirtualClock) -> dict[Time, Time]:
    return {
        time.time: clock.time,
        time.time_ns: lambda: round(clock.time() * NANOSECONDS),
        time.monotonic: clock,
        time.monotonic_ns: lambda: round(clock() * NANOSECONDS),
        time.perf_counter: clock,
        time.perf_counter_ns: lambda: round(clock() * NANOSECONDS),
        time.sleep: clock.sleep,
    }
