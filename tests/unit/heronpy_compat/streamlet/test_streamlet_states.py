"""update_state, map_with_state and invertible windows: Spark's states by key on streamlets."""

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from heron_api.topology import TopologyBuilder
from heron_connectors.state_tables import write_state
from heronpy_compat.streamlet import initialstates
from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.streamlet.initialstates import SavedStates
from heronpy_compat.streamlet.statebykey import MappedState
from heronpy_compat.streamlet.streamlet import Streamlet
from heronpy_compat.testing import TopologyTester
from heronpy_compat.windows import Sliding, Tumbling
from tests.unit.heronpy_compat.streamlet.streamlet_support import Fed, nothing

AT_ONCE = {"topology.bolts.watermark.event.interval.ms": 0}
EXACT = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
PAIRS = [("a", 1), ("b", 2), ("a", 3), ("c", 4), ("a", 5), ("b", 6)]


def add_all(values: list[int], state: int | None) -> int:
    return sum(values) + (state or 0)


def running(
    program: Callable[[Builder], Streamlet], config: Any = None, **options: Any
) -> TopologyTester:
    builder, topology = Builder(), TopologyBuilder("States")
    program(builder).consume(nothing)
    builder.build(topology)
    return TopologyTester(topology, config={**AT_ONCE, **(config or {})}, **options)


def results(tester: TopologyTester, component: str) -> list[Any]:
    return [each[0] for each in tester.values(component, "output")]


def fed(tester: TopologyTester, *elements: Any) -> None:
    (spout,) = tester.component("generator-1")
    spout._generator.waiting.extend(elements)
    tester.run_spouts(len(elements))


# --- update_state ---------------------------------------------------------------------------------


def test_each_value_updates_the_state_of_its_key() -> None:
    with running(
        lambda builder: builder.from_collection(PAIRS).group_by_key().update_state(add_all)
    ) as tester:
        tester.run_spouts()
        expected = [("a", 1), ("b", 2), ("a", 4), ("c", 4), ("a", 9), ("b", 8)]
        assert results(tester, "updatestate-1") == expected


def test_none_removes_a_state() -> None:
    def update(values: list[int], state: int | None) -> int | None:
        return None if values == [0] else add_all(values, state)

    pairs = [("a", 1), ("a", 0), ("a", 5)]
    with running(
        lambda builder: builder.from_collection(pairs).group_by_key().update_state(update)
    ) as tester:
        tester.run_spouts()
        assert results(tester, "updatestate-1") == [("a", 1), ("a", 5)]


def batches_of(tester: TopologyTester) -> list[Any]:
    """What comes out of three batches of a second."""
    fed(tester, ("a", 1), ("b", 2), ("a", 3))
    tester.advance(1.2)
    fed(tester, ("a", 4))
    tester.advance(1)
    return results(tester, "updatestate-1")


def test_the_values_of_a_batch_are_given_together() -> None:
    """Spark calls the function with all new values of a key. The last batch is incomplete."""
    calls: list[Any] = []

    def update(values: list[int], state: int | None) -> int:
        calls.append((list(values), state))
        return add_all(values, state)

    with running(
        lambda builder: builder.new_source(Fed()).group_by_key().update_state(update, batch_ms=1000)
    ) as tester:
        assert sorted(batches_of(tester)) == [("a", 4), ("a", 8), ("b", 2)]
        fed(tester, ("b", 7))
        tester.finish()
        assert results(tester, "updatestate-1")[3:] == [("b", 9)]
    assert ([1, 3], None) in calls


def test_every_batch_updates_keys_without_values_too() -> None:
    """Spark updates all states in each batch; a dropped state is not updated any more."""

    def update(values: list[int], state: int | None) -> int | None:
        return sum(values) if values else None if state == 2 else state

    with running(
        lambda builder: (
            builder.new_source(Fed())
            .group_by_key()
            .update_state(update, batch_ms=1000, every_batch=True, initial={"z": 9})
        )
    ) as tester:
        # b is dropped by the second batch, which has nothing of it; z has a state from the outset.
        found = Counter(batches_of(tester))
        assert found[("a", 4)] == 2
        assert found[("b", 2)] == 1
        assert found[("z", 9)] >= 2


