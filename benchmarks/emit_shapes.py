"""CPU time of one emit by the shape of the output and by the number of different keys.

    python -m benchmarks.emit_shapes
    python -m benchmarks.emit_shapes --keys 1000,10000000

One instance without processes around it, compiled or not as `heronpy --version` says. Prints
nanoseconds of CPU for each emit of a bolt (anchored) and of a spout, and the ratio to the plain
shape: one subscription by shuffle, a list of two texts. The budget of each shape is 1.5 times the
plain one. An emit with several copies (ALL, several subscriptions) is divided by its copies.
"""

import argparse
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import process_time_ns
from typing import Any

from heron_core import native
from heron_core.topology import GroupingKind, InputSpec, StreamSpec
from tests.unit.heron_instance.instance_support import (
    READERS,
    SHUFFLE,
    Made,
    Middle,
    Source,
    batch,
    grouped,
    make,
    reads,
)

EMITS = 3000
"""Of one measurement: fewer than a batch of output has room for at once."""
ROUNDS = 7
BUDGET = 1.5
FIELDS = ("a", "b")
PLAIN = ["word1", "value"]
NAMED = (StreamSpec("default", FIELDS), StreamSpec("named", FIELDS))
ROOT = ((6 << 44) + 1, 77)
KEYS = (1000, 100_000, 1_000_000, 10_000_000)
DIFFERENT_KEYS = 200_000
"""Emitted of the number of keys."""

Emits = Callable[[Any, list[Any], Any], None]


def plain(emit: Any, rows: list[Any], tup: Any) -> None:
    """A bolt's usual call."""
    for row in rows:
        emit(row, anchors=[tup])


def by_name(emit: Any, rows: list[Any], tup: Any) -> None:
    """To a stream that is named."""
    for row in rows:
        emit(row, stream="named", anchors=[tup])


def with_ids(emit: Any, rows: list[Any], tup: Any) -> None:
    """The tasks are asked for."""
    for row in rows:
        emit(row, anchors=[tup], need_task_ids=True)


def without_anchors(emit: Any, rows: list[Any], tup: Any) -> None:
    """A spout's call without an id, and a bolt's that does not anchor."""
    for row in rows:
        emit(row)


def with_tuple_id(emit: Any, rows: list[Any], tup: Any) -> None:
    """A spout's call with an id."""
    for at, row in enumerate(rows):
        emit(row, tup_id=at)


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of output: subscriptions, streams, the call, copies of each tuple."""

    name: str
    inputs: tuple[InputSpec, ...] = (reads(SHUFFLE),)
    outputs: tuple[StreamSpec, ...] = (StreamSpec("default", FIELDS),)
    emits: Emits = plain
    copies: int = 1
    row: Any = field(default_factory=lambda: list(PLAIN))
    kind: type = Middle


def by_fields(*fields: str) -> InputSpec:
    """A subscription by fields."""
    return reads(grouped(GroupingKind.FIELDS, *fields))


SHAPES = (
    Shape("shuffle"),
    Shape("shuffle, values in a tuple", row=tuple(PLAIN)),
    Shape("fields(1)", (by_fields("a"),)),
    Shape("fields(2)", (by_fields("a", "b"),)),
    Shape("partial key", (reads(grouped(GroupingKind.PARTIAL_KEY, "a")),)),
    Shape("local or shuffle", (reads(grouped(GroupingKind.LOCAL_OR_SHUFFLE)),)),
    Shape("GLOBAL", (reads(grouped(GroupingKind.GLOBAL)),)),
    Shape("ALL", (reads(grouped(GroupingKind.ALL)),), copies=READERS),
    Shape("a named stream", (reads(SHUFFLE, "named"),), NAMED, by_name),
    Shape("two subscriptions", (reads(SHUFFLE), by_fields("a")), copies=2),
    Shape("not anchored", emits=without_anchors),
    Shape("task ids asked for", emits=with_ids),
    Shape("spout, with an id", emits=with_tuple_id, kind=Source),
    Shape("spout, without an id", emits=without_anchors, kind=Source),
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Raw)
    parser.add_argument("--keys", type=_numbers, default=KEYS, help="different keys, with commas")
    options = parser.parse_args()
    print(f"hot path: {native.HOT_PATH}\n")
    print("| shape | ns an emit and copy, not tracked | ratio | tracked | ratio |")
    print("| --- | ---: | ---: | ---: | ---: |")
    base = [emit_ns(SHAPES[0], is_tracked) for is_tracked in (False, True)]
    for shape in SHAPES:
        print(line(shape.name, [emit_ns(shape, tracked) for tracked in (False, True)], base))
    for keys in options.keys:
        print(line(f"fields(1), {keys:,} keys", list(of_keys(keys)), base))


def line(name: str, found: list[float], base: list[float]) -> str:
    """A row of the table; ratios above the budget are marked."""
    cells = [name]
    for ns, plain_ns in zip(found, base, strict=True):
        ratio = ns / plain_ns
        cells += [f"{ns:.0f}", f"{ratio:.2f}{'' if ratio <= BUDGET else ' (above)'}"]
    return f"| {' | '.join(cells)} |"


def of_keys(keys: int) -> Iterator[float]:
    """Keys in random order; each emit is another key's with high probability."""
    chosen = random.Random(1)
    rows = [[f"word{chosen.randrange(keys)}", "value"] for _ in range(DIFFERENT_KEYS)]
    for is_tracked in (False, True):
        yield emit_ns(Shape("", (by_fields("a"),)), is_tracked, rows)


def emit_ns(shape: Shape, is_tracked: bool, rows: list[Any] | None = None) -> float:
    """CPU time for each emit and copy: the shortest of several measurements."""
    made = make(shape.kind, *shape.inputs, outputs=shape.outputs, tracked=is_tracked)
    emit, tup = made.component.emit, _input_of(made, shape.kind, is_tracked)
    all_rows = rows or [shape.row] * EMITS
    best = float("inf")
    for _ in range(ROUNDS):
        for start in range(0, len(all_rows), EMITS):
            some = all_rows[start : start + EMITS]
            before = process_time_ns()
            shape.emits(emit, some, tup)
            best = min(best, (process_time_ns() - before) / len(some))
            made.sent.clear()
    return best / shape.copies


def _input_of(made: Made, kind: type, is_tracked: bool) -> Any:
    """The tuple that a bolt has received and anchors to."""
    if kind is Source:
        return None
    received: list[Any] = []
    made.component.script = received.append
    made.core.begin(True, 0.0)
    made.core.deliver(batch(["x"], roots=[ROOT] if is_tracked else ()))
    return received[0]


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in text.split(","))


class _Raw(argparse.RawDescriptionHelpFormatter):
    """Keeps the lines of the description."""


if __name__ == "__main__":
    main()
