"""Topologies of drawn types, nulls, failing and late rows, time zones, and what they must give.

`heronpy run drawn_topologies.py` with DRAWN_SEED and DRAWN_RESULTS in its environment runs those of
a seed side by side.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from heron_core.records import replace
from heron_core.topology import TopologySpec
from heronpy_compat import Grouping, Stream, TopologyBuilder
from heronpy_compat.api.topology import Topology, TopologyType
from heronpy_compat.windows import Sliding, Trigger, Tumbling

HERE = str(Path(__file__).parent)
if HERE not in sys.path:
    sys.path.insert(0, HERE)
from drawn_components import (  # noqa: E402 (by the name that the engines import it by)
    BATCH,
    CLASSES,
    FAILS,
    KEYS,
    LATE,
    NEVER,
    NUMBER,
    RAISES,
    RAISES_ONCE,
    TIMES,
    TUPLES,
    emitted_row,
    fails,
    is_misfit,
    time_of,
)
from drawn_values import as_column, as_tuple, draw_type, shown  # noqa: E402
from tests.property.plain_windows import PlainOperator  # noqa: E402

ATMOST_ONCE, ATLEAST_ONCE, EFFECTIVELY_ONCE = "ATMOST_ONCE", "ATLEAST_ONCE", "EFFECTIVELY_ONCE"
MODES = (ATMOST_ONCE, ATLEAST_ONCE, EFFECTIVELY_ONCE)
PARTS = 4
ROWS = 24
COLUMNS_MAX = 3
KINDS = ("shuffle", "none", "local_or_shuffle", "fields", "partial_key", "all", "global")
TIME_ZONES = ("UTC", "America/New_York", "Asia/Kolkata", "Pacific/Kiritimati")
LETTERS = "letters"
NO_LETTERS, TO_FILES, TO_A_BOLT = "", "file:", LETTERS
FAILED_BY = "failed by the component"
"""What a letter says of a tuple that its bolt failed."""


@dataclass(frozen=True, slots=True)
class Node:
    """A component beside the spout and the bolts that only look."""

    name: str
    kind: str
    """As in CLASSES."""
    par: int
    source: str
    """What it reads."""
    grouping: str
    how: str = NEVER
    emits_first: bool = False
    on_exception: str = "fail"
    size_ms: int = 0
    slide_ms: int = 0
    lag_ms: int = 0
    lateness_ms: int = 0
    has_late_stream: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """One topology: a spout, bolts, and behind each of them one that looks."""

    name: str
    types: tuple[str, ...]
    time: str
    """What the column of the event time is."""
    spout: str
    spout_par: int
    nodes: tuple[Node, ...]
    looks: tuple[tuple[str, int, str], ...]
    """(component, parallelism, grouping) of what looks at it."""
    rows: int = ROWS

    @property
    def names(self) -> list[str]:
        """Of the fields beside number, key and time."""
        return [f"f{at}" for at in range(len(self.types))]

    @property
    def fields(self) -> dict[str, str]:
        """All fields with their types."""
        time = {NUMBER: "bigint", TUPLES: "timestamp_ntz", TIMES: "timestamp"}[self.time]
        first = {"number": "bigint", "key": "int", "time": time}
        return first | dict(zip(self.names, self.types, strict=True))


@dataclass(frozen=True, slots=True)
class Drawn:
    """All that a seed says of a round."""

    seed: int
    mode: str
    letters: str
    zone: str
    session_zone: str
    parts: tuple[Part, ...]


def drawn(seed: int) -> Drawn:
    """What a seed says."""
    random = Random(seed)
    mode = MODES[seed % len(MODES)]
    letters = random.choice((NO_LETTERS, TO_FILES, TO_A_BOLT))
    zone, session_zone = random.choice(TIME_ZONES), random.choice(TIME_ZONES)
    parts = tuple(_part(random, f"part{number}", mode) for number in range(PARTS))
    return Drawn(seed, mode, letters, zone, session_zone, parts)


def _part(random: Random, name: str, mode: str) -> Part:
    types = tuple(draw_type(random) for _ in range(random.randint(1, COLUMNS_MAX)))
    spout, par = random.choice(("rows", "rows by columns")), random.randint(1, 2)
    nodes: list[Node] = []
    for number in range(random.randint(1, 3)):
        source = random.choice([f"{name}-spout", *(each.name for each in nodes)])
        nodes.append(_bolt(random, f"{name}-{number}", source, mode))
    if spout == "rows" and par == 1:
        nodes.append(_windows(random, f"{name}-windows", f"{name}-spout"))
    looked = [f"{name}-spout", *(each.name for each in nodes)]
    looks = tuple((each, random.randint(1, 2), _look(random, types)) for each in looked)
    time = random.choice((NUMBER, TUPLES, TIMES))
    return Part(name, types, time, spout, par, tuple(nodes), looks)


def _look(random: Random, types: Sequence[str]) -> str:
    """How what looks is grouped: by a field of any type that can be a key, now and then."""
    fields = [f"f{at}" for at, each in enumerate(types) if "<" not in each]
    return random.choice(("shuffle", "global", "number", *fields))


def _bolt(random: Random, name: str, source: str, mode: str) -> Node:
    kind = random.choice(("pass", "pass columns"))
    columnar = kind == "pass columns"
    how = random.choice((NEVER, RAISES, RAISES) if columnar else (NEVER, RAISES, FAILS))
    on_exception = "fail"
    if how != RAISES:
        on_exception = random.choice(("fail", "restart", "stop", "exit"))
        if mode == ATLEAST_ONCE and how == FAILS and on_exception == "restart":
            on_exception = "fail"  # a source may emit it again without end: it is never given up
    elif mode == EFFECTIVELY_ONCE and random.random() < 0.2:
        how, on_exception = RAISES_ONCE, "exit"
    emits_first = not columnar and how == FAILS and random.random() < 0.5
    par, grouping = random.randint(1, 3), random.choice(KINDS)
    return Node(name, kind, par, source, grouping, how, emits_first, on_exception)


def _windows(random: Random, name: str, source: str) -> Node:
    """Of one task, so that what is late depends on the order of the spout alone."""
    size = random.choice((300, 700, 1000))
    return Node(
        name, "windows", 1, source, random.choice(("global", "fields")),
        size_ms=size, slide_ms=random.choice((size, size // 2)),
        lag_ms=random.choice((0, 200)), lateness_ms=random.choice((0, 500)),
        has_late_stream=random.random() < 0.5,
    )  # fmt: skip


# --- what is to come ------------------------------------------------------------------------------

Found = Counter[tuple[str, ...]]
"""(component, stream, value, …) -> how often, values as `shown`."""


@dataclass(slots=True)
class Expected:
    """What a topology must give."""

    seen: Found
    refused: list[int]
    letters: Found
    failed: Counter[str]
    late: Counter[str]
    roots: set[tuple[int, ...]]
    """Of what the spout emits at once, what holds a row that a bolt gave up."""
    is_coupled: bool = False
    """Whether more roots may fail: what a bolt makes of a batch has all roots of that batch."""


def expected(part: Part, letters: str) -> Expected:
    """In plain Python."""
    spout = f"{part.name}-spout"
    config = config_of(part, "")
    numbers = [each for each in range(part.rows) if not is_misfit(config["test.seed"], each)]
    refused = [each for each in range(part.rows) if is_misfit(config["test.seed"], each)]
    rows = {each: emitted_row(config, each) for each in numbers}
    as_columns = {number: _columns(part, row) for number, row in rows.items()}
    found = Expected(Counter(), refused, Counter(), Counter(), Counter(), set())
    sent: dict[str, tuple[Counter[int], bool]] = {
        spout: (Counter(numbers), part.spout == "rows by columns")
    }
    for node in part.nodes:
        if node.kind == "windows":
            _expect_windows(found, part, node, rows)
            continue
        got, was_columnar = sent[node.source]
        got = Counter({n: times * _copies(node) for n, times in got.items()})
        is_columnar = node.kind == "pass columns"
        if node.how in (RAISES, FAILS) and _is_behind_batches(part, node):
            found.is_coupled = True
        bad = Counter({n: times for n, times in got.items() if _gives_up(node, n)})
        sent[node.name] = (got if node.emits_first else got - bad, is_columnar or was_columnar)
        found.failed[node.name] = bad.total()
        found.roots |= {_root_of(part, config["test.seed"], each) for each in bad}
        shapes = as_columns if is_columnar or was_columnar else rows
        for number, times in bad.items() if letters else ():
            said = f"Misfortune: row {number}" if node.how == RAISES else FAILED_BY
            text = (
                node.name,
                node.source,
                "default",
                said,
                *map(shown, map(as_tuple, shapes[number])),
            )
            found.letters[text] += times
    for name, (got, is_columnar) in sent.items():
        shapes = as_columns if is_columnar else rows
        for number, times in got.items():
            found.seen[name, "default", *map(shown, map(as_tuple, shapes[number]))] += times
    return found


def _is_behind_batches(part: Part, node: Node) -> bool:
    """Whether a bolt that takes batches is anywhere before a bolt."""
    source = next((each for each in part.nodes if each.name == node.source), None)
    return source is not None and (
        source.kind == "pass columns" or _is_behind_batches(part, source)
    )


def _root_of(part: Part, seed: str, number: int) -> tuple[int, ...]:
    """The numbers that a spout emits together with this one."""
    if part.spout == "rows":
        return (number,)
    index, tasks = number % part.spout_par, part.spout_par
    first = index + (number - index) // (BATCH * tasks) * BATCH * tasks
    together = range(first, part.rows, tasks)[:BATCH]
    return (number,) if any(is_misfit(seed, each) for each in together) else tuple(together)


def _columns(part: Part, row: Sequence[Any]) -> list[Any]:
    return [as_column(each, kind) for each, kind in zip(row, part.fields.values(), strict=True)]


def _copies(node: Node) -> int:
    return node.par if node.grouping == "all" else 1


def _gives_up(node: Node, number: int) -> bool:
    return node.how in (RAISES, FAILS) and fails(node.name, number)


def _expect_windows(found: Expected, part: Part, node: Node, rows: Mapping[int, list[Any]]) -> None:
    windows = PlainOperator(_assigner(node), Trigger(), node.lateness_ms)
    made: list[Any] = []
    latest = 0
    for number, row in rows.items():
        results = windows.add(str(number % KEYS), time_of(number), [time_of(number), number], 0)
        late = [each for each in results if not hasattr(each, "window")]
        if late and node.has_late_stream:
            found.seen[node.name, LATE, shown(as_tuple(row))] += 1
        elif late:
            found.late[node.name] += 1
        made += [each for each in results if hasattr(each, "window")]
        latest = max(latest, time_of(number))
        made += windows.advance_watermark(latest - node.lag_ms)
    made += windows.advance_watermark(2**63 - 1)
    for each in made:
        values = [int(each.key), *each.window, sorted(number for _, number in each.value)]
        found.seen[node.name, "default", *map(shown, values)] += 1


def _assigner(node: Node) -> Any:
    if node.slide_ms < node.size_ms:
        return Sliding(node.size_ms, node.slide_ms)
    return Tumbling(node.size_ms)


def differences(part: Part, results: Path, letters: str) -> Iterator[str]:
    """What the files of the tasks say against what is expected, a line each."""
    wanted = expected(part, letters)
    lefts = [json.loads(each.read_text()) for each in results.glob(f"{part.name}-spout-[0-9].json")]
    refused = sorted(number for each in lefts for number in each["refused"])
    if refused != wanted.refused or len(lefts) != part.spout_par:
        yield f"{part.name}: refused {refused}, not {wanted.refused}, of {len(lefts)} spouts"
    by_task = [_seen(each) for each in results.glob(f"{part.name}-*-seen-[0-9].json")]
    total: Found = Counter()
    for each in by_task:
        total += each
    yield from _compared(f"{part.name}: seen", total, wanted.seen)
    yield from _divided(part, results)


def _seen(file: Path) -> Found:
    return Counter({tuple(key): times for key, times in json.loads(file.read_text())["seen"]})


def _compared(what: str, found: Found, wanted: Found) -> Iterator[str]:
    if found != wanted:
        lacks, more = list((wanted - found).items()), list((found - wanted).items())
        yield f"{what}: {len(lacks)} lack, {len(more)} too much: {lacks[:2]}, but {more[:2]}"


def _divided(part: Part, results: Path) -> Iterator[str]:
    """Equal keys that came to two tasks of one bolt."""
    at = {name: number + 2 for number, name in enumerate(part.fields)}
    for component, par, grouping in part.looks:
        if grouping not in at or par == 1 or _is_window(part, component):
            continue
        files = [results / f"{component}-seen-{index}.json" for index in range(par)]
        keys = [
            {row[at[grouping]] for row in _seen(each) if row[1] == "default"}
            for each in files if each.exists()
        ]  # fmt: skip
        if len(keys) == par and set.intersection(*keys):
            yield f"{component}: {set.intersection(*keys)} of {grouping} came to all tasks"


def _is_window(part: Part, component: str) -> bool:
    return any(each.name == component and each.kind == "windows" for each in part.nodes)


def letters_found(results: Path) -> Found:
    """What the bolt of letters has got."""
    total: Found = Counter()
    for each in results.glob(f"{LETTERS}-[0-9].json"):
        total += _seen(each)
    return total


# --- building -------------------------------------------------------------------------------------


def config_of(part: Part, results: str) -> dict[str, Any]:
    """What the components are told."""
    return {
        "test.results": results, "test.seed": f"{part.name} {part.types}", "test.rows": part.rows,
        "test.types": list(part.types), "test.names": part.names, "test.time": part.time,
    }  # fmt: skip


def builder(given: Drawn, results: str) -> TopologyBuilder:
    """All topologies of a round as one."""
    made = TopologyBuilder(f"drawn{given.seed}")
    nodes = [each for part in given.parts for each in _add(made, part, config_of(part, results))]
    letters = given.letters
    if letters == TO_FILES:
        letters = f"file:{results}/letters"
    elif letters == TO_A_BOLT:
        made.add_bolt(
            LETTERS,
            CLASSES["letters"],
            1,
            {nodes[0]["errors"]: Grouping.GLOBAL},
            {"test.results": results},
        )
    made.set_config(
        {
            "topology.reliability.mode": given.mode,
            "topology.bolt.retries": 1 if given.mode == EFFECTIVELY_ONCE else 0,
            "topology.bolt.retry.backoff.ms": 1,
            "topology.bolts.watermark.event.interval.ms": 0,
            **({"topology.dead.letter": letters} if letters else {}),
            # On a busy machine a slow process is no lost one.
            "topology.message.timeout.secs": 600,
            "topology.liveness.timeout.secs": 600,
        }
    )
    return made


def _add(made: TopologyBuilder, part: Part, config: dict[str, Any]) -> list[Any]:
    """The specs of its nodes."""
    spout = f"{part.name}-spout"
    specs: dict[str, Any] = {}
    outputs = [Stream(part.fields)]
    specs[spout] = made.add_spout(
        spout, CLASSES[part.spout], part.spout_par, config, optional_outputs=outputs
    )
    for node in part.nodes:
        inputs = {specs[node.source]: grouping_of(node.grouping)}
        more = {
            "test.how": node.how,
            "test.emits.first": node.emits_first,
            "topology.bolt.on.exception": node.on_exception,
        }
        outs: list[Any] = outputs
        if node.kind == "windows":
            more = _window_config(node)
            outs = ["key", "start", "end", "numbers", Stream(["late_tuple"], LATE)]
        specs[node.name] = made.add_bolt(
            node.name, CLASSES[node.kind], node.par, inputs, {**config, **more}, outs
        )
    for component, par, grouping in part.looks:
        by = (
            "key"
            if _is_window(part, component) and grouping not in ("shuffle", "global")
            else grouping
        )
        inputs = {specs[component]: grouping_of(by)}
        if any(each.name == component and each.has_late_stream for each in part.nodes):
            inputs[specs[component][LATE]] = Grouping.SHUFFLE
        made.add_bolt(f"{component}-seen", CLASSES["seen"], par, inputs, config)
    return [specs[node.name] for node in part.nodes]


def _window_config(node: Node) -> dict[str, Any]:
    late = {"topology.bolts.late.tuple.stream": LATE} if node.has_late_stream else {}
    return {
        "test.size": node.size_ms,
        "test.slide": node.slide_ms,
        "topology.bolts.tuple.timestamp.max.lag.ms": node.lag_ms,
        "topology.bolts.window.allowed.lateness.ms": node.lateness_ms,
        **late,
    }


def grouping_of(kind: str) -> Any:
    """By its name; a field's name for fields."""
    if kind in ("fields", "partial_key"):
        return getattr(Grouping, kind)("key")
    if kind in KINDS:
        return getattr(Grouping, kind.upper())
    return Grouping.fields(kind)


def spec_of(given: Drawn, results: Path) -> TopologySpec:
    """The same as a value."""
    made = builder(given, str(results))
    kind: Any = TopologyType(made.topology_name, (Topology,), made._construct_topo_class_dict())
    return replace(kind.to_spec(), search_paths=(HERE, str(Path(HERE).parents[1])))


if __name__ == "__main__":
    builder(drawn(int(os.environ["DRAWN_SEED"])), os.environ["DRAWN_RESULTS"]).build_and_submit()
