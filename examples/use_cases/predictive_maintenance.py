"""Predictive maintenance: hot machines that become loud within a minute, without a service between.

    heronpy run examples/use_cases/predictive_maintenance.py

    readings ── by machine ── tickets ── printed

Readings come up to two seconds late. The pattern is matched in the order of event time, so a ticket
does not depend on the order of arrival.
"""

from random import Random

from numbered import Numbered

from heronpy_compat import Bolt, Grouping, Topology
from heronpy_compat.windows import PatternBolt, sequence

MACHINES = 20
STEP_MS = 200
"""Of event time, between two readings."""
DISORDER_MS = 2_000
START_MS = 1_700_000_000_000
HOT, LOUD = 90, 70
WITHIN_SECS = 60


def reading(number):
    """[machine, kind, value, ms]; a service has no value."""
    rng = Random(number)
    kind = rng.choice(["temperature"] * 10 + ["noise"] * 9 + ["service"])
    value = None if kind == "service" else rng.randint(40, 95 if kind == "temperature" else 75)
    return [f"machine{rng.randrange(MACHINES)}", kind, value,
            START_MS + number * STEP_MS - rng.randrange(DISORDER_MS)]  # fmt: skip


def is_hot(event):
    return event[1] == "temperature" and event[2] >= HOT


def is_loud(event):
    return event[1] == "noise" and event[2] >= LOUD


def is_service(event):
    return event[1] == "service"


class Readings(Numbered):
    outputs = ["machine", "kind", "value", "time_ms"]
    number_of_events = 5_000

    def event(self, number):
        return reading(number)


class Tickets(PatternBolt):
    outputs = ["machine", "events"]
    timestamp_field = "time_ms"
    lag_ms = DISORDER_MS
    pattern = sequence(is_hot, is_loud).within(WITHIN_SECS).not_(is_service)


class Printed(Bolt):
    auto_ack = True

    def process(self, tup):
        hot, loud = tup.events
        print(f"{tup.machine}: {hot[2]} degrees, {loud[2]} dB {loud[3] - hot[3]} ms later")


class PredictiveMaintenance(Topology):
    config = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
    readings = Readings.spec()
    tickets = Tickets.spec(inputs={readings: Grouping.fields("machine")}, par=2)
    printed = Printed.spec(inputs=[tickets])
