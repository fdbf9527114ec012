"""The input of Linear Road, reproducible by seed: cars that enter, drive, crowd, crash and query.

A replacement of MITSIM, the original's simulator, whose files are gigabytes: cars keep the speed of
their segment, which is low in congested ranges of segments, and arrive at a rate that grows over
the run. Now and then two cars stop at one position, and drive on some minutes later.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter

from benchmarks.linear_road.records import (
    DAYS,
    EXIT_LANE,
    REPORT_SECS,
    SEGMENT_FEET,
    SEGMENTS,
    BalanceQuery,
    ExpenditureQuery,
    History,
    Position,
    Record,
)

FEET_PER_MILE = 5280
CONGESTED = range(38, 56)
"""Segments in which cars are slow."""
CROWDED = range(44, 47)
"""Congested segments for a car that drives east; their mirror images are slow, too."""
FREE_SPEED, SLOW_SPEED = (50, 75), (12, 30)
"""Miles an hour, from and to."""
BALANCE_SHARE, EXPENDITURE_SHARE = 0.01, 0.002
"""Of reports, after which the car asks."""
STOPPED_REPORTS = (6, 12)
"""Duration of a crash, in reports: more than the four that define a stopped car."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How much traffic."""

    expressways: int = 1
    seconds: int = 600
    arrivals_per_sec: float = 1.0
    """Rate on each expressway and direction at the end of the run; the initial rate is a fifth."""
    cars_at_start: int = 0
    """On each expressway and direction, anywhere on it."""
    crowded_share: float = 0.0
    """Of arriving cars, which enter where cars are slow: tolls in a small input."""
    opens_every_secs: int = 0
    """Delay between the first cars of consecutive expressways."""
    accident_every_secs: int = 150
    """On each expressway."""
    seed: int = 1


@dataclass(slots=True)
class _Car:
    """A car on its way: `stops` reports at one position from `stop_at` on."""

    number: int
    expressway: int
    direction: int
    feet: int
    last_segment: int
    starts: int
    lane: int
    stop_at: int = -1
    stops: int = 0


def records(settings: Settings) -> list[Record]:
    """All records by time; within a second in arbitrary order."""
    chance = random.Random(settings.seed)
    found: list[Record] = []
    for car in _cars(settings, chance):
        found += _drive(car, settings, chance, len(found))
    found.sort(key=itemgetter(0))
    return found


def history(settings: Settings, vehicles: int) -> History:
    """What each car was charged on former days, on each expressway."""
    chance = random.Random(settings.seed + 1)
    return {
        (vehicle, day, expressway): chance.randrange(100)
        for vehicle in range(vehicles)
        for day in range(1, DAYS + 1)
        for expressway in range(settings.expressways)
    }


def _cars(settings: Settings, chance: random.Random) -> Iterator[_Car]:
    number = 0
    for expressway in range(settings.expressways):
        for direction in (0, 1):
            for _ in range(settings.cars_at_start):
                begins = chance.randrange(REPORT_SECS)
                yield _new_car(number, expressway, direction, begins, chance)
                number += 1
            for second in range(settings.seconds):
                rate = settings.arrivals_per_sec * (0.2 + 0.8 * second / settings.seconds)
                for _ in range(int(rate) + (chance.random() < rate % 1)):
                    crowded = settings.crowded_share and chance.random() < settings.crowded_share
                    enters = chance.choice(CROWDED) if crowded else None
                    yield _new_car(number, expressway, direction, second, chance, enters)
                    number += 1
        for second in range(60, settings.seconds, settings.accident_every_secs):
            yield from _crash(number, expressway, second, chance)
            number += 2


def _new_car(
    number: int,
    expressway: int,
    direction: int,
    second: int,
    chance: random.Random,
    enters: int | None = None,
) -> _Car:
    enters = chance.randrange(SEGMENTS - 20) if enters is None else enters
    leaves = min(SEGMENTS - 1, enters + chance.randrange(5, 40))
    feet = enters * SEGMENT_FEET + chance.randrange(SEGMENT_FEET)
    if direction == 1:  # west is the mirror image
        feet, leaves = SEGMENTS * SEGMENT_FEET - 1 - feet, SEGMENTS - 1 - leaves
    return _Car(number, expressway, direction, feet, leaves, second, chance.randint(1, 3))


def _crash(number: int, expressway: int, second: int, chance: random.Random) -> Iterator[_Car]:
    """Two cars that drive side by side, and stop."""
    car = _new_car(number, expressway, chance.randrange(2), second, chance)
    car.last_segment = SEGMENTS - 1 if car.direction == 0 else 0
    car.stop_at, car.stops = 2, chance.randint(*STOPPED_REPORTS)
    other = _Car(
        number + 1, expressway, car.direction, car.feet, car.last_segment, second, car.lane, 2,
        chance.randint(*STOPPED_REPORTS),
    )  # fmt: skip
    yield car
    yield other


def _drive(car: _Car, settings: Settings, chance: random.Random, first: int) -> Iterator[Record]:
    """The reports and queries of a car."""
    feet, step, query = car.feet, 0, first
    # Two crashing cars drive side by side, and so share their random numbers.
    pace = random.Random(car.feet) if car.stop_at >= 0 else chance
    for time in range(car.starts, settings.seconds, REPORT_SECS):
        segment = feet // SEGMENT_FEET
        is_stopped = car.stop_at <= step < car.stop_at + car.stops
        has_left = (
            segment >= car.last_segment if car.direction == 0 else segment <= car.last_segment
        )
        lane = 0 if step == 0 else EXIT_LANE if has_left else car.lane
        speed = 0 if is_stopped else _speed(segment, pace)
        yield Position(time, car.number, speed, car.expressway, lane, car.direction, segment, feet)
        if chance.random() < BALANCE_SHARE:
            yield BalanceQuery(time, car.number, query)
        if chance.random() < EXPENDITURE_SHARE:
            day = chance.randint(1, DAYS)
            yield ExpenditureQuery(time, car.number, car.expressway, query, day)
        if lane == EXIT_LANE:
            return
        moved = speed * FEET_PER_MILE * REPORT_SECS // 3600
        feet += moved if car.direction == 0 else -moved
        feet = min(max(feet, 0), SEGMENTS * SEGMENT_FEET - 1)
        step, query = step + 1, query + 1


def _speed(segment: int, chance: random.Random) -> int:
    return chance.randint(*(SLOW_SPEED if segment in CONGESTED else FREE_SPEED))
