"""Windows of Trident: results of Storm's window manager, each batch once, under any failure."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heronpy_compat.testing import TopologyTester
from heronpy_compat.trident import (
    Aggregator,
    Count,
    Duration,
    InMemoryWindowsStore,
    InMemoryWindowsStoreFactory,
    MemoryMapState,
    SlidingCountWindow,
    SlidingDurationWindow,
    Sum,
    TridentError,
    TridentTopology,
    TumblingCountWindow,
    TumblingDurationWindow,
    WindowsStore,
    WindowsStoreFactory,
)
from heronpy_compat.trident.windowing.window_configs import CountWindows, DurationWindows
from heronpy_compat.trident.windowing.window_contents import WindowContents
from tests.unit.heronpy_compat.trident.trident_support import (
    AT_ONCE,
    SEEN,
    FailBatches,
    Opaque,
    Queue,
    Transactional,
    see,
)


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    SEEN.clear()
    FailBatches.left.clear()


class Gather(Aggregator):
    """The values of a window, as one text."""

    def init(self, batch_id: Any, collector: Any) -> list[Any]:
        return []

    def aggregate(self, value: list[Any], tup: Any, collector: Any) -> None:
        value.append(tup["value"])

    def complete(self, value: list[Any], collector: Any) -> None:
        collector.emit([" ".join(map(str, value))])


class Shared(WindowsStoreFactory):
    """A user's store, shared by all processes and never cleared."""

    stores: WindowsStore = InMemoryWindowsStore()

    def create(self, conf: dict[str, Any]) -> WindowsStore:
        return UsersStore(self.stores)


class UsersStore(WindowsStore):
    def __init__(self, inner: WindowsStore) -> None:
        self.get, self.put, self.remove = inner.get, inner.put, inner.remove  # type: ignore[method-assign]


def storms_windows(batches: list[list[int]], length: int, slide: int) -> list[list[int]]:
    """Storm's CountTriggerPolicy and CountEvictionPolicy, event by event."""
    queue: list[int] = []
    since, windows = 0, []
    for value in (value for batch in batches for value in batch):
        queue.append(value)
        since += 1
        if since >= slide:
            del queue[:-length]
            windows.append(list(queue))
            since = 0
    return windows


def storms_timed_windows(
    batches: list[tuple[int, list[int]]], length: int, slide: int
) -> list[list[int]]:
    """Storm's TimeTriggerPolicy and TimeEvictionPolicy: a timer from the first batch on. Tuples
    come a moment after the timer: Storm would drop tuples of its very millisecond."""
    queue: list[tuple[int, int]] = []
    windows: list[list[int]] = []
    due = batches[0][0] + slide
    for now, batch in batches:
        while due <= now:
            queue = [(time, value) for time, value in queue if due - time <= length]
            if queue:
                windows.append([value for _, value in queue])
            due += slide
        queue += [(now, value) for value in batch]
    return windows


def contents(windows: Any, store: WindowsStore, run: str = "run") -> WindowContents:
    return WindowContents(windows, store, "words/b-0/0", run, 1)


def rows_of(values: list[int]) -> list[list[Any]]:
    return [[value] for value in values]


sizes = st.lists(st.integers(0, 7), max_size=30)
extents = st.tuples(st.integers(1, 9), st.integers(1, 9)).map(lambda two: (max(two), min(two)))


@given(sizes=sizes, extent=extents, seed=st.integers(0, 1000), replays=st.booleans())
def test_count_windows_are_storms(
    sizes: list[int], extent: tuple[int, int], seed: int, replays: bool
) -> None:
    """Also where batches are replayed with other tuples, and processes are replaced in between."""
    random, store = Random(seed), InMemoryWindowsStore()
    numbers = iter(range(10_000))
    batches = [[next(numbers) for _ in range(size)] for size in sizes]
    windows = CountWindows(*extent)
    under_test = contents(windows, store)
    found = []
    for txid, batch in enumerate(batches, 1):
        while replays and random.random() < 0.5:
            under_test.take(txid, rows_of([-number for number in range(random.randrange(9))]), 0)
            if random.random() < 0.5:
                under_test = contents(windows, store)
        found += [[row[0] for row in rows] for _, rows in under_test.take(txid, rows_of(batch), 0)]
    assert found == storms_windows(batches, *extent)
    kept = [key for key in store.get_all_keys() if "|tuple|" in key]
    assert len(kept) <= extent[0] + max(sizes, default=0)


