"""A checkpoint whose states the topology master does not see fails, and says where and what to do:
a host has the disk of the checkpoint store not mounted."""

import select
import threading
from pathlib import Path

import pytest

from heron_core import config as keys
from heron_core.wire import messages
from heron_engine.topology_master import events
from heron_engine.topology_master.stored_checkpoints import StoredCheckpoints
from heron_engine.topology_master.visible_states import why_not_stored, why_unseen
from heron_io.checkpoint_store.local_files import LocalFiles
from tests.unit.topology_master.test_checkpoints import EXACT, OPTIONS, Made, running, sent
from tests.unit.topology_master.test_master_core import FIRST, LAST, PACKED, SPOUT

HOSTS = {1: "one", 2: "two"}
SHARED = EXACT.with_config({keys.CHECKPOINT_STORE: "/disk/store"})
SECS_MAX = 60.0


def why(*missing: int, folder: str = "/disk/store", is_named: bool = True) -> str:
    sought = events.StatesSought(1, folder, missing)
    return why_unseen(sought, SHARED if is_named else EXACT, PACKED, HOSTS)


def completed(made: Made) -> list[int]:
    return [each["number"] for each in made.checkpoints["completed"]]


def test_a_host_whose_disk_is_not_mounted_fails_the_checkpoint_until_it_is() -> None:
    made = running()
    made.unseen = {LAST}
    made.wait(1.1)
    made.complete(1)
    out = made.wait()
    assert not sent(out, messages.CheckpointCompleted), "sinks must not commit"
    assert completed(made) == []
    assert not [each for each in out if isinstance(each, events.DescribeCheckpoint)]
    stats = made.core.stats(None, made.now).checkpoints
    assert stats is not None
    assert (stats.failed, stats.completed) == (1, 0)
    said = "the topology master does not see the states of last[0] on host"
    assert said in stats.failure
    assert [each for each in made.events if each.startswith(f"checkpoint 1 failed: {said}")]

    made.unseen = set()
    made.wait(1.1)
    made.complete(2)
    assert [each.checkpoint for each in sent(made.wait(), messages.CheckpointCompleted)] == [2, 2]
    assert completed(made) == [2]
    assert "checkpoints work again" in made.events
    stats = made.core.stats(None, made.now).checkpoints
    assert stats is not None
    assert not stats.failure


def test_a_checkpoint_says_in_its_folder_what_it_is() -> None:
    made = running()
    made.wait(1.1)
    made.complete(1)
    (described,) = [each for each in made.out if isinstance(each, events.DescribeCheckpoint)]
    assert described.checkpoint == 1
    assert described.at == made.checkpoints["completed"][0]["at"]


def test_the_cure_is_for_the_host_the_store_and_the_setting_that_is_missing() -> None:
    assert why() == ""
    one = "the topology master does not see the states of last[0] on two: "
    mount = (
        "the folder /disk/store on that host is not the store of the topology master: mount the "
        "store"
    )
    assert why(LAST) == one + mount
    assert why(LAST, folder="file:///disk/store") == one + mount
    every = why(SPOUT, FIRST, LAST)
    assert "on one, two: the folder /disk/store differs between its host and the others" in every
    bucket = (
        "s3://b/x is another store on that host: give all hosts the same server and credentials"
    )
    assert why(LAST, folder="s3://b/x").endswith(bucket)
    assert why(LAST, is_named=False).endswith(
        "set topology.checkpoint.store to a folder or URL that all hosts share"
    )
    unknown = why_unseen(events.StatesSought(1, "/disk/store", (LAST,)), SHARED, PACKED, {})
    assert "last[0] on an unknown host" in unknown


def test_an_instance_that_cannot_store_its_state_is_told_with_its_host() -> None:
    """Where there are several: a disk is full, or not mounted, on one of them."""
    full = "No space left on device"
    assert why_not_stored(LAST, full, PACKED, HOSTS) == f"last[0] on two: {full}"
    assert why_not_stored(LAST, full, PACKED, {1: "one", 2: "one"}) == f"last[0]: {full}"
    assert why_not_stored(LAST, full, PACKED, {1: "one", 3: "two"}).startswith("last[0] on an unk")
    made = running()
    made.wait(1.1)
    made.receive(messages.CheckpointFailed(LAST, 1, full))
    (said,) = (each for each in made.events if each.startswith("checkpoint 1 failed: last[0]"))
    assert said.endswith(f": {full}")


def test_a_store_that_the_master_cannot_look_at_fails_the_checkpoint() -> None:
    made = running()
    made.store_failure = "/disk/store/T/1 cannot be read: Stale file handle"
    made.wait(1.1)
    made.complete(1)
    why_not = f"the topology master cannot check its states: {made.store_failure}"
    assert f"checkpoint 1 failed: {why_not}" in made.events
    assert completed(made) == []


def test_a_store_that_never_answers_the_master_fails_the_checkpoint_in_time() -> None:
    made = running()
    made.answers = False
    made.wait(1.1)
    made.complete(1)
    made.wait(OPTIONS.checkpoint_timeout_secs + 0.1)
    assert [each for each in made.events if "the checkpoint store does not answer" in each]
    # The answer that comes at last is of no checkpoint that is under way.
    made.answer(events.StatesSought(1, "/disk/store"))
    assert completed(made) == []


def test_a_restore_amid_the_look_gives_the_checkpoint_up() -> None:
    made = running()
    made.answers = False
    made.wait(1.1)
    made.complete(1)
    made.receive(messages.RestoreWanted(LAST, made.core.epoch, "it has raised"))
    made.answer(events.StatesSought(1, "/disk/store"))
    assert completed(made) == []
    assert made.restore.checkpoint == 0


@pytest.mark.parametrize("unmounted", [False, True])
def test_the_master_looks_into_its_own_store_in_a_thread(tmp_path: Path, unmounted: bool) -> None:
    disk, bare = tmp_path / "disk", tmp_path / "bare"
    for task in (1, 2):
        LocalFiles(str(bare if unmounted and task == 2 else disk)).save("T", 7, task, b"state")
    store, found = StoredCheckpoints(str(disk), "T"), list[events.StatesSought]()
    store.seek(events.SeekStates(7, (1, 2)), found.append)
    store.close(SECS_MAX)
    assert found == [events.StatesSought(7, str(disk), (2,) if unmounted else ())]


def test_a_store_that_was_away_when_the_run_began_gets_the_mark_from_the_master(
    tmp_path: Path,
) -> None:
    disk = tmp_path / "disk"
    disk.write_text("no folder yet")
    store = StoredCheckpoints(str(disk), "T", "run")
    store.poll(1.0)
    _finish(store)
    assert disk.is_file()
    disk.unlink()
    store.poll(1e12)
    _finish(store)
    LocalFiles(str(disk)).check_run("T", "run")
    disk.rename(tmp_path / "unmounted")
    store.poll(1e12)
    store.close(SECS_MAX)
    assert not disk.exists(), "the mark is left once"


def _finish(store: StoredCheckpoints) -> None:
    """Wait until the thread has carried out what was begun."""
    done = threading.Event()
    store.seek(events.SeekStates(1, ()), lambda sought: done.set())
    while not done.is_set():
        _wait_readable(store.readable)
        store.finish()


def _wait_readable(descriptor: int) -> None:
    assert select.select([descriptor], [], [], SECS_MAX)[0], "the thread does nothing"
