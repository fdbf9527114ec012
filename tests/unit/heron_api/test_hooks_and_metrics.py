"""Task hooks in their order with their infos, metrics as the instance reads them, serialisers."""

from types import SimpleNamespace
from typing import Any

import pytest

from heron_api import global_metrics
from heron_api.bolt.bolt import Bolt
from heron_api.metrics import (
    AssignableMetrics,
    CountMetric,
    IMetric,
    IReducer,
    MeanReducedMetric,
    MultiAssignableMetrics,
    MultiCountMetric,
    ReducedMetric,
    TupleCount,
)
from heron_api.serializer import IHeronSerializer
from heron_api.spout.spout import Spout
from heron_api.task_hook import ITaskHook
from heron_api.topology import TopologyBuilder
from heron_core.algorithms.user_metrics import summed
from heron_frontends.adapters.multilang.component import Counts
from heron_frontends.adapters.reported_metrics import ReportedMetrics
from heron_instance.runtime.context import UserMetrics
from tests.unit.local_cluster import LocalCluster, submitted

CALLS: list[Any] = []


class Hook(ITaskHook):
    """Records its calls; `Second` is added in initialize."""

    name = "configured"

    def prepare(self, conf: Any, context: Any) -> None:
        self.component = context.get_component_id()
        self._note("prepare", conf["topology.name"])

    def _note(self, call: str, told: Any) -> None:
        CALLS.append((self.component, self.name, call, told))

    def clean_up(self) -> None:
        self._note("clean_up", None)

    def emit(self, emit_info: Any) -> None:
        self._note("emit", (emit_info.values, emit_info.stream_id, emit_info.task_id))

    def spout_ack(self, spout_ack_info: Any) -> None:
        assert spout_ack_info.complete_latency_ms >= 0
        self._note("spout_ack", (spout_ack_info.message_id, spout_ack_info.spout_task_id))

    def spout_fail(self, spout_fail_info: Any) -> None:
        assert spout_fail_info.fail_latency_ms > 0
        self._note("spout_fail", (spout_fail_info.message_id, spout_fail_info.spout_task_id))

    def bolt_execute(self, bolt_execute_info: Any) -> None:
        assert bolt_execute_info.execute_latency_ms > 0
        info = bolt_execute_info
        self._note("bolt_execute", (info.heron_tuple.values, info.executing_task_id))

    def bolt_ack(self, bolt_ack_info: Any) -> None:
        assert bolt_ack_info.process_latency_ms > 0
        self._note("bolt_ack", (bolt_ack_info.heron_tuple.values, bolt_ack_info.acking_task_id))

    def bolt_fail(self, bolt_fail_info: Any) -> None:
        self._note("bolt_fail", (bolt_fail_info.heron_tuple.values, bolt_fail_info.failing_task_id))


class Second(Hook):
    name = "added"


class Two(Spout):
    """Emits 1 and 2, each once."""

    outputs = ["number"]

    def initialize(self, config: Any, context: Any) -> None:
        CALLS.append((context.get_component_id(), "user", "initialize", None))
        self.left = [1, 2]

    def next_tuple(self) -> None:
        if self.left:
            number = self.left.pop(0)
            self.emit([number], tup_id=f"id {number}")

    def ack(self, tup_id: Any) -> None:
        CALLS.append(("two", "user", "ack", tup_id))

    def fail(self, tup_id: Any) -> None:
        CALLS.append(("two", "user", "fail", tup_id))


class Judge(Bolt):
    """Acks odd numbers and fails even ones."""

    def initialize(self, config: Any, context: Any) -> None:
        context.add_task_hook(Second())

    def process(self, tup: Any) -> None:
        (self.fail if tup.values[0] % 2 == 0 else self.ack)(tup)


def hooked(mode: str) -> list[Any]:
    """The calls of a run."""
    CALLS.clear()
    builder = TopologyBuilder("hooked")
    builder.set_config({"topology.auto.task.hooks": [f"{__name__}.Hook"]})
    two = builder.add_spout("two", Two, 1)
    builder.add_bolt("judge", Judge, 1, inputs=[two])
    made = LocalCluster(submitted(builder.build_and_submit), topology_reliability_mode=mode)
    for _ in range(3):
        made.turn()
    made.instances[2].hooks.clean_up()
    return CALLS


def of(component: str, calls: list[Any]) -> list[Any]:
    return [each[1:] for each in calls if each[0] == component]


