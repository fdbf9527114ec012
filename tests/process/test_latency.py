"""Tuple by tuple: what an idle topology adds to a tuple's way is milliseconds."""

import statistics

from tests.process.process_support import TOPOLOGIES, Place

P50_SECS = 0.010
"""Of a tuple from the emit to the last of two bolts, between three processes."""
TUPLES = 220


def test_half_of_the_tuples_take_less_than_ten_milliseconds(place: Place) -> None:
    """250 tuples a second at most over two hops. A batch of 10 ms anywhere would show; the rounds
    come one after the other, and the best one has to hold, as other work may take the cores."""
    place.heronpy("run", TOPOLOGIES / "paced_hops.py").succeeded()
    (rounds,) = place.results_of("last").values()
    assert [len(each) for each in rounds] == [TUPLES] * 3
    medians = [statistics.median(each) for each in rounds]
    assert min(medians) < P50_SECS, f"the medians of the rounds are {medians}"
