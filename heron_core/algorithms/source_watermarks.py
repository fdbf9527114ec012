"""Watermarks of a task's sources, and their minimum.

Watermark W of a source is a lower bound of its later event times. END_OF_TIME is the last
watermark: the source has finished. A source that still sends tuples (a failed tuple, replayed)
revokes the end.
"""

from collections.abc import Iterable

from heron_core.algorithms.event_windows.values import END_OF_TIME, NO_WATERMARK


class SourceWatermarks:
    """Newest watermark of each source task."""

    def __init__(self, sources: Iterable[int] = ()) -> None:
        self._watermarks = dict.fromkeys(sources, NO_WATERMARK)
        self.ended: set[int] = set()
        """Finished sources."""
        self.lowest_ms = NO_WATERMARK
        """No source sends anything below it; END_OF_TIME if all have finished."""

    def retask(self, sources: Iterable[int]) -> None:
        """Replace the sources after a change of tasks."""
        self._watermarks = {each: self._watermarks.get(each, NO_WATERMARK) for each in sources}
        self.ended &= self._watermarks.keys()
        self._update()

    def take(self, source: int, watermark_ms: int) -> bool:
        """Record a source's watermark; whether the watermark is new."""
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
        """(source, newest watermark) of sources with a watermark, END_OF_TIME for finished."""
        given = [item for item in self._watermarks.items() if item[1] > NO_WATERMARK]
        return [*given, *((each, END_OF_TIME) for each in sorted(self.ended))]

    def reopened(self, source: int) -> None:
        """A finished source sends tuples again."""
        self.ended.discard(source)
        self._update()

    def slowest(self) -> int | None:
        """The slowest task; None if all have finished. From any thread."""
        known = list(self._watermarks.items())
        left = [(watermark, source) for source, watermark in known if source not in self.ended]
        return min(left)[1] if left else None

    @property
    def has_any(self) -> bool:
        """Whether any source has sent a watermark other than the last; from any thread."""
        return any(each > NO_WATERMARK for each in list(self._watermarks.values()))

    def _update(self) -> None:
        active = self._watermarks.keys() - self.ended
        nothing = END_OF_TIME if self._watermarks else NO_WATERMARK
        self.lowest_ms = min(map(self._watermarks.__getitem__, active), default=nothing)
