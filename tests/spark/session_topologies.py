"""Bolts for topologies in a user's own session."""

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from heronpy_compat.api.bolt.batch_bolt import BatchBolt
from heronpy_compat.api.bolt.bolt import Bolt
from heronpy_compat.api.stream import Grouping
from heronpy_compat.api.topology import TopologyBuilder
from heronpy_compat.windows import KeyedWindowBolt, Tumbling

HERE = str(Path(__file__).parent)


class Totals(Bolt):
    """Sums by key, emitted at the end; a text as number does not fit its stream."""

    outputs = {"key": "string", "total": "bigint"}

    def initialize(self, config: Any, context: Any) -> None:
        self.totals: Counter[str] = Counter()

    def process(self, tup: Any) -> None:
        """Sum; a key `bad` is emitted with a wrong total."""
        key, number = tup.values
        self.totals[key] += number
        if key == "bad":
            self.emit([key, "no number"])

    def on_finish(self) -> None:
        """All sums."""
        for key, total in sorted(self.totals.items()):
            self.emit([key, total])


class Count(Bolt):
    """Emits the count of each number."""

    outputs = {"n": "bigint", "seen": "bigint"}

    def initialize(self, config: Any, context: Any) -> None:
        self.seen: Counter[int] = Counter()

    def process(self, tup: Any) -> None:
        (number,) = tup.values
        self.seen[number] += 1
        self.emit([number, self.seen[number]])


class ByTime(KeyedWindowBolt):
    """How many came in a second."""

    outputs = {"start_ms": "bigint", "number": "bigint"}
    window = Tumbling(1000)

    def values(self, result: Any) -> Any:
        return [result.window.start_ms, result.value]


class Last(Bolt):
    """Prints its input."""

    def process(self, tup: Any) -> None:
        """Once each."""
        print(*tup.values)


class Doubled(BatchBolt):
    """Twice each number, and its type in the batch."""

    outputs = {"key": "string", "double": "bigint", "was": "string", "at": "timestamp"}

    def process_batch(self, batch: Any) -> None:
        """Of columns."""
        number = batch["number"]
        was = [str(number.type)] * len(number)
        double = pc.multiply(number.cast("int64"), 2)
        self.emit_batch({"key": batch["key"], "double": double, "was": was, "at": batch["at"]})


def _with_one_bolt(
    source: Any, name: str, bolt: str, kind: Any, tasks: int, grouping: Any, par: int = 2
) -> tuple[TopologyBuilder, Any]:
    """A topology of a source of `par` tasks and a bolt; with the bolt's stream for readers."""
    builder = TopologyBuilder(name)
    spec = source.spec(name="numbers", par=par)
    builder.add_spec(spec)
    return builder, builder.add_bolt(bolt, kind, tasks, {spec: grouping})


def doubled(source: Any, name: str) -> TopologyBuilder:
    """The source's rows, by key, as columns from end to end."""
    return _with_one_bolt(source, name, "doubled", Doubled, 2, Grouping.fields("key"))[0]


def counted(source: Any, name: str) -> TopologyBuilder:
    """How often each of the source's numbers was seen, by three tasks."""
    return _with_one_bolt(source, name, "count", Count, 3, Grouping.fields("n"))[0]


def by_time(source: Any, name: str) -> TopologyBuilder:
    """How many rows of the source came in each second."""
    return _with_one_bolt(source, name, "windows", ByTime, 1, Grouping.GLOBAL, par=1)[0]


def totals(source: Any, name: str) -> TopologyBuilder:
    """The source's (key, number), summed by two tasks."""
    builder, summed = _with_one_bolt(source, name, "totals", Totals, 2, Grouping.fields("key"))
    builder.add_bolt("last", Last, 1, {summed: Grouping.GLOBAL})
    return builder


class TimesAgain(Bolt):
    """Each time unchanged, without its zone, and as text."""

    outputs = {"said": "string", "at": "timestamp", "naive": "timestamp", "wall": "timestamp_ntz"}

    def process(self, tup: Any) -> None:
        at = tup.values[0]
        naive = at.replace(tzinfo=None)
        self.emit([at.isoformat(), at, naive, naive])


def times_again(source: Any, name: str) -> TopologyBuilder:
    """The source's only column, a time, in each form of a topology."""
    return _with_one_bolt(source, name, "again", TimesAgain, 1, Grouping.SHUFFLE, par=1)[0]
