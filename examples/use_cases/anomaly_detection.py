"""Anomaly detection in five components, with a fast source and a slow sink.

    heronpy run examples/use_cases/anomaly_detection.py

    lines ── parsed ── by sensor ── scored ── anomalies ── reported

The source is as fast as the sink permits: back-pressure pauses it, and nothing is dropped. A value
is an anomaly if it is more than four standard deviations from the mean of the sensor's values
before it. Config: `use_case.sink.secs`, the time of the sink for a row.
"""

from math import sqrt
from random import Random
from time import sleep

from numbered import Numbered

from heronpy_compat import Bolt, Grouping, Topology
from heronpy_compat.api.state.keyed_state import value_state

SENSORS = 12
DEVIATIONS = 4
KNOWN_MIN = 20
"""Values of a sensor before any is an anomaly."""


def line(number):
    """A line of text: sensor;number;value. One in 200 is far off."""
    rng = Random(number)
    sensor, value = rng.randrange(SENSORS), rng.gauss(20, 2)
    if rng.random() < 0.005:
        value += rng.choice([-40, 40])
    return [f"sensor{sensor};{number};{value:.3f}"]


class Lines(Numbered):
    outputs = ["line"]
    number_of_events = 20_000

    def event(self, number):
        return line(number)


class Parsed(Bolt):
    outputs = ["sensor", "number", "value"]
    auto_ack = auto_anchor = True

    def process(self, tup):
        sensor, number, value = tup.line.split(";")
        self.emit([sensor, int(number), float(value)])


class Scored(Bolt):
    """Mean and variance of each sensor, by Welford's method."""

    outputs = ["sensor", "number", "score"]
    auto_ack = auto_anchor = True
    known = value_state(default=lambda: [0, 0.0, 0.0])

    def process(self, tup):
        count, mean, squares = self.known.get()
        deviation = sqrt(squares / count) if count >= KNOWN_MIN else 0.0
        score = abs(tup.value - mean) / deviation if deviation else 0.0
        count += 1
        delta = tup.value - mean
        mean += delta / count
        self.known.put([count, mean, squares + delta * (tup.value - mean)])
        self.emit([tup.sensor, tup.number, score])


class Anomalies(Bolt):
    outputs = ["sensor", "number", "score"]
    auto_ack = auto_anchor = True

    def process(self, tup):
        if tup.score > DEVIATIONS:
            self.emit(list(tup.values))


class Reported(Bolt):
    """A slow system outside."""

    outputs = ["number"]
    auto_ack = auto_anchor = True

    def initialize(self, config, context):
        self.secs = float(config.get("use_case.sink.secs", 0.01))

    def process(self, tup):
        sleep(self.secs)
        print(f"{tup.sensor}: value {tup.number} is {tup.score:.1f} deviations off")
        self.emit([tup.number])


class AnomalyDetection(Topology):
    config = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
    lines = Lines.spec()
    parsed = Parsed.spec(inputs=[lines])
    scored = Scored.spec(inputs={parsed: Grouping.fields("sensor")})
    anomalies = Anomalies.spec(inputs=[scored])
    reported = Reported.spec(inputs=[anomalies])
