"""The minimum clock of a topology without event time: it stands while a tuple is held, names the
holder, and goes on."""

import pytest

from heron_core.clock_stats import MinimumClockStats
from tests.process.process_support import TOPOLOGIES, Master, Place

HELD_SECS = 6.0


@pytest.mark.parametrize("mode", ["ATLEAST_ONCE", "ATMOST_ONCE"])
def test_the_clock_stands_while_a_tuple_is_held_and_names_the_holder(
    place: Place, mode: str
) -> None:
    file = place.path / "go on"
    running = place.start(
        "run", TOPOLOGIES / "held_tuple.py", "--containers", "2", "-o", f"test.file={file}",
        "-o", f"topology.reliability.mode={mode}",
    )  # fmt: skip
    seen: list[MinimumClockStats] = []
    with Master(place.store_url, "HeldTuple") as master:

        def clock() -> MinimumClockStats | None:
            stats = master.stats()
            if stats is None or stats.minimum_clock is None:
                return None
            seen.append(stats.minimum_clock)
            return seen[-1]

        def is_held() -> bool:
            found = clock()
            if found is None or found.behind_secs < HELD_SECS:
                return False
            return found.components["quick"] < found.components["holding"]

        running.until(is_held, "the clock is behind")
        held = seen[-1]
        told = place.heronpy("stats", "HeldTuple").succeeded().out
        file.touch()

        def goes_on() -> bool:
            found = clock()
            return found is not None and found.clock_ms > held.clock_ms + HELD_SECS * 1000

        running.until(goes_on, "the clock goes on")
    assert held.holder == "holding[0]"
    # At least once its root and its message are about as old as each other.
    assert held.location in (("trees", "queue") if mode == "ATLEAST_ONCE" else ("queue",))
    assert ("numbers" in held.components) == (mode == "ATLEAST_ONCE")
    assert "minimum clock: " in told
    assert " at holding[0]" in told
    times = [each.clock_ms for each in seen]
    assert times == sorted(times), "it fell"
    assert seen[-1].holder != held.holder or seen[-1].behind_secs < held.behind_secs
    running.end()
