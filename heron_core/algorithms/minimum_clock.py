"""The minimum clock of a topology: the time before which all that began is finished.

Any topology has this clock, with event time or without. The clock of a *place* (a bolt's queue, a
spout's trees, the links of a container) is reported as an age, by the stream manager that has the
place; so hosts' clocks need not agree. The clock of a component is the lowest of its places', that
of the topology the lowest of all (Gearpump's min clock, without the messages that Gearpump sends
for it).

No clock falls:

- a place keeps the highest time that it was ever at;
- a place of a later packing plan starts at the time of the plan, because nothing for the place
  began before;
- a place of the first plan is unknown until its first report, and so is every minimum with it.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import NamedTuple


class PlaceKind(Enum):
    """What holds messages or roots."""

    QUEUE = "queue"
    """Messages for a bolt: queued, or handed to its process and not processed."""
    TREES = "trees"
    """Tracked tuples of a spout that are not acked."""
    LINKS = "links"
    """Messages on the way from a container to others."""


class Place(NamedTuple):
    """Where messages or roots are."""

    kind: PlaceKind
    id: int
    """A task, or the container of links."""


class PlaceClock(NamedTuple):
    """A place, and the time before which everything there is finished."""

    place: Place
    at: float


class MinimumClock:
    """The clocks of all places."""

    def __init__(self, places: Iterable[Place]) -> None:
        self._clocks: dict[Place, float | None] = dict.fromkeys(places)
        """None: not reported yet"""

    def __iter__(self) -> Iterator[Place]:
        return iter(self._clocks)

    def __contains__(self, place: Place) -> bool:
        return place in self._clocks

    def expect(self, places: Iterable[Place], now: float) -> None:
        """The places of the next packing plan, which applies from `now` on."""
        known = self._clocks
        self._clocks = {place: known.get(place, now) for place in places}

    def heard(self, ages: Mapping[Place, float], now: float) -> None:
        """A stream manager's ages in seconds; those of places of another plan are left out."""
        for place, age in ages.items():
            if place in self._clocks:
                before = self._clocks[place]
                at = now - max(0.0, age)
                self._clocks[place] = at if before is None else max(before, at)

    def lowest(self, places: Iterable[Place] | None = None) -> PlaceClock | None:
        """The place that holds the clock of all, or of some, back; None while one of them is
        unknown, or without any."""
        lowest: PlaceClock | None = None
        for place in self._clocks if places is None else places:
            at = self._clocks.get(place)
            if at is None:
                return None
            if lowest is None or at < lowest.at:
                lowest = PlaceClock(place, at)
        return lowest
