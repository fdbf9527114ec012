"""The latencies that a report of an instance has."""

from heron_instance.runtime.metrics import Latencies


def test_the_mean_is_over_all_durations_and_the_histogram_over_those_that_were_measured() -> None:
    latencies = Latencies()
    latencies.add(0.5)
    latencies.add(0.25, 3)  # three calls were measured as one
    found = latencies.snapshot()
    assert (found.total_secs, found.number) == (1.25, 4)
    assert sum(found.histogram.values()) == 2
