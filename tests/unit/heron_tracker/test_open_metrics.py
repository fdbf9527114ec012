"""The scraped text, read back by Prometheus' own parser."""

import shutil
import subprocess
from collections.abc import Mapping
from functools import partial

import pytest
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.parser import text_string_to_metric_families as classic_families
from prometheus_client.registry import Collector, CollectorRegistry

from heron_core.algorithms.histogram import upper_secs
from heron_core.algorithms.user_metrics import LATE_DROPPED, RAISED
from heron_core.algorithms.user_series import SERIES_MAX
from heron_core.clock_stats import ClockStats, MinimumClockStats
from heron_core.dead_letters import ERRORS
from heron_core.instance_report import measures_of
from heron_core.records import replace
from heron_core.stats import (
    BackupStats,
    CheckpointStats,
    ComponentLatencies,
    InstanceStats,
    LatencyStats,
    StreamManagerStats,
)
from heron_io.duration_histograms import FIRST_INDEX, bound_text
from heron_io.open_metrics import INSTANCES_MAX, exposition
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.model.tracker_problem import RANKS, ProblemCause
from heron_tracker.open_metrics import service_families
from tests.unit.heron_tracker.client_support import Asked
from tests.unit.heron_tracker.tracker_support import (
    NOTHING,
    instance,
    paused,
    snapshot,
    stats,
)

ACCEPT = "application/openmetrics-text; version=1.0.0"
NATIVE = "application/openmetrics-text; version=2.0.0"


PROMTOOL = shutil.which("promtool")


def everything() -> TopologySnapshot:
    """A topology with a sample in each family."""
    latency = LatencyStats(mean_ms=1.0, p50_ms=0.1, p99_ms=3.0, buckets={40: 3})
    checkpoints = CheckpointStats(
        completed=1, age_secs=1.0, secs=1.0, size_bytes=1, latest=1, failed=2, failure="",
        restored=0, released=True, backup=BackupStats(durable=1, spilled=2, rolled_back=1),
    )  # fmt: skip
    clock = ClockStats(
        instance="count[0]", task=4, watermark_ms=5000, complete=False, waits_for=None,
        waits_for_task=None, silent_secs=0.0, idle=(),
    )  # fmt: skip
    minimum_clock = MinimumClockStats(
        clock_ms=7000,
        behind_secs=3.0,
        location="queue",
        holder="count[0]",
        components={"count": 1.0},
    )
    numbers = {
        "latency": ComponentLatencies(execute=latency, process=NOTHING, complete=latency),
        "emitted_by_stream": {ERRORS: 6}, "executed_by_input": {"split/default": 5}, "clock": clock,
        "user": {"words": 3, "level": 0.5, "version": "v1"},
        "user_totals": {"words": 3, LATE_DROPPED: 1}, "user_net": (LATE_DROPPED,),
    }  # fmt: skip
    manager = StreamManagerStats(waiting_bytes={}, peer_bytes_in={2: 7}, peer_bytes_out={2: 9})
    found = stats(
        {"count": numbers, "lines": {"silent_secs": 1.0}}, {4: {"executed": 1}},
        paused={4: paused("count[0]", "count[1]", 0.5)}, checkpoints=checkpoints, in_flight=1,
        stream_managers={1: manager}, live_queries={"answered": 1}, minimum_clock=minimum_clock,
    )  # fmt: skip
    return snapshot(found)


def test_every_family_has_a_sample() -> None:
    """Of the topology `everything`: the neighbouring tests do not see a missing family."""
    for family in service_families([everything()], {"words": {}}, native=False):
        assert family.samples, family.name


def test_the_minimum_clock_of_a_component_is_a_time_as_that_of_the_topology_is() -> None:
    found = scraped(everything())
    assert found["heron_topology_minimum_clock_timestamp_seconds"] == {("words",): 7.0}
    name = "heron_component_minimum_clock_timestamp_seconds"
    assert found[name] == {("count", "words"): 9.0}


