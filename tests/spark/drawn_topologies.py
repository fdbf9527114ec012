"""Topologies of drawn types, nulls, failing and late rows, zones, modes, shapes of user code.

`heronpy run drawn_topologies.py` with DRAWN_SEED and DRAWN_RESULTS in its environment runs those of
a seed side by side.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from heron_core.records import replace
from heron_core.topology import TopologySpec
from heronpy_compat import Grouping, Stream, TopologyBuilder
from heronpy_compat.api.topology import Topology, TopologyType

HERE = str(Path(__file__).parent)
if HERE not in sys.path:
    sys.path.insert(0, HERE)
import drawn_components as components  # noqa: E402 (by the name that the engines import it by)
import drawn_passing as passing  # noqa: E402
from drawn_components import (  # noqa: E402
    CHOSEN,
    DEFAULT,
    DIRECT,
    LATE,
    NUMBER,
    ONE,
    SIDE,
    TIMES,
    TUPLES,
    TWO,
    ByNumber,
)
from drawn_passing import FAILS, NEVER, RAISES, RAISES_ONCE  # noqa: E402
from drawn_values import draw_type  # noqa: E402

ATMOST_ONCE, ATLEAST_ONCE, EFFECTIVELY_ONCE = "ATMOST_ONCE", "ATLEAST_ONCE", "EFFECTIVELY_ONCE"
MODES = (ATMOST_ONCE, ATLEAST_ONCE, EFFECTIVELY_ONCE)
PARTS = 3
ROWS = 24
COLUMNS_MAX = 3
BY_COLUMNS = "rows by columns"
SPOUTS: dict[str, Any] = {
    "rows": components.Rows, BY_COLUMNS: components.RowsByColumns,
    "rows awaited": components.RowsAwaited,
}  # fmt: skip
BOLTS: dict[str, Any] = {
    "pass": passing.Passing, "pass columns": passing.PassingColumns,
    "pass awaited": passing.PassingAwaited, "pass awaited alone": passing.PassingAwaitedAlone,
    "pass yields": passing.PassingYields,
    "pass awaits and yields": passing.PassingAwaitsAndYields,
    "pass at ticks": passing.PassingAtTicks, "pass later": passing.PassingLater,
    "pass in threads": passing.PassingInThreads,
}  # fmt: skip
WINDOWS: dict[str, Any] = {
    "windows": components.Windowed, "storms": components.Storms, "counts": components.Storms,
    "batch windows": components.BatchWindowed,
}  # fmt: skip
STREAMS = {ONE: (DEFAULT,), TWO: (DEFAULT, SIDE), DIRECT: (CHOSEN,)}
"""Kinds that send rows."""
SENDS = (ONE, ONE, ONE, TWO, TWO, DIRECT)
COROUTINES = frozenset({"pass awaited", "pass awaited alone", "pass awaits and yields"})
"""Kinds without a send for a failed tuple."""
TICKING = frozenset({"pass at ticks", "pass later"})
ACKS_LATER = frozenset({"pass later", "pass in threads"})
CAPACITIES = (1, 2, 100)
INFERRED = (
    "bigint", "string", "boolean", "binary", "date", "array<bigint>", "array<string>",
)  # fmt: skip
"""Values of an undeclared column, with any neighbours in the batch."""
UNTYPED_SHARE = 0.25
LONG_MS = 10_000
"""Longer than all events of a part: late in no order."""
KINDS = (
    "shuffle", "none", "local_or_shuffle", "fields", "partial_key", "all", "global", "custom",
)  # fmt: skip
TIME_ZONES = ("UTC", "America/New_York", "Asia/Kolkata", "Pacific/Kiritimati")
LETTERS = "letters"
NO_LETTERS, TO_FILES, TO_A_BOLT = "", "file:", LETTERS


@dataclass(frozen=True, slots=True)
class Node:
    """A component beside the spout and the bolts of readers."""

    name: str
    kind: str
    """Of BOLTS or WINDOWS."""
    par: int
    source: str
    """Source component with its streams."""
    grouping: str
    side_grouping: str = "shuffle"
    sends: str = ONE
    how: str = NEVER
    emits_first: bool = False
    on_exception: str = "fail"
    size_ms: int = 0
    slide_ms: int = 0
    lag_ms: int = 0
    lateness_ms: int = 0
    has_late_stream: bool = False
    length: int = 0
    slide: int = 0
    """Of a window by count, in tuples."""
    capacity: int = 1
    is_ordered: bool = True
    """Of coroutines."""


@dataclass(frozen=True, slots=True)
class Part:
    """One topology: a spout, bolts, and a reader behind each."""

    name: str
    types: tuple[str, ...]
    time: str
    """Form of the event time's column."""
    spout: str
    spout_par: int
    spout_sends: str
    nodes: tuple[Node, ...]
    looks: tuple[tuple[str, int, str], ...]
    """(component, parallelism, grouping) of the reader."""
    rows: int = ROWS
    is_typed: bool = True
    """Whether the streams of tuples declare the types; streams of columns always do."""

    @property
    def names(self) -> list[str]:
        """Of the fields beside number, key and time."""
        return [f"f{at}" for at in range(len(self.types))]

    def sends(self, component: str) -> str:
        """How a component sends its rows; windows send results on DEFAULT."""
        found = (each.sends for each in self.nodes if each.name == component)
        return next(found, self.spout_sends)

    def readers(self, component: str) -> list[str]:
        nodes = [each.name for each in self.nodes if each.source == component]
        return [*nodes, f"{component}-seen"]

    @property
    def fields(self) -> dict[str, str]:
        """All fields with their types."""
        time = {NUMBER: "bigint", TUPLES: "timestamp_ntz", TIMES: "timestamp"}[self.time]
        first = {"number": "bigint", "key": "int", "time": time}
        return first | dict(zip(self.names, self.types, strict=True))


