"""Random topologies: what they look like, what their bolts must get, and their components.

`heronpy run random_topologies.py` with RANDOM_SEED and RANDOM_RESULTS in its environment runs the
topologies of a seed side by side; each bolt's task leaves what it got in a file.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from random import Random
from typing import Any

from heron_core.topology import TopologySpec
from heronpy_compat import Bolt, Grouping, Spout, Stream, TopologyBuilder
from heronpy_compat.api.topology import Topology, TopologyType

NUMBERS = 40
PARTS = 6
DEPTH_MAX = 4
LOAD_MAX = 2000
"""Deliveries to one bolt: `all` and `custom` multiply from level to level."""
KINDS = ("shuffle", "none", "local_or_shuffle", "fields", "partial_key", "all", "global", "custom")
DEFAULT, ODD, CHOSEN = "default", "odd", "chosen"
MODES = ("ATMOST_ONCE", "ATLEAST_ONCE")

Got = Counter[tuple[str, str, int]]
"""(source, stream, number) -> how often"""


@dataclass(frozen=True, slots=True)
class Read:
    """One subscription; `kind` is the grouping's name, direct exactly on stream CHOSEN."""

    source: str
    stream: str
    kind: str


@dataclass(frozen=True, slots=True)
class Node:
    """A spout (no reads) or a bolt, which emits number * factor + shift (modulo 1000)."""

    name: str
    par: int
    reads: tuple[Read, ...] = ()
    factor: int = 1
    shift: int = 0


# --- drawing and expecting -----------------------------------------------------------------------


def parts_of(seed: int) -> list[list[Node]]:
    """The topologies of a seed."""
    rng = Random(seed)
    return [_part(rng, f"part{number}") for number in range(PARTS)]


def _part(rng: Random, name: str) -> list[Node]:
    made = [Node(f"{name}-spout{each}", rng.randint(1, 2)) for each in range(rng.randint(1, 2))]
    depth = {each.name: 0 for each in made}
    for number in range(rng.randint(2, 4)):
        node = _bolt(rng, f"{name}-{number}", [e for e in made if depth[e.name] < DEPTH_MAX])
        while sum(expected([*made, node])[node.name].values()) > LOAD_MAX:
            node = _bolt(rng, node.name, made[:1])
        depth[node.name] = 1 + max(depth[each.source] for each in node.reads)
        made.append(node)
    return made


def _bolt(rng: Random, name: str, before: Sequence[Node]) -> Node:
    sources = rng.sample(before, rng.randint(1, min(3, len(before))))
    reads = [_read(rng, source.name, stream) for source in sources for stream in _streams(rng)]
    return Node(name, rng.randint(1, 3), tuple(reads), rng.randint(1, 9), rng.randint(0, 9))


def _streams(rng: Random) -> list[str]:
    return rng.sample((DEFAULT, ODD, CHOSEN), rng.choice((1, 1, 1, 2)))


def _read(rng: Random, source: str, stream: str) -> Read:
    return Read(source, stream, "direct" if stream == CHOSEN else rng.choice(KINDS))


def expected(part: Sequence[Node]) -> dict[str, Got]:
    """bolt -> what its tasks get in all."""
    sent: dict[tuple[str, str], Counter[int]] = {}
    got: dict[str, Got] = {}
    for node in part:
        numbers = Counter(range(NUMBERS))
        if node.reads:
            got[node.name] = _received(node, sent)
            numbers = Counter()
            for (_, _, number), times in got[node.name].items():
                numbers[(number * node.factor + node.shift) % 1000] += times
        sent[node.name, DEFAULT] = sent[node.name, CHOSEN] = numbers
        sent[node.name, ODD] = Counter({n: times for n, times in numbers.items() if n % 2})
    return got


def _received(node: Node, sent: dict[tuple[str, str], Counter[int]]) -> Got:
    found: Got = Counter()
    for read in node.reads:
        for number, times in sent[read.source, read.stream].items():
            tasks = len(tasks_of(read.kind, number, node.par))
            if tasks:
                found[read.source, read.stream, number] += times * tasks
    return found


def tasks_of(kind: str, number: int, par: int) -> Sequence[int]:
    """Which tasks get a number; where the grouping leaves that open, one of them."""
    every = range(par)
    if kind == "all":
        return every
    if kind == "custom":
        return every[:1] if number % 2 == 0 else every[1:]
    return every[number % par : number % par + 1] if kind == "direct" else every[:1]


def differences(part: Sequence[Node], results: Path) -> Iterator[str]:
    """What the tasks' files say against what is expected, one line each."""
    wanted = expected(part)
    for node in (each for each in part if each.reads):
        found = [_task_s(results, node.name, index) for index in range(node.par)]
        total: Got = reduce(lambda one, other: one + other, found, Counter())
        if total != wanted[node.name]:
            lost, more = wanted[node.name] - total, total - wanted[node.name]
            yield f"{node.name} lacks {dict(lost)}, has {dict(more)} too much"
        for read in node.reads:
            yield from _misplaced(node, read, found)


