"""Window bolts in real processes: by the clock, at least once; by the time of the events."""

import json
import runpy
from collections import Counter

from tests.process.process_support import EXAMPLES, TOPOLOGIES, Place

NUMBERS = 120


def test_every_number_is_in_its_windows_and_acked(place: Place) -> None:
    """A number every 10 ms. The tumbling windows of a second have each number once, although the
    first window fails and its numbers are replayed; nothing is requested twice. Windows of two
    seconds every second have each number, too."""
    place.heronpy("run", TOPOLOGIES / "windowed.py").succeeded()
    (spout,) = place.results_of("numbers").values()
    assert Counter(spout["acked"]) == Counter(range(NUMBERS))
    assert 13 in spout["failed"]
    (rows,) = place.results_of("kept").values()
    tumbling = [row[1:] for row in rows if row[0] == "sums"]
    assert Counter(number for *_, numbers in tumbling for number in numbers) == Counter(
        range(NUMBERS)
    )
    assert all(end - start == 1 for start, end, _ in tumbling)
    sliding = Counter(number for row in rows if row[0] == "recent" for number in row[1])
    assert set(sliding) == set(range(NUMBERS))
    assert min(sliding.values()) >= 1


def test_windows_by_event_time_do_not_depend_on_the_clock(place: Place) -> None:
    """Each event counts in the minute of its time, except for the events ten minutes late. Open
    windows hold their tracked events; the windows are complete when the source has finished, rather
    than after half of the message timeout."""
    example = EXAMPLES / "click_through_rate.py"
    tracked = "topology.reliability.mode=ATLEAST_ONCE"
    pending, timeout = "topology.max.spout.pending=5000", "topology.message.timeout.secs=3600"
    finished = place.heronpy("run", example, "-o", tracked, "-o", pending, "-o", timeout)
    finished.succeeded()
    parts = runpy.run_path(str(example))
    counts: dict[tuple[int, str], list[int]] = {}
    latest = late = 0
    for ad, kind, time_ms in parts["events"](parts["EVENTS"], 1):
        latest = max(latest, time_ms)
        if time_ms < latest - parts["LATE_MS"] / 2:
            late += 1
            continue
        minute = (time_ms - parts["START_MS"]) // parts["MINUTE_MS"]
        counts.setdefault((minute, ad), [0, 0])[kind == "click"] += 1
    lines = [line.removeprefix("table[0] | ").split() for line in finished.out.splitlines()
             if line.startswith("table[0] | ")]  # fmt: skip
    rows = {(int(row[0]), row[1]): [int(row[2]), int(row[3])] for row in lines[1:-1]}
    assert rows == counts
    assert lines[-1] == [str(late), "events", "came", "too", "late"]
    stats = json.loads(place.heronpy("stats", "ClickThroughRate", "--json").succeeded().out)
    assert stats["components"]["rates"]["clock"]["complete"]
    assert stats["clock"]["instance"].startswith("rates[")