@given(
    batches=st.lists(st.tuples(st.integers(0, 25), st.integers(0, 3)), min_size=1, max_size=30),
    extent=extents,
    replays=st.booleans(),
)
def test_duration_windows_are_storms(
    batches: list[tuple[int, int]], extent: tuple[int, int], replays: bool
) -> None:
    store, numbers, now = InMemoryWindowsStore(), iter(range(10_000)), 1000
    timed = []
    for pause, size in batches:
        now += pause
        timed.append((now, [next(numbers) for _ in range(size)]))
    windows = DurationWindows(*extent)
    under_test = contents(windows, store)
    found = []
    for txid, (time_ms, batch) in enumerate(timed, 1):
        ended = under_test.take(txid, rows_of(batch), time_ms)
        if replays:
            again = contents(windows, store).take(txid, rows_of(batch), time_ms)
            assert again == ended
            under_test = contents(windows, store)
        found += [[row[0] for row in rows] for _, rows in ended]
    assert found == storms_timed_windows(timed, *extent)


def test_a_replay_ends_the_windows_of_its_first_attempt() -> None:
    """Its results are in a transactional state already, results of further windows would be
    lost."""
    under_test = contents(DurationWindows(10, 10), InMemoryWindowsStore())
    assert under_test.take(1, rows_of([1]), 0) == []
    first = under_test.take(2, rows_of([2]), 10)
    assert [rows for _, rows in first] == [[[1]]]
    assert under_test.take(2, rows_of([2]), 100) == first


def test_each_tuple_is_in_one_tumbling_window() -> None:
    """Also tuples of the first batch, the start of the timer, and of a batch at its end."""
    under_test = contents(DurationWindows(10, 10), InMemoryWindowsStore())
    found = []
    for txid, now_ms in enumerate(range(0, 100, 5), 1):
        found += under_test.take(txid, rows_of([now_ms]), now_ms)
    assert [row for _, rows in found for row in rows] == rows_of(list(range(0, 90, 5)))


def test_windows_numbers_and_gaps() -> None:
    """A window without tuples does not count, in any number."""
    under_test = contents(DurationWindows(10, 5), InMemoryWindowsStore())
    under_test.take(1, rows_of([1]), 0)
    numbers = [number for number, _ in under_test.take(2, rows_of([2]), 10**12)]
    numbers += [number for number, _ in under_test.take(3, [], 10**12 + 5)]
    assert numbers == [1, 2, 3]


def test_another_run_goes_on_with_the_tuples_of_a_store_that_stays() -> None:
    """As in Storm, whose windows are kept by the name of the topology."""
    store = InMemoryWindowsStore()
    contents(CountWindows(4, 4), store).take(57, rows_of([1, 2, 3]), 0)
    again = contents(CountWindows(4, 4), store, "another run")
    assert [rows for _, rows in again.take(1, rows_of([4, 5]), 0)] == [[[1], [2], [3], [4]]]
    again.take(2, rows_of([6]), 0)
    stored = {key.rpartition("|")[2] for key in store.get_all_keys() if "|tuple|" in key}
    assert stored == {"1", "2", "3", "4", "5"}


def test_a_store_that_lacks_a_tuple_or_has_other_partitions_says_so() -> None:
    store = InMemoryWindowsStore()
    contents(CountWindows(4, 4), store).take(5, rows_of([1, 2]), 0)
    with pytest.raises(TridentError, match="behind the stored 5"):
        contents(CountWindows(4, 4), store).take(4, [], 0)
    store.remove("words/b-0/0|tuple|1")
    with pytest.raises(TridentError, match=r"tuple\|1 is missing in InMemoryWindowsStore"):
        contents(CountWindows(4, 4), store)
    with pytest.raises(TridentError, match="1 partitions, which cannot be divided into 2"):
        WindowContents(CountWindows(4, 4), store, "words/b-0/0", "run", 2)


# --- in topologies ------------------------------------------------------------------------------


