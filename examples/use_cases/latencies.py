"""Latencies: requests and answers are correlated by key within a second; means go into a table.

    heronpy run examples/use_cases/latencies.py

    requests ─┬─ by call ── latency ── by firm ── means ── table      sqlite: latencies.db
    answers  ─┘   within 1 s            1 minute

An answer belongs to its request if it comes within a second after it; the second slides with each
request. Config: `use_case.events` calls, `use_case.secs` pause of the sources,
`use_case.database` the file.
"""

import sqlite3
from contextlib import closing
from random import Random
from time import sleep

from numbered import Numbered

from heronpy_compat import Grouping, Topology
from heronpy_compat.api.state.keyed_state import value_state
from heronpy_compat.api.state.monoid import MeanOf
from heronpy_compat.connectors.database import DatabaseSink
from heronpy_compat.windows import KeyedProcessBolt, KeyedWindowBolt, Tumbling

FIRMS = ["alpha", "beta", "gamma"]
STEP_MS = 100
"""Of event time, between two calls."""
WITHIN_MS = 1_000
START_MS = 1_700_000_040_000
MINUTE_MS = 60_000
CALLS = 3_000
TABLE = "create table if not exists latencies (firm text, minute integer, mean_ms real)"


def call(number):
    """(firm, call, ms of the request, latency in ms); the latency depends on the firm, and one in
    twenty takes longer than a second."""
    rng = Random(number)
    firm = rng.randrange(len(FIRMS))
    latency_ms = rng.randint(50, 200) * (firm + 1)
    if rng.random() < 0.05:
        latency_ms += WITHIN_MS + 1
    return FIRMS[firm], f"call{number}", START_MS + number * STEP_MS, latency_ms


class Calls(Numbered):
    outputs = ["firm", "call", "time_ms"]
    number_of_events = CALLS

    def initialize(self, config, context):
        super().initialize(config, context)
        self.secs = float(config.get("use_case.secs", 0))

    def next_tuple(self):
        sleep(self.secs)
        super().next_tuple()


class Requests(Calls):
    def event(self, number):
        firm, name, time_ms, _ = call(number)
        return [firm, name, time_ms]


class Answers(Calls):
    def event(self, number):
        firm, name, time_ms, latency_ms = call(number)
        return [firm, name, time_ms + latency_ms]


class Latency(KeyedProcessBolt):
    """The first of both waits for the other one, until a second of event time has passed."""

    outputs = ["firm", "time_ms", "latency_ms"]
    timestamp_field = "time_ms"
    lag_ms = 2 * WITHIN_MS
    waiting = value_state()

    def process_element(self, tup, timestamp_ms):  # grouped by "call"
        other = self.waiting.get()
        if other is None:
            self.waiting.put([tup.component, timestamp_ms])
            self.timers.register_event_time_timer(timestamp_ms + WITHIN_MS)
        else:
            self.waiting.clear()
            request_ms, answer_ms = sorted([other[1], timestamp_ms])
            if answer_ms - request_ms <= WITHIN_MS:
                self.emit([tup.firm, request_ms, answer_ms - request_ms], anchors=[tup])
        self.ack(tup)

    def on_timer(self, timestamp_ms, timer):
        self.waiting.clear()


class Means(KeyedWindowBolt):
    outputs = ["firm", "minute", "mean_ms"]
    key_fields = ["firm"]
    timestamp_field = "time_ms"
    lag_ms = 4 * WITHIN_MS
    window = Tumbling(MINUTE_MS)
    aggregate = MeanOf()

    def value(self, tup, timestamp_ms):
        return tup.latency_ms

    def values(self, result):
        return [result.key[0], (result.window.start_ms - START_MS) // MINUTE_MS, result.value]


class Table(DatabaseSink):
    """Makes the table, in the file that the config names."""

    def open(self, config, context):
        path = config.get("use_case.database", "latencies.db")
        with closing(sqlite3.connect(path, timeout=30)) as database:
            database.execute(TABLE)
        super().open({**config, "database.connect": path}, context)


class Latencies(Topology):
    config = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
    requests = Requests.spec()
    answers = Answers.spec()
    latency = Latency.spec(
        inputs={requests: Grouping.fields("call"), answers: Grouping.fields("call")}, par=2
    )
    means = Means.spec(inputs={latency: Grouping.fields("firm")}, par=2)
    table = Table.spec(inputs=[means], config={"database.table": "latencies"})
