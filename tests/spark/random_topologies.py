"""Random topologies: their shapes, components and expected results.

`heronpy run random_topologies.py` with RANDOM_SEED and RANDOM_RESULTS in its environment runs the
topologies of a seed side by side, or with RANDOM_PART only the described one.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from heron_core.records import replace
from heron_core.topology import TopologySpec
from heronpy_compat import Grouping, TopologyBuilder
from heronpy_compat.api.topology import Topology, TopologyType

HERE = str(Path(__file__).parent)
if HERE not in sys.path:
    sys.path.insert(0, HERE)
from random_components import (  # noqa: E402 (by the name that the engines import it by)
    CHOSEN,
    CLASSES,
    COLUMNAR,
    DEFAULT,
    DISORDER_MS,
    FULL_RANGE_MS,
    MODULUS,
    ODD,
    Numbers,
    key_of,
    mixed,
    time_of,
    window_of,
)

NUMBERS = 40
PARTS = 6
COLUMNAR_PARTS = 2
"""Share of columnar kinds; each process with columns has to load Arrow."""
COLUMNAR_SHARE = 0.6
DEPTH_MAX = 4
LOAD_MAX = 2000
"""Deliveries to one bolt: `all` and `custom` multiply from level to level."""
KINDS = ("shuffle", "none", "local_or_shuffle", "fields", "partial_key", "all", "global", "custom")
MODES = ("ATMOST_ONCE", "ATLEAST_ONCE", "EFFECTIVELY_ONCE")
KEYED = ("state", "timer", "tumbling", "sliding", "session")

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
    """A spout (no reads) or a bolt: a mixing bolt emits number * factor + shift (modulo 1000)."""

    name: str
    par: int
    reads: tuple[Read, ...] = ()
    factor: int = 1
    shift: int = 0
    kind: str = "mix"
    size_ms: int = 1000
    """Of a window, of a session's gap, or between the timers of a key."""
    slide_ms: int = 1000
    keyed: bool = True
    """Whether windows are per key, or global."""
    lag_ms: int = FULL_RANGE_MS
    interval_ms: int = 0
    """Between two watermarks."""
    numbers: int = NUMBERS
    columnar: bool = False
    """Works on batches instead of tuples, for any kind of source."""


# --- drawing and expecting -----------------------------------------------------------------------


def parts_of(seed: int) -> list[list[Node]]:
    """The topologies of a seed."""
    rng = Random(seed)
    parts = [_part(rng, f"part{number}") for number in range(PARTS)]
    return [_with_columns(rng, part) for part in parts[:COLUMNAR_PARTS]] + parts[COLUMNAR_PARTS:]


def _with_columns(rng: Random, part: Sequence[Node]) -> list[Node]:
    """Some of the components work on batches; batches are less in order than tuples."""
    columnar = {
        node.name
        for node in part
        if (node.kind if node.reads else "spout") in COLUMNAR and rng.random() < COLUMNAR_SHARE
    }
    return [
        replace(
            node,
            columnar=node.name in columnar,
            lag_ms=FULL_RANGE_MS
            if columnar & {each.source for each in node.reads}
            else node.lag_ms,
        )
        for node in part
    ]


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
    kind = rng.choice(("mix", "mix", *KEYED))
    if kind != "mix":
        return _keyed_bolt(rng, name, sources, kind)
    reads = [_read(rng, source.name, stream) for source in sources for stream in _streams(rng)]
    return Node(name, rng.randint(1, 3), tuple(reads), rng.randint(1, 9), rng.randint(0, 9))