def scraped(
    *snapshots: TopologySnapshot,
    accept: str = ACCEPT,
    causes: Mapping[ProblemCause, int] | None = None,
) -> dict[str, dict[tuple[str, ...], float]]:
    """sample's name -> values of its labels, by their names -> its value, by the parser."""
    data, content_type = exposition(
        partial(service_families, snapshots, {} if causes is None else {"words": causes}), accept
    )
    assert content_type.startswith(accept)
    text = data.decode()
    assert text.endswith("# EOF\n")
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(text):  # type: ignore[no-untyped-call]
        assert family.documentation
        for each in family.samples:
            found.setdefault(each.name, {})[tuple(each.labels.values())] = each.value
    return found


def test_counters_levels_and_latencies() -> None:
    found = scraped(
        snapshot(
            stats(
                {"count": {"executed": 1000, "user": {"words": 3, "by": {"a": 1.5}, "name": "x"}}},
                {4: {"executed": 600, "capacity": 0.25, "memory_bytes": 2**20}},
            )
        )
    )
    key = ("count", "count[0]", "words")
    assert found["heron_component_executed_tuples_total"]["count", "words"] == 1000
    assert found["heron_instance_executed_tuples_total"][key] == 600
    assert found["heron_instance_busy_ratio"][key] == 0.25
    assert found["heron_instance_memory_bytes"][key] == 2**20
    assert found["heron_topology_master_up"] == {("words",): 1.0}
    assert found["heron_user_metric"] == {
        ("count", "", "words", "words"): 3.0, ("count", "a", "by", "words"): 1.5
    }  # fmt: skip


def test_an_alert_on_dropped_tuples_reads_a_gauge_that_a_restore_may_lower() -> None:
    numbers = {"undeclared": 7, "callback_errors": 2}
    found = scraped(snapshot(stats({"count": numbers}, {4: numbers})))
    of_instance = ("count", "count[0]", "words")
    for metric, number in (("undeclared_tuples", 7), ("callback_errors", 2)):
        assert found[f"heron_component_{metric}"]["count", "words"] == number
        assert found[f"heron_instance_{metric}"][of_instance] == number
        assert not [name for name in found if name.endswith(f"{metric}_total")]


def test_a_topology_whose_master_does_not_answer_is_still_there() -> None:
    found = scraped(snapshot())
    assert found["heron_topology_master_up"] == {("words",): 0.0}
    assert "heron_instance_up" not in found


def test_the_number_of_series_is_limited() -> None:
    """A key for each word, and more instances than readable."""
    keys = {f"word {at}": float(at) for at in range(SERIES_MAX * 2)}
    user = {"a level": 1.5, "counts": keys, "zero": 0}
    found = scraped(snapshot(stats({"count": {"user": user}})))
    shown = found["heron_user_metric"]
    assert len(shown) == SERIES_MAX
    assert ("count", "", "zero", "words") in shown, "a metric of many keys displaces none"
    left_out = ("count", "limit", "words", "user_metrics")
    assert found["heron_left_out_values"][left_out] == 2 + SERIES_MAX * 2 - SERIES_MAX
    rows = (instance(4),) * (INSTANCES_MAX + 1)
    found = scraped(snapshot(stats({"count": {"executed": 7}}, instances_given=rows)))
    assert "heron_instance_up" not in found
    assert found["heron_left_out_values"]["", "limit", "words", "instances"] == INSTANCES_MAX + 1
    assert found["heron_component_executed_tuples_total"]["count", "words"] == 7


def test_what_user_code_counts_is_a_counter_and_all_else_a_gauge() -> None:
    """A rate over the last time bucket of a count is nonsense. A count lowered by a restore is not
    a counter, and other values than numbers are counted."""
    totals = {"words": 70, "by": {"a": 5}, LATE_DROPPED: 4}
    user = {
        "words": 3, "by": {"a": 1}, "mean": {"a": 0.5, "b": None}, "version": "v1",
        "broken": f"{RAISED} KeyError(1)", "infinite": float("inf"), LATE_DROPPED: 0,
    }  # fmt: skip
    numbers = {"user": user, "user_totals": totals, "user_net": (LATE_DROPPED,)}
    found = scraped(snapshot(stats({"count": numbers})))
    assert found["heron_user_count_total"] == {
        ("count", "", "words", "words"): 70.0, ("count", "a", "by", "words"): 5.0
    }  # fmt: skip
    assert found["heron_user_metric"] == {
        ("count", "", LATE_DROPPED, "words"): 4.0, ("count", "a", "mean", "words"): 0.5
    }  # fmt: skip
    assert found["heron_component_late_dropped_tuples"] == {("count", "words"): 4.0}
    left_out = {key[1]: number for key, number in found["heron_left_out_values"].items() if key[0]}
    assert left_out == {"text": 1, "raised": 1, "not_finite": 1}


