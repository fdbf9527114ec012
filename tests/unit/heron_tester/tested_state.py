"""A topology with state, whose spouts go on from where their state says."""

from collections import Counter
from typing import Any

from heron_api.bolt.bolt import Bolt
from heron_api.spout.spout import Spout
from heron_api.state.keyed_state import map_state, value_state
from heron_api.state.stateful_component import (
    StatefulComponent,
    TwoPhaseStatefulComponent,
)
from heron_api.stream import Grouping
from heron_api.topology import Topology

LINES = ["storm heron storm", "flink", "heron storm", "spark samza storm", "flink flink", "heron"]
SPOUTS = 2


def expected() -> Counter[str]:
    """What each word comes to, if each line of each spout counts once."""
    return Counter(word for line in LINES for word in line.split() * SPOUTS)


class Lines(Spout, StatefulComponent):
    """Emits LINES, then stops; its state is the next index."""

    outputs = ["line"]

    def init_state(self, stateful_state: Any) -> None:
        self.state = stateful_state
        self.next = self.state.get("next") or 0

    def initialize(self, config: Any, context: Any) -> None:
        self.acked: list[int] = []

    def pre_save(self, checkpoint_id: Any) -> None:
        self.state.put("next", self.next)

    def next_tuple(self) -> None:
        if self.next < len(LINES):
            self.next += 1
            self.emit([LINES[self.next - 1]], tup_id=self.next)

    def ack(self, tup_id: Any) -> None:
        self.acked.append(tup_id)


class Split(Bolt):
    outputs = ["word"]
    auto_ack = auto_anchor = True

    def process(self, tup: Any) -> None:
        for word in tup.line.split():
            self.emit([word])


class Count(Bolt):
    outputs = ["word", "count"]
    auto_ack = auto_anchor = True
    count = value_state(default=0)
    tasks = map_state()

    def process(self, tup: Any) -> None:
        self.count.put(self.count.get() + 1)
        self.tasks[tup.task] = self.tasks.get(tup.task, 0) + 1
        self.emit([tup.word, self.count.get()])


class Forgetful(Count):
    """A count in a private dict, unknown to checkpoints."""

    def initialize(self, config: Any, context: Any) -> None:
        self.counts: Counter[str] = Counter()

    def process(self, tup: Any) -> None:
        self.counts[tup.word] += 1


class Committed(Bolt, TwoPhaseStatefulComponent):
    """Writes to a world outside in two phases: prepared with a checkpoint, visible with its end.
    Writes of a checkpoint are repeated after its restore: in place."""

    world: dict[str, list[str]] = {}
    calls: list[tuple[str, str]] = []

    def init_state(self, stateful_state: Any) -> None:
        self.state = stateful_state
        self.prepared: dict[str, list[str]] = stateful_state.get("prepared") or {}
        self.open: list[str] = []

    def process(self, tup: Any) -> None:
        self.open.append(tup.word)

    def pre_save(self, checkpoint_id: str) -> None:
        self.calls.append(("pre_save", checkpoint_id))
        self.prepared[checkpoint_id] = self.open
        self.open = []
        self.state.put("prepared", self.prepared)

    def post_save(self, checkpoint_id: str) -> None:
        self.calls.append(("post_save", checkpoint_id))
        self.world.update(self.prepared)
        self.prepared.clear()

    def pre_restore(self, checkpoint_id: str) -> None:
        self.calls.append(("pre_restore", checkpoint_id))
        self.open.clear()


class CommittedWords(Topology):
    config = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
    lines = Lines.spec(par=SPOUTS)
    split = Split.spec(inputs=[lines], par=2)
    sink = Committed.spec(inputs=[split])


class Refusing(Bolt):
    """Takes no line with samza."""

    def process(self, tup: Any) -> None:
        if "samza" in tup.line:
            self.fail(tup)


class RefusedLines(Topology):
    config = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
    lines = Lines.spec(par=SPOUTS)
    others = Lines.spec()
    refusing = Refusing.spec(inputs=[lines])
    split = Split.spec(inputs=[others])


class CountedLines(Topology):
    config = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
    lines = Lines.spec(par=SPOUTS)
    split = Split.spec(inputs=[lines], par=2)
    count = Count.spec(inputs={split: Grouping.fields("word")}, par=2)


class ForgetfulLines(Topology):
    config = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
    lines = Lines.spec(par=SPOUTS)
    split = Split.spec(inputs=[lines], par=2)
    count = Forgetful.spec(inputs={split: Grouping.fields("word")}, par=2)