def test_batches_by_event_time_do_not_depend_on_the_clock() -> None:
    events = [("a", 1, 100), ("b", 1, 150), ("a", 1, 900), ("a", 1, 1100), ("b", 1, 5000)]

    def program(builder: Builder) -> Streamlet:
        timed = builder.from_collection(events).with_event_time(lambda event: event[2])
        grouped = timed.group_by(lambda event: event[0])
        made: Streamlet = grouped.update_state(
            lambda values, state: len(values) + (state or 0), batch_ms=1000
        )
        return made

    with running(program) as tester:
        tester.run_spouts()
        found = results(tester, "updatestate-1")
        assert sorted(found) == [("a", 2), ("a", 3), ("b", 1), ("b", 2)]


# --- map_with_state -------------------------------------------------------------------------------


def total(key: str, value: int | None, state: MappedState) -> tuple[str, int] | None:
    """The seeds' function: trackStateFunc."""
    if state.isTimingOut():
        return f"{key} is gone", state.get()
    summed = (value or 0) + (state.getOption() or 0)
    state.update(summed)
    return key, summed


def test_a_function_maps_elements_with_a_state() -> None:
    with running(
        lambda builder: (
            builder.from_collection(PAIRS).group_by_key().map_with_state(total, initial={"a": 100})
        )
    ) as tester:
        tester.run_spouts()
        expected = [("a", 101), ("b", 2), ("a", 104), ("c", 4), ("a", 109), ("b", 8)]
        assert results(tester, "mapwithstate-1") == expected


def test_a_key_without_elements_times_out() -> None:
    """Keys with initial states time out, too."""
    with running(
        lambda builder: (
            builder.new_source(Fed())
            .group_by_key()
            .map_with_state(total, timeout_ms=10_000, initial={"z": 26})
        )
    ) as tester:
        fed(tester, ("a", 1), ("b", 2))
        tester.advance(6)
        fed(tester, ("a", 3))
        tester.advance(6)  # b and z had nothing for 12 s, a for 6
        assert sorted(results(tester, "mapwithstate-1")[3:]) == [
            ("b is gone", 2),
            ("z is gone", 26),
        ]
        tester.advance(6)
        assert results(tester, "mapwithstate-1")[5:] == [("a is gone", 4)]
        fed(tester, ("z", 1))  # its initial state was removed, and does not come back
        assert results(tester, "mapwithstate-1")[-1] == ("z", 1)
        tester.finish()
        assert len(results(tester, "mapwithstate-1")) == 7


def test_a_time_out_by_event_time_and_an_older_element() -> None:
    events = [("a", 0), ("a", 5000), ("a", 1000), ("b", 14_999), ("b", 15_001), ("b", 15_002)]

    def mapped(key: str, value: Any, state: MappedState) -> Any:
        if state.isTimingOut():
            return key, "gone"
        state.update(value)
        return None

    def program(builder: Builder) -> Streamlet:
        timed = builder.from_collection(events).with_event_time(lambda each: each[1], lag_ms=5000)
        made: Streamlet = timed.group_by_key().map_with_state(mapped, timeout_ms=10_000)
        return made

    with running(program) as tester:
        tester.run_spouts(5)
        assert results(tester, "mapwithstate-1") == []
        tester.advance_watermark("mapwithstate-1", 15_001)
        assert results(tester, "mapwithstate-1") == [("a", "gone")]


def test_what_a_function_may_not_do_with_its_state() -> None:
    def wrong(key: str, value: int | None, state: MappedState) -> None:
        if state.isTimingOut():
            state.update(1)
        elif value == 0:
            state.get()
        elif value == 1:
            state.update(1)
            state.remove()
            assert not state.exists()
        else:
            state.update(1)

    with running(
        lambda builder: (
            builder.new_source(Fed()).group_by_key().map_with_state(wrong, timeout_ms=1000)
        )
    ) as tester:
        fed(tester, ("a", 0), ("a", 1), ("a", 2))
        tester.advance(2)
        first, second = map(str, tester.errors("mapwithstate-1"))
        assert "this key has no state" in first
        assert "timing out cannot be updated" in second


# --- initial states -------------------------------------------------------------------------------


