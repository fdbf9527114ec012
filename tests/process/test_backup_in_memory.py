"""States in the memory of other containers, in real processes: killed processes come back without
the checkpoint store, and counts are exact, also after a loss of all copies."""

from collections.abc import Iterator
from contextlib import contextmanager

from heron_core.stats import BackupStats
from heron_core.topology_events import TopologyEvent
from tests.process.process_support import Master, Place, Running
from tests.process.test_exact_counts import (
    MASTER,
    TEXT,
    TOPOLOGY,
    Watched,
    counted,
    emitted,
    kill,
)
from tests.process.test_recovery import title_of

NAME = "Exact"
DURABLE_EVERY = 1000
"""Only the first checkpoint of the run, and the second after a restore, is in the store."""
THREE = tuple(f"heron: container {number} ({NAME})" for number in (1, 2, 3))


def started(place: Place, *arguments: object) -> Running:
    """The topology of test_exact_counts.py with a backup in three containers."""
    (place.path / "lines.txt").write_text(TEXT)
    settings = {
        "exact.folder": place.path,
        "file.folder": place.path / "out",
        "topology.stateful.backup": "memory",
        "topology.stateful.backup.durable.every": DURABLE_EVERY,
    }
    given = [part for key, value in settings.items() for part in ("-o", f"{key}={value}")]
    return place.start("run", TOPOLOGY, "--containers", 3, *given, *arguments)


class Backup:
    """The topology master's figures of the backup."""

    def __init__(self, running: Running, master: Master) -> None:
        self._running, self._master = running, master

    def _stats(self) -> BackupStats | None:
        stats = self._master.stats()
        return None if stats is None or stats.checkpoints is None else stats.checkpoints.backup

    def __call__(self) -> BackupStats:
        return self._running.until(self._stats, "the master answers")

    def is_held(self) -> None:
        """The newest checkpoint is in memory, each state in two other containers."""

        def is_held() -> bool:
            stats = self._master.stats()
            checkpoints = None if stats is None else stats.checkpoints
            if checkpoints is None or checkpoints.backup is None or not checkpoints.released:
                return False
            backup = checkpoints.backup
            return checkpoints.completed > backup.durable and backup.copies == 2

        self._running.until(is_held, "a checkpoint is in the memory of two containers")


@contextmanager
def without_store(place: Place) -> Iterator[None]:
    """The checkpoint store is away, as an object store that does not answer."""
    store = place.path / "home" / "topologies" / NAME / "checkpoints"
    assert store.is_dir(), sorted(place.path.rglob("checkpoints"))
    away = store.with_name("away")
    store.rename(away)
    yield
    for left in sorted(store.rglob("*"), reverse=True):
        left.unlink() if left.is_file() else left.rmdir()
    if store.is_dir():
        store.rmdir()
    away.rename(store)


def finish(place: Place, running: Running) -> None:
    """The run ends, with each number and each line once."""
    (place.path / "enough").touch()
    finished = running.wait().succeeded()
    assert "not exact" not in finished.err
    assert counted(place.path) == emitted(place.path)
    parts = sorted((place.path / "out").glob("part-*"))
    assert "".join(each.read_text() for each in parts) == TEXT
    place.nothing_is_left()


def test_what_is_killed_comes_back_without_the_store(place: Place) -> None:
    """Two bolts, a stream manager, a whole container, the topology master: each takes its memory
    along, and the store is away meanwhile."""
    running = started(place)
    with Master(place.store_url, NAME) as master:
        watched, backup = Watched(running, master), Backup(running, master)
        backup.is_held()
        with without_store(place):
            for victims in (("count[0]", "written[0]"), ("stream manager 2",), ("container 3",)):
                backup.is_held()
                before = watched.epoch()
                kill(running, *(title_of(running, f"heron: {victim}") for victim in victims))
                watched.restores_and_continues(before)
            before_death = watched.latest()
            kill(running, MASTER)
            watched.goes_on_after(before_death, "the next master goes on")
        assert backup().rolled_back == 0
    finish(place, running)


def test_where_all_copies_are_lost_the_store_has_the_rest(place: Place) -> None:
    """A power cut in the rack: all containers at once. The topology goes back to the checkpoint in
    the store, with an event, and neither counts nor writes anything twice."""
    running = started(place)
    with Master(place.store_url, NAME) as master:
        watched, backup = Watched(running, master), Backup(running, master)
        backup.is_held()
        before, durable = watched.epoch(), backup().durable
        kill(running, *THREE)
        watched.restores_and_continues(before)
        assert backup().rolled_back == 1
        texts = [f"{each.what}: {each.why}" for each in _events(master)]
    assert any("was in memory alone" in text for text in texts), texts
    wanted = f"the topology is restored from checkpoint {durable}: the checkpoint after it was in"
    assert any(wanted in text for text in texts), texts
    finish(place, running)


def _events(master: Master) -> tuple[TopologyEvent, ...]:
    stats = master.stats()
    assert stats is not None
    return stats.events
