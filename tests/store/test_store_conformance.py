"""Behaviour of every state store; the control plane relies only on the tested parts."""

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from heron_core.errors import Fenced, HeronError, NameInUse, StateStoreError, UsageError
from heron_core.state_tree import check_path, master_path, topology_path
from heron_io.state_store.protocol import StateStore
from tests.store.store_support import DEADLINE_SECS, Backend, Heard

VALUES = [{}, [], "", 0, False, {"name": "größe", "list": [1, 2.5, None, True]}, "x" * 10_000]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: str(value)[:20])
def test_what_is_put_is_read_back_by_another_store(backend: Backend, value: Any) -> None:
    # The command line writes, the topology master reads; empty values are values too.
    backend.open().put("/topologies/wordcount", value)
    assert backend.open().get("/topologies/wordcount") == value


def test_an_empty_store_has_nothing(backend: Backend) -> None:
    # `heronpy list` before the first submit.
    store = backend.open()
    assert store.get("/topologies/wordcount") is None
    assert store.children("/topologies") == []
    assert store.children("/") == []
    assert store.delete("/topologies/wordcount") is False


def test_put_creates_and_replaces(backend: Backend) -> None:
    # The master writes the physical plan again at each change.
    store = backend.open()
    store.put("/pplans/wordcount", {"epoch": 1})
    store.put("/pplans/wordcount", {"epoch": 2})
    assert store.get("/pplans/wordcount") == {"epoch": 2}


def test_a_guarded_write_counts_only_while_its_guard_stands(backend: Backend) -> None:
    # A stopped master wakes up: its successor has removed the fence of its writes.
    old, new = backend.open(), backend.open()
    old.put("/fences/wordcount/old", 1)
    old.put("/pplans/wordcount", {"epoch": 1}, guard="/fences/wordcount/old")
    old.put("/pplans/wordcount", {"epoch": 2}, guard="/fences/wordcount/old")
    assert new.get("/pplans/wordcount") == {"epoch": 2}
    new.put("/fences/wordcount/new", 1)
    new.delete("/fences/wordcount/old")
    new.put("/pplans/wordcount", {"epoch": 3}, guard="/fences/wordcount/new")
    for path in ("/pplans/wordcount", "/pplans/other"):
        with pytest.raises(Fenced, match="/fences/wordcount/old is gone"):
            old.put(path, {"epoch": 9}, guard="/fences/wordcount/old")
    assert new.get("/pplans/wordcount") == {"epoch": 3}
    assert new.get("/pplans/other") is None


def test_a_guarded_write_does_not_touch_what_another_one_holds(backend: Backend) -> None:
    holder, other = backend.open(), backend.open()
    holder.create("/tmasters/wordcount", {"pid": 1}, ephemeral=True)
    other.put("/fences/wordcount/one", 1)
    with pytest.raises(NameInUse):
        other.put("/tmasters/wordcount", {"pid": 2}, guard="/fences/wordcount/one")


def test_a_second_create_names_the_holder(backend: Backend) -> None:
    # Two masters of one topology: the second one's user must learn the holder.
    holder = {"host": "a-host", "pid": 4711, "port": 1}
    backend.open().create("/tmasters/wordcount", holder, ephemeral=True)
    with pytest.raises(NameInUse, match=r"/tmasters/wordcount is held by host a-host, pid 4711"):
        backend.open().create("/tmasters/wordcount", {"pid": 1}, ephemeral=True)


def test_a_second_create_shows_a_value_without_a_process(backend: Backend) -> None:
    # A topology submitted twice; the same store must be refused as well.
    store = backend.open()
    store.create("/topologies/wordcount", {"name": "wordcount", "long": "x" * 100})
    with pytest.raises(NameInUse, match=r'^/topologies/wordcount is taken, .*{"long": "x+\.\.\.'):
        store.create("/topologies/wordcount", {"name": "wordcount"})


@pytest.mark.parametrize("ephemeral", [False, True], ids=["persistent", "ephemeral"])
def test_a_second_create_of_the_same_value_is_refused(backend: Backend, ephemeral: bool) -> None:
    # A lock's value may be the same each time; taking it twice must still fail.
    store = backend.open()
    store.create("/locks/wordcount__update", 1, ephemeral=ephemeral)
    with pytest.raises(NameInUse):
        store.create("/locks/wordcount__update", 1, ephemeral=ephemeral)


def test_children_are_sorted_and_only_those_directly_below(backend: Backend) -> None:
    # `heronpy list` shows names, not trees below them.
    store = backend.open()
    for name in ("b", "a", "c.1"):
        store.put(f"/topologies/{name}", name)
    store.put("/topologies/b/deeper", 1)
    store.create("/topologies/e", 1, ephemeral=True)
    assert store.children("/topologies") == ["a", "b", "c.1", "e"]
    assert store.children("/topologies/b") == ["deeper"]
    assert store.children("/") == ["topologies"]