@dataclass(frozen=True, slots=True)
class Drawn:
    seed: int
    mode: str
    letters: str
    zone: str
    session_zone: str
    parts: tuple[Part, ...]


def drawn(seed: int) -> Drawn:
    random = Random(seed)
    mode = MODES[seed % len(MODES)]
    letters = random.choice((NO_LETTERS, TO_FILES, TO_A_BOLT))
    zone, session_zone = random.choice(TIME_ZONES), random.choice(TIME_ZONES)
    parts = tuple(_part(random, f"part{number}", mode) for number in range(PARTS))
    return Drawn(seed, mode, letters, zone, session_zone, parts)


def _part(random: Random, name: str, mode: str) -> Part:
    is_typed, columns = random.random() >= UNTYPED_SHARE, range(random.randint(1, COLUMNS_MAX))
    types = tuple(draw_type(random) if is_typed else random.choice(INFERRED) for _ in columns)
    # A batch of columns needs their types.
    spout = random.choice([each for each in SPOUTS if is_typed or each != BY_COLUMNS])
    par, sends = random.randint(1, 2), random.choice(SENDS)
    nodes: list[Node] = []
    for number in range(random.randint(1, 3)):
        source = random.choice([f"{name}-spout", *(each.name for each in nodes)])
        nodes.append(_bolt(random, f"{name}-{number}", source, mode))
    if spout != BY_COLUMNS and par == 1:
        nodes.append(_windows(random, f"{name}-windows", f"{name}-spout"))
        nodes.append(_storms(random, f"{name}-storms", f"{name}-spout"))
        nodes.append(_counts(random, f"{name}-counts", f"{name}-spout"))
    read = random.choice([each for each in nodes if each.kind not in WINDOWS])
    nodes.append(_batch_windows(random, f"{name}-batches", read))
    looked = [f"{name}-spout", *(each.name for each in nodes)]
    looks = tuple((each, random.randint(1, 2), _look(random, types)) for each in looked)
    time = random.choice((NUMBER, TUPLES, TIMES)) if is_typed else NUMBER
    return Part(name, types, time, spout, par, sends, tuple(nodes), looks, is_typed=is_typed)


def _look(random: Random, types: Sequence[str]) -> str:
    """Grouping of the reader: at times by a field of any type usable as a key."""
    fields = [f"f{at}" for at, each in enumerate(types) if "<" not in each]
    return random.choice(("shuffle", "global", "number", "custom", *fields))


