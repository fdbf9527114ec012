"""Storm's WindowManager: windows of a number of tuples or of milliseconds, in the order of arrival.

Time windows are open at the start: (end - length, end], while windows of operator.py are [start,
end). The first end is the earliest timestamp rounded up to the slide; after a window without tuples
the next end is computed in the same way. A window ends as soon as the watermark is above its end:
tuples at the watermark itself are not late, and belong to the window. A tuple expires with the
first window that starts after the tuple: Storm acks at the expiry.

By event time windows of a number of tuples are of tuples in the order of their timestamps, equal
ones in the order of their arrival.

By processing time a tuple's timestamp is its arrival, and windows end at whole slides since 1970,
as in all other windows here: `advance` fires each ended window, however late the call, with exactly
the tuples of its time. A tuple that arrives after its window fired, within the same millisecond or
because the clock was set back, belongs to the next window. (In Storm a window ends at its timer's
turn, and its length is corrected by the delay.)

Three rules differ from Storm's, which lose tuples. Storm stops the scan of its queue at a tuple
ahead of the window by more than the lag, so with two streams of different pace later tuples in the
queue are left out. Storm ends a window when the watermark reaches its end, so a later tuple of the
same millisecond is in no window, and not late either. Storm counts tuples in order of arrival, and
ends windows by their highest timestamp, so out of order or with equal timestamps some tuples are in
two windows and others in none.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from heron_core.algorithms.event_windows.values import END_OF_TIME, NO_WATERMARK
from heron_core.errors import TopologyError


@dataclass(frozen=True, slots=True)
class Extent:
    """A length or a slide: of so many tuples, or of so many milliseconds."""

    amount: int
    is_count: bool

    def __post_init__(self) -> None:
        if type(self.amount) is not int or self.amount < 1:
            unit = "tuples" if self.is_count else "milliseconds"
            raise TopologyError(
                f"a window of {self.amount!r} {unit}: it takes a whole number from 1"
            )


@dataclass(frozen=True, slots=True)
class Activation:
    """A window: tuples, newly added tuples, and tuples expired since the previous window.
    `start_ms` is None for windows by count."""

    items: list[Any]
    new: list[Any]
    expired: list[Any]
    start_ms: int | None
    end_ms: int


@dataclass(frozen=True, slots=True)
class Expired:
    """Tuples that no later window holds."""

    items: list[Any]


@dataclass(slots=True)
class _Queued:
    timestamp_ms: int
    item: Any
    is_seen: bool = False
    shown_ms: int = NO_WATERMARK
    """Windows up to the end were emitted by another task, which had the tuples before."""


class RetainedItem(NamedTuple):
    """An item as it is saved."""

    item: Any
    timestamp_ms: int
    is_seen: bool
    shown_ms: int
    is_expired: bool


class Position(NamedTuple):
    """Progress of the windows, besides retained tuples."""

    since_window: int = 0
    next_end_ms: int | None = None
    latest_end_ms: int = NO_WATERMARK


Step = Activation | Expired


class StormWindows:
    """The tuples of one task; the queue is bounded by the spouts' pending limit."""

    def __init__(
        self, length: Extent, slide: Extent, by_event_time: bool, offset_ms: int = 0
    ) -> None:
        """`offset_ms`: how far behind whole slides windows of time end."""
        self._offset_ms = offset_ms
        self._length = length
        self._slide = slide
        self._by_event_time = by_event_time
        self._queue: list[_Queued] = []
        self._expired: list[Any] = []
        self._since_window = 0
        self._next_end_ms: int | None = None
        self.latest_end_ms = NO_WATERMARK
        """Of all windows so far."""

    def add(self, timestamp_ms: int, item: Any) -> list[Step]:
        """A tuple; in processing time it may end a window."""
        if not self._by_event_time:
            timestamp_ms = max(timestamp_ms, self._earliest_arrival_ms())
        self._queue.append(_Queued(timestamp_ms, item))
        steps: list[Step] = []
        if not self._by_event_time and self._slide.is_count:
            self._since_window += 1
            if self._since_window == self._slide.amount:
                self._since_window = 0
                self._activate(timestamp_ms, steps)
        return steps

    def advance(self, time_ms: int) -> list[Step]:
        """The watermark is `time_ms`; by processing time, it is now so late."""
        steps: list[Step] = []
        if self._by_event_time:
            if self._slide.is_count:
                self._end_counts(time_ms, steps)
            else:
                self._advance_ends(time_ms, steps)
        elif not self._slide.is_count:
            self._end_slides(time_ms, steps)
        return steps

    def finish(self) -> list[Step]:
        """End of the input: the remaining windows, and one more for tuples without a window;
        then all tuples expire. Storm has no such end. The last window by count has its usual
        content, with missing tuples left out: in tumbling windows each tuple is in one window
        only."""
        steps: list[Step] = []
        if self._by_event_time:
            steps = self.advance(END_OF_TIME)
        elif not self._slide.is_count:
            self._end_last_slides(steps)
        if any(not each.is_seen for each in self._queue):
            self._sort()
            last_ms = max(each.timestamp_ms for each in self._queue)
            self._activate(last_ms, steps, self._missing())
        if self._queue:
            steps.append(Expired([each.item for each in self._queue]))
            self._queue = []
        # Later tuples start with the first window that includes them.
        self._next_end_ms = None
        return steps

    def _missing(self) -> int:
        """Number of tuples missing for the next window by count."""
        if not self._slide.is_count:
            return 0
        since = self._since_window
        if self._by_event_time:
            since = sum(not each.is_seen for each in self._queue)
        return -since % self._slide.amount

    def retained(self) -> list[Any]:
        """Unexpired tuples."""
        return [each.item for each in self._queue]

    @property
    def number_retained(self) -> int:
        """Number of unexpired tuples."""
        return len(self._queue)

    def clear(self) -> None:
        """Drop the retained tuples."""
        self._queue = []

    @property
    def is_divisible(self) -> bool:
        """Whether a tuple's windows are independent of other tuples."""
        return not self._length.is_count and not self._slide.is_count

    def saved(self) -> tuple[Position, list[RetainedItem]]:
        """State to be saved."""
        ends = (self._since_window, self._next_end_ms, self.latest_end_ms)
        expired = [
            RetainedItem(item, NO_WATERMARK, True, NO_WATERMARK, True) for item in self._expired
        ]
        queue = [
            RetainedItem(entry.item, entry.timestamp_ms, entry.is_seen, entry.shown_ms, False)
            for entry in self._queue
        ]
        return Position(*ends), expired + queue

    def restore(self, saved: Sequence[tuple[Position, RetainedItem]]) -> None:
        """Restore the states of tasks, in order; more advanced tasks have emitted windows still
        due here."""
        positions = {position for position, _ in saved} or {Position()}
        first, are_equal = next(iter(positions)), len(positions) == 1
        self._since_window = first.since_window
        # Tasks that are not equally far: as with the first watermark.
        self._next_end_ms = first.next_end_ms if are_equal else None
        self.latest_end_ms = min(each.latest_end_ms for each in positions)
        self._expired = [each.item for _, each in saved if each.is_expired]
        self._queue = [
            _Queued(
                retained.timestamp_ms, retained.item, retained.is_seen,
                retained.shown_ms if are_equal else max(retained.shown_ms, position.latest_end_ms),
            )
            for position, retained in saved if not retained.is_expired
        ]  # fmt: skip
        if not self._by_event_time:
            self._queue.sort(key=lambda each: each.timestamp_ms)

    def _earliest_arrival_ms(self) -> int:
        """By processing time: no window that has ended is changed, and arrivals are in order."""
        earliest_ms = self._queue[-1].timestamp_ms if self._queue else NO_WATERMARK
        if self._slide.is_count:
            return earliest_ms
        if self.latest_end_ms != NO_WATERMARK:
            earliest_ms = max(earliest_ms, self.latest_end_ms + 1)
        if self._next_end_ms is not None:
            earliest_ms = max(earliest_ms, self._next_end_ms - self._slide.amount + 1)
        return earliest_ms

    def _end_slides(self, now_ms: int, steps: list[Step]) -> None:
        """Emit the ended windows in processing time; windows by count without new tuples are
        skipped if several have ended."""
        slide_ms = self._slide.amount
        while (end_ms := self._next_slide_ms(now_ms)) is not None and end_ms <= now_ms:
            self._activate(end_ms, steps)
            self._next_end_ms = end_ms + slide_ms
        if not self._queue:
            self._next_end_ms = None  # the next tuple says when there is something to show

    def _next_slide_ms(self, now_ms: int | None) -> int | None:
        """End of the next non-empty window; None if none."""
        slide_ms, by_count = self._slide.amount, self._length.is_count
        times = [each.timestamp_ms for each in self._queue if not (by_count and each.is_seen)]
        ends = [self._aligned(min(times))] if times else []
        if by_count and self._queue and now_ms is not None:
            ends.append(now_ms // slide_ms * slide_ms)
        if not ends:
            return None
        return max(min(ends), NO_WATERMARK if self._next_end_ms is None else self._next_end_ms)

    def _end_last_slides(self, steps: list[Step]) -> None:
        """All windows in processing time of the retained tuples."""
        while (end_ms := self._next_slide_ms(None)) is not None:
            self._activate(end_ms, steps)
            self._next_end_ms = end_ms + self._slide.amount

    def _advance_ends(self, watermark_ms: int, steps: list[Step]) -> None:
        if self._next_end_ms is None:
            times = [x.timestamp_ms for x in self._queue if x.timestamp_ms <= watermark_ms]
            self._next_end_ms = self._aligned(min(times)) if times else None
        if self._next_end_ms is None or self._next_end_ms >= watermark_ms:
            return
        # A window considers only tuples due by its end, in order of arrival.
        order = {id(each): at for at, each in enumerate(self._queue)}
        coming = deque(sorted(self._queue, key=lambda each: each.timestamp_ms))
        self._queue = []
        while self._next_end_ms < watermark_ms:
            end_ms = self._next_end_ms
            while coming and coming[0].timestamp_ms <= end_ms:
                self._queue.append(coming.popleft())
            self._queue.sort(key=lambda each: order[id(each)])
            if self._activate(end_ms, steps):
                self._next_end_ms = end_ms + self._slide.amount
            elif coming and coming[0].timestamp_ms <= watermark_ms:
                self._next_end_ms = self._aligned(coming[0].timestamp_ms)
            else:
                break  # the same end is looked at again with the next watermark
        self._queue = sorted([*self._queue, *coming], key=lambda each: order[id(each)])

    def _aligned(self, timestamp_ms: int) -> int:
        """End of the first time window of the tuple."""
        slide_ms, offset_ms = self._slide.amount, self._offset_ms
        return -((offset_ms - timestamp_ms) // slide_ms) * slide_ms + offset_ms

    def _end_counts(self, watermark_ms: int, steps: list[Step]) -> None:
        """By event time: a window for each `slide` unseen tuples up to the watermark."""
        self._sort()
        first = sum(each.is_seen for each in self._queue)
        self._queue, fresh = self._queue[:first], self._queue[first:]
        due, done = sum(each.timestamp_ms <= watermark_ms for each in fresh), 0
        while due - done >= self._slide.amount:
            self._queue += fresh[done : done + self._slide.amount]
            done += self._slide.amount
            self._activate(self._queue[-1].timestamp_ms, steps, due=self._queue)
        self._queue += fresh[done:]

    def _sort(self) -> None:
        """In event time: tuples of an earlier window, then others by timestamp."""
        if self._by_event_time and self._slide.is_count:
            self._queue.sort(key=lambda each: (not each.is_seen, each.timestamp_ms))

    def _activate(
        self,
        end_ms: int,
        steps: list[Step],
        missing: int = 0,
        due: list[_Queued] | None = None,
    ) -> bool:
        """End a window; returns whether the window is non-empty. Empty windows are not emitted.
        `missing`: number of its tuples that have not arrived; `due`: tuples up to its end, unless
        windows are by count.
        """
        if due is None:
            due = [each for each in self._queue if each.timestamp_ms <= end_ms]
        if self._length.is_count:
            inside = due[max(0, len(due) - max(0, self._length.amount - missing)) :]
        else:
            inside = [each for each in due if end_ms - each.timestamp_ms < self._length.amount]
        kept = set(map(id, inside))
        expired = [each.item for each in due if id(each) not in kept]
        if expired:
            gone = {id(each) for each in due} - kept
            self._queue = [each for each in self._queue if id(each) not in gone]
            self._expired += expired
            steps.append(Expired(expired))
        if not inside:
            return False
        self.latest_end_ms = max(self.latest_end_ms, end_ms)
        inside = [each for each in inside if each.shown_ms < end_ms]
        if not inside:
            return True
        new = [each.item for each in inside if not each.is_seen]
        for retained in inside:
            retained.is_seen = True
        start_ms = None if self._length.is_count else end_ms - self._length.amount
        items = [each.item for each in inside]
        steps.append(Activation(items, new, self._expired, start_ms, end_ms))
        self._expired = []
        return True