def test_a_node_may_have_a_value_and_nodes_below(backend: Backend) -> None:
    # Deleting the value must not take the nodes below with it, nor the opposite.
    store = backend.open()
    store.put("/a/b/c", "deep")
    assert store.get("/a/b") is None
    store.create("/a/b", "middle")
    assert store.delete("/a/b") is True
    assert store.delete("/a/b") is False
    assert (store.get("/a/b"), store.get("/a/b/c")) == (None, "deep")


def test_folders_vanish_with_their_last_node(backend: Backend) -> None:
    # A killed topology leaves the store empty.
    store = backend.open()
    store.put("/locks/wordcount/update", 1)
    store.put("/locks/other", 1)
    assert store.delete("/locks/wordcount/update") is True
    assert store.children("/locks") == ["other"]
    assert store.delete("/locks/other") is True
    assert store.children("/") == []


def test_an_ephemeral_node_ends_with_its_store(backend: Backend) -> None:
    # A master frees its place at once in a graceful stop.
    holder, other = backend.open(), backend.open()
    holder.create("/tmasters/wordcount", {"pid": 1}, ephemeral=True)
    assert other.get("/tmasters/wordcount") == {"pid": 1}
    holder.close()
    assert other.get("/tmasters/wordcount") is None
    assert other.children("/tmasters") == []
    other.create("/tmasters/wordcount", {"pid": 2}, ephemeral=True)
    assert other.get("/tmasters/wordcount") == {"pid": 2}


def test_a_persistent_node_outlives_its_store(backend: Backend) -> None:
    # The submitter ends, the topology stays.
    writer = backend.open()
    writer.create("/topologies/wordcount", 1)
    writer.close()
    assert backend.open().get("/topologies/wordcount") == 1


def test_only_its_holder_replaces_an_ephemeral_value(backend: Backend) -> None:
    # The master publishes its new port; only the master may change its node.
    holder, other = backend.open(), backend.open()
    holder.create("/tmasters/wordcount", {"pid": 1, "port": 1}, ephemeral=True)
    with pytest.raises(NameInUse, match="pid 1"):
        other.put("/tmasters/wordcount", {"pid": 2})
    holder.put("/tmasters/wordcount", {"pid": 1, "port": 2})
    assert other.get("/tmasters/wordcount") == {"pid": 1, "port": 2}
    holder.close()
    assert other.get("/tmasters/wordcount") is None


def test_a_previous_holder_leaves_its_successor_alone(backend: Backend) -> None:
    # `heronpy kill` deletes the master's node; the old master's end must not free the new one's.
    previous, successor = backend.open(), backend.open()
    previous.create("/tmasters/wordcount", {"pid": 1}, ephemeral=True)
    assert successor.delete("/tmasters/wordcount") is True
    assert previous.get("/tmasters/wordcount") is None
    successor.create("/tmasters/wordcount", {"pid": 2}, ephemeral=True)
    with pytest.raises(NameInUse):
        previous.put("/tmasters/wordcount", {"pid": 1})
    previous.close()
    assert successor.get("/tmasters/wordcount") == {"pid": 2}


def test_an_ephemeral_place_may_turn_persistent_and_back(backend: Backend) -> None:
    # The kind belongs to the node of the moment, not to the path.
    first, second = backend.open(), backend.open()
    first.create("/schedulers/a", 1, ephemeral=True)
    second.delete("/schedulers/a")
    first.put("/schedulers/a", 2)
    first.close()
    assert second.get("/schedulers/a") == 2
    second.delete("/schedulers/a")
    second.create("/schedulers/a", 3, ephemeral=True)
    second.close()
    assert backend.open().get("/schedulers/a") is None


def test_ephemeral_nodes_are_leaves(backend: Backend) -> None:
    # ZooKeeper's rule; files must refuse like the cluster.
    store = backend.open()
    store.create("/tmasters/a", 1, ephemeral=True)
    with pytest.raises(StateStoreError, match="/tmasters/a"):
        store.create("/tmasters/a/below", 1)
    with pytest.raises(StateStoreError, match="/tmasters/a"):
        store.put("/tmasters/a/below", 1)
    with pytest.raises(StateStoreError, match="nodes below"):
        store.create("/tmasters", 1, ephemeral=True)


def test_a_watch_tells_the_value_now_and_each_change(backend: Backend) -> None:
    # An executor waits for the packing plan, then follows it to the end of the topology.
    writer, heard = backend.open(), Heard()
    backend.open().watch("/packingplans/wordcount", heard)
    assert heard.next() is None
    for step in (writer.create, writer.put):
        step("/packingplans/wordcount", step.__name__)
        assert heard.next() == step.__name__
    writer.delete("/packingplans/wordcount")
    assert heard.next() is None
    writer.put("/packingplans/wordcount", "again")
    assert heard.next() == "again"