def rounds(tester: TopologyTester, number: int = 25, secs: float = 0.0) -> Iterator[int]:
    for at in range(number):
        tester.run_spouts(calls=1)
        tester.advance(secs)
        yield at


def run_all(topology: TridentTopology, secs: float = 0.0, **config: Any) -> None:
    with TopologyTester(topology.build("Windows", {**AT_ONCE, **config})) as tester:
        for _ in rounds(tester, secs=secs):
            pass


def seen_texts() -> list[Any]:
    return [row[0] for row in SEEN]


def test_the_forms_of_windows_by_count() -> None:
    forms: list[Any] = [
        lambda stream: stream.window(SlidingCountWindow.of(4, 2), "value", Gather(), "all"),
        lambda stream: stream.slidingWindow(
            4, 2, InMemoryWindowsStoreFactory(), "value", Gather(), "all"
        ),
        lambda stream: stream.sliding_window(4, 2, "value", Gather(), "all"),
        lambda stream: stream.window(SlidingCountWindow.of(4, 2), Shared(), "value", Gather(), "a"),
    ]
    for form in forms:
        SEEN.clear()
        topology = TridentTopology()
        form(topology.new_stream("numbers", Queue(*range(7)))).peek(see)
        run_all(topology)
        assert seen_texts() == ["0 1", "0 1 2 3", "2 3 4 5"]


def test_tumbling_windows_and_aggregators_of_each_kind() -> None:
    for aggregator, expected in ((Sum(), [1, 5, 9]), (Count(), [2, 2, 2])):
        SEEN.clear()
        topology = TridentTopology()
        stream = topology.new_stream("numbers", Queue(*range(7)))
        stream.tumbling_window(2, "value", aggregator, "result").peek(see)
        run_all(topology)
        assert seen_texts() == expected
    assert TumblingCountWindow.of(3) == CountWindows(3, 3)


def test_windows_by_duration_end_with_the_next_batch() -> None:
    """A batch begins each second; the timer of the partition begins with the first one."""
    forms: list[Any] = [
        lambda stream: stream.slidingWindow(
            Duration.seconds(4), Duration.seconds(2), "value", Gather(), "all"
        ),
        lambda stream: stream.window(
            SlidingDurationWindow.of(timedelta(seconds=4), Duration.of(2000)),
            InMemoryWindowsStoreFactory(), "value", Gather(), "all",
        ),
    ]  # fmt: skip
    for form in forms:
        SEEN.clear()
        topology = TridentTopology()
        form(topology.new_stream("numbers", Queue(*range(6), size=1))).peek(see)
        run_all(topology, secs=1.0)
        texts = seen_texts()
        assert texts[0] in ("0", "0 1")
        assert all(0 < len(text.split()) <= 4 for text in texts)
        assert {number for text in texts for number in text.split()} >= {"0", "1", "2", "3"}
    assert TumblingDurationWindow.of(Duration.minutes(1)) == DurationWindows(60_000, 60_000)


def test_each_partition_has_windows_of_its_own() -> None:
    topology = TridentTopology()
    stream = topology.new_stream("numbers", Transactional([0, 2, 4, 6], [1, 3, 5, 7], size=2))
    (
        stream.partition_by("value").window(TumblingCountWindow.of(1), "value", Gather(), "all")
        .parallelism_hint(3).peek(see)
    )  # fmt: skip
    run_all(topology)
    assert sorted(seen_texts()) == [str(number) for number in range(8)]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", ["transactional", "opaque"])
@pytest.mark.parametrize("is_users", [False, True])
def test_each_tuple_is_in_its_windows_whatever_fails(seed: int, kind: str, is_users: bool) -> None:
    """Windows of three with a state behind them: its sum covers all whole windows."""
    Shared.stores = InMemoryWindowsStore()
    random = Random(seed)
    make = Opaque if kind == "opaque" else Transactional
    factory = Shared() if is_users else InMemoryWindowsStoreFactory()
    topology = TridentTopology()
    sums = (
        topology.new_stream("numbers", make(list(range(20)), size=3))
        .shuffle()
        .window(TumblingCountWindow.of(3), factory, "value", Sum(), "sum")
        .persistent_aggregate(MemoryMapState.opaque(), "sum", Sum(), "total")
    )
    sums.new_values_stream().each(None, FailBatches()).peek(see)
    with TopologyTester(
        topology.build("Windows", {**AT_ONCE, "topology.max.spout.pending": 3}),
        order="random", seed=seed,
    ) as tester:  # fmt: skip
        for at in rounds(tester, 120):
            if at < 12 and random.random() < 0.6:
                break_something(tester, random)
    assert SEEN[-1] == [sum(range(18))]


