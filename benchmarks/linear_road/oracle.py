"""The truth of Linear Road: its definitions over the whole input, at once and in any order of work.

The oracle is independent of streaming: statistics come from all reports of a minute, stopped cars
from all reports of a car, and answers from both. Choices where the specification leaves room: a
latest average velocity is the mean over the minutes with cars among the previous five, rounded half
up; a toll is charged when the car reports from the next segment, and not if it leaves by the ramp;
the order of a car's reports is the order of their times.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise
from math import floor, fsum
from operator import attrgetter

from benchmarks.linear_road.records import (
    AVERAGE_MINUTES,
    EXIT_LANE,
    SPEED_FREE,
    STOPPED_REPORTS,
    Alert,
    BalanceQuery,
    ExpenditureQuery,
    History,
    Position,
    Record,
    Toll,
    minute_of,
    near,
    toll_for,
)

FRESH_SECS = 60
"""A balance may be as of any time of the last so many seconds."""

Location = tuple[int, int, int]
"""Expressway, direction, segment."""
Spot = tuple[int, int, int, int, int]
"""Expressway, direction, lane, segment, feet."""


@dataclass(frozen=True, slots=True)
class Truth:
    """All answers."""

    tolls: frozenset[Toll]
    alerts: frozenset[Alert]
    balances: Mapping[int, frozenset[int]]
    """query -> the balances that are right"""
    expenditures: Mapping[int, int]
    """query -> toll"""


def truth(records: Iterable[Record], history: History) -> Truth:
    """The answers to an input."""
    given = list(records)
    reports = [each for each in given if isinstance(each, Position)]
    by_car = _by_car(reports)
    minutes = Minutes(reports)
    accidents = accidents_of(by_car.values())
    tolls: set[Toll] = set()
    alerts: set[Alert] = set()
    charges: dict[int, list[tuple[int, int]]] = {}
    for vehicle, own in by_car.items():
        said = _said(own, minutes, accidents)
        tolls |= {each for each in said.values() if isinstance(each, Toll)}
        alerts |= {each for each in said.values() if isinstance(each, Alert)}
        charges[vehicle] = _charges(own, said)
    return Truth(
        frozenset(tolls),
        frozenset(alerts),
        {
            each.query: _balances(charges.get(each.vehicle, []), each.time)
            for each in given
            if isinstance(each, BalanceQuery)
        },
        {
            each.query: history.get((each.vehicle, each.day, each.expressway), 0)
            for each in given
            if isinstance(each, ExpenditureQuery)
        },
    )


def _by_car(reports: Iterable[Position]) -> dict[int, list[Position]]:
    found: dict[int, list[Position]] = defaultdict(list)
    for each in sorted(reports, key=attrgetter("time")):
        found[each.vehicle].append(each)
    return found


class Minutes:
    """What is known of each segment and minute."""

    def __init__(self, reports: Iterable[Position]) -> None:
        speeds: dict[tuple[Location, int], dict[int, list[int]]] = {}
        for each in reports:
            where = (each.expressway, each.direction, each.segment), minute_of(each.time)
            speeds.setdefault(where, {}).setdefault(each.vehicle, []).append(each.speed)
        self._cars = {where: len(cars) for where, cars in speeds.items()}
        self._speed = {
            where: fsum(sum(own) / len(own) for own in cars.values()) / len(cars)
            for where, cars in speeds.items()
        }

    def cars(self, where: Location, minute: int) -> int:
        """Distinct cars that reported."""
        return self._cars.get((where, minute), 0)

    def average_speed(self, where: Location, minute: int) -> int | None:
        """The latest average velocity at a minute; None without earlier cars."""
        before = range(minute - AVERAGE_MINUTES, minute)
        found = [self._speed[where, each] for each in before if (where, each) in self._speed]
        return floor(fsum(found) / len(found) + 0.5) if found else None


def accidents_of(cars: Iterable[list[Position]]) -> dict[tuple[Location, int], bool]:
    """Locations and minutes with two cars or more stopped at one spot."""
    stops: dict[Spot, list[tuple[int, int]]] = defaultdict(list)
    for own in cars:
        for spot, began, ended in _stops(own):
            stops[spot].append((began, ended))
    found: dict[tuple[Location, int], bool] = {}
    for (expressway, direction, _, segment, _), times in stops.items():
        for began, ended in _overlaps(times):
            for minute in range(minute_of(began), minute_of(ended) + 1):
                found[(expressway, direction, segment), minute] = True
    return found


def _stops(own: list[Position]) -> Iterable[tuple[Spot, int, int]]:
    """Stops of a car: from its fourth report at a spot to the last second before a report from
    another spot, or to its last report."""
    runs = [
        (spot, list(run))
        for spot, run in groupby(
            own, lambda x: (x.expressway, x.direction, x.lane, x.segment, x.feet)
        )
    ]
    for at, (spot, run) in enumerate(runs):
        if len(run) >= STOPPED_REPORTS:
            next_time = runs[at + 1][1][0].time if at + 1 < len(runs) else run[-1].time + 1
            yield spot, run[STOPPED_REPORTS - 1].time, next_time - 1


def _overlaps(times: list[tuple[int, int]]) -> Iterable[tuple[int, int]]:
    """Times with at least two overlapping stops."""
    for at, (began, ended) in enumerate(times):
        for other_began, other_ended in times[at + 1 :]:
            start, end = max(began, other_began), min(ended, other_ended)
            if start <= end:
                yield start, end


def _said(
    own: list[Position], minutes: Minutes, accidents: Mapping[tuple[Location, int], bool]
) -> dict[int, Toll | Alert]:
    """time -> notification of a car that enters a segment, except on the exit ramp."""
    found: dict[int, Toll | Alert] = {}
    for before, each in pairwise([None, *own]):
        assert each is not None
        where = (each.expressway, each.direction, each.segment)
        entered = before is None or where != (before.expressway, before.direction, before.segment)
        if not entered or each.lane == EXIT_LANE:
            continue
        minute = minute_of(each.time)
        crashed = _nearest(where, minute - 1, accidents)
        if crashed is not None:
            found[each.time] = Alert(each.vehicle, each.time, crashed)
            continue
        speed, cars = minutes.average_speed(where, minute), minutes.cars(where, minute - 1)
        is_slow = speed is not None and speed < SPEED_FREE
        toll = toll_for(cars) if is_slow else 0
        found[each.time] = Toll(each.vehicle, each.time, speed or 0, toll)
    return found


def _nearest(
    where: Location, minute: int, accidents: Mapping[tuple[Location, int], bool]
) -> int | None:
    """Segment of the nearest accident ahead in a minute, or None."""
    expressway, direction, segment = where
    ahead = near(segment, direction)
    ordered = ahead if direction == 0 else reversed(ahead)
    return next(
        (each for each in ordered if ((expressway, direction, each), minute) in accidents), None
    )


def _charges(own: list[Position], said: Mapping[int, Toll | Alert]) -> list[tuple[int, int]]:
    """(time, toll): the toll of a segment when the car reports from the next one."""
    found = []
    announced = 0
    for before, each in pairwise([None, *own]):
        assert each is not None
        if before is not None and each.segment != before.segment:
            if announced and each.lane != EXIT_LANE:
                found.append((each.time, announced))
            announced = 0
        toll = said.get(each.time)
        if isinstance(toll, Toll):
            announced = toll.toll
    return found


def _balances(charges: list[tuple[int, int]], time: int) -> frozenset[int]:
    """The balances of the last minute; the present balance includes the charges of the present
    second."""
    moments = [
        time,
        time - FRESH_SECS,
        *(at for at, _ in charges if time - FRESH_SECS < at <= time),
    ]
    before = [at - 1 for at, _ in charges if time - FRESH_SECS < at <= time]
    return frozenset(
        sum(toll for at, toll in charges if at <= moment) for moment in (*moments, *before)
    )