def _keyed_bolt(rng: Random, name: str, sources: Sequence[Node], kind: str) -> Node:
    """A bolt with state, timers or windows; input straight from spouts is nearly in order."""
    keyed = kind in ("state", "timer") or rng.random() < 0.8
    grouping = "fields" if keyed else "global"
    reads = [
        Read(source.name, stream, grouping)
        for source in sources
        for stream in rng.sample((DEFAULT, ODD), rng.choice((1, 1, 2)))
    ]
    in_order = not any(each.reads for each in sources)
    size_ms = rng.choice((250, 700, 1000, 3000))
    return Node(
        name, rng.randint(1, 3), tuple(reads), kind=kind, size_ms=size_ms,
        slide_ms=rng.randint(size_ms // 5, size_ms), keyed=keyed,
        lag_ms=DISORDER_MS if in_order else FULL_RANGE_MS, interval_ms=rng.choice((0, 0, 10)),
    )  # fmt: skip


def _streams(rng: Random) -> list[str]:
    return rng.sample((DEFAULT, ODD, CHOSEN), rng.choice((1, 1, 1, 2)))


def _read(rng: Random, source: str, stream: str) -> Read:
    return Read(source, stream, "direct" if stream == CHOSEN else rng.choice(KINDS))


def expected(part: Sequence[Node]) -> dict[str, Got]:
    """bolt -> input of all its tasks."""
    sent: dict[tuple[str, str], Counter[int]] = {}
    got: dict[str, Got] = {}
    for node in part:
        numbers = Counter(range(node.numbers))
        if node.reads:
            got[node.name] = _received(node, sent)
            numbers = emitted(node, got[node.name])
        sent[node.name, DEFAULT] = sent[node.name, CHOSEN] = numbers
        sent[node.name, ODD] = Counter({n: times for n, times in numbers.items() if n % 2})
    return got


def emitted(node: Node, got: Got) -> Counter[int]:
    """A bolt's emits on its default stream, by its input."""
    if node.kind == "mix":
        image = [
            ((n * node.factor + node.shift) % MODULUS, times) for (_, _, n), times in got.items()
        ]
    elif node.kind == "state":
        sums = [(key, sum(_numbers(rows).values())) for key, rows in _by_key(got).items()]
        image = [(mixed(key, n + 1), 1) for key, total in sums for n in range(total)]
    else:
        image = [(mixed(*made[:-1], sum(made[-1])), 1) for made in made_of(node, got)]
    found: Counter[int] = Counter()
    for number, times in image:
        found[number] += times
    return found


def made_of(node: Node, got: Got) -> list[list[Any]]:
    """Further expected results of a bolt: its states, or results of windows and timers."""
    if node.kind == "mix":
        return []
    groups = _by_key(got) if node.keyed else {0: got}
    kinds = {"state": _states, "timer": _timers, "session": _sessions}
    make = kinds.get(node.kind, _windows)
    return [[key, *made] for key, rows in groups.items() for made in make(node, _numbers(rows))]


def _by_key(got: Got) -> dict[int, Got]:
    found: dict[int, Got] = {}
    for (source, stream, number), times in got.items():
        found.setdefault(key_of(number), Counter())[source, stream, number] += times
    return found


def _numbers(got: Got) -> Counter[int]:
    found: Counter[int] = Counter()
    for (_, _, number), times in got.items():
        found[number] += times
    return found


def _states(node: Node, numbers: Counter[int]) -> Iterator[list[Any]]:
    if numbers:
        every = sorted(numbers.elements())
        yield [len(every), every, [list(each) for each in sorted(numbers.items())], max(every)]


def _timers(node: Node, numbers: Counter[int]) -> Iterator[list[Any]]:
    size = node.size_ms
    for start in sorted({time_of(number) // size * size for number in numbers}):
        yield [start, _between(numbers, start, start + size)]


def _windows(node: Node, numbers: Counter[int]) -> Iterator[list[Any]]:
    assigner = window_of(node.kind, node.size_ms, node.slide_ms)
    for start, end in sorted({each for n in numbers for each in assigner.windows(time_of(n))}):
        yield [start, end, _between(numbers, start, end)]


def _sessions(node: Node, numbers: Counter[int]) -> Iterator[list[Any]]:
    times = sorted(map(time_of, numbers))
    gaps = [(at, then) for at, then in pairwise(times) if then - at >= node.size_ms]
    starts = [*times[:1], *(then for _, then in gaps)]
    ends = [*(at for at, _ in gaps), *times[-1:]]
    for start, last in zip(starts, ends, strict=True):
        yield [start, last + node.size_ms, _between(numbers, start, last + 1)]


def _between(numbers: Counter[int], start_ms: int, end_ms: int) -> list[int]:
    return sorted(each for each in numbers.elements() if start_ms <= time_of(each) < end_ms)


def _received(node: Node, sent: dict[tuple[str, str], Counter[int]]) -> Got:
    found: Got = Counter()
    for read in node.reads:
        for number, times in sent[read.source, read.stream].items():
            tasks = len(tasks_of(read.kind, number, node.par))
            if tasks:
                found[read.source, read.stream, number] += times * tasks
    return found


def tasks_of(kind: str, number: int, par: int) -> Sequence[int]:
    """Tasks of a number; any one if the grouping leaves a choice."""
    every = range(par)
    if kind == "all":
        return every
    if kind == "custom":
        return every[:1] if number % 2 == 0 else every[1:]
    return every[number % par : number % par + 1] if kind == "direct" else every[:1]


def differences(part: Sequence[Node], results: Path) -> Iterator[str]:
    """Differences of the tasks' files from the expected results, one line each."""
    wanted = expected(part)
    for node in (each for each in part if each.reads):
        found = [_task_s(results, node.name, index) for index in range(node.par)]
        total: Got = reduce(lambda one, other: one + other, found, Counter())
        if total != wanted[node.name]:
            lost, more = wanted[node.name] - total, total - wanted[node.name]
            yield f"{node.name} lacks {dict(lost)}, has {dict(more)} too much"
        for read in node.reads:
            yield from _misplaced(node, read, found)
        yield from _made_otherwise(node, results, wanted[node.name])


def _made_otherwise(node: Node, results: Path, got: Got) -> Iterator[str]:
    left = [_left(results, node.name, index)["made"] for index in range(node.par)]
    found = Counter(json.dumps(each) for made in left for each in made)
    wanted = Counter(json.dumps(each) for each in made_of(node, got))
    if found != wanted:
        missing, others = sorted(wanted - found)[:3], sorted(found - wanted)[:3]
        yield f"{node.name} did not make {missing}, but {others}"


def _misplaced(node: Node, read: Read, found: Sequence[Got]) -> Iterator[str]:
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
    rows = _left(results, name, index)["got"]
    return Counter({(source, stream, number): times for source, stream, number, times in rows})


def _left(results: Path, name: str, index: int) -> Any:
    path = results / f"{name}-{index}.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else {"got": [], "made": []}


# --- building and running ------------------------------------------------------------------------


def builder(seed: int, results: str, parts: Sequence[Sequence[Node]] = ()) -> TopologyBuilder:
    """All topologies of a seed as one, or `parts`, with the mode of the seed."""
    made = TopologyBuilder(f"random{seed}")
    for part in parts or parts_of(seed):
        _add(made, part)
    config = {
        "test.results": results,
        "topology.reliability.mode": MODES[seed % len(MODES)],
        # A replay, or a restarted bolt, would count as a difference, and a busy machine takes its
        # time.
        "topology.message.timeout.secs": 600,
        "topology.liveness.timeout.secs": 600,
    }
    made.set_config(config)
    return made


def described(part: Sequence[Node]) -> str:
    """One topology as JSON, for RANDOM_PART."""
    return json.dumps([asdict(each) for each in part])


def part_of(text: str) -> list[Node]:
    """And back."""
    return [
        Node(**{**node, "reads": tuple(Read(**each) for each in node["reads"])})
        for node in json.loads(text)
    ]


def _add(made: TopologyBuilder, part: Sequence[Node]) -> None:
    specs: dict[str, Any] = {}
    for node in part:
        config = {**_config(node), "test.readers": _readers(part, node.name)}
        if not node.reads:
            spout = COLUMNAR["spout"] if node.columnar else Numbers
            specs[node.name] = made.add_spout(node.name, spout, node.par, config)
            continue
        inputs = {
            specs[each.source][each.stream]: _grouping(each.kind, node) for each in node.reads
        }
        bolt = (COLUMNAR if node.columnar else CLASSES)[node.kind]
        specs[node.name] = made.add_bolt(node.name, bolt, node.par, inputs, config)


def _config(node: Node) -> dict[str, Any]:
    return {
        "test.numbers": node.numbers,
        "test.factor": node.factor,
        "test.shift": node.shift,
        "test.kind": node.kind,
        "test.size": node.size_ms,
        "test.slide": node.slide_ms,
        "test.keyed": node.keyed,
        "topology.bolts.tuple.timestamp.max.lag.ms": node.lag_ms,
        "topology.bolts.watermark.event.interval.ms": node.interval_ms,
    }


def _readers(part: Sequence[Node], name: str) -> list[str]:
    chosen = [(each.name, read) for each in part for read in each.reads if read.stream == CHOSEN]
    return [reader for reader, read in chosen if read.source == name]


def _grouping(kind: str, reader: Node) -> Any:
    if kind in ("fields", "partial_key"):
        return getattr(Grouping, kind)("number" if reader.kind == "mix" else "key")
    if kind == "custom":
        grouping = "ByParityOfColumns" if reader.par > 1 else "ByParity"
        return Grouping.custom(f"random_components.{grouping}")
    return _plain(kind)


def _plain(kind: str) -> int:
    number: int = getattr(Grouping, kind.upper())
    return number


def spec_of(seed: int, results: Path, parts: Sequence[Sequence[Node]] = ()) -> TopologySpec:
    made = builder(seed, str(results), parts)
    kind: Any = TopologyType(made.topology_name, (Topology,), made._construct_topo_class_dict())
    return replace(kind.to_spec(), search_paths=(HERE,))


if __name__ == "__main__":
    described = os.environ.get("RANDOM_PART")
    given = [part_of(described)] if described else []
    builder(int(os.environ["RANDOM_SEED"]), os.environ["RANDOM_RESULTS"], given).build_and_submit()
