"""Results of instances' reports: stats, OpenMetrics, Heron's and Storm's answers, as recorded.

`golden/reports.json` has the reports in their wire form, `golden/numbers.json` the answers read by
client programs. Answers may only gain entries, such as a new counter. `python
tests/unit/heron_tracker/test_recorded_reports.py` writes the second file again; each difference
concerns the client programs.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any

from heron_core.algorithms.rollup import QueueNumbers, RollUp
from heron_core.instance_report import report_of_json
from heron_core.records import replace
from heron_core.stats import EVERY_COMPONENT
from heron_io.open_metrics import exposition
from heron_tracker.heron_api.metrics import Wanted, component_metrics
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.open_metrics import service_families
from heron_tracker.storm_api import views as storm_views
from tests.unit.heron_tracker.tracker_support import NOW, PACKING, SPEC, snapshot, stats

GOLDEN = Path(__file__).parent / "golden"
ACCEPT = "application/openmetrics-text; version=1.0.0"
QUEUES = {
    task: QueueNumbers(1000 * task, 10 * task, 0.25 * task, 2000 * task, 3000 * task)
    for task in (1, 2, 4)
}
LIVE = {1, 2, 4, 5}
"""Task 3 is silent."""
URL = "http://here"


def looked_at() -> TopologySnapshot:
    """The topology after all reports."""
    rollup = RollUp(SPEC, PACKING)
    for at, each in enumerate(json.loads((GOLDEN / "reports.json").read_text())):
        rollup.update(each["task"], report_of_json(each["report"]), float(at))
    rows = rollup.wanted_instances(EVERY_COMPONENT, QUEUES, LIVE)
    assert rows is not None
    found = stats(instances_given=rows, in_flight=rollup.in_flight())
    return snapshot(replace(found, components=rollup.components(QUEUES, LIVE)))


def added(component: str, series: str, secs: int) -> float:
    """A history in which each series has another number."""
    return float(sum(map(ord, component + series)) + secs)


def error_at(component: str) -> int | None:
    """A history in which each component had an error a minute ago."""
    return int(NOW) - 60


def shown(window: str) -> storm_views.Shown:
    return storm_views.Shown(added, error_at, window, NOW, URL)


def answers() -> dict[str, Any]:
    """Answers of each interface."""
    found = looked_at()
    assert found.stats is not None
    text = exposition(partial(service_families, [found], {}), ACCEPT)[0].decode()
    families = (each.partition(" ") for each in text.split("# HELP ")[1:])
    heron = {name: component_metrics(found, Wanted(name), 0, (), NOW) for name in found.components}
    storm = {
        name: storm_views.component(found, name, shown(storm_views.ALL_TIME))
        for name in found.components
    }
    whole = storm_views.topology(found, shown("600"))
    return {
        "stats": found.stats.to_json(),
        "open_metrics": {name: rest.splitlines() for name, _, rest in families},
        "heron": heron,
        "storm": {**storm, "topology": whole},
    }


def text_of(found: Any) -> str:
    """The file: keys in order."""
    return json.dumps(found, indent=1, sort_keys=True) + "\n"


def without_news(found: Any, recorded: Any) -> Any:
    """The found answers, without unrecorded keys."""
    if not isinstance(found, dict) or not isinstance(recorded, dict):
        return found
    return {key: without_news(found[key], recorded[key]) for key in recorded if key in found}


def test_all_doors_answer_what_they_answered_before() -> None:
    recorded = (GOLDEN / "numbers.json").read_text()
    found = json.loads(text_of(answers()))
    found["stats"]["instances"] = [
        without_news(*each)
        for each in zip(
            found["stats"]["instances"], json.loads(recorded)["stats"]["instances"], strict=True
        )
    ]
    assert text_of(without_news(found, json.loads(recorded))) == recorded


if __name__ == "__main__":
    (GOLDEN / "numbers.json").write_text(text_of(answers()))
