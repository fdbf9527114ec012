"""Expected results of drawn topologies, in plain Python, and differences from the actual ones."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drawn_components import (
    BATCH,
    DEFAULT,
    DIRECT,
    KEYS,
    LATE,
    SIDE,
    emitted_row,
    is_misfit,
    stream_of,
    time_of,
)
from drawn_passing import FAILS, RAISES, fails
from drawn_topologies import (
    BY_COLUMNS,
    COROUTINES,
    LETTERS,
    STREAMS,
    TICKING,
    Node,
    Part,
    config_of,
    is_window,
)
from drawn_values import as_column, as_tuple, shown
from heron_core.algorithms.event_windows.values import NO_WATERMARK
from heronpy_compat.windows import Sliding, Trigger, Tumbling
from tests.property.plain_windows import PlainOperator

FAILED_BY = "failed by the component"
"""A letter about a tuple failed by its bolt."""

Found = Counter[tuple[str, ...]]
"""(component, stream, value, …) -> how often, values as `shown`."""


@dataclass(slots=True)
class Expected:
    seen: Found
    refused: list[int]
    letters: Found
    failed: Counter[str]
    late: Counter[str]
    roots: set[tuple[Any, ...]]
    """Batches of the spout, for one reader on a direct stream, with a row abandoned by a bolt."""
    is_coupled: bool = False
    """Whether more may fail: a bolt's results of a batch have all roots of the batch."""


def expected(part: Part, letters: str) -> Expected:
    """In plain Python."""
    spout = f"{part.name}-spout"
    config = config_of(part, "")
    numbers = [each for each in range(part.rows) if not is_misfit(config, each)]
    refused = [each for each in range(part.rows) if is_misfit(config, each)]
    rows = {each: emitted_row(config, each) for each in numbers}
    as_columns = {number: _columns(part, row) for number, row in rows.items()}
    found = Expected(Counter(), refused, Counter(), Counter(), Counter(), set())
    sent: dict[str, tuple[Counter[int], bool]] = {
        spout: (Counter(numbers), part.spout == BY_COLUMNS)
    }
    for node in part.nodes:
        if node.kind == "windows":
            _expect_windows(found, part, node, rows)
            continue
        if node.kind == "storms":
            _expect_storms(found, part, node, rows)
            continue
        if node.kind == "counts":
            _expect_counts(found, node, numbers)
            continue
        if node.kind == "batch windows":
            _expect_batch_windows(found, node, sent[node.source][0])
            continue
        got, was_columnar = sent[node.source]
        sends = part.sends(node.source)
        got = Counter({n: t * _copies(node, stream_of(sends, n)) for n, t in got.items()})
        is_columnar = node.kind == "pass columns"
        if node.how in (RAISES, FAILS):
            found.is_coupled |= _is_behind_batches(part, node)
        bad = Counter({n: times for n, times in got.items() if _abandons(node, n)})
        # A coroutine with a failed tuple sends nothing.
        is_sent = node.emits_first and node.kind not in COROUTINES
        sent[node.name] = (got if is_sent else got - bad, is_columnar or was_columnar)
        found.failed[node.name] = bad.total()
        found.roots |= {_root_of(part, config, node, each) for each in bad}
        shapes = as_columns if is_columnar or was_columnar else rows
        for number, times in bad.items() if letters else ():
            said = f"Misfortune: row {number}" if node.how == RAISES else FAILED_BY
            text = (
                node.name,
                node.source,
                stream_of(sends, number),
                said,
                *map(shown, map(as_tuple, shapes[number])),
            )
            found.letters[text] += times
    for name, (got, is_columnar) in sent.items():
        shapes, sends = as_columns if is_columnar else rows, part.sends(name)
        for number, times in got.items():
            stream = stream_of(sends, number)
            found.seen[name, stream, *map(shown, map(as_tuple, shapes[number]))] += times
    return found


def _is_behind_batches(part: Part, node: Node) -> bool:
    """Whether a bolt with batches is before a bolt."""
    source = next((each for each in part.nodes if each.name == node.source), None)
    return source is not None and (
        source.kind == "pass columns" or _is_behind_batches(part, source)
    )


def _root_of(
    part: Part, config: Mapping[str, Any], node: Node, number: int
) -> tuple[str, int, *tuple[int, ...]]:
    """The reader of a spout's emit, if named, and the numbers emitted together."""
    reader = _first_reader(part, node) if part.spout_sends == DIRECT else ""
    if part.spout != BY_COLUMNS:
        return (reader, number)
    index, tasks = number % part.spout_par, part.spout_par
    first = index + (number - index) // (BATCH * tasks) * BATCH * tasks
    stream = stream_of(part.spout_sends, number)
    together = [
        each for each in range(first, part.rows, tasks)[:BATCH]
        if stream_of(part.spout_sends, each) == stream
    ]  # fmt: skip
    if any(is_misfit(config, each) for each in together):
        return (reader, number)
    return (reader, together[0], *together[1:])


def _first_reader(part: Part, node: Node) -> str:
    """The spout's reader on the way of its rows to a bolt."""
    source = next((each for each in part.nodes if each.name == node.source), None)
    return node.name if source is None else _first_reader(part, source)


def _columns(part: Part, row: Sequence[Any]) -> list[Any]:
    return [as_column(each, kind) for each, kind in zip(row, part.fields.values(), strict=True)]


def _copies(node: Node, stream: str) -> int:
    grouping = {DEFAULT: node.grouping, SIDE: node.side_grouping}.get(stream)
    return node.par if grouping == "all" else 1


def _abandons(node: Node, number: int) -> bool:
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