def test_what_alerts_on_a_component_go_by() -> None:
    clock = ClockStats(
        instance="count[0]", task=4, watermark_ms=5000, complete=False, waits_for="lines[0]",
        waits_for_task=1, silent_secs=7.0, idle=(),
    )  # fmt: skip
    found = scraped(
        snapshot(
            stats(
                {
                    "lines": {"silent_secs": 70.0, "processes": 3},
                    "count": {
                        "clock": clock, "queue_secs": 2.0, "emitted_by_stream": {ERRORS: 6},
                    },
                }
            )
        )
    )  # fmt: skip
    count, lines = ("count", "words"), ("lines", "words")
    assert found["heron_component_silent_seconds"] == {lines: 70.0}
    assert found["heron_component_processes_total"][lines] == 3
    assert found["heron_component_watermark_timestamp_seconds"] == {count: 5.0}
    assert found["heron_component_watermark_wait_seconds"] == {count: 7.0}
    assert found["heron_component_queue_seconds"][count] == 2.0
    assert found["heron_component_dead_letters_total"] == {count: 6.0}


def test_a_problem_has_component_and_cause_and_a_kind_without_one_is_zero() -> None:
    causes = {
        ProblemCause("stuck", "count", "user code"): 2,
        ProblemCause("over", "", "it crashed"): 1,
    }
    found = scraped(snapshot(stats()), causes=causes)["heron_topology_problems"]
    assert found.pop(("user code", "count", "stuck", "words")) == 2
    assert found.pop(("it crashed", "", "over", "words")) == 1
    assert found == {("", "", kind.value, "words"): 0 for kind in RANKS if kind.value not in
                     ("stuck", "over")}  # fmt: skip


@pytest.mark.skipif(PROMTOOL is None, reason="Debian's package prometheus is not installed")
def test_promtool_has_nothing_to_say() -> None:
    """Of a topology with everything, as text, the format of promtool."""
    text = exposition(partial(service_families, [everything()], {"words": {}}), "text/plain")[0]
    checked = subprocess.run(
        [str(PROMTOOL), "check", "metrics"], input=text, capture_output=True, check=False
    )
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, b"")


def test_durations_are_native_histograms_for_who_knows_them() -> None:
    """As in OpenMetrics 2.0; classic histograms with few buckets for all further clients."""
    buckets = {40: 3, 41: 5, 60: 2}
    latency = LatencyStats(mean_ms=1.0, p50_ms=0.1, p99_ms=3.0, buckets=buckets)
    latencies = ComponentLatencies(execute=latency, process=NOTHING, complete=NOTHING)
    found = snapshot(stats({"count": {"latency": latencies}}))
    classic = scraped(found)["heron_component_duration_seconds_bucket"]
    labels = ("count", "execute")
    assert {key[2]: value for key, value in classic.items() if key[:2] == labels} == {
        **{bound_text(at): 0.0 for at in (24, 32)},
        **{bound_text(at): 3.0 for at in (40,)},
        **{bound_text(at): 8.0 for at in (48, 56)},
        **{bound_text(at): 10.0 for at in range(64, 121, 8)},
        "+Inf": 10.0,
    }
    families = exposition(partial(service_families, [found], {}), NATIVE)[0].decode()
    (native,) = [
        each.native_histogram
        for family in text_string_to_metric_families(families)  # type: ignore[no-untyped-call]
        for each in family.samples
        if each.name == "heron_component_duration_seconds"
    ]
    assert (native.count_value, round(native.sum_value, 9), native.schema) == (10, 0.01, 2)
    # As text: the parser does not know that the first span may begin below 1 s.
    assert "positive_spans:[-53:2,18:1]," in families
    assert list(native.pos_deltas) == [3, 2, -3]
    for at in buckets:
        ours, native_bound = upper_secs(at), 2.0 ** ((FIRST_INDEX + at) / 4)
        assert ours <= native_bound < ours * 1.003


