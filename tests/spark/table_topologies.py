"""Tables that Spark reads into a sink; in the first run the sink kills the driver."""

import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pyarrow as arrow
from pyarrow import parquet

from heron_core.records import replace
from heron_core.topology import TopologySpec
from heronpy_compat import Bolt, Grouping, Topology
from heronpy_compat.api.topology import TopologyType
from heronpy_compat.connectors.frames import FrameSpout
from heronpy_compat.connectors.parquet import ParquetSink

HERE = str(Path(__file__).parent)
DAYS = ("2013-01-01", "2013-01-02", "2013-01-03")
ROWS = 500
DEADLY_BATCH = 1
SQUARES = 40


class Dying(ParquetSink):
    """Once, between the commit of its files and the end of batch DEADLY_BATCH, the driver dies."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        super().initialize(config, context)
        self.driver = int(config.get("test.driver", 0))

    def end_batch(self) -> None:
        batch = self._batch
        super().end_batch()
        if batch == DEADLY_BATCH and self.driver:
            os.kill(self.driver, signal.SIGKILL)
            threading.Event().wait()  # until this process is ended for want of its driver


class Telling(Bolt):
    """Prints each tuple."""

    def process(self, tup: Any) -> None:
        print(json.dumps({"told": [tup.component, *tup.values]}))


def csv_topology(load: Any) -> type[Topology]:
    """Prints each row of a table."""

    class Csv(Topology):
        table = load.spec()
        tell = Telling.spec(inputs=[table])

    return Csv


def squares(spark: Any) -> Any:
    """A static frame with other rows at each evaluation."""
    return spark.range(SQUARES).selectExpr("id * id AS number", "string(uuid()) AS day")


def write_days(folder: Path) -> None:
    """A file for each day; the numbers go on from day to day."""
    for position, day in enumerate(DAYS):
        where = folder / f"day={day}"
        where.mkdir(parents=True)
        numbers = range(position * ROWS, (position + 1) * ROWS)
        parquet.write_table(arrow.table({"number": numbers}), where / "some.parquet")


def tables(folder: Path, driver: int = 0) -> TopologySpec:
    """A file a batch, and the frame that `squares` makes, into files by day."""
    one_file = {"maxFilesPerTrigger": "1"}
    source = FrameSpout.load(folder / "in", columns=["number", "day"], options=one_file)
    days = source.spec(name="days", par=2)
    made = FrameSpout.made_by(squares, ["number", "day"]).spec(name="made")
    sink = Dying.spec(
        name="sink",
        par=2,
        inputs={days: Grouping.fields("number")},
        config={
            "parquet.folder": str(folder / "out"),
            "parquet.partition.by": ["day"],
            "test.driver": driver,
        },
    )
    other = ParquetSink.spec(
        name="squares", inputs=[made], config={"parquet.folder": str(folder / "squares")}
    )
    return spec_of("tables", days, made, sink, other)


def spec_of(name: str, *components: Any) -> TopologySpec:
    """A topology of these components."""
    made: Any = TopologyType(name, (Topology,), {each.name: each for each in components})
    return replace(made.to_spec(), search_paths=(HERE,))
