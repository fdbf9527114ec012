"""One aggregate by many tasks: partial values, and the bolt that merges them."""

import random
from typing import Any

import pytest

from heron_api.bolt.bolt import Bolt
from heron_api.spout.spout import Spout
from heron_api.state.keyed_state import mergeable_state
from heron_api.stream import Grouping
from heron_api.topology import Topology
from heron_api.windows.partial_bolt import MergeWindowBolt, PartialBolt
from heron_core.algorithms.event_windows.assigners import Session, Sliding, Tumbling
from heron_core.errors import HeronError
from heron_core.state.monoid import MeanOf, Monoid, SumOf
from heron_tester.tester import TopologyTester

EXACT = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
SECOND_MS = 1000


class Distinct(Monoid[set[Any]]):
    """The oracle's HyperLogLog: all elements."""

    def zero(self) -> set[Any]:
        return set()

    def add(self, value: set[Any], element: Any) -> set[Any]:
        return value | {element}

    def merge(self, left: set[Any], right: set[Any]) -> set[Any]:
        return left | right

    def estimate(self, value: set[Any]) -> int:
        return len(value)


class Visits(Spout):
    """A visit a call, by page, in the disorder that the bolts allow; it goes on where it was."""

    outputs = ["page", "user", "time_ms"]
    number = 400

    def init_state(self, state: Any) -> None:
        self.state = state

    def next_tuple(self) -> None:
        at = self.state.get("at", 0)
        if at == self.number:
            self.finish()
            return
        self.state.put("at", at + 1)
        self.emit(visit(at), tup_id=at)


def visit(at: int) -> list[Any]:
    """The visit of a number: most of them are of one page."""
    rng = random.Random(at)
    page = rng.choice(["front"] * 8 + ["help", "shop"])
    return [page, f"user{rng.randrange(60)}", at * 50 - rng.randrange(3) * 1000 + 10_000]


class VisitorsOfShare(PartialBolt):
    monoid = Distinct()
    key_fields = ["page"]
    timestamp_field = "time_ms"
    lag_ms = 3000
    window = Sliding(5 * SECOND_MS, 2 * SECOND_MS)

    def value(self, tup: Any) -> Any:
        return tup.user


class Visitors(MergeWindowBolt):
    outputs = ["page", "start_ms", "end_ms", "visitors"]
    monoid, window = VisitorsOfShare.monoid, VisitorsOfShare.window


class MostVisited(Topology):
    visits = Visits.spec()
    share = VisitorsOfShare.spec(par=3, inputs=[visits])
    visitors = Visitors.spec(par=2, inputs={share: Grouping.fields("key")})


def oracle() -> dict[tuple[Any, ...], int]:
    """Visitors of each page and window, of all visits."""
    users: dict[tuple[Any, ...], set[str]] = {}
    for at in range(Visits.number):
        page, user, time_ms = visit(at)
        for start_ms, end_ms in VisitorsOfShare.window.windows(time_ms):
            users.setdefault((page, start_ms, end_ms), set()).add(user)
    return {window: len(found) for window, found in users.items()}


def shown(tester: TopologyTester) -> list[list[Any]]:
    return sorted(tester.values("visitors"))


@pytest.mark.parametrize("mode", ["ATMOST_ONCE", "ATLEAST_ONCE", "EFFECTIVELY_ONCE"])
def test_windows_of_partial_values_are_those_of_all_elements(mode: str) -> None:
    with TopologyTester(MostVisited, config={"topology.reliability.mode": mode}) as tester:
        while tester.run_spouts(25):
            tester.advance(0.11)
        tester.run_spouts()
        rows = shown(tester)
        assert tester.errors("share") == tester.errors("visitors") == []
    assert len(rows) == len(oracle())
    assert {tuple(row[:3]): row[3] for row in rows} == oracle()


def test_the_same_is_shown_whatever_crashes() -> None:
    rng = random.Random(3)
    with TopologyTester(MostVisited, config=EXACT, order="random", seed=3) as tester:
        for _ in range(25):
            tester.run_spouts(rng.randint(5, 25))
            tester.advance(0.06)
            if rng.random() < 0.5:
                tester.checkpoint()
            else:
                tester.crash(rng.choice(["share", "visitors"]))
        tester.run_spouts()
        shown_windows = {tuple(row[:3]): row[3] for row in shown(tester)}
    assert shown_windows == oracle()


class PricesOfShare(PartialBolt):
    monoid = MeanOf()

    def value(self, tup: Any) -> Any:
        return int(tup.user.removeprefix("user"))


class Total(Bolt):
    outputs = ["mean"]
    auto_ack = True
    mean = mergeable_state(PricesOfShare.monoid)

    def process(self, tup: Any) -> None:
        self.mean.merge(tup.partial)
        self.emit([self.mean.estimate()])


class MeanOfAll(Topology):
    visits = Visits.spec()
    share = PricesOfShare.spec(par=4, inputs=[visits])
    total = Total.spec(inputs={share: Grouping.fields("key")})


def test_a_running_value_is_merged_from_all_tasks() -> None:
    with TopologyTester(MeanOfAll) as tester:
        tester.run_spouts()
        mean = tester.values("total")[-1][0]
    numbers = [int(visit(at)[1].removeprefix("user")) for at in range(Visits.number)]
    assert mean == sum(numbers) / len(numbers)


def test_what_cannot_be_divided_is_named_when_the_topology_is_loaded() -> None:
    class OfSessions(VisitorsOfShare):
        window = Session(1000)  # type: ignore[assignment]

    class WithoutTime(PartialBolt):
        monoid = SumOf()
        window = Tumbling(1000)

    class WithoutMonoid(PartialBolt):
        pass

    assert "group by the key instead" in str(OfSessions.load_problem({}, True))
    assert "its timestamp_field is missing" in str(WithoutTime.load_problem({}, True))
    assert "has no monoid" in str(WithoutMonoid.load_problem({}, True))


class Grouped(Topology):
    visits = Visits.spec()
    share = PricesOfShare.spec(par=4, inputs={visits: Grouping.fields("page")})


def test_parts_of_keys_that_are_grouped_already_are_refused() -> None:
    with pytest.raises(HeronError, match=r"grouped by fields, .* shuffle the input"):
        TopologyTester(Grouped).__enter__()
