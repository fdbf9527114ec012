"""Attempts at a batch that Spark repeats count nothing: the totals are those of a run without."""

from collections.abc import Set
from pathlib import Path
from typing import Any, ClassVar

from heron_api.state.stateful_component import StatefulComponent
from heron_core.stats import ComponentStats
from heron_spark.backend.metrics import QueryMetrics
from heron_spark.compile.plan import one_container
from heron_spark.driver.progress import Progress
from heron_tester.faults import InstanceKilled
from heronpy_compat import Bolt, Grouping, Spout, Topology
from tests.connectors.runs import SparkRun

NUMBERS = 60
KEYS = 3


class Calls:
    """Of the bolt's process, in all attempts; some of them are the last one of their host."""

    made = 0
    last_ones: ClassVar[Set[int]] = frozenset()


class Numbers(Spout, StatefulComponent):
    outputs = ["key", "number"]

    def init_state(self, stateful_state: Any) -> None:
        self.state = stateful_state

    def next_tuple(self) -> None:
        number = self.state.get("at") or 0
        if number == NUMBERS:
            self.finish()
            return
        self.state.put("at", number + 1)
        self.emit([number % KEYS, number], tup_id=number)


class Doubled(Bolt):
    """Emits each number twice, and its host may die between the two."""

    outputs = ["key", "number"]

    def process(self, tup: Any) -> None:
        self.emit(tup.values, anchors=[tup])
        Calls.made += 1
        if Calls.made in Calls.last_ones:
            raise InstanceKilled
        self.emit(tup.values, anchors=[tup])
        self.ack(tup)


class Sums(Bolt):
    outputs: list[Any] = []

    def process(self, tup: Any) -> None:
        self.ack(tup)


class Doubling(Topology):
    numbers = Numbers.spec()
    doubled = Doubled.spec(inputs={numbers: Grouping.fields("key")}, par=2)
    sums = Sums.spec(inputs={doubled: Grouping.fields("key")}, par=2)


def totals(components: dict[str, ComponentStats]) -> dict[str, tuple[Any, ...]]:
    """What each component has counted of tuples."""
    return {
        name: (
            each.emitted, dict(each.emitted_by_stream), each.executed if each.type == "bolt" else 0,
            dict(each.executed_by_input), each.acked, each.failed, each.failed_for_good,
        )
        for name, each in components.items()
    }  # fmt: skip


def run(folder: Path, *last_ones: int) -> tuple[int, dict[str, tuple[Any, ...]]]:
    """How many hosts have died, each in one of these calls, and the totals at the end."""
    Calls.made, Calls.last_ones = 0, set(last_ones)
    spec = Doubling.to_spec()
    spark = SparkRun(spec, folder, 10)
    metrics = QueryMetrics(spec, one_container(spec))
    for batch in spark.run():
        metrics.record_batch(Progress(batch, 1.0, tuple(spark.results)), float(batch))
    return spark.kills, totals(dict(metrics.stats(None, 0.0).components))


def test_hosts_that_die_amid_a_batch_change_no_total(tmp_path: Path) -> None:
    _, expected = run(tmp_path / "without")
    emitted, by_stream, executed, by_input, *_ = expected["doubled"]
    assert (emitted, by_stream) == (2 * NUMBERS, {"default": 2 * NUMBERS})
    assert (executed, by_input) == (NUMBERS, {"numbers/default": NUMBERS})
    kills, found = run(tmp_path / "with", 1, 8, 9, 31, 50)
    assert kills == 5
    assert found == expected
