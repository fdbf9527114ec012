"""A bolt that raises in real processes, where each tuple is to count once."""

from tests.process.process_support import TOPOLOGIES, Place

TOPOLOGY = TOPOLOGIES / "raising.py"
NUMBERS = list(range(1000))


def test_a_connection_refused_once_in_a_hundred_calls_changes_no_total(place: Place) -> None:
    place.heronpy("run", TOPOLOGY).succeeded()
    assert place.results()["counted"] == place.results()["acked"] == NUMBERS
    place.nothing_is_left()


def test_a_bolt_that_ends_its_process_six_times_in_a_row_changes_no_total(place: Place) -> None:
    """Six ends in seconds made the topology FAILED for good; it goes on, and keeps its state."""
    place.environment["RAISING"] = "exits"
    place.heronpy("run", TOPOLOGY).succeeded()
    assert len([each for each in place.results_folder.iterdir() if each.stem[:5] == "exit-"]) == 6
    assert place.results()["counted"] == NUMBERS
    (again,) = [
        line for line in place.log("Raising", "events").splitlines() if "6 times in a row" in line
    ]
    assert "exit code 7" in again


def test_a_tuple_that_ends_its_process_once_and_is_processed_then_has_not_failed(
    place: Place,
) -> None:
    place.environment["RAISING"] = "once"
    run = place.heronpy("run", TOPOLOGY, "-o", "topology.bolt.on.exception=exit").succeeded()
    assert "topology.bolt.on.exception is exit: ConnectionRefusedError" in run.err
    assert place.results()["counted"] == NUMBERS


def test_a_tuple_that_fails_before_and_after_its_process_ends_has_failed_once(place: Place) -> None:
    place.environment["RAISING"] = "fails"
    run = place.heronpy("run", TOPOLOGY, "-o", "topology.bolt.on.exception=exit")
    run.incomplete("1 tuple failed for good")
    assert place.results()["counted"] == NUMBERS


def test_a_poison_tuple_is_retried_then_abandoned_counted_and_named(place: Place) -> None:
    place.environment["RAISING"] = "7"
    run = place.heronpy("run", TOPOLOGY).incomplete("1 tuple failed for good")
    results = place.results()
    assert results["counted"] == [each for each in NUMBERS if each != 7]
    assert 7 not in results["acked"]
    assert "count abandoned tuples that checkpoint" in run.err
    assert "ConnectionRefusedError: the dependency is away" in run.err
    assert "count[" in run.err


def test_a_poison_tuple_stops_the_topology_where_that_is_wanted(place: Place) -> None:
    place.environment["RAISING"] = "7"
    run = place.heronpy("run", TOPOLOGY, "-o", "topology.bolt.on.exception=stop")
    assert run.code == 1, run.err
    assert "topology.bolt.on.exception is stop: ConnectionRefusedError" in run.err
    assert "counted" not in place.results()
    place.nothing_is_left()
