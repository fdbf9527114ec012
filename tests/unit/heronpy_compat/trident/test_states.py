"""T1: what each kind of map state stores, and what becomes of replays."""

from collections.abc import Sequence
from typing import Any

import pytest

from heron_api.run_store import MemoryRunStore
from heronpy_compat.trident import (
    NonTransactionalMap,
    NonTransactionalSerializer,
    OpaqueMap,
    OpaqueSerializer,
    OpaqueValue,
    SnapshottableMap,
    TransactionalMap,
    TransactionalSerializer,
    TransactionalValue,
    TridentError,
)
from heronpy_compat.trident.execution.numbered_records import NumberedRecords
from heronpy_compat.trident.state.journal import KeyJournal
from heronpy_compat.trident.state.memory_map_state import MemoryMapState, RecordedMap

KEY = ("man",)


class Backing(dict[tuple[Any, ...], Any]):
    """A backing map of a dict."""

    def multi_get(self, keys: Sequence[Any]) -> list[Any]:
        return [self.get(tuple(key)) for key in keys]

    def multi_put(self, keys: Sequence[Any], values: Sequence[Any]) -> None:
        self.update(zip(map(tuple, keys), values, strict=True))


def add(number: int) -> Any:
    return lambda before: (before or 0) + number


def apply(state: Any, txid: int, *numbers: int, key: tuple[Any, ...] = KEY) -> int:
    state.discard_attempt(txid)
    state.begin_commit(txid)
    for number in numbers:
        (value,) = state.multi_update([key], [add(number)])
    state.commit(txid)
    return int(value)


def test_a_transactional_state_skips_a_batch_that_it_has() -> None:
    """Storm's example: man, dog and apple with the txids of their last batches."""
    backing = Backing({KEY: TransactionalValue(1, 3), ("dog",): TransactionalValue(3, 4)})
    state = TransactionalMap.build(backing)
    assert apply(state, 3, 2) == 5
    assert apply(state, 3, 1, key=("dog",)) == 4
    assert backing == {KEY: TransactionalValue(3, 5), ("dog",): TransactionalValue(3, 4)}


def test_an_opaque_state_applies_a_batch_that_it_has_to_the_value_before() -> None:
    """Storm's example: value 4, before 1, txid 2."""
    backing = Backing({KEY: OpaqueValue(2, 4, 1)})
    assert apply(OpaqueMap.build(backing), 3, 2) == 6
    assert backing[KEY] == OpaqueValue(3, 6, 4)
    backing[KEY] = OpaqueValue(2, 4, 1)
    assert apply(OpaqueMap.build(backing), 2, 2) == 3
    assert backing[KEY] == OpaqueValue(2, 3, 1)


def test_an_opaque_state_refuses_a_batch_that_is_behind() -> None:
    state = OpaqueMap.build(Backing({KEY: OpaqueValue(2, 4, 1)}))
    with pytest.raises(TridentError, match="transaction 1 is behind"):
        apply(state, 1, 2)


def test_a_non_transactional_state_counts_each_attempt() -> None:
    state = NonTransactionalMap.build(Backing())
    assert [apply(state, 1, 2), apply(state, 1, 2)] == [2, 4]


@pytest.mark.parametrize("kind", [NonTransactionalMap, TransactionalMap, OpaqueMap])
def test_two_updates_of_a_key_in_one_batch_both_count(kind: Any) -> None:
    state = kind.build(Backing())
    assert apply(state, 1, 2, 3) == 5
    assert apply(state, 2, 4, 5) == 14
    state.begin_commit(3)
    assert state.multi_update([KEY, KEY], [add(1), add(1)]) == [15, 16]


def test_a_key_that_only_a_failed_attempt_has_written_is_set_back() -> None:
    """A tuple of an opaque batch moves to the next one: Storm counts it twice."""
    backing, store = Backing(), MemoryRunStore()

    def state() -> OpaqueMap:
        opaque = OpaqueMap(backing)
        opaque.journal = KeyJournal(NumberedRecords(store, "journal", 1))
        return opaque

    apply(state(), 1, 5)
    apply(state(), 2, 1)
    successor = state()
    assert successor.discard_attempt(2)
    assert successor.multi_get([KEY]) == [5]
    assert not successor.discard_attempt(2) or successor.multi_get([KEY]) == [5]
    apply(successor, 2, 7, key=("dog",))
    assert apply(successor, 3, 1) == 6


@pytest.mark.parametrize("kind", ["opaque", "transactional", "non-transactional"])
def test_a_map_in_memory_survives_its_process(kind: str) -> None:
    store = MemoryRunStore()

    def successor(born_ms: int) -> MemoryMapState:
        return MemoryMapState(RecordedMap(NumberedRecords(store, "state", born_ms)), kind)

    state = successor(1)
    for txid in range(1, 30):
        assert apply(state, txid, 1, key=(f"k{txid % 3}",)) == (txid + 2) // 3
    again = successor(2)
    keys = [("k0",), ("k1",), ("k2",)]
    assert again.multi_get(keys) == state.multi_get(keys) == [9, 10, 10]
    assert sorted(again.get_tuples()) == [["k0", 9], ["k1", 10], ["k2", 10]]
    expected = 11 if kind == "non-transactional" else 10
    assert apply(again, 29, 1, key=("k2",)) == expected
    # At most as many records of changes as there are keys, and one of all.
    assert len(store.names("state")) <= 4


def test_a_process_that_wakes_up_writes_beside_its_successor() -> None:
    store = MemoryRunStore()
    NumberedRecords(store, "records", 2).put(7, "of the successor")
    NumberedRecords(store, "records", 1).put(7, "of the sleeper")
    assert NumberedRecords(store, "records", 3).get(7) == "of the successor"


def test_a_state_of_one_value() -> None:
    state = SnapshottableMap(OpaqueMap.build(Backing()))
    assert state.get() is None
    state.begin_commit(1)
    assert state.update(add(3)) == 3
    state.commit(1)
    state.set(9)
    assert state.get() == 9
    with pytest.raises(TridentError, match="cannot be listed"):
        state.get_tuples()


@pytest.mark.parametrize(
    ("serializer", "stored"),
    [
        (NonTransactionalSerializer(), {"a": [1, None]}),
        (TransactionalSerializer(), TransactionalValue(7, ("x", 1))),
        (OpaqueSerializer(), OpaqueValue(7, 2, None)),
    ],
)
def test_stored_values_as_bytes(serializer: Any, stored: Any) -> None:
    assert serializer.deserialize(serializer.serialize(stored)) == stored