def test_hooks_of_a_spout_come_after_the_users_own_calls() -> None:
    """prepare after initialize, spout_ack after ack, spout_fail after fail (heronpy)."""
    assert of("two", hooked("ATLEAST_ONCE")) == [
        ("user", "initialize", None),
        ("configured", "prepare", "hooked"),
        ("configured", "emit", ([1], "default", 1)),
        ("configured", "emit", ([2], "default", 1)),
        ("user", "ack", "id 1"),
        ("configured", "spout_ack", ("id 1", 1)),
        ("user", "fail", "id 2"),
        ("configured", "spout_fail", ("id 2", 1)),
    ]


def test_hooks_hear_of_tuples_that_are_acked_at_once() -> None:
    """Without acks every tuple id is acked, and the hooks are told."""
    calls = of("two", hooked("ATMOST_ONCE"))
    assert ("configured", "spout_ack", ("id 1", 1)) in calls
    assert ("configured", "spout_ack", ("id 2", 1)) in calls
    assert not any(name == "spout_fail" for _, name, _ in calls)


def test_hooks_of_a_bolt_in_order_of_their_registration() -> None:
    """The configured one, then the hook of initialize."""
    assert of("judge", hooked("ATLEAST_ONCE")) == [
        (name, call, told)
        for call, told in (
            ("prepare", "hooked"),
            ("bolt_ack", ([1], 2)),
            ("bolt_execute", ([1], 2)),
            ("bolt_fail", ([2], 2)),
            ("bolt_execute", ([2], 2)),
            ("clean_up", None),
        )
        for name in ("configured", "added")
    ]


# --- metrics -------------------------------------------------------------------------------------


class Broken(CountMetric):
    def get_value_and_reset(self) -> float:
        raise RuntimeError("changed size during iteration")


def test_metrics_are_read_at_their_intervals_and_counted_once() -> None:
    """heronpy reported each datum of a Multi metric twice."""
    count, several, level, mean = (
        CountMetric(), MultiCountMetric(), AssignableMetrics(3), MeanReducedMetric(),
    )  # fmt: skip
    metrics = UserMetrics(
        {"count": (count, 10.0), "several": (several, 1.0), "level": (level, 1.0),
         "mean": (mean, 1.0)}
    )  # fmt: skip
    assert metrics.read(100.0) == {"count": 0, "level": 3, "mean": None}
    count.incr(5)
    several.incr("a", 2)
    several.incr(("b", 1))
    mean.update(4)
    found = {"count": 0, "several": {"a": 2, "('b', 1)": 1}, "level": 3, "mean": 4.0}
    assert metrics.read(101.0) == found
    assert metrics.read(101.5) == found
    later = metrics.read(110.0)
    assert later == {"count": 5, "several": {"a": 0, "('b', 1)": 0}, "level": 3, "mean": None}


class Largest(IReducer):
    """The largest number."""

    def init(self) -> None:
        self.largest = 0

    def reduce(self, value: int) -> None:
        self.largest = max(self.largest, value)

    def extract(self) -> int:
        return self.largest


def test_totals_are_of_counts_alone() -> None:
    """A level read ten times is not ten times as high."""
    count, level, levels = CountMetric(), AssignableMetrics(3), MultiAssignableMetrics()
    levels.update("a", 4)
    largest, reported, odd = ReducedMetric(Largest), ReportedMetrics(), Counts()
    registered: dict[str, tuple[Any, float]] = {}

    def register(name: str, metric: Any, _: float = 1.0) -> None:
        registered[name] = (metric, 1.0)

    for metric in (count, level, levels, largest, odd):
        register(type(metric).__name__, metric)
    reported.report(SimpleNamespace(register_metric=register), "reported", 7)
    metrics = UserMetrics(registered)
    for now in (1.0, 2.0, 3.0):
        count.incr(2)
        largest.update(5)
        odd.total["deaths"] += 1
        metrics.read(now)
    count.incr(1)
    assert metrics.totals() == {"CountMetric": 7, "Counts": {"deaths": 3}}, "before its bucket ends"


