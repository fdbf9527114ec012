"""Metrics, hooks, serialisers and the context as ported components use them."""

import threading
from typing import Any

import pytest

from heron_api import global_metrics, metrics, task_hook
from heron_api.custom_grouping import ICustomGrouping
from heron_api.serializer import IHeronSerializer, PythonSerializer, default_serializer
from heron_api.topology_context import TopologyContext


def test_counts_start_over_when_they_are_read() -> None:
    count = metrics.CountMetric()
    count.incr()
    count.incr(to_add=4)
    assert [count.get_value_and_reset(), count.get_value_and_reset()] == [5, 0]
    several = metrics.MultiCountMetric()
    several.add_key("quiet")
    several.incr("a")
    several.incr("a", to_add=2)
    assert several.get_value_and_reset() == {"quiet": 0, "a": 3}
    assert several.get_value_and_reset() == {"quiet": 0, "a": 0}


def test_means_are_none_without_values() -> None:
    mean = metrics.MeanReducedMetric()
    assert mean.get_value_and_reset() is None
    mean.update(1)
    mean.update("2")
    assert [mean.get_value_and_reset(), mean.get_value_and_reset()] == [1.5, None]
    several = metrics.MultiMeanReducedMetric()
    several.add_key("quiet")
    several.update("a", 3)
    assert several.get_value_and_reset() == {"quiet": None, "a": 3.0}
    assert several.get_value_and_reset() == {"quiet": None, "a": None}


def test_a_reducer_of_ones_own() -> None:
    class Largest(metrics.IReducer):
        def init(self) -> None:
            self.value: Any = None

        def reduce(self, value: Any) -> None:
            self.value = value if self.value is None else max(self.value, value)

        def extract(self) -> Any:
            return self.value

    metric = metrics.ReducedMetric(Largest)
    for value in (2, 5, 3):
        metric.update(value)
    assert metric.get_value_and_reset() == 5
    assert metrics.MultiReducedMetric(Largest).get_value_and_reset() == {}


def test_assigned_values_stay() -> None:
    value = metrics.AssignableMetrics(1)
    value.update(7)
    assert [value.get_value_and_reset(), value.get_value_and_reset()] == [7, 7]
    several = metrics.MultiAssignableMetrics()
    several.update("a", 1)
    several.update("a", 2)
    assert several.get_value_and_reset() == several.get_value_and_reset() == {"a": 2}


def test_global_metrics_are_registered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    registrations = []

    class Collector:
        def register_metric(self, *arguments: Any) -> None:
            registrations.append(arguments)

    monkeypatch.setattr(global_metrics, "registered", False)
    monkeypatch.setattr(global_metrics, "metricsContainer", metrics.MultiCountMetric())
    global_metrics.init(Collector(), 60)
    global_metrics.init(Collector(), 60)
    assert registrations == [("__auto__", global_metrics.metricsContainer, 60)]
    global_metrics.incr("a")
    threads = [threading.Thread(target=global_metrics.safe_incr, args=("a", 2)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert global_metrics.metricsContainer.get_value_and_reset() == {"a": 9}


def test_a_hook_overrides_only_what_it_wants() -> None:
    hook = task_hook.ITaskHook()
    hook.prepare({}, TopologyContext())
    hook.emit(task_hook.EmitInfo(["a"], "default", 1, None))
    hook.spout_ack(task_hook.SpoutAckInfo("id", 1, 2.5))
    hook.spout_fail(task_hook.SpoutFailInfo("id", 1, 2.5))
    hook.bolt_execute(task_hook.BoltExecuteInfo("tuple", 1, 2.5))
    hook.bolt_ack(task_hook.BoltAckInfo("tuple", 1, 2.5))
    hook.bolt_fail(task_hook.BoltFailInfo("tuple", 1, 2.5))
    hook.clean_up()
    assert task_hook.EmitInfo._fields == ("values", "stream_id", "task_id", "out_tasks")
    assert task_hook.BoltFailInfo._fields == ("heron_tuple", "failing_task_id", "fail_latency_ms")


def test_the_serialiser_takes_what_pickle_cannot() -> None:
    PythonSerializer().initialize({})
    copy = default_serializer.deserialize(default_serializer.serialize(lambda number: number + 1))
    assert copy(1) == 2


@pytest.mark.parametrize(
    ("interface", "methods"),
    [
        (IHeronSerializer, {"initialize": 1, "serialize": 1, "deserialize": 1}),
        (ICustomGrouping, {"prepare": 4, "choose_tasks": 1}),
        (metrics.IMetric, {"get_value_and_reset": 0}),
        (metrics.IReducer, {"init": 0, "reduce": 1, "extract": 0}),
        (
            TopologyContext,
            {
                "get_task_id": 0,
                "get_component_id": 0,
                "get_cluster_config": 0,
                "get_topology_name": 0,
                "register_metric": 3,
                "get_sources": 1,
                "get_this_sources": 0,
                "get_component_tasks": 1,
                "add_task_hook": 1,
                "get_topology_pex_path": 0,
                "get_metrics_collector": 0,
            },
        ),
    ],
)
def test_interfaces_have_herons_methods(interface: Any, methods: dict[str, int]) -> None:
    for name, arguments in methods.items():
        with pytest.raises(NotImplementedError):
            getattr(interface(), name)(*[None] * arguments)
