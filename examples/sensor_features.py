"""Features of sensors' readings with polars: what a model would be fed, each minute of each sensor.

    pip install 'heronpy-topologies[tables]' polars
    heronpy run examples/sensor_features.py

The spout emits frames of polars, a bolt turns its input into new frames of polars, and windows by
event time aggregate the frames. Between the components travel batches of Arrow, which polars reads
without copying. Config: `sensor.readings`, the number of readings.
"""

import polars as pl

from heronpy_compat import BatchBolt, Bolt, Grouping, Spout, Topology
from heronpy_compat.windows import BatchWindowBolt, Tumbling

SENSORS = 5
MINUTE_MS = 60_000
ROWS = 1_000
"""Of a frame: one reading a second."""


class Readings(Spout):
    """Sensors take turns to read a temperature, which rises by a tenth of a degree a minute; each
    hundredth reading is broken.
    """

    outputs = {"sensor": "string", "time_ms": "bigint", "celsius": "double"}

    def initialize(self, config, context):
        self.at, self.end = 0, int(config.get("sensor.readings", 10_000))

    def next_tuple(self):
        if self.at == self.end:
            self.finish()
            return
        numbers = pl.int_range(self.at, min(self.at + ROWS, self.end), eager=True)
        self.at += len(numbers)
        frame = pl.DataFrame({"number": numbers}).select(
            sensor=pl.format("sensor {}", pl.col("number") % SENSORS),
            time_ms=pl.col("number") * 1000,
            celsius=pl.when(pl.col("number") % 100 == 99)
            .then(None)
            .otherwise(20 + pl.col("number") % SENSORS + pl.col("number") // 60 / 10),
        )
        self.emit_batch(frame)


class Clean(BatchBolt):
    """Drops broken readings; adds degrees Fahrenheit, and the distance from a comfortable
    temperature.
    """

    outputs = {
        "sensor": "string",
        "time_ms": "bigint",
        "fahrenheit": "double",
        "discomfort": "double",
    }

    def process_batch(self, batch):
        frame = pl.from_arrow(batch).drop_nulls("celsius")
        self.emit_batch(
            frame.with_columns(
                fahrenheit=pl.col("celsius") * 9 / 5 + 32,
                discomfort=(pl.col("celsius") - 21).abs(),
            )
        )


class Features(BatchWindowBolt):
    outputs = {
        "sensor": "string",
        "start_ms": "bigint",
        "readings": "bigint",
        "mean_fahrenheit": "double",
        "most_discomfort": "double",
    }
    key_fields = ["sensor"]
    timestamp_field = "time_ms"
    window = Tumbling(MINUTE_MS)
    aggregates = {
        "readings": "count",
        "mean_fahrenheit": ("fahrenheit", "mean"),
        "most_discomfort": ("discomfort", "max"),
    }


class Show(Bolt):
    """Takes tuples, although the rows travel as batches."""

    auto_ack = True

    def process(self, tup):
        minute = tup["start_ms"] // MINUTE_MS
        print(
            f"{tup['sensor']} minute {minute:3}: {tup['readings']} readings,"
            f" {tup['mean_fahrenheit']:.1f} F, {tup['most_discomfort']:.1f} off"
        )


class SensorFeatures(Topology):
    readings = Readings.spec()
    clean = Clean.spec(par=2, inputs=[readings])
    features = Features.spec(par=2, inputs={clean: Grouping.fields("sensor")})
    show = Show.spec(inputs={features: Grouping.GLOBAL})
