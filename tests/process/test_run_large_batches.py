"""Batches of a megabyte: the batches of a killed process are replayed."""

from array import array
from functools import partial
from pathlib import Path

from tests.process.process_support import TOPOLOGIES, Place
from tests.process.test_recovery import kill_and_see_return, title_of

BATCHES, ROWS = 40, 20_000
NUMBER_BYTES = 8


def size_of(file: Path) -> int:
    """Bytes; 0 before the file is there."""
    return file.stat().st_size if file.exists() else 0


def has_grown(file: Path, size_bytes: int) -> bool:
    """Whether the file has more bytes."""
    return size_of(file) > size_bytes


def test_no_row_of_a_large_batch_is_lost_with_a_killed_process(place: Place) -> None:
    seen = place.path / "seen"
    running = place.start(
        "run", TOPOLOGIES / "large_batches.py",
        "-o", f"test.batches={BATCHES}", "-o", f"test.file={seen}",
        "-o", "topology.reliability.mode=ATLEAST_ONCE", "-o", "topology.max.spout.pending=8",
        "-o", "topology.message.timeout.secs=10",
    )  # fmt: skip
    for beginning in ("heron: passed[0]", "heron: stream manager 1"):
        flow = partial(has_grown, seen, size_of(seen) + 5 * ROWS * NUMBER_BYTES)
        running.until(flow, "data flows")
        kill_and_see_return(running, title_of(running, beginning))
    finished = running.wait()
    assert finished.code == 0, finished.err
    numbers = array("q", seen.read_bytes())
    assert set(numbers) == set(range(BATCHES * ROWS))
    place.nothing_is_left()
