"""Input and output of Linear Road, in the order of the benchmark's fields.

Time is in seconds from 0 on; the minute of a second t is t // 60 + 1. A direction is 0 (east,
positions grow) or 1 (west). Lane 0 is the entry ramp, 1 to 3 are travelled, 4 is the exit ramp.
"""

from typing import NamedTuple

SEGMENTS = 100
SEGMENT_FEET = 5280
EXIT_LANE = 4
REPORT_SECS = 30
STOPPED_REPORTS = 4
"""So many reports in a row from one position, and a car is stopped."""
AVERAGE_MINUTES = 5
DAYS = 69
"""Days of history before today."""
ANSWER_SECS_MAX = 5
"""How late an answer may be; that of a daily expenditure 10 s."""


class Position(NamedTuple):
    """A car's report, every 30 s (type 0)."""

    time: int
    vehicle: int
    speed: int
    expressway: int
    lane: int
    direction: int
    segment: int
    feet: int


class BalanceQuery(NamedTuple):
    """What has a car been charged so far? (type 2)"""

    time: int
    vehicle: int
    query: int


class ExpenditureQuery(NamedTuple):
    """What was a car charged on a former day on an expressway? (type 3)"""

    time: int
    vehicle: int
    expressway: int
    query: int
    day: int


Record = Position | BalanceQuery | ExpenditureQuery
History = dict[tuple[int, int, int], int]
"""(vehicle, day, expressway) -> toll"""


class Toll(NamedTuple):
    """Said to a car at its first report of a segment."""

    vehicle: int
    time: int
    average_speed: int
    """The latest average velocity; 0 if unknown yet."""
    toll: int


class Alert(NamedTuple):
    """Notification of an accident near a segment, at a car's first report from the segment."""

    vehicle: int
    time: int
    segment: int
    """Of the accident."""


def minute_of(time: int) -> int:
    """The minute of a second."""
    return time // 60 + 1


def toll_for(cars: int) -> int:
    """The toll of a congested segment with so many cars."""
    return 2 * (cars - CARS_FREE) ** 2 if cars > CARS_FREE else 0


CARS_FREE = 50
"""With so many cars a segment costs nothing."""
SPEED_FREE = 40
"""Nor with such a latest average velocity, in miles an hour."""


def near(segment: int, direction: int) -> range:
    """Segments where an accident concerns a car that enters `segment`: the segment and four
    ahead."""
    return range(segment, segment + 5) if direction == 0 else range(segment - 4, segment + 1)


def place_of(expressway: int, direction: int, segment: int) -> int:
    """The three as one number."""
    return (expressway * 2 + direction) * SEGMENTS + segment


def segment_of(place: int) -> int:
    """Of a place."""
    return place % SEGMENTS


def places_before(place: int) -> list[int]:
    """Places of the cars affected by an accident: its place, and four before."""
    segment, is_west = segment_of(place), place // SEGMENTS % 2
    step = 1 if is_west else -1
    return [place + step * each for each in range(5) if 0 <= segment + step * each < SEGMENTS]