def _bolt(random: Random, name: str, source: str, mode: str) -> Node:
    kind = random.choice(tuple(BOLTS))
    how, on_exception = _failure(random, kind, mode)
    emits_first = how == FAILS and kind not in ACKS_LATER and random.random() < 0.5
    par, grouping, side = random.randint(1, 3), random.choice(KINDS), random.choice(KINDS)
    return Node(
        name, kind, par, source, grouping, side, random.choice(SENDS), how, emits_first,
        on_exception,
        capacity=random.choice(CAPACITIES), is_ordered=random.random() < 0.5,
    )  # fmt: skip


def _failure(random: Random, kind: str, mode: str) -> tuple[str, str]:
    """How a bolt fails its rows, and the policy for an exception."""
    hows = {"pass columns": (NEVER, RAISES, RAISES), "pass at ticks": (NEVER,)}
    later = (NEVER, FAILS, FAILS)
    how = random.choice(hows.get(kind, later if kind in ACKS_LATER else (NEVER, RAISES, FAILS)))
    if how == RAISES:
        if mode == EFFECTIVELY_ONCE and random.random() < 0.2:
            return RAISES_ONCE, random.choice(("exit", "restart"))
        return RAISES, "fail"
    on_exception = random.choice(("fail", "restart", "stop", "exit"))
    if mode == ATLEAST_ONCE and how == FAILS and on_exception == "restart":
        on_exception = "fail"  # a source may emit it again without end: it is never abandoned
    return how, on_exception


def _storms(random: Random, name: str, source: str) -> Node:
    """Of one task, as `_windows`; ends are on timestamps, and the watermark is, too."""
    size = random.choice((300, 700, 1000))
    return Node(
        name, "storms", 1, source, random.choice(("global", "fields")),
        size_ms=size, slide_ms=random.choice((size, 500, 300)), lag_ms=random.choice((0, 150, 200)),
        has_late_stream=random.random() < 0.5,
    )  # fmt: skip


