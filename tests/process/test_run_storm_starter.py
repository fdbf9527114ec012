"""The windowing examples of storm-starter, and TridentReach, on real processes."""

import pytest

from heron_connectors.requests.client import DRPCClient
from heron_connectors.requests.table import RequestLimits
from tests.process.process_support import Place
from tests.unit.heron_connectors.request_server_support import serving
from tests.unit.heronpy_compat.storm_starter_oracles import (
    EXAMPLES,
    PRINTED,
    REACH,
    VALUES,
    averages,
    join_bolt,
    stateful,
)

SECS = 40.0


def printed(place: Place, name: str) -> list[str]:
    """What an example prints, without the names of its instances."""
    finished = place.heronpy("run", EXAMPLES / f"{name}.py").succeeded()
    lines = (line.partition("] | ") for line in finished.out.splitlines())
    return [text for _, separator, text in lines if separator]


@pytest.mark.parametrize("name", PRINTED)
def test_windows_have_the_sums_of_their_integers(place: Place, name: str) -> None:
    assert printed(place, name) == PRINTED[name]


def test_each_sum_is_of_what_came_before(place: Place) -> None:
    """The printers may overtake each other."""
    lines = printed(place, "stateful")
    totals = [line for line in lines if line.startswith("total")]
    assert len(totals) == len(VALUES)
    assert sorted([*set(lines) - set(totals), totals[-1]]) == sorted(stateful())


def test_people_with_the_same_id_are_joined(place: Place) -> None:
    assert sorted(printed(place, "join_bolt")) == join_bolt()


def test_averages_by_the_clock(place: Place) -> None:
    """All integers are younger than ten seconds: the last window has all of them."""
    last = averages(printed(place, "persistent_windowing"))[-1]
    assert last[1] == pytest.approx(sum(VALUES) / len(VALUES), abs=0.01)


def test_requests_over_static_states(place: Place) -> None:
    with serving(RequestLimits(request_secs=SECS)) as server:
        host, port = server.addresses.topologies
        run = place.start("run", EXAMPLES / "trident_reach.py", "-o", f"drpc.servers={host}:{port}")
        with DRPCClient(*server.addresses.callers, SECS) as drpc:
            assert {url: drpc.execute("reach", url) for url in REACH} == REACH
        run.end()
    place.nothing_is_left()
