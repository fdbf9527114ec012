"""Minimum clock of a topology: the time before which all messages and roots are finished.

Any topology has this clock, with event time or without. A *location* is a bolt's queue, a spout's
trees, or the links of a container; the stream manager of a location reports its clock as an age, so
hosts' clocks need not agree. The clock of a component is the lowest of its locations, the clock of
the topology the lowest of all (Gearpump's min clock, without Gearpump's messages for the purpose).

No clock falls:

- a location keeps its highest time;
- a location of a later packing plan starts at the time of the plan, because no message for the
  location began before;
- a location of the first plan is unknown until its first report, and so is every minimum with it.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import NamedTuple


class LocationKind(Enum):
    """Kind of a location."""

    QUEUE = "queue"
    """Messages for a bolt: queued, or handed to its process and not processed."""
    TREES = "trees"
    """Tracked tuples of a spout that are not acked."""
    LINKS = "links"
    """Messages on the way from a container to others."""


class Location(NamedTuple):
    """A queue, trees, or links."""

    kind: LocationKind
    id: int
    """A task, or the container of links."""


class LocationClock(NamedTuple):
    """A location with its clock."""

    location: Location
    at: float


class MinimumClock:
    """The clocks of all locations."""

    def __init__(self, locations: Iterable[Location]) -> None:
        self._clocks: dict[Location, float | None] = dict.fromkeys(locations)
        """None: not reported yet"""

    def __iter__(self) -> Iterator[Location]:
        return iter(self._clocks)

    def __contains__(self, location: Location) -> bool:
        return location in self._clocks

    def expect(self, locations: Iterable[Location], now: float) -> None:
        """The locations of the next packing plan, which applies from `now` on."""
        known = self._clocks
        self._clocks = {location: known.get(location, now) for location in locations}

    def heard(self, ages: Mapping[Location, float], now: float) -> None:
        """Ages in seconds, by a stream manager; locations of other plans are left out."""
        for location, age in ages.items():
            if location in self._clocks:
                before = self._clocks[location]
                at = now - max(0.0, age)
                self._clocks[location] = at if before is None else max(before, at)

    def lowest(self, locations: Iterable[Location] | None = None) -> LocationClock | None:
        """The location with the lowest clock, of all or of some; None while a clock is unknown, or
        without locations."""
        lowest: LocationClock | None = None
        for location in self._clocks if locations is None else locations:
            at = self._clocks.get(location)
            if at is None:
                return None
            if lowest is None or at < lowest.at:
                lowest = LocationClock(location, at)
        return lowest
