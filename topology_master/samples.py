"""Samples of a stream's tuples: requests, and the tuples sent by instances."""

import reprlib
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from heron_core.errors import HeronError, ProtocolError
from heron_core.plans import PackingPlan, instance_name
from heron_core.topology import DEFAULT_STREAM, TopologySpec
from heron_core.validation import choices
from heron_core.wire.messages import Json, SampleTuples, TuplesSampled

TUPLES_MAX = 100
"""Of a sample: what a person reads."""
SECS_MAX = 60
SECS = 10
SAMPLES_KEPT = 16
"""Limit of samples: each has at most a hundred tuples with shortened values, and is read within
seconds."""
FIELDS_MAX = 1000
VALUE_CHARACTERS_MAX = 1000
"""Instances cut their values earlier (heron_instance.emit.stream_sample)."""


class Sample(Struct, frozen=True):
    """A requested sample."""

    request: SampleTuples
    tuples: list[tuple[int, Mapping[str, Any]]] = field(default_factory=list)
    """The task, and field -> value."""


class Samples:
    """The newest of one topology."""

    def __init__(self, topology: TopologySpec) -> None:
        self._topology = topology
        self._samples: dict[int, Sample] = {}
        self._number = 0

    def begin(self, arguments: Json, packing: PackingPlan) -> SampleTuples:
        """Request to the instances; HeronError for a stream without sender."""
        component, stream = self._checked(arguments)
        self._number += 1
        request = SampleTuples(
            self._number,
            tuple(packing.tasks_of.get(component, ())),
            stream,
            _between(arguments, "count", 10, TUPLES_MAX),
            _between(arguments, "secs", SECS, SECS_MAX),
        )
        if len(self._samples) >= SAMPLES_KEPT:
            del self._samples[next(iter(self._samples))]
        self._samples[request.sample] = Sample(request)
        return request

    def _checked(self, arguments: Json) -> tuple[str, str]:
        component = str(arguments.get("component", ""))
        stream = str(arguments.get("stream") or DEFAULT_STREAM)
        spec = self._topology.by_name.get(component)
        if spec is None:
            known = choices("components", component, self._topology.by_name)
            raise HeronError(f"{self._topology.name} has no component {component!r:.200}; {known}")
        if spec.stream(stream) is None:
            known = choices("streams", stream, [each.name for each in spec.outputs])
            raise HeronError(f"{component} declares no stream {stream!r:.200}; {known}")
        inputs = (each for reader in self._topology.components for each in reader.inputs)
        if not any((each.component, each.stream) == (component, stream) for each in inputs):
            raise HeronError(
                f"{component}.{stream} has no subscribers, so there is nothing to sample"
            )
        return component, stream

    def take(self, message: TuplesSampled) -> None:
        """Tuples sent by an instance; ProtocolError if invalid. Late or surplus tuples are
        dropped."""
        tuples = _checked_tuples(message.tuples)
        sample = self._samples.get(message.sample)
        if sample is not None and message.task in sample.request.tasks:
            missing = sample.request.count - len(sample.tuples)
            sample.tuples.extend((message.task, each) for each in tuples[:missing])

    def found(self, number: object, packing: PackingPlan) -> dict[str, Any]:
        """What has come so far; HeronError if it is not kept."""
        sample = self._samples.get(number) if isinstance(number, int) else None
        if sample is None:
            raise HeronError(f"unknown sample {reprlib.repr(number)}: take a new sample")
        rows = [
            {"task": task, "instance": _name(packing, task), "values": dict(values)}
            for task, values in sample.tuples
        ]
        return {"tuples": rows, "complete": len(rows) >= sample.request.count}


def _name(packing: PackingPlan, task: int) -> str:
    return instance_name(packing, task) if task in packing.instances else str(task)


def _between(arguments: Json, key: str, default: int, most: int) -> int:
    value = arguments.get(key, default)
    if type(value) is not int or not 1 <= value <= most:
        raise HeronError(
            f"{key} must be a whole number from 1 to {most}, not {reprlib.repr(value)}"
        )
    return value


def _checked_tuples(data: Json) -> list[Mapping[str, Any]]:
    tuples = data.get("tuples")
    if not isinstance(tuples, (list, tuple)) or not all(map(_makes_sense, tuples)):
        raise ProtocolError(f"no sample of tuples: {reprlib.repr(data):.200}")
    return list(tuples)


def _makes_sense(values: object) -> bool:
    return (
        type(values) is dict
        and len(values) <= FIELDS_MAX
        and all(type(key) is str and _is_small(each) for key, each in values.items())
    )


def _is_small(value: object) -> bool:
    if type(value) is str:
        return len(value) <= VALUE_CHARACTERS_MAX
    return value is None or type(value) in (bool, int, float)
