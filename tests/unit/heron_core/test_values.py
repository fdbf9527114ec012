"""Values on their way: whatever Python type goes in comes out, or an error says which field."""

import datetime
import decimal
import enum
import fractions
import threading
import uuid
from collections import Counter, OrderedDict, namedtuple
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heron_core.errors import ValueNotSerialisable
from heron_core.wire.values import array_of, pack_fields, packer, unpack, unpacker


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    HIGH = 3


class Name(str):
    __slots__ = ()


Point = namedtuple("Point", "x y")


@dataclass(frozen=True)
class Order:
    number: int
    items: tuple[str, ...]


UTC = datetime.UTC


@pytest.mark.parametrize(
    "value",
    [
        None, True, 0, -1, 2**63, 2**64 - 1, -(2**63), 1.5, float("inf"), "", "wörter", b"\x00\xff",
        [], [1, [2]], {"a": 1}, {1: "x", b"k": None}, (), (1, (2, [3])), {1, 2}, frozenset({1}),
        {(1, 2): {3}}, datetime.datetime(2026, 11, 21, 3, 4, 5, 6),
        datetime.datetime(2026, 11, 21, tzinfo=UTC), datetime.date(2026, 11, 21),
        datetime.time(3, 4), datetime.timedelta(days=-1, microseconds=5), decimal.Decimal("1.10"),
        fractions.Fraction(1, 3), uuid.UUID(int=7), 1 + 2j, range(3), Colour.RED, Level.HIGH,
        Name("n"), Point(1, 2), Order(7, ("a",)), OrderedDict(a=1), Counter("aab"),
    ],
    ids=repr,
)  # fmt: skip
def test_value_and_type_come_back(value: Any) -> None:
    # A bolt gets the values of the previous bolt's emit: a tuple does not turn into a list.
    (found,) = unpack(packer()([value]))
    assert found == value
    assert type(found) is type(value)


def test_mutable_buffers_arrive_as_bytes() -> None:
    assert unpack(packer()([bytearray(b"ab"), memoryview(b"cd")])) == [b"ab", b"cd"]


def test_lambda_and_local_class_travel() -> None:
    # pickle cannot name such classes, cloudpickle includes them.
    (twice,) = unpack(packer()([lambda number: number * 2]))
    assert twice(21) == 42


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, 10**40, "\ud800", ["\udfff"], {2**70}])
def test_what_msgpack_refuses_takes_the_careful_way(value: Any) -> None:
    # Big ints of a hash, half a surrogate pair out of a broken JSON file.
    data = pack_fields(packer(), ["plain", value], "bolt", "default", ["a", "b"])
    assert unpack(data) == ["plain", value]


def test_deep_nesting_takes_the_careful_way() -> None:
    deep: list[Any] = []
    for _ in range(600):
        deep = [deep]
    data = pack_fields(packer(), [deep], "bolt", "default", ["tree"])
    (found,) = unpack(data)
    depth = 0
    while found:
        (found,), depth = found, depth + 1
    assert depth == 600


def test_what_cannot_travel_is_named() -> None:
    # The error of a log line at night has to say where to look: component, stream, field, type.
    with pytest.raises(ValueNotSerialisable) as caught:
        pack_fields(packer(), [1, threading.Lock()], "count", "errors", ["word", "guard"])
    told = str(caught.value)
    for part in ("count.errors", "'guard'", "lock"):
        assert part in told
    assert "\n" not in told


def test_packer_is_clean_after_a_failure() -> None:
    # One bad tuple must not leave half of itself in the buffer of the next.
    pack = packer()
    with pytest.raises(UnicodeEncodeError):
        pack(["half", "\ud800"])
    assert unpack(pack(["whole"])) == ["whole"]


def test_packer_takes_a_set_inside_a_set_of_another_packer_call() -> None:
    pack = packer()
    value = [(1, {frozenset({2, 3})}), "after"]
    assert unpack(pack(value)) == value


def test_array_of_parts_is_the_array_of_their_values() -> None:
    pack = packer()
    assert unpack(array_of([pack([1]), pack(["a", None])])) == [[1], ["a", None]]
    assert unpack(array_of([])) == []


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(), inner, max_size=4)
    ),
    max_leaves=10,
)


@given(plain)
def test_any_plain_value_comes_back(value: Any) -> None:
    data = pack_fields(packer(), [value], "c", "s", ["f"])
    assert unpack(data) == [value]
    assert repr(unpack(data)) == repr([value])


class Evil:
    """Runs code of its sender's choice when unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (pytest.fail, ("a pickle was opened",))


def test_a_topology_without_pickles_opens_none() -> None:
    # An attacker with the topology's key sends a batch of pickles, bare and in a tuple.
    plain = unpacker(pickles=False)
    for value in (Evil(), (1, {2: Evil()})):
        with pytest.raises(ValueError, match=r"topology\.values\.pickle"):
            plain(packer()([value]))
    assert plain(packer(pickles=False)([1, ("a", {2})])) == [1, ("a", {2})]


@pytest.mark.parametrize("value", [Order(7, ("a",)), 2**70, (Evil(),)], ids=["class", "int", "in"])
def test_a_topology_without_pickles_says_which_field_needs_one(value: Any) -> None:
    pack = packer(pickles=False)
    with pytest.raises(
        ValueNotSerialisable, match=r"a\.s: .* field 'y' .*topology\.values\.pickle"
    ):
        pack_fields(pack, [1, value], "a", "s", ["x", "y"], pickles=False)
