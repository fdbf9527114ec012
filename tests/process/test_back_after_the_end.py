"""A host comes back after its topology has ended: what ran there ends, and restores nothing."""

import sys
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen

from heron_core.exit_codes import ExitCode
from heron_core.state_tree import execution_path, master_path, physical_path, topology_path
from heron_core.topology import ComponentSpec, TopologySpec
from heron_engine.scheduler.backends.local import LocalBackend
from heron_engine.scheduler.packing import pack
from heron_engine.scheduler.registration import register
from heron_engine.scheduler.submission import Submission
from heron_engine.scheduler.user_folder import Home
from tests.process.process_support import DEADLINE_SECS, REPOSITORY, Place

TOPOLOGY = TopologySpec("ended", (ComponentSpec("lines", True, "examples.word_count.Lines", 1),))


def test_a_master_and_a_container_that_come_back_after_the_end_end_by_themselves(
    place: Place,
) -> None:
    """The topology stays ENDED, and no plan is made."""
    home = Home(str(place.home))
    register(Submission(TOPOLOGY, pack(TOPOLOGY), place.store_url, home, False), LocalBackend())
    ended = {"state": "ENDED", "reason": "", "ended_at": "2026-01-01T00:00:00+0000"}
    with place.store() as store:
        store.put(execution_path("ended"), ended)
    log = place.path / "master.log"
    standby = Path(__file__).parent / "standby.py"
    assert code(place, standby, place.store_url, "ended", log) == ExitCode.ENDED
    since = "ended is ENDED since 2026-01-01T00:00:00+0000: its processes must not run"
    assert f"topology master ends: {since}" in log.read_text()
    words = ("-m", "heron_engine.scheduler.container", "--store", place.store_url)
    where = ("--topology", "ended", "--container", 1, "--logs", place.path)
    assert code(place, *words, *where) == ExitCode.ENDED
    with place.store() as store:
        assert store.get(execution_path("ended")) == ended
        assert store.get(physical_path("ended")) is None
        assert store.get(master_path("ended")) is None
        store.delete(topology_path("ended"))


def code(place: Place, *words: object) -> int:
    """A process's exit code, once it has ended by itself."""
    command = [sys.executable, *map(str, words)]
    with Popen(
        command, stdin=PIPE, stdout=DEVNULL, cwd=REPOSITORY, env=place.environment
    ) as process:
        try:
            return process.wait(DEADLINE_SECS)
        finally:
            process.kill()
