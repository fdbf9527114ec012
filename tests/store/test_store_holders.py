"""An ephemeral node goes with the process that holds it, however that process ends."""

import signal

import psutil

from tests.store.store_support import DEADLINE_SECS, Backend, Heard, Holder


def test_kill_minus_nine_frees_the_place(backend: Backend) -> None:
    # The out-of-memory killer takes the topology master; a standby watches.
    store, heard = backend.open(), Heard()
    with Holder(backend.url) as holder:
        assert holder.line() == "ready"
        store.watch("/tmasters/wordcount", heard)
        assert heard.next() == {"host": "a-host", "pid": holder.process.pid}
        holder.process.send_signal(signal.SIGKILL)
        assert heard.next() is None
    assert store.get("/tmasters/wordcount") is None
    assert store.children("/tmasters") == []
    store.create("/tmasters/wordcount", {"pid": 1}, ephemeral=True)
    assert store.get("/tmasters/wordcount") == {"pid": 1}


def test_children_of_a_killed_holder_do_not_keep_its_place(file_backend: Backend) -> None:
    # A forked template process and a started instance outlive the master that started them.
    store, heard = file_backend.open(), Heard()
    with Holder(file_backend.url, "with-children") as holder:
        children = [psutil.Process(int(pid)) for pid in holder.line().split()]
        assert holder.line() == "ready"
        store.watch("/tmasters/wordcount", heard)
        assert heard.next() is not None
        holder.process.send_signal(signal.SIGKILL)
        assert heard.next() is None
        assert [child.is_running() for child in children] == [True, True]
        store.create("/tmasters/wordcount", {"pid": 1}, ephemeral=True)
    gone, _ = psutil.wait_procs(children, DEADLINE_SECS)
    assert len(gone) == 2
    assert store.get("/tmasters/wordcount") == {"pid": 1}


def test_the_end_of_a_forked_child_leaves_the_parents_place(file_backend: Backend) -> None:
    # The template process ends first, and in order: it closes the store that it inherited.
    store = file_backend.open()
    with Holder(file_backend.url, "ended-child") as holder:
        assert holder.line() == "ready"
        assert store.get("/written/by-child") == 1
        assert store.get("/tmasters/wordcount") == {"host": "a-host", "pid": holder.process.pid}


def test_a_holder_that_ends_in_order_cleans_up(backend: Backend) -> None:
    # `heronpy kill`: no stale file, no node, no folder.
    store, heard = backend.open(), Heard()
    with Holder(backend.url) as holder:
        assert holder.line() == "ready"
        store.watch("/tmasters/wordcount", heard)
        assert heard.next() is not None
        assert holder.process.stdin is not None
        holder.process.stdin.close()
        assert heard.next() is None
        assert holder.process.wait(DEADLINE_SECS) == 0
