"""The minimum clock against a model that knows when each item began: never ahead of what is open,
never behind by more than the time between two observations, and never falling."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from heron_core.algorithms.finished_until import FinishedUntil, OpenNumbers
from heron_core.algorithms.minimum_clock import Location, LocationKind, MinimumClock

LOCATIONS = tuple(Location(LocationKind.QUEUE, task) for task in range(1, 4))


class ClockMachine(RuleBasedStateMachine):
    """Items begin and end in any order at three locations; plans add and remove locations."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 100.0
        self.clock = MinimumClock(LOCATIONS[:2])
        self.began: dict[Location, dict[int, float]] = {location: {} for location in LOCATIONS[:2]}
        self.bounds = {location: FinishedUntil(self.now) for location in LOCATIONS[:2]}
        self.observations = dict.fromkeys(LOCATIONS[:2], (self.now, self.now))
        self.number = 0
        self.lowest = 0.0

    @rule(secs=st.sampled_from((0.25, 1.0, 7.0)))
    def time_passes(self, secs: float) -> None:
        self.now += secs

    @rule(at=st.integers(0, 2), number=st.integers(1, 3))
    def begin(self, at: int, number: int) -> None:
        location = LOCATIONS[at]
        for _ in range(number if location in self.began else 0):
            self.number += 1
            self.began[location][self.number] = self.now

    @rule(data=st.data(), at=st.integers(0, 2))
    def end(self, data: st.DataObject, at: int) -> None:
        if found := self.began.get(LOCATIONS[at]):
            del found[data.draw(st.sampled_from(sorted(found)))]

    @rule(at=st.integers(0, 2))
    def report(self, at: int) -> None:
        location = LOCATIONS[at]
        if location not in self.began:
            return
        found = self.began[location]
        self.observations[location] = (self.observations[location][1], self.now)
        numbers = OpenNumbers(min(found), max(found)) if found else None
        bound = self.bounds[location].observe(self.now, numbers)
        oldest = min(found.values(), default=self.now)
        assert bound <= oldest, "ahead of what is open"
        self.clock.heard({location: self.now - bound}, self.now)

    @rule(wanted=st.sets(st.sampled_from(LOCATIONS), min_size=1))
    def plan(self, wanted: set[Location]) -> None:
        for location in wanted - self.began.keys():
            self.bounds[location] = FinishedUntil(self.now)
            self.observations[location] = self.now, self.now
        self.began = {location: self.began.get(location, {}) for location in wanted}
        self.clock.expect(wanted, self.now)

    @invariant()
    def never_falls_and_never_leads(self) -> None:
        found = self.clock.lowest()
        if found is None:
            return
        assert found.at >= self.lowest - 1e-9, "it fell"
        self.lowest = found.at
        oldest = (min(each.values(), default=self.now) for each in self.began.values())
        assert found.at <= min(oldest) + 1e-9, "it is ahead"


class LateMachine(RuleBasedStateMachine):
    """A queue that is looked at each second: the bound is late by a second at most."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.bound = FinishedUntil(0.0)
        self.began: list[float] = []
        self.left = 0

    @rule(arrive=st.integers(0, 3), leave=st.integers(0, 3), after=st.floats(0.0, 0.99))
    def second(self, arrive: int, leave: int, after: float) -> None:
        self.began += [self.now + after] * arrive
        leave = min(leave, len(self.began))
        del self.began[:leave]
        self.left += leave
        self.now += 1.0
        waiting = len(self.began)
        numbers = OpenNumbers(self.left, self.left + waiting - 1) if waiting else None
        at = self.bound.observe(self.now, numbers)
        oldest = self.began[0] if self.began else self.now
        assert oldest - 1.0 <= at <= oldest


TestClock = ClockMachine.TestCase
TestLate = LateMachine.TestCase
TestClock.settings = TestLate.settings = settings(max_examples=60, deadline=None)
