"""What the sources of a task have said of event time: the watermark that all of them agree on.

A watermark W of a source says: what it sends from now on happened at W or later. END_OF_TIME is its
last one: it has finished. A source that sends tuples all the same (one of them failed, and is
emitted again) takes that back.
"""

from collections.abc import Iterable

from heron_core.algorithms.event_windows.values import END_OF_TIME, NO_WATERMARK


class SourceWatermarks:
    """The newest watermark of each task that may send to this one."""

    def __init__(self, sources: Iterable[int] = ()) -> None:
        self._watermarks = dict.fromkeys(sources, NO_WATERMARK)
        self.ended: set[int] = set()
        """The sources that have finished."""
        self.lowest_ms = NO_WATERMARK
        """No source sends anything below it; END_OF_TIME if all have finished."""

    def retask(self, sources: Iterable[int]) -> None:
        """The topology was scaled: these are the sources now."""
        self._watermarks = {each: self._watermarks.get(each, NO_WATERMARK) for each in sources}
        self.ended &= self._watermarks.keys()
        self._update()

    def take(self, source: int, watermark_ms: int) -> bool:
        """A source's watermark; whether it says anything new."""
        known = self._watermarks.get(source)
        if known is None or source in self.ended or watermark_ms <= known:
            return False
        if watermark_ms == END_OF_TIME:
            self.ended.add(source)
        else:
            self._watermarks[source] = watermark_ms
        self._update()
        return True

    def known(self) -> list[tuple[int, int]]:
        """(source, its newest watermark) of those that have given one, END_OF_TIME for the last."""
        given = [item for item in self._watermarks.items() if item[1] > NO_WATERMARK]
        return [*given, *((each, END_OF_TIME) for each in sorted(self.ended))]

    def reopened(self, source: int) -> None:
        """A source that has finished sends tuples again."""
        self.ended.discard(source)
        self._update()

    def slowest(self) -> int | None:
        """The task that is behind the others; None if all have finished. From any thread."""
        known = list(self._watermarks.items())
        left = [(watermark, source) for source, watermark in known if source not in self.ended]
        return min(left)[1] if left else None

    @property
    def has_any(self) -> bool:
        """Whether any of them has given a watermark other than its last one; from any thread."""
        return any(each > NO_WATERMARK for each in list(self._watermarks.values()))

    def _update(self) -> None:
        active = self._watermarks.keys() - self.ended
        nothing = END_OF_TIME if self._watermarks else NO_WATERMARK
        self.lowest_ms = min(map(self._watermarks.__getitem__, active), default=nothing)