def _misplaced(node: Node, read: Read, found: Sequence[Got]) -> Iterator[str]:
    """Where a grouping says which task gets a tuple: tasks that got another one's."""
    numbers = [
        {number for source, stream, number in got if (source, stream) == (read.source, read.stream)}
        for got in found
    ]
    for index, mine in enumerate(numbers):
        if read.kind in ("all", "custom", "direct", "global"):
            wrong = {each for each in mine if index not in tasks_of(read.kind, each, node.par)}
        elif read.kind == "fields":
            wrong = mine & set().union(*numbers[:index])
        else:
            continue
        if wrong:
            yield f"{node.name}[{index}] got by {read}: {sorted(wrong)[:5]}"


def _task_s(results: Path, name: str, index: int) -> Got:
    path = results / f"{name}-{index}.json"
    rows = json.loads(path.read_text("utf-8")) if path.exists() else []
    return Counter({(source, stream, number): times for source, stream, number, times in rows})


# --- building and running ------------------------------------------------------------------------


def builder(seed: int, results: str) -> TopologyBuilder:
    """All topologies of a seed as one."""
    made = TopologyBuilder(f"random{seed}")
    for part in parts_of(seed):
        _add(made, part, seed)
    config = {
        "test.results": results,
        "topology.reliability.mode": MODES[seed % len(MODES)],
        # A replay, or a bolt that is started again, would count as a difference, and a busy
        # machine takes its time.
        "topology.message.timeout.secs": 600,
        "topology.liveness.timeout.secs": 600,
    }
    made.set_config(config)
    return made


def _add(made: TopologyBuilder, part: Sequence[Node], seed: int) -> None:
    specs: dict[str, Any] = {}
    for node in part:
        numbers = {"test.factor": node.factor, "test.shift": node.shift}
        config = {**numbers, "test.readers": _readers(part, node.name)}
        if not node.reads:
            specs[node.name] = made.add_spout(node.name, Numbers, node.par, config)
            continue
        inputs = {specs[each.source][each.stream]: _grouping(each.kind) for each in node.reads}
        specs[node.name] = made.add_bolt(node.name, Mixing, node.par, inputs, config)


def _readers(part: Sequence[Node], name: str) -> list[str]:
    chosen = [(each.name, read) for each in part for read in each.reads if read.stream == CHOSEN]
    return [reader for reader, read in chosen if read.source == name]


def _grouping(kind: str) -> Any:
    if kind in ("fields", "partial_key"):
        return getattr(Grouping, kind)("number")
    return Grouping.custom("random_topologies.ByParity") if kind == "custom" else _plain(kind)


def _plain(kind: str) -> int:
    number: int = getattr(Grouping, kind.upper())
    return number


def spec_of(seed: int, results: Path) -> TopologySpec:
    """The same as a value."""
    from dataclasses import replace

    made = builder(seed, str(results))
    kind: Any = TopologyType(made.topology_name, (Topology,), made._construct_topo_class_dict())
    return replace(kind.to_spec(), search_paths=(str(Path(__file__).parent),))


class Emitting:
    """What spouts and bolts have in common."""

    outputs = ["number", Stream(["number"], ODD), Stream(["number"], CHOSEN, direct=True)]

    def prepare(self, config: Any, context: Any) -> None:
        names = config["test.readers"]
        self.readers = [context.get_component_tasks(name) for name in names]
        self.own = context.get_component_tasks(context.get_component_id())
        self.index = self.own.index(context.get_task_id())

    def send(self, number: int, **how: Any) -> None:
        """On every stream."""
        self.emit([number], **how)
        if number % 2:
            self.emit([number], stream=ODD, **how)
        for tasks in self.readers:
            self.emit([number], stream=CHOSEN, direct_task=tasks[number % len(tasks)], **how)


class Numbers(Emitting, Spout):
    """The tasks share NUMBERS numbers."""

    def initialize(self, config: Any, context: Any) -> None:
        self.prepare(config, context)
        self.left = list(range(NUMBERS))[self.index :: len(self.own)]

    def next_tuple(self) -> None:
        if not self.left:
            self.finish()
            return
        number = self.left.pop(0)
        self.send(number, tup_id=number)


class Mixing(Emitting, Bolt):
    """Emits an affine image of what it gets, and leaves at the end what it got."""

    def initialize(self, config: Any, context: Any) -> None:
        self.prepare(config, context)
        self.factor, self.shift = config["test.factor"], config["test.shift"]
        file = f"{context.get_component_id()}-{self.index}.json"
        self.path = os.path.join(config["test.results"], file)
        self.got: Got = Counter()

    def process(self, tup: Any) -> None:
        number = tup.values[0]
        self.got[tup.component, tup.stream, number] += 1
        self.send((number * self.factor + self.shift) % 1000, anchors=[tup])
        self.ack(tup)

    def on_finish(self) -> None:
        Path(self.path).write_text(json.dumps([[*key, n] for key, n in self.got.items()]))


class ByParity:
    """A custom grouping: even numbers to the first task, odd ones to all others."""

    def prepare(self, context: Any, component: str, stream: str, target_tasks: list[int]) -> None:
        self.tasks = target_tasks

    def choose_tasks(self, values: list[Any]) -> list[int]:
        return self.tasks[:1] if values[0] % 2 == 0 else self.tasks[1:]


if __name__ == "__main__":
    builder(int(os.environ["RANDOM_SEED"]), os.environ["RANDOM_RESULTS"]).build_and_submit()