def _windows(random: Random, name: str, source: str) -> Node:
    """Of one task, so that lateness depends only on the spout's order."""
    size = random.choice((300, 700, 1000))
    return Node(
        name, "windows", 1, source, random.choice(("global", "fields")),
        size_ms=size, slide_ms=random.choice((size, size // 2)),
        lag_ms=random.choice((0, 200)), lateness_ms=random.choice((0, 500)),
        has_late_stream=random.random() < 0.5,
    )  # fmt: skip


def _counts(random: Random, name: str, source: str) -> Node:
    """Of one task, so that windows depend only on the spout's order."""
    length = random.randint(1, 6)
    slide = random.choice((length, random.randint(1, length)))
    grouping = random.choice(("global", "fields"))
    return Node(name, "counts", 1, source, grouping, length=length, slide=slide)


def _batch_windows(random: Random, name: str, source: Node) -> Node:
    size, par = random.choice((300, 700, 1000)), random.randint(1, 2)
    slide = random.choice((size, size // 2 if size != 700 else 350))
    if source.sends == DIRECT:
        par = 1  # the rows of a key are not of one task
    return Node(
        name, "batch windows", par, source.name, "fields", "fields",
        size_ms=size, slide_ms=slide, lag_ms=LONG_MS,
    )  # fmt: skip


# --- building -------------------------------------------------------------------------------------


def is_window(part: Part, component: str) -> bool:
    """Whether a component of a part is a window."""
    return any(each.name == component and each.kind in WINDOWS for each in part.nodes)


def config_of(part: Part, results: str) -> dict[str, Any]:
    return {
        "test.results": results, "test.seed": f"{part.name} {part.types}", "test.rows": part.rows,
        "test.types": list(part.types), "test.names": part.names, "test.time": part.time,
        "test.typed": part.is_typed,
    }  # fmt: skip


def builder(given: Drawn, results: str) -> TopologyBuilder:
    """All topologies of a round in one builder."""
    made = TopologyBuilder(f"drawn{given.seed}")
    nodes = [each for part in given.parts for each in _add(made, part, config_of(part, results))]
    letters = given.letters
    if letters == TO_FILES:
        letters = f"file:{results}/letters"
    elif letters == TO_A_BOLT:
        made.add_bolt(
            LETTERS,
            components.Letters,
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
    spout = f"{part.name}-spout"
    specs: dict[str, Any] = {}
    specs[spout] = made.add_spout(
        spout, SPOUTS[part.spout], part.spout_par, {**config, **_sending(part, spout)},
        optional_outputs=_outputs(part, part.spout_sends, is_typed=part.is_typed),
    )  # fmt: skip
    for node in part.nodes:
        inputs = _inputs(part, specs, node.source, node.grouping, node.side_grouping)
        more = {
            **_sending(part, node.name),
            "test.how": node.how,
            "test.emits.first": node.emits_first,
            "topology.bolt.on.exception": node.on_exception,
        }
        if node.kind in COROUTINES:
            more["topology.async.capacity"] = node.capacity
            more["topology.async.ordered"] = node.is_ordered
        if node.kind in TICKING:
            more["topology.tick.tuple.freq.secs"] = 1
        is_typed = part.is_typed or node.kind == "pass columns"
        outs = _outputs(part, node.sends, is_typed=is_typed)
        if node.kind in WINDOWS:
            more = _window_config(node)
            outs = _window_outputs(node)
        specs[node.name] = made.add_bolt(
            node.name, (BOLTS | WINDOWS)[node.kind], node.par, inputs, {**config, **more}, outs
        )
    for component, par, grouping in part.looks:
        by = (
            "key"
            if is_window(part, component) and grouping not in ("shuffle", "global")
            else grouping
        )
        inputs = _inputs(part, specs, component, by, by)
        if any(each.name == component and each.has_late_stream for each in part.nodes):
            inputs[specs[component][LATE]] = Grouping.SHUFFLE
        made.add_bolt(f"{component}-seen", components.Seen, par, inputs, config)
    return [specs[node.name] for node in part.nodes]


def _sending(part: Part, component: str) -> dict[str, Any]:
    """A component's config about its readers."""
    return {"test.sends": part.sends(component), "test.readers": part.readers(component)}


def _outputs(part: Part, sends: str, *, is_typed: bool) -> list[Any]:
    fields = part.fields if is_typed else list(part.fields)
    return [Stream(fields, each, each == CHOSEN) for each in STREAMS[sends]]


def _inputs(
    part: Part, specs: dict[str, Any], source: str, grouping: str, side: str
) -> dict[Any, Any]:
    """All streams of a source."""
    kinds = {DEFAULT: grouping, SIDE: side, CHOSEN: "direct"}
    streams = STREAMS[part.sends(source)]
    return {specs[source][each]: grouping_of(kinds[each]) for each in streams}


def _window_outputs(node: Node) -> list[Any]:
    if node.kind == "batch windows":
        numbers = dict.fromkeys(("start_ms", "end_ms", "total", "rows"), "bigint")
        return [Stream({"key": "bigint", **numbers})]
    return ["key", "start", "end", "numbers", Stream(["late_tuple"], LATE)]


def _window_config(node: Node) -> dict[str, Any]:
    if node.kind == "counts":
        return {
            "topology.bolts.window.length.count": node.length,
            "topology.bolts.window.sliding.interval.count": node.slide,
        }
    late = {"topology.bolts.late.tuple.stream": LATE} if node.has_late_stream else {}
    if node.kind == "storms":
        return {
            "topology.bolts.window.length.duration.ms": node.size_ms,
            "topology.bolts.window.sliding.interval.duration.ms": node.slide_ms,
            "topology.bolts.tuple.timestamp.field.name": "time",
            "topology.bolts.tuple.timestamp.max.lag.ms": node.lag_ms,
            **late,
        }
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
    if kind == "custom":
        return Grouping.custom(ByNumber())
    if kind in (*KINDS, "direct"):
        return getattr(Grouping, kind.upper())
    return Grouping.fields(kind)


def spec_of(given: Drawn, results: Path) -> TopologySpec:
    made = builder(given, str(results))
    kind: Any = TopologyType(made.topology_name, (Topology,), made._construct_topo_class_dict())
    return replace(kind.to_spec(), search_paths=(HERE, str(Path(HERE).parents[1])))


if __name__ == "__main__":
    builder(drawn(int(os.environ["DRAWN_SEED"])), os.environ["DRAWN_RESULTS"]).build_and_submit()
