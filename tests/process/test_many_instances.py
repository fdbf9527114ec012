"""Sixty instances under load: whatever is killed comes back by itself, and no line is lost."""

from contextlib import suppress

import psutil
import pytest

from tests.process.process_support import Place, Running
from tests.process.survival import NAME, TOPOLOGY, acked, gaps, records, settings

SPOUTS = 12
SHAPE = f"{SPOUTS},16,16,16"
PENDING = 20
"""Lines on their way for each spout: some hundreds in all."""
LINES, LINES_PER_SEC = 1_000_000, 300
"""A generous limit, at a pace that leaves two slow cores time for restarts."""
ACKED_BYTES = PENDING * len("10000\n")
"""More than what was on its way when something died."""
SECS = 60.0
"""A container with thirty processes takes a second to come back, and ten on a busy machine."""
VICTIMS = (
    "heron: seen[0]",
    "heron: lines[3]",
    f"heron: stream manager 1 ({NAME})",
    f"heron: topology master ({NAME})",
    f"heron: container 2 ({NAME})",
)
"""A bolt, a spout, a stream manager, the master, a whole container; how their titles begin."""


def victim(running: Running, beginning: str) -> psutil.Process | None:
    """The process whose title begins so."""
    for each in running.processes():
        with suppress(psutil.Error):
            if " ".join(each.cmdline()).startswith(beginning):
                return each
    return None


def kill_and_see_flow(running: Running, place: Place, beginning: str) -> None:
    """kill -9; each spout gets acks again, and another process is there."""
    before = running.until(lambda: victim(running, beginning), f"{beginning} is there", SECS)
    before.kill()
    sizes = acked_bytes(place)

    def flows() -> bool:
        return all(
            now > then + ACKED_BYTES for now, then in zip(acked_bytes(place), sizes, strict=True)
        )

    running.until(flows, f"every spout gets acks after {beginning} was killed", SECS)

    def is_back() -> bool:
        found = victim(running, beginning)
        return found is not None and found.pid != before.pid

    running.until(is_back, f"{beginning} is back", SECS)


def acked_bytes(place: Place) -> list[int]:
    """How long each spout's records of acks are."""
    return [(place.path / f"acked-{task}").stat().st_size for task in range(1, SPOUTS + 1)]


@pytest.mark.timeout(400)
def test_with_sixty_instances_nothing_is_lost_whatever_is_killed(place: Place) -> None:
    """A machine with sixty processes of one topology has a bad day: crashes one after the other."""
    place.environment["SURVIVING_SHAPE"] = SHAPE
    words, _ = settings(place.path, LINES, LINES_PER_SEC)
    limit = f"topology.max.spout.pending={PENDING}"
    running = place.start("run", TOPOLOGY, "--containers", "2", "-o", limit, *words)
    running.until(lambda: acked(place.path) > 10 * SPOUTS, "lines are acked", SECS)
    for beginning in VICTIMS:
        kill_and_see_flow(running, place, beginning)
    (place.path / "enough").touch()
    finished = running.wait(SECS)
    assert finished.code == 0, finished.err
    assert len(set(records(place.path, "stopped"))) == SPOUTS
    assert gaps(place.path, SPOUTS, LINES) == []
    place.nothing_is_left()
