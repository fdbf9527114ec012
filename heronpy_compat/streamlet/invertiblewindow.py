"""Sliding windows by key whose oldest part is taken out again; heronpy has none.

Spark calls the operation reduceByKeyAndWindow with an inverse function. The time line is cut into
slides, each with the reduced values of its elements. The value of a window is the previous window's
value, with a slide added and a slide taken out, for any length:

    length 3, slide 1     |--a--|--b--|--c--|--d--|
    windows               [-----------------)           a + b + c
                                [-----------------)     a + b + c - a + d

A window without elements gives no result, and the next value begins anew, so rounding errors of an
inverse function do not add up for ever.
"""

from collections.abc import Callable, Iterator
from typing import Any

from heron_core.algorithms.event_windows.assigners import Sliding
from heronpy_compat.streamlet.keyedprocess import KeyedProcess, ProcessContext
from heronpy_compat.streamlet.keyedwindow import KeyedWindow
from heronpy_compat.streamlet.stagetimers import END_OF_INPUT_MS, StageTimers
from heronpy_compat.streamlet.window import Window

Fold = Callable[[Any, Any], Any]
NEVER_MS = -(2**62)
"""Before the first window."""


class InvertibleWindow(KeyedProcess):
    """(KeyedWindow, value) at each slide, of each key with elements in the window."""

    def __init__(
        self,
        window: Sliding,
        reduce: Fold,
        inverse: Fold,
        value_function: Callable[[Any], Any],
        by_event_time: bool,
    ) -> None:
        """The length is a whole number of slides."""
        self._window, self._by_event_time = window, by_event_time
        self._reduce, self._inverse, self._value_function = reduce, inverse, value_function

    def open(self, context: ProcessContext) -> None:
        """Per key: the values of its slides by their ends, value and end of the newest
        emitted window."""
        self._slides = context.map_state("slides")
        self._value = context.value_state("value")
        self._shown_ms = context.value_state("shown_ms", NEVER_MS)
        self._timers = StageTimers(context.timers, self._by_event_time)

    def process_element(self, element: Any, context: ProcessContext) -> None:
        """Add an element to its slide. The element is late if all its windows are complete, or were
        emitted before a restore, where the watermark begins anew."""
        end_ms = self._end_of_slide(self._timers.time_ms(context))
        if not self._by_event_time:  # a clock set back makes no element late
            end_ms = max(end_ms, self._shown_ms.get() + self._window.slide_ms)
        elif self._last_window_ms(end_ms) <= max(self._timers.now_ms(), self._shown_ms.get()):
            context.drop_late()
            return
        else:
            self._pass_complete_windows()
        value = self._value_function(element)
        self._add_to_slide(end_ms, value)
        if end_ms <= self._shown_ms.get():
            self._add_to_value(value)

    def on_timer(self, timestamp_ms: int, context: ProcessContext) -> Iterator[Any]:
        """The end of a window, or of the input, where all remaining windows are emitted."""
        until_ms = self._timers.end_of(timestamp_ms)
        if timestamp_ms == END_OF_INPUT_MS:
            until_ms = max(map(self._last_window_ms, self._slides.keys()), default=NEVER_MS)
        while (end_ms := self._next_window_ms()) is not None and end_ms <= until_ms:
            yield self._shown(end_ms, context.key)
        if end_ms is not None:
            self._timers.register(end_ms)
            return
        self._shown_ms.clear()
        self._timers.delete_end_of_input()

    def _pass_complete_windows(self) -> None:
        """Complete windows are empty for the key, or were emitted."""
        watermark_ms = self._timers.now_ms()
        if watermark_ms > NEVER_MS:
            complete_ms = self._end_of_slide(watermark_ms) - self._window.slide_ms
            self._shown_ms.put(max(complete_ms, self._shown_ms.get()))

    def _add_to_slide(self, end_ms: int, value: Any) -> None:
        before = self._slides.get(end_ms)
        self._slides.put(end_ms, [value if before is None else self._reduce(before[0], value)])
        if before is None:
            self._timers.register(max(end_ms, self._shown_ms.get() + self._window.slide_ms))
            self._timers.register_end_of_input()

    def _add_to_value(self, value: Any) -> None:
        before = self._value.get()
        self._value.put([value if before is None else self._reduce(before[0], value)])

    def _shown(self, window_ms: int, key: Any) -> tuple[KeyedWindow, Any]:
        """The window that ends at `window_ms`; slides outside of all later windows leave."""
        shown_ms, begin_ms = self._shown_ms.get(), window_ms - self._window.length_ms
        ends_ms = [each for each in sorted(self._slides.keys()) if each <= window_ms]
        for end_ms in ends_ms:
            if end_ms > shown_ms:
                self._add_to_value(self._slides.get(end_ms)[0])
        (value,) = self._value.get()
        self._shown_ms.put(window_ms)
        leaving = [each for each in ends_ms if each <= begin_ms + self._window.slide_ms]
        self._take_out(leaving, is_all=leaving == ends_ms)
        return KeyedWindow(key, Window(begin_ms / 1000, window_ms / 1000)), value

    def _take_out(self, ends_ms: list[int], is_all: bool) -> None:
        for end_ms in ends_ms:
            (leaving,) = self._slides.get(end_ms)
            self._slides.remove(end_ms)
            if not is_all:
                self._value.put([self._inverse(self._value.get()[0], leaving)])
        if is_all:
            self._value.clear()

    def _next_window_ms(self) -> int | None:
        """The end of the next window with elements; None if there is none."""
        first_ms = min(self._slides.keys(), default=None)
        if first_ms is None:
            return None
        return int(max(first_ms, self._shown_ms.get() + self._window.slide_ms))

    def _end_of_slide(self, time_ms: int) -> int:
        slide_ms = self._window.slide_ms
        return time_ms - (time_ms - self._window.offset_ms) % slide_ms + slide_ms

    def _last_window_ms(self, end_ms: int) -> int:
        return end_ms - self._window.slide_ms + self._window.length_ms