def initial_kinds(folder: Path) -> dict[str, Any]:
    """Equal states in each form of initial states."""
    table = pa.table({"key": ["a", "b", "c"], "value": [10, 20, 30]})
    pq.write_table(table, folder / "states.parquet")
    lines = [json.dumps({"key": key, "value": value}) for key, value in states().items()]
    (folder / "states.json").write_text("\n".join(lines) + "\n")
    write_state(str(folder / "saved"), "words", {"count.total": table})
    return {
        "dict": states(),
        "pairs": iter(states().items()),
        "arrow": table,
        "pandas": table.to_pandas(),
        "parquet": folder / "states.parquet",
        "json": str(folder / "states.json"),
        "savepoint": SavedStates(str(folder / "saved"), "count.total"),
    }


def states() -> dict[str, int]:
    return {"a": 10, "b": 20, "c": 30}


@pytest.mark.parametrize(
    "kind", ["dict", "pairs", "arrow", "pandas", "parquet", "json", "savepoint"]
)
def test_states_begin_with_those_of(kind: str, tmp_path: Path) -> None:
    given = initial_kinds(tmp_path)[kind]

    def program(builder: Builder) -> Streamlet:
        made: Streamlet = (
            builder.from_collection(PAIRS).group_by_key().update_state(add_all, initial=given)
        )
        return made.set_num_partitions(3)

    with running(program) as tester:
        tester.run_spouts()
        assert dict(results(tester, "updatestate-1")) == {"a": 19, "b": 28, "c": 34}
        # Each partition has the states of its own keys alone.
        kept = [key for bolt in tester.component("updatestate-1")
                for key in bolt.keyed_state.value_state("state").all_keys()]  # fmt: skip
        assert sorted(kept) == ["a", "b", "c"]


@pytest.mark.parametrize("seed", [1, 2])
def test_initial_states_are_taken_over_once_whatever_crashes(seed: int) -> None:
    """A removed state does not come back with the next process."""

    def update(values: list[int], state: int | None) -> int | None:
        return None if values == [2] else add_all(values, state)

    def program(builder: Builder) -> Streamlet:
        made: Streamlet = (
            builder.from_collection(PAIRS * 5)
            .group_by_key()
            .update_state(update, initial={"a": 10, "b": 20})
        )
        return made.set_num_partitions(2)

    with running(program, config=EXACT, order="random", seed=seed) as tester:
        for _ in range(4):
            tester.run_spouts(4)
            tester.checkpoint()
            tester.run_spouts(3)
            tester.crash("updatestate-1")
        tester.run_spouts()
        found = {
            key: value[0]
            for bolt in tester.component("updatestate-1")
            for key, value in bolt.keyed_state.value_state("state").all_items()
        }
        assert found == {"a": 10 + 45, "b": 6, "c": 20}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (7, "initial states are a dict, pairs"),
        ([("a", 1), 7], r"an initial state is a pair \(key, value\), not 7"),
        ([("a", 1)] * 3, "more than 2 initial states: give the path of a file"),
        (pa.table({"word": ["a"], "value": [1]}), "cannot be read: the table has no column key"),
    ],
)
def test_what_is_no_initial_state(
    given: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(initialstates, "PAIRS_MAX", 2)
    grouped = Builder().from_collection(PAIRS).group_by_key()
    with pytest.raises(StreamletError, match=message):
        grouped.update_state(add_all, initial=given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("missing.parquet", "the initial states cannot be read: missing.parquet"),
        ([("a", 1), ("a", 2)], "two initial states have the key 'a'"),
    ],
)
def test_states_that_cannot_be_taken_over_stop_the_start(given: Any, message: str) -> None:
    with (
        pytest.raises(Exception, match=message),
        running(
            lambda builder: (
                builder.from_collection(PAIRS).group_by_key().update_state(add_all, initial=given)
            )
        ) as tester,
    ):
        tester.run_spouts()


# --- reduce_by_window -----------------------------------------------------------------------------


def events_of(
    seed: int, delays_ms: tuple[int, ...] = (0, 0, 20, 80, 600)
) -> list[tuple[str, int, int]]:
    """(key, value, time) in disorder, some too late, with gaps longer than a window."""
    rng = random.Random(seed)
    time_ms, found = 1_000_000, []
    for _ in range(120):
        time_ms += rng.choice([0, 1, 7, 30, 30, 700])
        found.append((rng.choice("abc"), rng.randint(-5, 5), time_ms - rng.choice(delays_ms)))
    return found


