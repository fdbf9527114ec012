"""The windows of a stream: `window`, `tumbling_window`, `sliding_window`."""

from typing import Any, Self

from heronpy_compat.trident.aggregation import as_aggregator
from heronpy_compat.trident.errors import TridentError
from heronpy_compat.trident.execution.window_processor import WindowProcessor
from heronpy_compat.trident.operations import Aggregator, CombinerAggregator, ReducerAggregator
from heronpy_compat.trident.tuples import FieldSelection, Names, names_of
from heronpy_compat.trident.windowing.window_configs import (
    CountWindows,
    DurationWindows,
    milliseconds_of,
)
from heronpy_compat.trident.windowing.window_stores import InMemoryWindowsStoreFactory

_FORM = "[store factory,] input fields, aggregator, function fields"


class StreamWithWindows:
    """What a stream does in windows. Each partition has windows of its own."""

    def get_output_fields(self) -> Names:
        """See Stream."""
        raise NotImplementedError

    def processed(self, processor: Any, fields: Names, *, is_committer: bool = False) -> Self:
        """See Stream."""
        raise NotImplementedError

    def window(self, windows: Any, *arguments: Any) -> Self:
        """window(TumblingCountWindow.of(…), [store factory,] fields, aggregator, new fields): an
        aggregator over the tuples of each window; only the new fields stay. Without a factory
        the tuples are kept in memory, and recorded."""
        return self._windowed("window", windows, arguments)

    def tumbling_window(self, length: Any, *arguments: Any) -> Self:
        """As `window`, with windows one after the other: of so many tuples, or a duration."""
        return self._windowed("tumbling_window", _windows_of(length, length), arguments)

    def sliding_window(self, length: Any, slide: Any, *arguments: Any) -> Self:
        """As `window`, of the last tuples of a length, as often as the slide says: two numbers of
        tuples, or two durations."""
        return self._windowed("sliding_window", _windows_of(length, slide), arguments)

    def _windowed(self, what: str, windows: Any, arguments: tuple[Any, ...]) -> Self:
        if not isinstance(windows, (CountWindows, DurationWindows)):
            raise TridentError(
                f"{what} takes a window such as SlidingCountWindow.of(…), not {windows!r}"
            )
        if len(arguments) == 3:
            arguments = (InMemoryWindowsStoreFactory(), *arguments)
        if len(arguments) != 4:
            raise TridentError(f"{what} takes {_FORM} after its windows")
        factory, input_fields, aggregator, function_fields = arguments
        if not hasattr(factory, "create"):
            raise TridentError(f"{what}: a store is made by a WindowsStoreFactory, not {factory!r}")
        if not isinstance(aggregator, (Aggregator, CombinerAggregator, ReducerAggregator)):
            raise TridentError(f"{what} takes an Aggregator, not {aggregator!r}")
        selection = FieldSelection(self.get_output_fields(), names_of(input_fields, what), what)
        processor = WindowProcessor(windows, factory, as_aggregator(aggregator), selection)
        return self.processed(processor, names_of(function_fields, what), is_committer=True)

    tumblingWindow, slidingWindow = tumbling_window, sliding_window


def _windows_of(length: Any, slide: Any) -> CountWindows | DurationWindows:
    if type(length) is int and type(slide) is int:
        return CountWindows(length, slide)
    return DurationWindows(milliseconds_of(length), milliseconds_of(slide))
