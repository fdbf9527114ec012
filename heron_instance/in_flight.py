"""Tuples received but not finished by a bolt: their order, their emits, and the saved part.

    taken ──► under way ──► settled (done or failed) ──► released
                 ▲ │
                 └─┘ emitted: the emit is withheld

Emits of a tuple in progress are withheld until its release, so an unreleased tuple has sent
nothing, can be run again (after a restore, for instance), and counts once. An emit of several
tuples (of a batch) joins them into one group, released together: otherwise a checkpoint between
the acks of a batch would count part of the batch as done.

Tuples released by a call count as processed in a checkpoint; `unfinished` is saved and runs
again after a restore. Pure: no clock, no user code. Used by two drivers: coroutines
(coroutine_bolt.py) and bolts with late acks (later_acks.py).
"""

import dataclasses
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct, field


class Group(Struct, eq=False):
    """Tuples released together, and their emits."""

    members: list["TakenTuple"]
    emits: list[tuple[tuple["TakenTuple", ...], Any]] = field(default_factory=list)
    """(source tuples, the emit), in the order of the emits."""
    under_way: int = 1
    """How many of the members are not settled."""


@dataclasses.dataclass(slots=True, eq=False)
class TakenTuple:
    """A tuple that is not released."""

    tup: Any
    number: int
    """In the order in which tuples were taken."""
    group: Group = dataclasses.field(init=False)
    is_settled: bool = False
    has_failed: bool = False
    """Drop the emits of the tuple."""

    def __post_init__(self) -> None:
        self.group = Group([self])


class Released(Struct, frozen=True):
    """Emits to send and tuples to settle now, in order."""

    emits: tuple[Any, ...]
    taken: tuple[TakenTuple, ...]


class BoltInFlight:
    """The tuples in flight at one bolt."""

    def __init__(self, is_ordered: bool = False) -> None:
        """`is_ordered`: a tuple is released behind all that were taken before it."""
        self._is_ordered = is_ordered
        self._number = 0
        self._tuples: dict[int, TakenTuple] = {}
        """By number, the order of arrival."""
        self._finished: deque[Group] = deque()
        """Groups without a member under way, in the order in which that came about."""
        self._watermarks: deque[tuple[int, Any]] = deque()
        """(number of the last tuple before it, watermark)"""

    def __len__(self) -> int:
        return len(self._tuples)

    @property
    def last(self) -> int:
        """The number of the tuple that was taken last."""
        return self._number

    def take(self, tup: Any) -> TakenTuple:
        """A tuple is under way from here on."""
        self._number += 1
        taken = self._tuples[self._number] = TakenTuple(tup, self._number)
        return taken

    def emitted(self, of: Sequence[TakenTuple], emit: Any) -> None:
        """Record an emit of unreleased tuples."""
        group = of[0].group
        for taken in of[1:]:
            if taken.group is not group:
                group = self._joined(group, taken.group)
        group.emits.append((tuple(of), emit))

    def _joined(self, one: Group, other: Group) -> Group:
        if len(one.members) < len(other.members):
            one, other = other, one
        for group in (one, other):
            if not group.under_way:
                self._finished.remove(group)
        for taken in other.members:
            taken.group = one
        one.members += other.members
        one.emits += other.emits
        one.under_way += other.under_way
        if not one.under_way:
            self._finished.append(one)
        return one

    def retried(self, taken: TakenTuple) -> None:
        """Restart a tuple: earlier emits are dropped."""
        taken.group.emits.clear()

    def settle(self, taken: TakenTuple, has_failed: bool) -> bool:
        """A tuple is done, or has failed; False if it was settled before."""
        if taken.is_settled:
            return False
        taken.is_settled, taken.has_failed = True, has_failed
        group = taken.group
        group.under_way -= 1
        if not group.under_way:
            self._finished.append(group)
        return True

    def release(self) -> Iterator[Released]:
        """What may be sent now; each is counted as processed when the next one is asked for."""
        while (group := self._next_finished()) is not None:
            for taken in group.members:
                del self._tuples[taken.number]
            emits = tuple(
                emit for of, emit in group.emits if not any(each.has_failed for each in of)
            )
            yield Released(emits, tuple(sorted(group.members, key=lambda each: each.number)))

    def _next_finished(self) -> Group | None:
        if not self._finished:
            return None
        if not self._is_ordered:
            return self._finished.popleft()
        group = next(iter(self._tuples.values())).group
        if group.under_way:
            return None
        self._finished.remove(group)
        return group

    def add_watermark(self, watermark: Any) -> None:
        """A watermark came: it is not to overtake the tuples before it."""
        self._watermarks.append((self._number, watermark))

    def passed(self) -> Any:
        """The newest watermark with all earlier tuples finished, returned once; None if
        unchanged."""
        oldest = next(iter(self._tuples), self._number + 1)
        found = None
        while self._watermarks and self._watermarks[0][0] < oldest:
            found = self._watermarks.popleft()[1]
        return found

    def unfinished(self) -> list[Any]:
        """The unreleased tuples, in order of arrival."""
        return [taken.tup for taken in self._tuples.values()]

    def validate(self) -> None:
        """AssertionError with a text if an invariant does not hold; between two calls."""
        groups = {id(taken.group): taken.group for taken in self._tuples.values()}
        finished = {id(each) for each in self._finished}
        assert len(finished) == len(self._finished), "a group is finished twice"
        for name, group in groups.items():
            left = sum(not each.is_settled for each in group.members)
            assert left == group.under_way, f"{group.under_way} under way, and {left} not settled"
            assert (name in finished) == (not left), "finished, and not to be released"
            assert all(each.number in self._tuples for each in group.members), "half released"
        assert finished <= groups.keys(), "finished without a tuple"
        assert not self._finished or not self._is_ordered or self._tuples, "nothing to be released"
