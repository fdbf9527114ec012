"""Requests of `heronpy record`: the instances asked for an incident, and their answers."""

import reprlib
from typing import Any

from msgspec import Struct, field

from heron_core.errors import HeronError
from heron_core.plans import PackingPlan, instance_name
from heron_core.topology import TopologySpec
from heron_core.validation import choices
from heron_core.wire.messages import IncidentRecorded, Json, RecordIncident

REQUESTS_KEPT = 16
"""Limit of requests: the client of a request reads the answers within seconds."""
TEXT_CHARACTERS_MAX = 2000
"""Of an answer: the path of a file, or a reason."""


class IncidentRequest(Struct, frozen=True):
    """A request with the answers so far."""

    request: RecordIncident
    answers: dict[int, IncidentRecorded] = field(default_factory=dict)
    """By task."""


class IncidentRequests:
    """The newest requests of one topology."""

    def __init__(self, topology: TopologySpec) -> None:
        self._topology = topology
        self._requests: dict[int, IncidentRequest] = {}
        self._number = 0

    def begin(self, arguments: Json, packing: PackingPlan) -> RecordIncident:
        """A request to the instances of `component`, all without; HeronError for an unknown
        component."""
        component = str(arguments.get("component") or "")
        if component and component not in packing.tasks_of:
            known = choices("components", component, self._topology.by_name)
            raise HeronError(f"{self._topology.name} has no component {component!r:.200}; {known}")
        tasks = packing.tasks_of[component] if component else sorted(packing.instances)
        self._number += 1
        request = RecordIncident(self._number, tuple(tasks))
        if len(self._requests) >= REQUESTS_KEPT:
            del self._requests[next(iter(self._requests))]
        self._requests[request.record] = IncidentRequest(request)
        return request

    def take(self, answer: IncidentRecorded) -> bool:
        """Store an instance's answer; whether it is of a known request and written."""
        known = self._requests.get(answer.record)
        if known is None or answer.task not in known.request.tasks or answer.task in known.answers:
            return False
        known.answers[answer.task] = answer
        return answer.is_written

    def found(self, number: object, packing: PackingPlan) -> dict[str, Any]:
        """The answers so far, and the instances without one; HeronError for an unknown number."""
        known = self._requests.get(number) if isinstance(number, int) else None
        if known is None:
            raise HeronError(f"unknown request {reprlib.repr(number)}: ask for a new record")
        answers = [
            {
                "instance": _name(packing, task),
                "written": answer.is_written,
                "text": answer.text[:TEXT_CHARACTERS_MAX],
            }
            for task, answer in sorted(known.answers.items())
        ]
        missing = [_name(packing, t) for t in known.request.tasks if t not in known.answers]
        return {"answers": answers, "missing": missing}


def _name(packing: PackingPlan, task: int) -> str:
    return instance_name(packing, task) if task in packing.instances else str(task)