def break_something(tester: TopologyTester, random: Random) -> None:
    kind = random.choice(["crash", "fail", "update", "coordinator"])
    component = random.choice(["b-0", "b-1", "spout-numbers"])
    if kind == "crash":
        tester.crash(component)
    elif kind == "fail":
        tester.fail(component, when=lambda tup: random.random() < 0.3)
    elif kind == "update":
        FailBatches.left["failing"] += 1
    else:
        tester.crash("mastercoord-bg0")


def test_local_or_shuffle_is_shuffle_where_all_tasks_are_here() -> None:
    topology = TridentTopology()
    stream = topology.new_stream("numbers", Queue(*range(9)))
    counts = stream.localOrShuffle().partition_aggregate(None, Count(), "count")
    counts.parallelism_hint(3).peek(see)
    run_all(topology)
    assert [row for row in SEEN if row != [0]] == [[1]] * 9


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (
            lambda s: s.window(3, "value", Sum(), "sum"),
            "window takes a window such as SlidingCountWindow.of",
        ),
        (
            lambda s: s.tumbling_window(0, "value", Sum(), "sum"),
            "must be a positive whole number, not 0",
        ),
        (lambda s: s.sliding_window(2, 3, "value", Sum(), "sum"), "slide 3 is longer than the win"),
        (lambda s: s.sliding_window(2, 1, Sum(), "sum"), "takes .store factory"),
        (lambda s: s.tumbling_window("2", "value", Sum(), "sum"), "a duration is a timedelta"),
        (lambda s: s.tumbling_window(2, {}, "value", Sum(), "sum"), "made by a WindowsStoreFactor"),
        (lambda s: s.tumbling_window(2, "other", Sum(), "sum"), "unknown field 'other'"),
        (lambda s: s.tumbling_window(2, "value", see, "sum"), "takes an Aggregator, not"),
        (
            lambda s: s.tumbling_window(timedelta(microseconds=1), "value", Sum(), "sum"),
            "windows of so many milliseconds: must be a positive",
        ),
    ],
)
def test_what_is_not_a_window_is_an_error(call: Any, line: str) -> None:
    stream = TridentTopology().new_stream("numbers", Queue(1))
    with pytest.raises(TridentError, match=line):
        call(stream)


# --- storm-starter ------------------------------------------------------------------------------


def starter(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Any:
    monkeypatch.setenv("TEST_RESULTS", str(folder))
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "process" / "topologies"))
    import trident_windows

    monkeypatch.setattr(trident_windows, "FOLDER", str(folder))
    return trident_windows


@pytest.mark.parametrize("store", ["memory", "database"])
@pytest.mark.parametrize("kind", ["sliding-count", "tumbling-count", "sliding-duration"])
def test_storm_starters_windows(
    kind: str, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TridentWindowingInmemoryStoreTopology, and TridentHBaseWindowingStoreTopology's store."""
    module = starter(monkeypatch, tmp_path)
    factory = InMemoryWindowsStoreFactory() if store == "memory" else module.InDatabase()
    secs = 0.5 if "duration" in kind else 0.0
    builder = module.trident(kind, factory).build("Windows", AT_ONCE)
    with TopologyTester(builder) as tester:
        for _ in rounds(tester, 80, secs):
            pass
    counts = [int(line) for line in (tmp_path / "counts").read_text().splitlines()]
    words = sum(len(line.split()) for (line,) in module.SENTENCES) * module.ROUNDS
    if kind == "sliding-count":
        assert counts == [*range(10, 101, 10), *[100] * (words // 10 - 10)]
    elif kind == "tumbling-count":
        assert counts == [100] * (words // 100)
    else:
        assert sum(counts) > words  # each word is in two windows, but those of the first and last
        assert max(counts) <= 12 * 28