def test_a_watch_sees_changes_of_the_same_size_at_the_same_moment(backend: Backend) -> None:
    # Two epochs a microsecond apart look alike to stat; the last one must still arrive.
    writer, heard = backend.open(), Heard()
    writer.put("/pplans/wordcount", 0)
    backend.open().watch("/pplans/wordcount", heard)
    for last in range(9, 200, 10):
        for epoch in range(last - 9, last + 1):
            writer.put("/pplans/wordcount", epoch)
        heard.wait_for(last)


def test_a_watch_sees_an_ephemeral_node_go(backend: Backend) -> None:
    # A standby master takes over when the node of the first one goes.
    holder, standby, heard = backend.open(), backend.open(), Heard()
    holder.create("/tmasters/wordcount", {"pid": 1}, ephemeral=True)
    standby.watch("/tmasters/wordcount", heard)
    assert heard.next() == {"pid": 1}
    holder.close()
    assert heard.next() is None


def test_a_cancelled_watch_is_silent_while_others_go_on(backend: Backend) -> None:
    # A cancelled watch is not called any more.
    store, cancelled, kept = backend.open(), Heard(), Heard()
    cancel = store.watch("/pplans/wordcount", cancelled)
    assert cancelled.next() is None
    cancel()
    store.watch("/pplans/wordcount", kept)
    store.put("/pplans/wordcount", 1)
    kept.wait_for(1)
    store.put("/pplans/wordcount", 2)
    kept.wait_for(2)
    assert cancelled.is_silent()


def test_a_failing_callback_does_not_end_the_watch(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    # One bad message must not make a master blind; the failure is in the log.
    store, heard = backend.open(), Heard()

    def callback(value: Any) -> None:
        heard(value)
        raise ValueError("a bug of the callback")

    store.watch("/pplans/wordcount", callback)
    store.put("/pplans/wordcount", 1)
    heard.wait_for(1)
    store.put("/pplans/wordcount", 2)
    heard.wait_for(2)
    assert "a bug of the callback" in caplog.text
    assert "/pplans/wordcount" in caplog.text


def test_a_callback_may_use_the_store(backend: Backend) -> None:
    # A standby creates its own node from within the watch.
    holder, standby = backend.open(), backend.open()
    holder.create("/tmasters/wordcount", 1, ephemeral=True)
    taken = threading.Event()

    def take_over(value: Any) -> None:
        if value is None:
            standby.create("/tmasters/wordcount", 2, ephemeral=True)
            taken.set()

    standby.watch("/tmasters/wordcount", take_over)
    holder.close()
    assert taken.wait(DEADLINE_SECS)
    assert standby.get("/tmasters/wordcount") == 2


@pytest.mark.parametrize("ephemeral", [False, True], ids=["persistent", "ephemeral"])
def test_exactly_one_of_concurrent_creators_wins(backend: Backend, ephemeral: bool) -> None:
    # Six standbys see the master die at the same moment.
    stores = [backend.open() for _ in range(3)]
    for turn in range(10):
        gate = threading.Barrier(6)

        def compete(number: int, turn: int = turn, gate: threading.Barrier = gate) -> bool:
            gate.wait(DEADLINE_SECS)
            try:
                stores[number % 3].create(f"/locks/{turn}", number, ephemeral=ephemeral)
            except NameInUse:
                return False
            return True

        with ThreadPoolExecutor(6) as pool:
            won = list(pool.map(compete, range(6)))
        assert won.count(True) == 1
        assert stores[0].get(f"/locks/{turn}") == won.index(True)


def test_readers_never_see_half_a_value(backend: Backend) -> None:
    # A plan of 200 instances is rewritten while instances start and read it.
    def plan(number: int) -> list[int]:
        return [number] * 5000

    backend.open().put("/pplans/wordcount", plan(0))
    writing = threading.Event()
    writing.set()

    def read(store: StateStore) -> int:
        seen = 0
        while writing.is_set() or seen == 0:
            value = store.get("/pplans/wordcount")
            assert value is not None
            assert value == plan(value[0])
            seen += 1
        return seen

    def write(store: StateStore, numbers: range) -> None:
        for number in numbers:
            store.put("/pplans/wordcount", plan(number))

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read, backend.open()) for _ in range(2)]
        writers = [
            pool.submit(write, backend.open(), range(start, start + 20)) for start in (1, 100)
        ]
        try:
            for each in writers:
                each.result(DEADLINE_SECS)
        finally:
            writing.clear()
        assert all(each.result(DEADLINE_SECS) for each in readers)


