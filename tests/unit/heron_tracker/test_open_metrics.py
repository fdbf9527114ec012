"""What Prometheus scrapes, read back by its own parser."""

from dataclasses import replace

from client_support import Asked
from prometheus_client.exposition import choose_encoder
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from tracker_support import instance, snapshot, stats

from heron_tracker.open_metrics import INSTANCES_MAX, USER_METRICS_MAX, TopologyMetrics
from heron_tracker.series import SERIES
from heron_tracker.snapshot import TopologySnapshot

ACCEPT = "application/openmetrics-text; version=1.0.0"


def scraped(*snapshots: TopologySnapshot) -> dict[str, dict[tuple[str, ...], float]]:
    """sample's name -> values of its labels, by their names -> its value, as the parser has it."""
    encode, content_type = choose_encoder(ACCEPT)
    assert "openmetrics" in content_type
    text = encode(TopologyMetrics(snapshots, {}).registry()).decode()
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


def test_a_topology_whose_master_does_not_answer_is_still_there() -> None:
    found = scraped(snapshot())
    assert found["heron_topology_master_up"] == {("words",): 0.0}
    assert "heron_instance_up" not in found


def test_the_number_of_series_is_limited() -> None:
    """A key for each word it meets, and more instances than anybody can look at."""
    keys = {f"word {at}": float(at) for at in range(USER_METRICS_MAX * 2)}
    found = scraped(snapshot(stats({"count": {"user": {"counts": keys}}})))
    assert len(found["heron_user_metric"]) == USER_METRICS_MAX
    rows = (instance(4),) * (INSTANCES_MAX + 1)
    found = scraped(snapshot(stats({"count": {"executed": 7}}, instances_given=rows)))
    assert "heron_instance_up" not in found
    assert found["heron_component_executed_tuples_total"]["count", "words"] == 7


def test_names_that_users_chose_are_escaped() -> None:
    name = 'a "quoted\\ name\nwith two lines'
    found = scraped(replace(snapshot(stats()), name=name))
    assert found["heron_topology_master_up"] == {(name,): 1.0}


def test_every_series_of_two_hundred_instances_is_scraped() -> None:
    """Three families of a topology, fifteen series each instance."""
    rows = tuple(
        replace(instance(4), task=task, instance=f"count[{task}]", executed=task)
        for task in range(200)
    )
    found = scraped(snapshot(stats(instances_given=rows)))
    assert sum(found["heron_instance_executed_tuples_total"].values()) == sum(range(200))
    per_instance = [len(rows) for name, rows in found.items() if name.startswith("heron_instance_")]
    assert per_instance == [200] * len(SERIES)


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
