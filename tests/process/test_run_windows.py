"""Window bolts on real time, at least once."""

from collections import Counter

from tests.process.process_support import TOPOLOGIES, Place

NUMBERS = 120


def test_every_number_is_in_its_windows_and_acked(place: Place) -> None:
    """A number every 10 ms. The tumbling windows of a second have each number once, although the
    first one fails and its numbers come again; nothing is asked for twice. Windows of two seconds
    every second have each number, too."""
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
