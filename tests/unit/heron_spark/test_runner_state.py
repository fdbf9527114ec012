"""Keyed states on Spark: they are saved with every batch, as everything of a component is."""

import io
from typing import Any

from heron_spark.compile import compile_topology
from heron_spark.printing import Printed
from heron_spark.runner import Runner
from heron_tester.sources import topology_of
from heronpy_compat.api.bolt.bolt import Bolt
from heronpy_compat.api.spout.spout import Spout
from heronpy_compat.api.state.keyed_state import value_state
from heronpy_compat.api.stream import Grouping
from heronpy_compat.api.topology import Topology

seen: list[tuple[int, int]] = []


class Words(Spout):
    outputs = ["word"]


class BatchCount(Bolt):
    """Counts its batches, in a keyed state and in Heron's."""

    count = value_state(default=0)

    def init_state(self, stateful_state: Any) -> None:
        self.own = stateful_state

    def begin_batch(self, batch_id: int) -> None:
        batches = self.count.for_key("batches")
        batches.put(batches.get() + 1)
        self.own.put("batches", batches.get() * 10)
        seen.append((batches.get(), self.own.get("batches")))


class Batches(Topology):
    words = Words.spec()
    count = BatchCount.spec(inputs={words: Grouping.fields("word")})


def test_a_new_process_goes_on_with_the_states_of_the_batch_before() -> None:
    plan = compile_topology(topology_of(Batches, None, None, {}))
    (task,) = plan.packing.tasks_of["count"]
    seen.clear()
    runner = Runner(plan, task, {}, Printed(io.StringIO(), False))
    for batch in (0, 1):
        runner.begin(batch)
        outcome = runner.end(batch, False)
    runner.close()
    successor = Runner(plan, task, {}, Printed(io.StringIO(), False))
    successor.restore(1, outcome.state)
    successor.begin(2)
    successor.close()
    assert seen == [(1, 10), (2, 20), (3, 30)]
