"""The example of a pipeline, table to table, gives what pandas says of the table."""

import os

from tests.flights_answer import (
    by_pandas,
    by_pandas_the_busiest,
    cancelled,
    shorten,
    written,
)
from tests.process.process_support import EXAMPLES, Finished, Place

FLIGHTS = EXAMPLES / "flights" / "flights.py"
MONTHS = 1
"""27 thousand departures of 337 thousand, with all carriers of the year."""


def run(place: Place, *options: str) -> Finished:
    place.environment["FLIGHTS_DATA"] = str(place.path / "data")
    return place.heronpy("run", FLIGHTS, *options).succeeded()


def test_every_flight_counts_once(place: Place) -> None:
    """521 of 27,004 flights never left. The example brings its data itself, those of the year."""
    run(place, "--dry-run")
    shorten(place.path / "data", MONTHS)
    finished = run(place, "-o", "topology.reliability.mode=ATLEAST_ONCE")
    lines = [" ".join(line.split()) for line in finished.out.splitlines()]
    assert cancelled(MONTHS) == 521
    assert f"clean[0] | {cancelled(MONTHS)} flights were cancelled" in lines
    routes = [line.removeprefix("top[0] | ") for line in lines if line.startswith("top[0]")]
    assert routes == ["route flights", *by_pandas_the_busiest(MONTHS)]
    results = place.path / "data" / "delays"
    assert written(results) == by_pandas(MONTHS)
    files = sorted(each for each in os.listdir(results) if each.startswith("carrier="))
    assert len(files) == 16
    place.nothing_is_left()