def test_tuples_are_counted_by_stream() -> None:
    by_stream = {"emitted_by_stream": {"default": 7, "late": 2}}
    by_input = {"executed_by_input": {"split/default": 5}}
    found = scraped(snapshot(stats({"split": by_stream, "count": by_input})))
    emitted = found["heron_stream_emitted_tuples_total"]
    assert emitted == {("split", "default", "words"): 7.0, ("split", "late", "words"): 2.0}
    executed = found["heron_stream_executed_tuples_total"]
    assert executed == {("count", "split", "default", "words"): 5.0}


def test_names_that_users_chose_are_escaped() -> None:
    name = 'a "quoted\\ name\nwith two lines'
    found = scraped(replace(snapshot(stats()), name=name))
    assert found["heron_topology_master_up"] == {(name,): 1.0}


class Families(Collector):
    """Families of some topologies, by the protocol of prometheus-client."""

    def __init__(self, found: list[TopologySnapshot], native: bool) -> None:
        self._families = list(service_families(found, {}, native))

    def collect(self) -> list[Metric]:
        return self._families


@pytest.mark.parametrize("accept", [ACCEPT, NATIVE, "text/plain; version=0.0.4"])
def test_the_text_is_the_one_that_prometheus_client_writes(accept: str) -> None:
    """Byte by byte; prometheus-client takes several times as long."""
    latency = LatencyStats(mean_ms=1.5, p50_ms=0.1, p99_ms=3.0, buckets={40: 3, 41: 5, 130: 2})
    latencies = ComponentLatencies(execute=latency, process=NOTHING, complete=latency)
    numbers = {
        "executed": 12_345_678, "latency": latencies, "emitted_by_stream": {'a"b\\': 7},
        "user": {"ratio": 0.1, "large": 1e20, "negative": -3, "by": {"\n": 2**60}},
    }  # fmt: skip
    found = [snapshot(stats({"count": numbers})), replace(snapshot(stats()), name='"\\ \n')]
    ours, content_type = exposition(partial(service_families, found, {}), accept)
    encode, wanted_type = choose_encoder(accept)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Families(found, accept == NATIVE))
    assert content_type == wanted_type
    assert ours.decode().splitlines() == encode(registry).decode().splitlines()
    if accept not in (ACCEPT, NATIVE):
        assert len(list(classic_families(ours.decode()))) > 30


def test_every_series_of_two_hundred_instances_is_scraped() -> None:
    """Three families of a topology, fifteen series each instance."""
    rows = tuple(
        replace(instance(4), task=task, instance=f"count[{task}]", executed=task)
        for task in range(200)
    )
    found = scraped(snapshot(stats(instances_given=rows)))
    assert sum(found["heron_instance_executed_tuples_total"].values()) == sum(range(200))
    per_instance = [len(rows) for name, rows in found.items() if name.startswith("heron_instance_")]
    named = [each.metric for each in measures_of(InstanceStats).values() if each.metric]
    assert per_instance == [200] * len(named)


def test_the_path_is_shared_with_heron() -> None:
    """Without arguments for Prometheus, with them Heron's metrics of a component."""
    asked = Asked()
    plain = asked.get("/metrics", accept=ACCEPT)
    assert plain.headers["content-type"].startswith("application/openmetrics-text")
    assert asked.get("/metrics").headers["content-type"].startswith("text/plain")
    query = "/metrics?topology=words&component=count&metricname=__execute-count"
    assert asked.get(query).result["metrics"] == {
        "__execute-count": {"container_2_count_4": "0", "container_2_count_5": "0"}
    }
    half = asked.get("/metrics?topology=words")
    assert half.status == 400
    asked.close()
