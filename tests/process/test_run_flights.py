"""The example of a pipeline, table to table, gives what pandas says of the whole table."""

import os

from tests.flights_answer import by_pandas, by_pandas_the_busiest, written
from tests.process.process_support import EXAMPLES, Finished, Place

FLIGHTS = EXAMPLES / "flights" / "flights.py"


def run(place: Place, *options: str) -> Finished:
    place.environment["FLIGHTS_DATA"] = str(place.path / "data")
    return place.heronpy("run", FLIGHTS, *options).succeeded()


def test_every_flight_counts_once(place: Place) -> None:
    """336,776 flights, of which 8,255 never left."""
    finished = run(place, "-o", "topology.reliability.mode=ATLEAST_ONCE")
    lines = [" ".join(line.split()) for line in finished.out.splitlines()]
    assert "clean[0] | 8255 flights were cancelled" in lines
    routes = [line.removeprefix("top[0] | ") for line in lines if line.startswith("top[0]")]
    assert routes == ["route flights", *by_pandas_the_busiest()]
    results = place.path / "data" / "delays"
    assert written(results) == by_pandas()
    files = sorted(each for each in os.listdir(results) if each.startswith("carrier="))
    assert len(files) == 16
    place.nothing_is_left()
