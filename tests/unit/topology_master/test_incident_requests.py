"""Requests of `heronpy record`: the instances that are asked, and their answers."""

import pytest

from heron_core.errors import HeronError
from heron_core.wire.messages import IncidentRecorded, RecordIncident
from heron_engine.topology_master.incident_requests import REQUESTS_KEPT, IncidentRequests
from tests.unit.topology_master.test_samples import TOPOLOGY
from tests.unit.topology_master.test_trace_export import PACKING

TEXT = "incident recorded, run it again: heronpy replay f"


def test_the_answers_of_a_component_are_collected_and_the_missing_ones_named() -> None:
    requests = IncidentRequests(TOPOLOGY)
    assert requests.begin({"component": "count"}, PACKING) == RecordIncident(1, (3, 4))
    assert requests.take(IncidentRecorded(3, 1, True, TEXT))
    assert requests.found(1, PACKING) == {
        "answers": [{"instance": "count[0]", "written": True, "text": TEXT}],
        "missing": ["count[1]"],
    }
    assert not requests.take(IncidentRecorded(4, 1, False, "the disk is full"))
    assert requests.found(1, PACKING)["missing"] == []


def test_without_a_component_all_instances_are_asked() -> None:
    assert IncidentRequests(TOPOLOGY).begin({}, PACKING).tasks == (1, 2, 3, 4)


def test_answers_of_other_requests_and_tasks_are_left_out() -> None:
    requests = IncidentRequests(TOPOLOGY)
    requests.begin({"component": "count"}, PACKING)
    assert not requests.take(IncidentRecorded(3, 9, True, TEXT))
    assert not requests.take(IncidentRecorded(2, 1, True, TEXT))
    assert requests.take(IncidentRecorded(3, 1, True, TEXT))
    assert not requests.take(IncidentRecorded(3, 1, True, "a second answer"))
    assert requests.found(1, PACKING)["answers"][0]["text"] == TEXT


def test_unknown_components_and_old_requests_are_refused() -> None:
    requests = IncidentRequests(TOPOLOGY)
    with pytest.raises(HeronError, match="no component 'cont'; did you mean 'count'"):
        requests.begin({"component": "cont"}, PACKING)
    for _ in range(REQUESTS_KEPT + 1):
        requests.begin({}, PACKING)
    requests.found(2, PACKING)
    for number in (1, REQUESTS_KEPT + 2, "1", None):
        with pytest.raises(HeronError, match="unknown request"):
            requests.found(number, PACKING)
