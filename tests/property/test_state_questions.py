"""Questions about the states of one task, in both backends: the answers of plain dicts."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heron_core.errors import UsageError
from heron_core.state.codec import StateCodec
from heron_core.state.current_key import CurrentKey
from heron_core.state.key_order import order_of
from heron_core.state.memory import MemoryBackend
from heron_core.state.named_states import NamedStates
from heron_core.state.protocol import ABSENT, StateBackend, StateKind, TableId
from heron_core.state.questions import (
    KeyScan,
    OtherKind,
    StateReader,
    UnknownState,
    begins_with,
    reader_of,
)
from heron_io.state_backends.rocksdb import RocksBackend

TTL_SECS = 10.0
_PARTS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4)
)
_KEYS = _PARTS | st.binary(max_size=3) | st.dates() | st.tuples(_PARTS, _PARTS) | st.tuples(_PARTS)


@pytest.fixture(params=["memory", "rocksdb"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StateBackend]:
    codec = StateCodec("count")
    is_in_memory = request.param == "memory"
    made = MemoryBackend(codec) if is_in_memory else RocksBackend(codec, str(tmp_path))
    yield made
    made.close()


class Kept:
    """States of a component, and the time by which they expire."""

    def __init__(self, backend: StateBackend, *fields: str) -> None:
        self.now = 1000.0
        self.backend = backend
        self.named = NamedStates(backend, CurrentKey("count", fields), lambda: self.now)

    def reader(self, name: str) -> StateReader:
        return reader_of(self.backend, "count", name, self.now)


@given(st.lists(_KEYS, min_size=2, max_size=2))
def test_different_keys_have_different_places(keys: list[Any]) -> None:
    one, two = keys
    assert (order_of(one) == order_of(two)) == (one == two and type(one) in _same(two))


def _same(key: Any) -> tuple[type, ...]:
    """Types of which an equal value is the same key: 1 == 1.0 == True."""
    return (bool, int, float) if isinstance(key, int | float) else (type(key),)


def test_numbers_texts_and_tuples_come_in_their_order() -> None:
    numbers: list[Any] = [-(10**30), -7, -0.5, 0, 0.25, 1, 2, 10, 1e300, 10**400]
    texts: list[Any] = ["", "a", "a\0", "ab", "b", "ä"]
    tuples: list[Any] = [(), ("a",), ("a", 1), ("a", 2), ("a", 10), ("a\0", 1), ("ab", 0)]
    for ordered in (numbers, texts, tuples):
        mixed = list(ordered)
        Random(7).shuffle(mixed)
        assert sorted(mixed, key=order_of) == ordered
    assert order_of(10) < order_of("") < order_of(())


def test_a_state_of_each_kind_is_read_as_user_code_reads_it(backend: StateBackend) -> None:
    kept = Kept(backend)
    named = kept.named
    named.value_state("seen").for_key("storm").put(7)
    named.reducing_state("most", max).for_key("storm").add(9)
    named.list_state("last").for_key("storm").extend(["x", "y"])
    pages = named.map_state("pages").for_key("storm")
    pages.put("/", 3)
    pages.put(date(2026, 1, 2), 4)
    named.backend.table(TableId("", StateKind.PLAIN, nested=False)).put("at", 5)
    assert kept.reader("seen").value("storm") == 7
    assert kept.reader("most").value("storm") == 9
    assert kept.reader("last").value("storm") == ["x", "y"]
    assert kept.reader("pages").value("storm") == {"/": 3, date(2026, 1, 2): 4}
    assert kept.reader("pages").value_of_map("storm", date(2026, 1, 2)) == 4
    assert kept.reader("pages").value_of_map("storm", "/none") is ABSENT
    assert kept.reader("put").value("at") == 5
    for name in ("seen", "most", "last", "pages", "put"):
        assert kept.reader(name).value("heron") is ABSENT


def test_what_cannot_be_read_says_why(backend: StateBackend) -> None:
    kept = Kept(backend)
    kept.named.value_state("seen", ttl_secs=TTL_SECS)
    kept.named.timer_service()
    kept.named.window_tables()
    with pytest.raises(UnknownState, match=r"count has no state 'sen' \(it has: seen\)"):
        kept.reader("sen")
    with pytest.raises(OtherKind, match=r"count\.windows is a windows state of the engine's own"):
        kept.reader("windows")
    with pytest.raises(OtherKind, match="deadlines"):
        kept.reader("deadlines of seen")
    with pytest.raises(OtherKind, match="'seen' is a value state, and only the entries of a map"):
        kept.reader("seen").value_of_map("storm", "x")
    with pytest.raises(UsageError, match="a prefix is a text, or a list"):
        KeyScan(kept.reader("seen"), 3, 7)


def test_reading_prolongs_nothing_and_removes_nothing(backend: StateBackend) -> None:
    kept = Kept(backend)
    state = kept.named.list_state("last", ttl_secs=TTL_SECS, refresh_on_read=True).for_key("storm")
    state.add("old")
    kept.now += TTL_SECS / 2
    state.for_key("storm").add("new")  # which is a write, and prolongs nothing of the first
    assert kept.reader("last").value("storm") == ["old", "new"]
    kept.now += TTL_SECS / 2
    assert kept.reader("last").value("storm") == ["new"]
    assert len(backend.table(TableId("last", StateKind.LIST, True, True)).items("storm")) == 2
    kept.now += TTL_SECS / 2
    assert kept.reader("last").value("storm") is ABSENT
    assert list(_scan(KeyScan(kept.reader("last"), 9))) == []


def _scan(scan: KeyScan, step: int = 3) -> list[str]:
    while not scan.step(step):
        pass
    return [entry.text for entry in scan.entries()]


@pytest.mark.parametrize("fields", [("word",), ("word", "day")])
def test_a_scan_has_the_first_keys_in_their_order(
    backend: StateBackend, fields: tuple[str, ...]
) -> None:
    rng, kept = Random(len(fields)), Kept(backend, *fields)
    state = kept.named.value_state("seen", ttl_secs=TTL_SECS)
    words = [f"{rng.choice('abc')}{rng.randrange(200)}" for _ in range(100)]
    pairs = {(word, rng.randrange(5)) for word in words}
    keys: list[Any] = sorted(pairs if len(fields) > 1 else set(words))
    expired = set(rng.sample(keys, 20))
    for key in expired:
        state.for_key(key).put("old")
    kept.now += TTL_SECS
    current = dict[Any, int]()
    for number, key in enumerate(key for key in keys if key not in expired):
        current[key] = number
        state.for_key(key).put(number)
    for prefix in (ABSENT, "a", "b1", ["b"], ("c1",), "none"):
        for limit in (1, 7, 1000):
            wanted = sorted(
                (key for key in current if prefix is ABSENT or _begins(key, prefix)), key=order_of
            )
            found = KeyScan(kept.reader("seen"), limit, prefix)
            texts = _scan(found, rng.choice((1, 10, 1000)))
            assert len(texts) == min(limit, len(wanted))
            shown = [kept.reader("seen").value(key) for key in wanted[:limit]]
            assert [int(text.rpartition(":")[2][:-1]) for text in texts] == shown


def _begins(key: Any, prefix: Any) -> bool:
    first = key[0] if isinstance(key, tuple) else key
    if isinstance(prefix, str):
        return bool(first.startswith(prefix))
    return isinstance(key, tuple) and bool(first.startswith(prefix[0]))


@pytest.mark.parametrize(
    ("key", "prefix", "begins"),
    [
        ("storm", "st", True),
        ("storm", "", True),
        (7, "7", False),
        (("storm", 7), "st", True),
        (("storm", 7), ("storm",), True),
        (("storm", 7), ("st",), True),
        (("storm", 7), ("storm", 7), True),
        (("storm", 7), ("st", 7), False),
        (("storm", 7), ("storm", 7, 1), False),
        ("storm", ("storm",), False),
        ((), "x", False),
        (("a",), (), True),
    ],
)
def test_prefixes(key: Any, prefix: Any, begins: bool) -> None:
    assert begins_with(key, prefix) is begins


def test_a_key_that_goes_during_a_scan_is_left_out(backend: StateBackend) -> None:
    kept = Kept(backend)
    state = kept.named.value_state("seen")
    for number in range(10):
        state.for_key(number).put(number)
    scan = KeyScan(kept.reader("seen"), 5)
    assert not scan.step(10)
    state.for_key(3).clear()
    assert scan.step(10)
    assert [entry.text for entry in scan.entries()] == [
        f'{{"key":{number},"value":{number}}}' for number in (0, 1, 2, 4)
    ]
