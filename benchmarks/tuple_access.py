"""Cost of tuples with named fields: CPU time for making and reading them.

    python -m benchmarks.tuple_access

Prints nanoseconds of CPU a tuple: a class without names, the engine's, and each way to read a
value. The first two lines must be alike: code without names pays nothing.
"""

import gc
from collections.abc import Callable
from itertools import repeat
from time import process_time
from typing import Any

from heron_frontends.adapters.tuple_layout import TupleLayout
from heron_instance.input.tuples import tuple_class

TUPLES = 200_000
ROUNDS = 9
NAMED = tuple_class({("words", "default"): ("word", "count")})


def made(kind: Any) -> list[Any]:
    """Tuples as a batch's are made (heron_instance.input.bolt)."""
    values = [["storm", 1] for _ in range(TUPLES)]
    items = zip(
        repeat(0), repeat("words"), repeat("default"), repeat(1), values, repeat(0.0), repeat(None)
    )
    return list(map(kind, items))


def by_position(rows: list[Any]) -> None:
    """`tup.values[0]`."""
    for tup in rows:
        tup.values[0]


def by_brackets(rows: list[Any]) -> None:
    """`tup["word"]`."""
    for tup in rows:
        tup["word"]


def by_attribute(rows: list[Any]) -> None:
    """`tup.word`."""
    for tup in rows:
        tup.word  # noqa: B018


def nanoseconds(call: Callable[[], object]) -> float:
    """CPU time for each tuple; the fastest of several rounds, without disturbance."""
    found = []
    gc.collect()
    gc.disable()
    for _ in range(ROUNDS):
        before = process_time()
        call()
        found.append(process_time() - before)
    gc.enable()
    return min(found) / TUPLES * 1e9


def main() -> None:
    """Measure and print."""
    plain, named = made(TupleLayout), made(NAMED)
    for label, first, second in (
        ("made", lambda: made(TupleLayout), lambda: made(NAMED)),
        ("tup.values[0]", lambda: by_position(plain), lambda: by_position(named)),
    ):
        without, having = nanoseconds(first), nanoseconds(second)
        print(f"{label:14} without names {without:6.1f} ns, with {having:6.1f}")
    print(f'tup["word"]    {nanoseconds(lambda: by_brackets(named)):6.1f} ns')
    print(f"tup.word       {nanoseconds(lambda: by_attribute(named)):6.1f} ns")


if __name__ == "__main__":
    main()