def windows_of(events: Any, window: Any, invertible: bool, **options: Any) -> Counter[Any]:
    """(key, start, end, value) of each window, and the elements that came too late."""
    name = "reducebywindow-1" if invertible else "eventwindow-1"

    def program(builder: Builder) -> Streamlet:
        timed = builder.from_collection(events).with_event_time(lambda each: each[2], lag_ms=50)
        if invertible:
            made = timed.group_by(lambda each: each[0]).reduce_by_window(window, add, take_out)
        else:
            made = timed.key_by(lambda each: each[0]).window(window).reduce(add)
        made.late_elements().consume(nothing)
        found: Streamlet = made
        return found

    with running(program, **options) as tester:
        for _ in range(len(events) // 10):
            tester.run_spouts(10)
            if options:
                tester.checkpoint()
                tester.run_spouts(3)
                tester.crash(name)
        tester.run_spouts()
        tester.finish()
        late = Counter(("late", *each[0]) for each in tester.values(name, "late"))
        return late + Counter((str(each), _of(value)) for each, value in results(tester, name))


def add(left: Any, right: Any) -> int:
    return _of(left) + _of(right)


def take_out(so_far: Any, value: Any) -> int:
    return _of(so_far) - _of(value)


def _of(value: Any) -> int:
    """The value of an event, or what was reduced."""
    found: int = value[1] if isinstance(value, tuple) else value
    return found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("window", [Sliding(300, 100), Sliding(300, 100, 30), Tumbling(200)])
def test_a_window_with_an_inverse_is_the_one_without(window: Any, seed: int) -> None:
    events = events_of(seed)
    expected = windows_of(events, window, False)
    assert windows_of(events, window, True) == expected
    assert any(each[0] == "late" for each in expected)


@pytest.mark.parametrize("seed", [1, 2])
def test_invertible_windows_are_exact_whatever_crashes(seed: int) -> None:
    """Windows emitted before a crash and again after the restore are equal. (No element is late
    here: lateness depends on the crashes, because the watermark begins anew after a restore.)"""
    events = events_of(seed, (0, 20, 45))
    window = Sliding(300, 100)
    with_crashes = windows_of(events, window, True, config=EXACT, order="random", seed=seed)
    assert with_crashes.keys() == windows_of(events, window, True).keys()


def test_windows_by_processing_time_are_shown_as_time_passes() -> None:
    def program(builder: Builder) -> Streamlet:
        made: Streamlet = (
            builder.new_source(Fed())
            .group_by_key()
            .reduce_by_window(Sliding(3000, 1000), lambda x, y: x + y, lambda x, y: x - y)
        )
        return made

    with running(program) as tester:
        fed(tester, ("a", 1), ("a", 2), ("b", 5))
        tester.advance(1.2)
        fed(tester, ("a", 10))
        tester.advance(5)
        found = [(each.key, value) for each, value in results(tester, "reducebywindow-1")]
        assert [value for key, value in found if key == "a"] == [3, 13, 13, 10]
        assert [value for key, value in found if key == "b"] == [5, 5, 5]
        fed(tester, ("b", 7))
        tester.finish()  # all windows that hold it
        found = [(each.key, value) for each, value in results(tester, "reducebywindow-1")]
        assert found[7:] == [("b", 7)] * 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Sliding(300, 200), add, take_out), "300 ms, must be a multiple of its slide, 200 ms"),
        ((300, add, take_out), "takes Sliding or Tumbling, not 300"),
        ((Tumbling(300), 7, take_out), "reduce_by_window takes a function, not 7"),
    ],
)
def test_what_is_no_invertible_window(arguments: Any, message: str) -> None:
    grouped = Builder().from_collection(PAIRS).group_by_key()
    with pytest.raises(StreamletError, match=message):
        grouped.reduce_by_window(*arguments)


def test_every_batch_needs_batches_of_processing_time() -> None:
    source = Builder().from_collection(PAIRS)
    with pytest.raises(StreamletError, match="needs batch_ms"):
        source.group_by_key().update_state(add_all, every_batch=True)
    timed = source.with_event_time(lambda each: each[1]).group_by_key()
    with pytest.raises(StreamletError, match="takes processing time"):
        timed.update_state(add_all, batch_ms=1000, every_batch=True)
