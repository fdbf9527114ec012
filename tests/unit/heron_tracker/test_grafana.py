"""The dashboard asks for nothing that nobody serves."""

import json
import re
from functools import partial

from click.testing import CliRunner
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from heron_cli.main import heronpy
from heron_core.stats import CheckpointStats, ComponentLatencies, LatencyStats
from heron_io.open_metrics import exposition
from heron_tracker.model.tracker_problem import ProblemCause
from heron_tracker.open_metrics import service_families
from tests.unit.heron_tracker.tracker_support import NOTHING, instance, paused, snapshot, stats

LATENCY = LatencyStats(mean_ms=1.0, p50_ms=1.0, p99_ms=2.0, buckets={60: 1})
NUMBERS = {
    "latency": ComponentLatencies(execute=LATENCY, process=NOTHING, complete=LATENCY),
    "emitted_by_stream": {"default": 1},
}
CHECKPOINTS = CheckpointStats(
    completed=1, age_secs=1.0, secs=1.0, size_bytes=1, latest=1, failed=0, failure="", restored=0,
    released=True,
)  # fmt: skip


def served() -> dict[str, set[str]]:
    """Names of samples -> their labels, of a topology that has everything."""
    found = stats(
        {"count": NUMBERS}, {4: {"executed": 1}}, paused={4: paused("count[0]", "count[1]", 0.5)},
        checkpoints=CHECKPOINTS, in_flight=1, instances_given=(instance(4),),
    )  # fmt: skip
    families = partial(service_families, [snapshot(found)], {"words": {ProblemCause("stuck"): 1}})
    text = exposition(families, "application/openmetrics-text; version=1.0.0")[0].decode()
    return {
        sample.name: set(sample.labels)
        for family in text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
        for sample in family.samples
    }


def test_every_metric_and_label_of_the_dashboard_is_served() -> None:
    printed = CliRunner().invoke(heronpy, ["ui", "--grafana"])
    assert printed.exit_code == 0
    dashboard = json.loads(printed.output)
    metrics, asked = served(), set[str]()
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            names = set(re.findall(r"\bheron_\w+", target["expr"]))
            assert names <= metrics.keys(), panel["title"]
            labels = set(re.findall(r"(\w+)=~?\"", target["expr"]))
            labels |= set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            assert all(labels <= metrics[name] for name in names), panel["title"]
            asked |= names
    for variable in dashboard["templating"]["list"][1:]:
        (name,) = re.findall(r"\bheron_\w+", variable["definition"])
        assert variable["name"] in metrics[name]
    assert len(asked) > 20


def test_panels_do_not_cover_each_other() -> None:
    panels = json.loads(CliRunner().invoke(heronpy, ["ui", "--grafana"]).output)["panels"]
    places = {(each["gridPos"]["x"], each["gridPos"]["y"]) for each in panels}
    assert len(places) == len({each["id"] for each in panels}) == len(panels)