def test_neighbours_come_and_go_while_the_folder_vanishes(backend: Backend) -> None:
    # Two topologies are submitted and killed at the same time; the folder they share is removed
    # and made again under their feet.
    def churn(name: str) -> None:
        store = backend.open()
        for number in range(30):
            store.create(f"/locks/shared/{name}", number)
            assert store.delete(f"/locks/shared/{name}") is True

    with ThreadPoolExecutor(2) as pool:
        for each in [pool.submit(churn, name) for name in ("a", "b")]:
            each.result(DEADLINE_SECS)
    assert backend.open().children("/") == []


def test_a_session_listener_hears_connected_at_once(backend: Backend) -> None:
    # Code that waits for the store starts equally everywhere.
    heard = Heard()
    backend.open().on_session(heard)
    assert heard.next() == "connected"


def test_a_closed_store_refuses_everything(backend: Backend) -> None:
    # A late callback of a process that is ending gets an error, not a hang or a stray node.
    store = backend.open()
    store.close()
    store.close()
    calls: list[Callable[[], Any]] = [
        lambda: store.get("/a"),
        lambda: store.create("/a", 1),
        lambda: store.put("/a", 1),
        lambda: store.delete("/a"),
        lambda: store.children("/"),
        lambda: store.watch("/a", print),
        lambda: store.on_session(print),
    ]
    for call in calls:
        with pytest.raises(StateStoreError, match="closed"):
            call()


@pytest.mark.parametrize(
    "path", ["", "/", "a", "/a/", "//a", "/a/..", "/.hidden", "/a.json", "/a.ephemeral", "/a\n"]
)
def test_a_bad_path_is_refused(backend: Backend, path: str) -> None:
    # A topology called ".." must not reach outside of the tree, nor clash with our files.
    store = backend.open()
    for call in (store.get, store.delete, lambda path: store.put(path, 1)):
        with pytest.raises(UsageError, match="is not a path"):
            call(path)


def _kind(value: object) -> str:
    return type(value).__name__


@pytest.mark.parametrize("value", [None, object(), float("nan"), {1, 2}, {("a",): 1}], ids=_kind)
def test_what_is_not_json_is_refused(backend: Backend, value: Any) -> None:
    # A bug in the caller must not leave an unreadable node.
    store = backend.open()
    for write in (store.put, store.create):
        with pytest.raises(StateStoreError, match="/pplans/wordcount"):
            write("/pplans/wordcount", value)
    assert store.children("/") == []


@pytest.mark.parametrize("seed", range(3))
def test_all_stores_give_the_same_answers(
    file_backend: Backend, zookeeper_backend: Backend, kubernetes_backend: Backend, seed: int
) -> None:
    # What works on a laptop works on the cluster: 200 random steps of two processes.
    rng = random.Random(seed)
    backends = (file_backend, zookeeper_backend, kubernetes_backend)
    groups = [[backend.open() for backend in backends] for _ in range(2)]
    paths = ["/a", "/a/b", "/a/b/c", "/a/d", "/e/f"]
    steps: list[Callable[[StateStore, str, int], Any]] = [
        lambda store, path, number: store.get(path),
        lambda store, path, number: store.create(path, number),
        lambda store, path, number: store.create(path, number, ephemeral=True),
        lambda store, path, number: store.put(path, number),
        lambda store, path, number: store.delete(path),
        lambda store, path, number: store.children(path),
    ]

    for number in range(200):
        stores, step, path = rng.choice(groups), rng.choice(steps), rng.choice(paths)
        answers = [_outcome(step, store, path, number) for store in stores]
        assert answers[1:] == answers[:1] * 2, f"step {number} at {path}"


def _outcome(step: Callable[..., Any], store: StateStore, path: str, number: int) -> Any:
    try:
        return step(store, path, number)
    except HeronError as error:
        return type(error)


def test_paths_of_the_tree() -> None:
    # Heron's tools look for these places.
    assert topology_path("wordcount") == "/topologies/wordcount"
    assert master_path("wordcount") == "/tmasters/wordcount"
    with pytest.raises(UsageError, match="'a/b'"):
        topology_path("a/b")
    with pytest.raises(UsageError, match="is not a path"):
        master_path("")
    with pytest.raises(UsageError, match="200 bytes"):
        check_path("/a/" + "ü" * 101)


def test_a_with_block_closes_the_store(backend: Backend) -> None:
    """Its ephemeral nodes go, and further calls fail."""
    with backend.open() as store:
        store.create("/tmasters/wordcount", {}, ephemeral=True)
    with pytest.raises(StateStoreError, match="closed"):
        store.get("/tmasters/wordcount")
    assert backend.open().get("/tmasters/wordcount") is None
