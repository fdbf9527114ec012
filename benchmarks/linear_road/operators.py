"""The operators of Linear Road between its source and its sink, with keyed state and event time.

A place is an expressway, a direction and a segment as one number, times are in seconds. The results
are exact after any kill: state, windows and timers are restored from one checkpoint. State consists
of lists: a checkpoint packs lists ten times as fast as tuples, which keep their type on the wire.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from math import floor, fsum
from operator import itemgetter
from typing import Any

from benchmarks.linear_road.records import (
    AVERAGE_MINUTES,
    EXIT_LANE,
    SPEED_FREE,
    STOPPED_REPORTS,
    minute_of,
    place_of,
    places_before,
    segment_of,
    toll_for,
)
from heron_api.state.keyed_state import list_state, value_state
from heronpy_compat import Bolt, Stream
from heronpy_compat.windows import Given, KeyedProcessBolt, KeyedWindowBolt, Timer, Tumbling

SECOND_MS, MINUTE_MS = 1000, 60_000
HISTORY_KEY = "road.history"
"""Config key: the SQLite file with the tolls of former days."""

TOLL_OF_DAY = "SELECT toll FROM history WHERE vehicle = ? AND day = ? AND expressway = ?"
UNCHARGED = 4
"""Maximum of unsettled notifications of a car; more are charged, to bound the list."""

POSITIONS, BALANCES, EXPENDITURES = "positions", "balances", "expenditures"
STOPS, ENTERED = "stops", "entered"
TOLLS, ALERTS, EXITS = "tolls", "alerts", "exits"


class Dispatch(Bolt):
    """Lines -> position reports and questions, by their type."""

    outputs = [
        Stream(["vehicle", "time", "time_ms", "place", "lane", "feet", "speed"], name=POSITIONS),
        Stream(["vehicle", "time", "query"], name=BALANCES),
        Stream(["vehicle", "time", "expressway", "query", "day"], name=EXPENDITURES),
    ]

    def process(self, tup: Any) -> None:
        """The lines of one expressway and second."""
        for line in tup.values[1].split("\n"):
            kind, *fields = map(int, line.split(","))
            if kind == 0:
                time, vehicle, speed, expressway, lane, direction, segment, feet, *_ = fields
                place = place_of(expressway, direction, segment)
                position = [vehicle, time, time * SECOND_MS, place, lane, feet, speed]
                self.emit(position, stream=POSITIONS)
            elif kind == 2:
                self.emit([fields[1], fields[0], fields[8]], stream=BALANCES)
            elif kind == 3:
                question = [fields[1], fields[0], fields[3], fields[8], fields[13]]
                self.emit(question, stream=EXPENDITURES)


class Cars(Bolt):
    """By vehicle: segments entered by a car, and its stops and restarts."""

    outputs = [
        Stream(["place", "lane", "feet", "vehicle", "time", "is_stopped"], name=STOPS),
        Stream(["place", "vehicle", "time", "lane"], name=ENTERED),
    ]
    last = value_state()
    """[place, lane, feet of the last report, how many reports in a row came from there]"""

    def process(self, tup: Any) -> None:
        """A position report."""
        vehicle, time, _, place, lane, feet, _ = tup.values
        *spot, reports = self.last.get() or (None, None, None, 0)
        if spot == [place, lane, feet]:
            reports += 1
            if reports == STOPPED_REPORTS:
                self.emit([*spot, vehicle, time, True], stream=STOPS)
        else:
            if reports >= STOPPED_REPORTS:
                self.emit([*spot, vehicle, time, False], stream=STOPS)
            reports = 1
        if place != spot[0] or lane == EXIT_LANE:
            self.emit([place, vehicle, time, lane], stream=ENTERED)
        if lane == EXIT_LANE:
            self.last.clear()
        else:
            self.last.put([place, lane, feet, reports])


class SpeedByCar:
    """An aggregate: cars, and the mean of the mean speeds of each."""

    def create(self) -> dict[int, list[int]]:
        """vehicle -> sum of speeds, number of reports"""
        return {}

    def add(
        self, accumulator: dict[int, list[int]], value: tuple[int, int]
    ) -> dict[int, list[int]]:
        """One report."""
        vehicle, speed = value
        if vehicle in accumulator:
            accumulator[vehicle][0] += speed
            accumulator[vehicle][1] += 1
        else:
            accumulator[vehicle] = [speed, 1]
        return accumulator

    def merge(
        self, left: dict[int, list[int]], right: dict[int, list[int]]
    ) -> dict[int, list[int]]:
        """Both."""
        for vehicle, (total, number) in right.items():
            before = left.get(vehicle, (0, 0))
            left[vehicle] = [before[0] + total, before[1] + number]
        return left

    def result(self, accumulator: dict[int, list[int]]) -> tuple[int, float]:
        """(cars, miles an hour)"""
        means = [total / number for total, number in accumulator.values()]
        return len(means), fsum(means) / len(means)

    def pack(self, accumulator: dict[int, list[int]]) -> dict[int, list[int]]:
        """It is plain data already."""
        return accumulator

    def unpack(self, packed: dict[int, list[int]]) -> dict[int, list[int]]:
        """The same."""
        return packed


class Statistics(KeyedWindowBolt):
    """By place: cars and speed of each minute, when the minute is over."""

    outputs = [Stream(["place", "minute", "cars", "speed"])]
    key_fields = ["place"]
    timestamp_field = "time_ms"
    watermarks = Given()
    window = Tumbling(MINUTE_MS)
    aggregate = SpeedByCar()

    def value(self, tup: Any, timestamp_ms: int) -> tuple[int, int]:
        """Vehicle and speed."""
        vehicle, *_, speed = tup.values
        return vehicle, speed

    def values(self, result: Any) -> Sequence[Any]:
        """Those of a minute."""
        return [result.key[0], minute_of(result.window.start_ms // SECOND_MS), *result.value]


class Accidents(KeyedProcessBolt):
    """By spot: minutes with two stopped cars, reported to all affected places."""

    outputs = ["place", "minute", "segment"]
    stops = value_state(default=list)
    """[vehicle, first second, last second or None while stopped]"""

    def process_element(self, tup: Any, timestamp_ms: int | None) -> None:
        """A car has stopped, or drives on."""
        *_, vehicle, time, is_stopped = tup.values
        stops = self.stops.get()
        if is_stopped:
            stops.append([vehicle, time, None])
            self.timers.register_event_time_timer(minute_of(time) * MINUTE_MS - 1)
        else:
            for each in stops:
                if each[0] == vehicle and each[2] is None:
                    each[2] = time - 1
        self.stops.put(stops)

    def on_timer(self, timestamp_ms: int, timer: Timer) -> None:
        """A minute is over."""
        first = timestamp_ms // MINUTE_MS * 60
        place, stops = timer.key[0], self.stops.get()
        if _have_met(stops, first, first + 59):
            for concerned in places_before(place):
                self.emit([concerned, minute_of(first), segment_of(place)])
        left = [each for each in stops if each[2] is None or each[2] >= first + 60]
        if left:
            self.stops.put(left)
            self.timers.register_event_time_timer(timestamp_ms + MINUTE_MS)
        else:
            self.stops.clear()


def _have_met(stops: list[list[Any]], first: int, last: int) -> bool:
    """Whether two cars or more are stopped at one moment in the range."""
    for at, (_, began, ended) in enumerate(stops):
        for _, other_began, other_ended in stops[at + 1 :]:
            ends = [each for each in (ended, other_ended, last) if each is not None]
            if max(began, other_began, first) <= min(ends):
                return True
    return False


class Tolls(KeyedProcessBolt):
    """By place: notifications for entering cars, from the previous minutes.

    A minute is known once the watermark has passed its end, with all statistics and accidents.
    """

    outputs = [
        Stream(["vehicle", "time", "speed", "toll"], name=TOLLS),
        Stream(["vehicle", "time", "segment"], name=ALERTS),
        Stream(["vehicle", "time"], name=EXITS),
    ]
    minutes = value_state(default=list)
    """[minute, cars, speed], of minutes still needed"""
    accidents = value_state(default=list)
    """[minute, segment]"""
    waiting = list_state()
    """[vehicle, time, lane] of cars that are to wait for the end of a minute"""

    def process_element(self, tup: Any, timestamp_ms: int | None) -> None:
        """A car, a minute's statistics, or an accident."""
        if tup.stream == ENTERED:
            place, vehicle, time, lane = tup.values
            known_at = (minute_of(time) - 1) * MINUTE_MS
            if self.timers.current_watermark() >= known_at:
                self.tell(vehicle, time, lane, place)
            else:
                self.waiting.add([vehicle, time, lane])
                self.timers.register_event_time_timer(known_at - 1)
        elif tup.component == "statistics":
            self.minutes.put([*self._recent(self.minutes.get()), tup.values[1:]])
        else:
            self.accidents.put([*self._recent(self.accidents.get()), tup.values[1:]])

    def on_timer(self, timestamp_ms: int, timer: Timer) -> None:
        """The minute before is over."""
        waiting = list(self.waiting)
        until = timestamp_ms // SECOND_MS + 60
        self.waiting.update([each for each in waiting if each[1] > until])
        for vehicle, time, lane in waiting:
            if time <= until:
                self.tell(vehicle, time, lane, timer.key)

    def tell(self, vehicle: int, time: int, lane: int, place: int) -> None:
        """Say the toll or the alert."""
        minute = minute_of(time)
        if lane == EXIT_LANE:
            self.emit([vehicle, time], stream=EXITS)
            return
        ahead = [segment for at, segment in self.accidents.get() if at == minute - 1]
        if ahead:
            nearest = min(ahead, key=lambda each: abs(each - segment_of(place)))
            self.emit([vehicle, time, nearest], stream=ALERTS)
        else:
            speed, toll = _toll_at(minute, self.minutes.get())
            self.emit([vehicle, time, speed, toll], stream=TOLLS)

    def _recent(self, found: list[list[Any]]) -> list[list[Any]]:
        now = minute_of(max(self.timers.current_watermark(), 0) // SECOND_MS)
        return [each for each in found if each[0] >= now - AVERAGE_MINUTES]


def _toll_at(minute: int, known: list[list[Any]]) -> tuple[int, int]:
    """The latest average velocity, 0 without one, and the toll."""
    last = range(minute - AVERAGE_MINUTES, minute)
    speeds = [speed for at, _, speed in sorted(known) if at in last]
    if not speeds:
        return 0, 0
    average = floor(fsum(speeds) / len(speeds) + 0.5)
    cars = next((cars for at, cars, _ in known if at == minute - 1), 0)
    return average, toll_for(cars) if average < SPEED_FREE else 0


class Accounts(KeyedProcessBolt):
    """By vehicle: charges of a car, and its balance on request.

    The notified toll of a segment is charged when the car enters the next segment, and not if the
    car leaves. Notifications come from several tasks, so they are handled in order of event time.
    """

    outputs = ["vehicle", "time", "query", "balance"]
    account = value_state(default=lambda: [0, 0])
    """[balance, toll of the car's segment, then time and toll (None at an exit) of each unhandled
    notification]: one flat list per car, because cars are many"""
    queries = value_state(default=list)
    """[time, query]"""

    def process_element(self, tup: Any, timestamp_ms: int | None) -> None:
        """A car has entered a segment or left, or asks."""
        _, time, *values = tup.values
        if tup.stream == BALANCES:
            self.queries.put([*self.queries.get(), [time, values[0]]])
            self.timers.register_event_time_timer(time * SECOND_MS)
            return
        toll = {TOLLS: values[-1] if values else 0, ALERTS: 0, EXITS: None}[tup.stream]
        account = self.account.get()
        self.account.put([*account, time, toll])
        if len(account) > 2 * UNCHARGED:
            self._charge(self.timers.current_watermark() - 1)

    def on_timer(self, timestamp_ms: int, timer: Timer) -> None:
        """All that happened until a query is known."""
        balance, time = self._charge(timestamp_ms), timestamp_ms // SECOND_MS
        asked = self.queries.get()
        for _, query in (each for each in asked if each[0] == time):
            self.emit([timer.key, time, query, balance])
        if left := [each for each in asked if each[0] != time]:
            self.queries.put(left)
        else:
            self.queries.clear()

    def _charge(self, until_ms: int) -> int:
        """The balance at a time until which everything is known."""
        balance, announced, *told = self.account.get()
        later: list[int | None] = []
        for time, toll in sorted(zip(told[::2], told[1::2], strict=True), key=itemgetter(0)):
            if time * SECOND_MS > until_ms:
                later += [time, toll]
                continue
            balance += announced if toll is not None else 0
            announced = toll or 0
        self.account.put([balance, announced, *later])
        return int(balance)


class Expenditures(Bolt):
    """What a car was charged on a former day: a query of the table of history."""

    outputs = ["vehicle", "time", "query", "toll"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Know where the table is."""
        self.table = f"file:{config[HISTORY_KEY]}?mode=ro"

    def process(self, tup: Any) -> None:
        """A question."""
        vehicle, time, expressway, query, day = tup.values
        with closing(sqlite3.connect(self.table, uri=True)) as table:
            found = table.execute(TOLL_OF_DAY, (vehicle, day, expressway)).fetchone()
        self.emit([vehicle, time, query, found[0] if found else 0])