def test_totals_have_what_was_counted_before_a_component_was_recreated() -> None:
    """Its time bucket of a minute had not ended."""
    calls, tuples = CountMetric(), TupleCount()
    metrics = UserMetrics({"calls": (calls, 60.0), "tuples": (tuples, 60.0)})
    metrics.read(1.0)
    calls.incr(3)
    tuples.incr(4)
    assert metrics.totals() == {"calls": 3, "tuples": 4}
    calls, tuples_again = CountMetric(), TupleCount()
    tuples_again.go_on(tuples)
    metrics.follow({"calls": (calls, 60.0), "tuples": (tuples_again, 60.0)})
    calls.incr()
    tuples_again.incr()
    assert metrics.totals() == {"calls": 4, "tuples": 5}
    metrics.read(61.0)
    assert metrics.totals() == {"calls": 4, "tuples": 5}


def test_a_metric_that_raises_does_not_stop_the_heartbeat() -> None:
    """The instance's heartbeat thread reads the metric."""
    good = CountMetric()
    good.incr()
    found = UserMetrics({"bad": (Broken(), 1.0), "good": (good, 1.0)}).read(1.0)
    assert found["good"] == 1
    assert "RuntimeError('changed size during iteration')" in found["bad"]


class Counting(Bolt):
    """Counts by the module's functions, without a context, and by a metric of its own."""

    def initialize(self, config: Any, context: Any) -> None:
        self.seen = CountMetric()
        context.register_metric("seen", self.seen, 60)
        with pytest.raises(ValueError, match="a metric named 'seen' is registered already"):
            context.register_metric("seen", CountMetric(), 60)

    def process(self, tup: Any) -> None:
        self.seen.incr()
        global_metrics.incr("numbers")
        global_metrics.safe_incr("sum", tup.values[0])


def test_global_metrics_need_no_registration(monkeypatch: pytest.MonkeyPatch) -> None:
    """heronpy's instances register them under __auto__ when they start."""
    monkeypatch.setattr(global_metrics, "registered", False)
    monkeypatch.setattr(global_metrics, "metricsContainer", MultiCountMetric())
    builder = TopologyBuilder("counting")
    two = builder.add_spout("two", Two, 1)
    builder.add_bolt("counting", Counting, 1, inputs=[two])
    made = LocalCluster(submitted(builder.build_and_submit))
    for _ in range(3):
        made.turn()
    registered: dict[str, Any] = {}
    for instance in made.instances.values():
        registered.update(instance.context.metrics)
    assert UserMetrics(registered).read(1.0) == {"__auto__": {"numbers": 2, "sum": 3}, "seen": 2}
    assert registered["__auto__"][1] == 1.0


# --- serialisers ---------------------------------------------------------------------------------


class Reversing(IHeronSerializer):
    """Writes a value's text backwards."""

    def initialize(self, config: Any) -> None:
        self.mark = config["mark"]

    def serialize(self, obj: Any) -> bytes:
        return f"{obj}{self.mark}"[::-1].encode()

    def deserialize(self, input_str: bytes) -> Any:
        return input_str.decode()


class Keep(Bolt):
    def initialize(self, config: Any, context: Any) -> None:
        self.seen: list[Any] = []

    def process(self, tup: Any) -> None:
        self.seen.append(tup.values)


def test_a_serialiser_of_the_topology_gets_each_value() -> None:
    """It is initialised with the config, unlike in heronpy."""
    builder = TopologyBuilder("reversed")
    builder.set_config({"topology.serializer.classname": f"{__name__}.Reversing", "mark": "!"})
    two = builder.add_spout("two", Two, 1)
    builder.add_bolt("keep", Keep, 1, inputs=[two])
    made = LocalCluster(submitted(builder.build_and_submit))
    made.turn()
    made.turn()
    assert made.component("keep").seen == [["!1"], ["!2"]]


class Mean(IMetric):
    """A user's class without a declaration about sums."""

    def get_value_and_reset(self) -> float:
        """Of one bucket."""
        return 0.5


def test_fractions_of_counts_add_up_and_those_of_other_classes_do_not() -> None:
    """A volume in litres is counted; the sum of means is nonsense."""
    litres, by, mean = CountMetric(), MultiCountMetric(), Mean()
    metrics = UserMetrics({"litres": (litres, 0.0), "by": (by, 0.0), "mean": (mean, 0.0)})
    for _ in range(3):
        litres.incr(0.5)
        by.incr("a", 1.5)
        metrics.read(0.0)
    litres.incr(0.25)
    assert metrics.totals() == {"litres": 1.75, "by": {"a": 4.5}}
    assert summed([metrics.totals(), {"litres": 1}]) == {"by": {"a": 4.5}, "litres": 2.75}
