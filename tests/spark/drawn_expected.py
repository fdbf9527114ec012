"""What drawn topologies must give, in plain Python, and how what they gave differs from that."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drawn_components import BATCH, KEYS, LATE, emitted_row, is_misfit, time_of
from drawn_passing import FAILS, RAISES, fails
from drawn_topologies import (
    BY_COLUMNS,
    COROUTINES,
    LETTERS,
    Node,
    Part,
    config_of,
    is_window,
)
from drawn_values import as_column, as_tuple, shown
from heronpy_compat.windows import Sliding, Trigger, Tumbling
from tests.property.plain_windows import PlainOperator

FAILED_BY = "failed by the component"
"""What a letter says of a tuple that its bolt failed."""

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
    """Whether more may fail: what a bolt makes of a batch has all roots of that batch."""


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
        if node.kind == "counts":
            _expect_counts(found, node, numbers)
            continue
        if node.kind == "batch windows":
            _expect_batch_windows(found, node, sent[node.source][0])
            continue
        got, was_columnar = sent[node.source]
        got = Counter({n: times * _copies(node) for n, times in got.items()})
        is_columnar = node.kind == "pass columns"
        if node.how in (RAISES, FAILS):
            found.is_coupled |= _is_behind_batches(part, node)
        bad = Counter({n: times for n, times in got.items() if _gives_up(node, n)})
        # Of a coroutine that fails its tuple nothing is sent.
        is_sent = node.emits_first and node.kind not in COROUTINES
        sent[node.name] = (got if is_sent else got - bad, is_columnar or was_columnar)
        found.failed[node.name] = bad.total()
        found.roots |= {_root_of(part, config, each) for each in bad}
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


def _root_of(part: Part, config: Mapping[str, Any], number: int) -> tuple[int, ...]:
    """The numbers that a spout emits together with this one."""
    if part.spout != BY_COLUMNS:
        return (number,)
    index, tasks = number % part.spout_par, part.spout_par
    first = index + (number - index) // (BATCH * tasks) * BATCH * tasks
    together = range(first, part.rows, tasks)[:BATCH]
    return (number,) if any(is_misfit(config, each) for each in together) else tuple(together)


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
    at["custom"] = at["number"]
    for component, par, grouping in part.looks:
        if grouping not in at or par == 1 or is_window(part, component):
            continue
        files = [results / f"{component}-seen-{index}.json" for index in range(par)]
        keys = [
            {row[at[grouping]] for row in _seen(each) if row[1] == "default"}
            for each in files if each.exists()
        ]  # fmt: skip
        if len(keys) == par and set.intersection(*keys):
            yield f"{component}: {set.intersection(*keys)} of {grouping} came to all tasks"


def letters_found(results: Path) -> Found:
    """What the bolt of letters has got."""
    total: Found = Counter()
    for each in results.glob(f"{LETTERS}-[0-9].json"):
        total += _seen(each)
    return total
