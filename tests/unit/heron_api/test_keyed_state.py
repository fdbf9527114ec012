"""Keyed states as users of each API write them, in a whole topology."""

from typing import Any

import pytest

from heron_api.bolt.bolt import Bolt
from heron_api.spout.spout import Spout
from heron_api.state.keyed_state import (
    list_state,
    map_state,
    reducing_state,
    value_state,
)
from heron_api.stream import Grouping
from heron_api.topology import Topology
from heron_core.errors import ComponentError
from heron_tester.tester import TopologyTester
from heronpy_compat.pystorm import Bolt as StormBolt


class Visits(Spout):
    outputs = ["user", "page", "millis"]

    def next_tuple(self) -> None:
        pass


class Totals(Bolt):
    """One state of each kind, in one process for all keys."""

    outputs = ["user", "visits", "pages", "slowest", "millis"]
    auto_ack = auto_anchor = True
    visits = value_state(default=0)
    pages = map_state()
    slowest = reducing_state(max)
    millis = list_state(ttl_secs=60)

    def process(self, tup: Any) -> None:
        self.visits.put(self.visits.get() + 1)
        self.pages[tup.page] = self.pages.get(tup.page, 0) + 1
        self.slowest.add(tup.millis)
        self.millis.add(tup.millis)
        pages = dict(self.pages.items())
        self.emit([tup.user, self.visits.get(), pages, self.slowest.get(), list(self.millis)])

    def on_finish(self) -> None:
        for user, visits in sorted(self.visits.all_items()):
            self.emit([user, visits, {}, None, []])


class PairBolt(Bolt):
    """Grouped by two fields, with its state from init_state."""

    outputs = ["key", "count"]
    auto_ack = True

    def init_state(self, stateful_state: Any) -> None:
        self.count = stateful_state.value_state("count", default=0)

    def process(self, tup: Any) -> None:
        self.count.update(self.count.get() + 1)
        self.emit([list(self.count.all_keys()), self.count.for_key((tup.user, tup.page)).get()])


class StormCount(StormBolt):
    """A bolt of pystorm's."""

    outputs = ["user", "count"]
    count = value_state(default=0)

    def init_state(self, state: Any) -> None:
        self.own = state

    def process(self, tup: Any) -> None:
        self.count.put(self.count.get() + 1)
        self.own.put("all", self.own.get("all", 0) + 1)
        self.emit([tup.values.user, self.count.get() * 100 + self.own.get("all")])


class PlainCount:
    """A class of no API."""

    outputs = ["user", "count"]
    count = value_state(default=0)

    def process(self, tup: Any) -> None:
        self.count.put(self.count.get() + 1)
        self.emit([tup.values[0], self.count.get()])  # type: ignore[attr-defined]


class AllKinds(Topology):
    visits = Visits.spec()
    totals = Totals.spec(inputs={visits: Grouping.fields("user")}, par=2)
    pairs = PairBolt.spec(inputs={visits: Grouping.fields("user", "page")})


class Shuffled(Topology):
    visits = Visits.spec()
    totals = Totals.spec(inputs=[visits])


def test_each_key_has_its_own_state() -> None:
    with TopologyTester(AllKinds) as tester:
        for user, page, millis in [("ann", "/", 5), ("bob", "/", 9), ("ann", "/x", 3)]:
            tester.feed("visits", [user, page, millis])
        tester.run()
        assert sorted(tester.values("totals")) == [
            ["ann", 1, {"/": 1}, 5, [5]],
            ["ann", 2, {"/": 1, "/x": 1}, 5, [5, 3]],
            ["bob", 1, {"/": 1}, 9, [9]],
        ]
        assert tester.values("pairs")[-1] == [[("ann", "/"), ("bob", "/"), ("ann", "/x")], 1]
        tester.advance(59)
        tester.feed("visits", ["ann", "/", 7])
        tester.run()
        assert tester.values("totals")[-1][4] == [5, 3, 7]
        tester.advance(1)
        tester.feed("visits", ["ann", "/", 8])
        tester.run()
        assert tester.values("totals")[-1] == ["ann", 4, {"/": 3, "/x": 1}, 8, [7, 8]]
        tester.finish()
        ends = sorted(tester.values("totals")[-2:])
        assert [each[:2] for each in ends] == [["ann", 4], ["bob", 1]]


def test_a_pystorm_bolt_and_a_plain_class_have_states_too() -> None:
    topology = type(
        "Others",
        (Topology,),
        {
            "visits": (visits := Visits.spec(name="visits")),
            "totals": Totals.spec(name="totals", inputs={visits: Grouping.fields("user")}),
        },
    )
    spec = with_classes(topology, {"totals": StormCount})
    with TopologyTester(spec) as tester:
        for user in ("ann", "bob", "ann"):
            tester.feed("visits", [user, "/", 1])
        tester.run()
        assert tester.values("totals") == [["ann", 101], ["bob", 102], ["ann", 203]]
    with TopologyTester(with_classes(topology, {"totals": PlainCount})) as tester:
        for user in ("ann", "bob", "ann"):
            tester.feed("visits", [user, "/", 1])
        tester.run()
        assert tester.values("totals") == [["ann", 1], ["bob", 1], ["ann", 2]]


def with_classes(topology: Any, classes: dict[str, type]) -> Any:
    """The topology with other classes, and their outputs, at some names."""
    from heron_core.records import replace
    from heron_core.topology import StreamSpec
    from heron_tester.sources import topology_of

    spec = topology_of(topology, None, None, {})
    components = [
        each
        if (cls := classes.get(each.name)) is None
        else replace(
            each,
            class_path=f"{cls.__module__}.{cls.__qualname__}",
            outputs=(StreamSpec("default", tuple(cls.outputs)),),  # type: ignore[attr-defined]
        )
        for each in spec.components
    ]
    return replace(spec, components=tuple(components))


def test_tuples_without_a_key_are_named() -> None:
    with TopologyTester(Shuffled) as tester:
        tester.feed("visits", ["ann", "/", 5])
        tester.run()
        (problem,) = tester.errors("totals")
        assert "totals: tuples of visits.default have no key" in str(problem)


def test_a_state_is_not_there_before_init_state() -> None:
    class Early:
        count = value_state()

    with pytest.raises(ComponentError, match=r"Early\.count is there from init_state on"):
        _ = Early().count


def test_what_cannot_be_saved_is_named_at_its_first_use() -> None:
    with TopologyTester(Unsaveable) as tester:
        tester.feed("visits", ["ann", "/", 5])
        tester.run()
        (problem,) = tester.errors("totals")
        line = "totals: the state 'visits' cannot be saved: its value of key 'ann' (a _thread.lock)"
        assert line in str(problem)


class LockBolt(Totals):
    def process(self, tup: Any) -> None:
        import threading

        self.visits.put(threading.Lock())  # type: ignore[arg-type]


class Unsaveable(Topology):
    visits = Visits.spec()
    totals = LockBolt.spec(inputs={visits: Grouping.fields("user")})
