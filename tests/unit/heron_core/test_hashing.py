"""The hash of fields grouping: equal values meet in one task, in every process, for ever."""

import datetime
import decimal
import enum
import fractions
import subprocess
import sys
import uuid
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heron_core.algorithms.hashing import NotHashable, canonical, slot, stable_hash


class Colour(enum.Enum):
    RED = 1
    GREEN = 2


class Level(enum.IntEnum):
    HIGH = 3


class Name(str):
    __slots__ = ()


Point = namedtuple("Point", "x y")


@dataclass(frozen=True)
class Order:
    number: int
    name: str


PINNED: list[tuple[list[Any], int]] = [
    (["storm"], 2838070100),
    (["heron"], 3542797560),
    ([1], 247153452),
    ([None], 2257772241),
    ([b"bytes"], 1254095569),
    (["a", 1], 3723894998),
    ([(1, "x")], 1998709803),
    ([datetime.date(2026, 11, 21)], 1844725582),
    ([1.5], 4168559240),
]

UTC = datetime.UTC
EAST = datetime.timezone(datetime.timedelta(hours=2))


@pytest.mark.parametrize(("values", "hashed"), PINNED, ids=repr)
def test_hash_is_pinned(values: list[Any], hashed: int) -> None:
    # Saved state is split by this hash: a release that changes it would lose every key's state.
    assert stable_hash(values) == hashed


def test_hash_is_the_same_in_a_process_with_another_hash_seed() -> None:
    # The emitters of one stream run in many processes, and str hashes are salted in each.
    code = (
        "from heron_core.algorithms.hashing import stable_hash\n"
        "print(stable_hash(['storm']), stable_hash([{'a', 'b', 'c'}]),"
        " stable_hash([{'x': 1, 'y': 2}]))"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    here = [stable_hash(["storm"]), stable_hash([{"a", "b", "c"}]), stable_hash([{"y": 2, "x": 1}])]
    assert told == {" ".join(map(str, here)) + "\n"}


@pytest.mark.parametrize(
    "equal",
    [
        (1, 1.0, True, decimal.Decimal(1), fractions.Fraction(1), 1 + 0j),
        (0, -0.0, False, decimal.Decimal("-0")),
        (0.5, decimal.Decimal("0.50"), fractions.Fraction(1, 2)),
        (2**70, float(2**70), decimal.Decimal(2**70)),
        (3, Level.HIGH),
        ("n", Name("n")),
        (b"ab", bytearray(b"ab")),
        ((1, 2), Point(1, 2), (True, 2.0)),
        ({1, 2}, frozenset({2, 1}), {2.0, True}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1.0}, OrderedDict(b=2, a=1)),
        (
            datetime.datetime(2026, 1, 1, 12, tzinfo=UTC),
            datetime.datetime(2026, 1, 1, 14, tzinfo=EAST),
        ),
        (datetime.timedelta(days=1), datetime.timedelta(hours=24)),
        (Order(1, "a"), Order(1, "a")),
        (float("inf"), decimal.Decimal("Infinity")),
    ],
    ids=repr,
)
def test_equal_values_hash_alike(equal: tuple[Any, ...]) -> None:
    # The values 1 and 1.0 of two spouts are equal keys: their counts belong together.
    assert all(each == equal[0] for each in equal)
    assert len({stable_hash([each]) for each in equal}) == 1
    assert len({stable_hash(["k", each]) for each in equal}) == 1


def test_different_values_differ() -> None:
    # Nested or joined values must not run into each other: ("a", "bc") is not ("ab", "c").
    values: list[Any] = [
        None, 0, 1, -1, 1.5, "", "1", b"1", (), (1,), [[1]], {1}, {1: 1}, {"a": 1}, "a", b"a",
        datetime.date(2026, 1, 1), datetime.datetime(2026, 1, 1),
        datetime.datetime(2026, 1, 1, tzinfo=UTC), datetime.time(0), datetime.timedelta(0),
        uuid.UUID(int=1), Colour.RED, Colour.GREEN, Order(1, "a"), float("nan"), float("inf"),
        float("-inf"), 1j, fractions.Fraction(1, 3),
    ]  # fmt: skip
    assert len({canonical(each) for each in values}) == len(values)
    assert stable_hash(["a", "bc"]) != stable_hash(["ab", "c"])
    assert stable_hash(["a"]) == stable_hash(("a",))


def test_lone_surrogates_can_be_grouped_by() -> None:
    assert stable_hash(["\ud800"]) != stable_hash(["\ud801"])


def test_what_has_no_canonical_form_is_refused_by_its_type() -> None:
    with pytest.raises(NotHashable, match=r"builtins\.object cannot be grouped by: use str"):
        stable_hash([object()])


@pytest.mark.parametrize("slots", [1, 2, 3, 7, 64])
def test_slots_are_equal_ranges(slots: int) -> None:
    # A task split later hands over one range, so the ranges have to be in order.
    assert slot(0, slots) == 0
    assert slot(2**32 - 1, slots) == slots - 1
    edges = [slot(hashed, slots) for hashed in range(0, 2**32, 2**22)]
    assert edges == sorted(edges)
    assert set(edges) == set(range(slots))


@pytest.mark.parametrize("keys", [[f"user-{n}" for n in range(4000)], list(range(4000))], ids=len)
def test_keys_spread_evenly(keys: list[Any]) -> None:
    # Consecutive ids are the most common keys, and the worst for a linear checksum.
    counts = [0] * 8
    for key in keys:
        counts[slot(stable_hash([key]), 8)] += 1
    assert max(counts) < 1.3 * len(keys) / 8
    assert min(counts) > 0.7 * len(keys) / 8


@given(st.integers() | st.decimals(allow_nan=False, allow_infinity=False) | st.fractions())
def test_a_number_that_is_a_float_hashes_as_that_float(number: Any) -> None:
    try:
        as_float = float(number)
    except OverflowError:
        return
    assert (stable_hash([number]) == stable_hash([as_float])) or number != as_float


def test_a_value_that_goes_too_deep_is_refused_in_one_line() -> None:
    # A grouping by parsed JSON, one day nested a thousand deep.
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    for values in ([value], [1, value]):
        with pytest.raises(NotHashable, match="deeply nested"):
            stable_hash(values)