def _expect_storms(found: Expected, part: Part, node: Node, rows: Mapping[int, list[Any]]) -> None:
    """(end - size, end]; each stream is a source of watermarks of its own."""
    marks = dict.fromkeys(STREAMS[part.spout_sends], NO_WATERMARK)
    watermark, inside = NO_WATERMARK, defaultdict[int, list[int]](list)
    for number, row in rows.items():
        at, stream = time_of(number), stream_of(part.spout_sends, number)
        marks[stream] = max(marks[stream], at - node.lag_ms)
        if at >= watermark:
            first = -(-at // node.slide_ms) * node.slide_ms
            for end in range(first, at + node.size_ms, node.slide_ms):
                inside[end].append(number)
        elif node.has_late_stream:
            found.seen[node.name, LATE, shown(as_tuple(row))] += 1
        else:
            found.late[node.name] += 1
        watermark = max(watermark, min(marks.values()))
    for end, numbers in inside.items():
        values = [0, end - node.size_ms, end, sorted(numbers)]
        found.seen[node.name, DEFAULT, *map(shown, values)] += 1


def _expect_counts(found: Expected, node: Node, numbers: Sequence[int]) -> None:
    """After each slide the last of them; the last window is cut off by the end."""
    for end in range(node.slide, len(numbers) + node.slide, node.slide):
        inside = list(numbers[max(0, end - node.length) : end])
        if inside:
            found.seen[node.name, "default", *map(shown, [0, 0, 0, inside])] += 1


def _expect_batch_windows(found: Expected, node: Node, got: Counter[int]) -> None:
    sums: Counter[tuple[int, int]] = Counter()
    rows: Counter[tuple[int, int]] = Counter()
    for number, times in got.items():
        last = time_of(number) // node.slide_ms * node.slide_ms
        for start in range(last, time_of(number) - node.size_ms, -node.slide_ms):
            sums[number % KEYS, start] += number * times
            rows[number % KEYS, start] += times
    for (key, start), count in (+rows).items():
        values = [key, start, start + node.size_ms, sums[key, start], count]
        found.seen[node.name, "default", *map(shown, values)] += 1


def _assigner(node: Node) -> Any:
    if node.slide_ms < node.size_ms:
        return Sliding(node.size_ms, node.slide_ms)
    return Tumbling(node.size_ms)


def differences(part: Part, results: Path, letters: str, has_acks: bool = True) -> Iterator[str]:
    """Differences of the tasks' files from the expected results, a line each. Without acks a window
    may come in parts (WINDOWS.md, the end of the sources): when the sources have ended, and later
    emits of a tick at the end."""
    wanted = expected(part, letters)
    lefts = [json.loads(each.read_text()) for each in results.glob(f"{part.name}-spout-[0-9].json")]
    refused = sorted(number for each in lefts for number in each["refused"])
    if refused != wanted.refused or len(lefts) != part.spout_par:
        yield f"{part.name}: refused {refused}, not {wanted.refused}, of {len(lefts)} spouts"
    by_task = [_seen(each) for each in results.glob(f"{part.name}-*-seen-[0-9].json")]
    total: Found = Counter()
    for each in by_task:
        total += each
    parted = frozenset() if has_acks else _behind_ticks(part)
    yield from _compared(f"{part.name}: seen", _whole(total, parted), wanted.seen)
    yield from _divided(part, results)


def _seen(file: Path) -> Found:
    return Counter({tuple(key): times for key, times in json.loads(file.read_text())["seen"]})


def _behind_ticks(part: Part) -> Set[str]:
    """The windows of batches whose rows a bolt keeps until a tick."""
    nodes = {node.name: node for node in part.nodes}

    def is_behind(name: str) -> bool:
        node = nodes.get(name)
        return node is not None and (node.kind in TICKING or is_behind(node.source))

    names = (node.name for node in part.nodes if node.kind == "batch windows")
    return {name for name in names if is_behind(name)}


def _whole(found: Found, parted: Set[str]) -> Found:
    """The parts of each window of these components, as one result."""
    total: Found = Counter()
    sums: dict[tuple[str, ...], list[int]] = {}
    for row, times in found.items():
        if row[0] not in parted:
            total[row] += times
            continue
        name, stream, key, start, end, *values = row
        of_window = sums.setdefault((name, stream, key, start, end), [0, 0])
        for at, value in enumerate(values):
            of_window[at] += times * int(value.removeprefix("int "))
    for window, numbers in sums.items():
        total[*window, *map(shown, numbers)] += 1
    return total


def _compared(what: str, found: Found, wanted: Found) -> Iterator[str]:
    if found != wanted:
        lacks, more = list((wanted - found).items()), list((found - wanted).items())
        yield f"{what}: {len(lacks)} lack, {len(more)} too much: {lacks[:2]}, but {more[:2]}"


def _divided(part: Part, results: Path) -> Iterator[str]:
    """Equal keys at two tasks of one bolt."""
    at = {name: number + 2 for number, name in enumerate(part.fields)}
    at["custom"] = at["number"]
    for component, par, grouping in part.looks:
        if grouping not in at or par == 1 or is_window(part, component):
            continue
        files = [results / f"{component}-seen-{index}.json" for index in range(par)]
        keys = [
            {row[at[grouping]] for row in _seen(each) if row[1] in (DEFAULT, SIDE)}
            for each in files if each.exists()
        ]  # fmt: skip
        if len(keys) == par and set.intersection(*keys):
            yield f"{component}: {set.intersection(*keys)} of {grouping} came to all tasks"


def letters_found(results: Path) -> Found:
    """Letters received by the bolt of letters."""
    total: Found = Counter()
    for each in results.glob(f"{LETTERS}-[0-9].json"):
        total += _seen(each)
    return total
