"""Traffic: cars pass 3,000 traffic lights; travel times of streets, and cars that are too fast.

    heronpy run examples/use_cases/traffic.py

    passings ── by car ── drives ─┬─ by street ── travel times     mean by minute
                                  └─ speeding ─── tickets          faster than allowed

The lights stand on a grid of 60 by 50, 200 m apart. A street is a pair of neighbouring lights.
"""

from random import Random

from numbered import Numbered

from heronpy_compat import Bolt, Grouping, Stream, Topology
from heronpy_compat.api.state.keyed_state import value_state
from heronpy_compat.api.state.monoid import MeanOf
from heronpy_compat.windows import KeyedWindowBolt, Tumbling

COLUMNS, ROWS = 60, 50
LIGHTS = COLUMNS * ROWS
CARS = 200
METRES = 200
LIMIT_KMH = 60
START_MS = 1_700_000_040_000
MINUTE_MS = 60_000


def light_of(car, leg):
    """The light that a car passes after `leg` streets: it drives along its row, and turns back."""
    row, at = car % ROWS, (car * 7 + leg) % (2 * COLUMNS - 2)
    column = at if at < COLUMNS else 2 * COLUMNS - 2 - at
    return row * COLUMNS + column


def secs_of(car, leg):
    """For the street before that light: 8 to 30 s, which is 90 to 24 km/h."""
    return Random(f"{car} {leg}").randint(8, 30)


def passing(number):
    """[car, light, ms] of the car's leg; legs of all cars alternate."""
    leg, car = divmod(number, CARS)
    secs = sum(secs_of(car, each) for each in range(1, leg + 1))
    return [f"car{car}", light_of(car, leg), START_MS + secs * 1000]


class Passings(Numbered):
    outputs = ["car", "light", "time_ms"]
    number_of_events = 20 * CARS

    def event(self, number):
        return passing(number)


class Drives(Bolt):
    """Remembers where each car was last."""

    outputs = [
        Stream(["street", "secs", "time_ms"]),
        Stream(["car", "street", "kmh"], "speeding"),
    ]
    auto_ack = auto_anchor = True
    last = value_state()

    def process(self, tup):  # grouped by "car"
        before = self.last.get()
        self.last.put([tup.light, tup.time_ms])
        if before is None:
            return
        street, secs = f"{before[0]}-{tup.light}", (tup.time_ms - before[1]) / 1000
        self.emit([street, secs, tup.time_ms])
        kmh = METRES / secs * 3.6
        if kmh > LIMIT_KMH:
            self.emit([tup.car, street, round(kmh)], stream="speeding")


class TravelTimes(KeyedWindowBolt):
    outputs = ["street", "start_ms", "end_ms", "mean_secs"]
    key_fields = ["street"]
    timestamp_field = "time_ms"
    lag_ms = 10 * MINUTE_MS
    """Cars are not equally far: one may be minutes behind another."""
    window = Tumbling(MINUTE_MS)
    aggregate = MeanOf()

    def value(self, tup, timestamp_ms):
        return tup.secs


class Tickets(Bolt):
    outputs = ["car", "street", "kmh"]
    auto_ack = auto_anchor = True

    def process(self, tup):
        print(f"{tup.car}: {tup.kmh} km/h in {tup.street}")
        self.emit(list(tup.values))


class Traffic(Topology):
    config = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
    passings = Passings.spec()
    drives = Drives.spec(inputs={passings: Grouping.fields("car")}, par=2)
    times = TravelTimes.spec(inputs={drives: Grouping.fields("street")}, par=2)
    tickets = Tickets.spec(inputs=[drives["speeding"]])
