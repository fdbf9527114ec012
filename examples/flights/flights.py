"""Delays by carrier and hour of the day, and the busiest routes, of a year of departures.

    heronpy run examples/flights/flights.py
    python examples/flights/report.py

    departures ── clean ──┬── delays (by carrier, hour) ───────── sink (Parquet, by carrier)
                          └── routes (by origin, dest) ── top

A table goes in row by row, and results go out as a table for Spark (report.py). The code is
independent of the way it is run: `-o topology.reliability.mode=ATLEAST_ONCE` has every row acked.
"""

from collections import Counter

from prepare import data_folder, departures

from heronpy_compat import Bolt, Grouping, Stream, Topology
from heronpy_compat.connectors.parquet import ParquetSink
from heronpy_compat.connectors.tables import TableSpout

TOP_ROUTES = 10


class Clean(Bolt):
    """Leaves out flights that were cancelled, and tells how many."""

    outputs = ["carrier", "hour", "origin", "dest", "minutes"]
    auto_ack = auto_anchor = True

    def initialize(self, config, context):
        self.cancelled = 0

    def process(self, tup):
        carrier, scheduled, origin, dest, minutes = tup.values
        if minutes is None:
            self.cancelled += 1
        else:
            # 1 745 is a quarter to six in the evening.
            self.emit([carrier, scheduled // 100, origin, dest, minutes])

    def on_finish(self):
        print(f"{self.cancelled} flights were cancelled")


class Delays(Bolt):
    """Adds up delays of each carrier in each hour; grouped by both, so each task has its own."""

    outputs = ["id", "carrier", "hour", "flights", "late", "delay_minutes"]
    auto_ack = True

    def initialize(self, config, context):
        self.flights, self.late, self.minutes = Counter(), Counter(), Counter()

    def process(self, tup):
        carrier, hour, _, _, minutes = tup.values
        self.flights[carrier, hour] += 1
        self.late[carrier, hour] += minutes > 0
        # Whole minutes: a sum of floats would depend on the order of arrival.
        self.minutes[carrier, hour] += minutes

    def on_finish(self):
        for key, flights in self.flights.items():
            row_id = "{} {}".format(*key)
            self.emit([row_id, *key, flights, self.late[key], self.minutes[key]])


class Routes(Bolt):
    """Counts flights of each route, and passes on the most frequent of its own."""

    outputs = [Stream(["origin", "dest", "flights"], name="top")]
    auto_ack = True

    def initialize(self, config, context):
        self.flights = Counter()

    def process(self, tup):
        _, _, origin, dest, _ = tup.values
        self.flights[origin, dest] += 1

    def on_finish(self):
        for origin, dest, flights in busiest(self.flights):
            self.emit([origin, dest, flights], stream="top")


class Top(Bolt):
    """All routes that are the most frequent somewhere come here: the most frequent of all."""

    auto_ack = True

    def initialize(self, config, context):
        self.flights = {}

    def process(self, tup):
        origin, dest, flights = tup.values
        self.flights[origin, dest] = flights

    def on_finish(self):
        print("route     flights")
        for origin, dest, flights in busiest(self.flights):
            print(f"{origin} {dest} {flights:9d}")


def busiest(flights):
    """The routes with the most flights; those with as many in order of their names."""
    ordered = sorted(flights.items(), key=lambda item: (-item[1], item[0]))
    return [(*route, number) for route, number in ordered[:TOP_ROUTES]]


class Flights(Topology):
    # The spout's fields are the columns read; a single instance reads the rows in order of time.
    departures = TableSpout.of(
        departures(), columns=["carrier", "sched_dep_time", "origin", "dest", "dep_delay"]
    ).spec()
    clean = Clean.spec(inputs=[departures])
    delays = Delays.spec(par=2, inputs={clean: Grouping.fields("carrier", "hour")})
    routes = Routes.spec(inputs={clean: Grouping.fields("origin", "dest")})
    top = Top.spec(inputs={routes["top"]: Grouping.GLOBAL})
    sink = ParquetSink.spec(
        inputs={delays: Grouping.GLOBAL},
        config={
            "parquet.folder": str(data_folder() / "delays"),
            "parquet.partition.by": ["carrier"],
            # Each id is written once, also if the topology runs again into the same folder.
            "parquet.id.field": "id",
        },
    )
