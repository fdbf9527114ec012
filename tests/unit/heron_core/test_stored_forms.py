"""What the state store has of a topology is read by other versions and other tools: each of these
values is written as `golden/stored_forms.json` has it, byte by byte, and is read again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heron_core.errors import ProtocolError
from heron_core.operations import Operation, OperationKind, Requester
from heron_core.plans import (
    ContainerPlan,
    InstancePlan,
    MovedStates,
    PackingPlan,
    PhysicalPlan,
    Resource,
    Restore,
    TopologyState,
    packing_from_json,
    physical_from_json,
)
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
    topology_from_json,
)
from heron_core.typed_json import from_json, to_json
from heron_io.state_store.protocol import encode_value

GOLDEN = Path(__file__).parent / "golden" / "stored_forms.json"

_SIZE = Resource(1.5, 2048, 0)
_PLAIN = (StreamSpec("default", ("word",)),)
_TYPED = (StreamSpec("rows", ("key", "n"), True, ("string", "bigint")),)
_FIELDS = GroupingSpec(GroupingKind.FIELDS, ("word",))
_CUSTOM = GroupingSpec(GroupingKind.CUSTOM, (), b"\x80pickled\xff")
TOPOLOGY = TopologySpec(
    "words",
    (
        ComponentSpec("lines", True, "a.Lines", 2, _PLAIN, folder="/work", is_async=True),
        ComponentSpec(
            "count",
            False,
            "a.Count",
            3,
            _TYPED,
            (InputSpec("lines", "default", _FIELDS), InputSpec("lines", "default", _CUSTOM)),
            {"a": [1, None, {"b": 2.5}], "no number": float("inf")},
            code="abc",
            keeps_state=True,
        ),
    ),
    {"topology.x": "y", "odd": (1, 2)},
    ("/one", "/two"),
    "words.py",
    {"topology.acking": True},
    ("topology.x",),
)
PACKING = PackingPlan(
    "words",
    (
        ContainerPlan(1, (InstancePlan(1, "lines", 0, _SIZE),), Resource(2.0, 4096, 1)),
        ContainerPlan(10, (InstancePlan(2, "count", 0, _SIZE),), Resource(2.0, 4096, 1)),
        ContainerPlan(2, (), _SIZE),
    ),
)
ADDRESSES = {1: "tcp://a:1", 10: "tcp://b:1", 2: "tcp://c:1"}
PLAN = PhysicalPlan("words", 7, TopologyState.RUNNING, PACKING, ADDRESSES)
RESTORED = PhysicalPlan(
    "words",
    8,
    TopologyState.PAUSED,
    PACKING,
    ADDRESSES,
    Restore(3, {1: 71, 10: 72, 2: 73}, {"count": (2, 3)}, ("count",), (2,)),
    None,
    {"count": 6},
)
MOVING = PhysicalPlan(
    "words",
    9,
    TopologyState.RUNNING,
    PACKING,
    ADDRESSES,
    Restore(0),
    MovedStates(2, (1, 2), {"count": (2, 3)}),
)
REQUEST = Operation(
    OperationKind.UPDATE,
    {"packing": {"a": [None]}},
    Requester("ada", "host", 12),
    "2026-11-26T12:00:00+00:00",
).running("begun", {"at": 1}, "a note")
VALUES: dict[str, Any] = {
    "topology": TOPOLOGY,
    "packing": PACKING,
    "packing, code changed": PackingPlan("words", (), TOPOLOGY),
    "plan": PLAN,
    "plan, restored": RESTORED,
    "plan, states moving": MOVING,
    "operation": REQUEST,
    "size": _SIZE,
}
READERS: dict[str, Callable[[Any], Any]] = {
    "topology": topology_from_json,
    "packing": packing_from_json,
    "plan": physical_from_json,
    "operation": lambda data: from_json(Operation, data, "a request"),
    "size": lambda data: from_json(Resource, data, "a size"),
}


def _reader(name: str) -> Callable[[Any], Any]:
    return READERS[name.partition(",")[0]]


def test_a_node_of_the_state_store_keeps_its_bytes() -> None:
    written = {name: to_json(value) for name, value in VALUES.items()}
    assert encode_value("/nodes", written) == GOLDEN.read_bytes()


@pytest.mark.parametrize("name", VALUES)
def test_what_was_stored_is_read_again(name: str) -> None:
    stored = json.loads(GOLDEN.read_bytes())[name]
    value = _reader(name)(stored)
    assert to_json(value) == stored
    if "topology" not in name and "code" not in name:  # whose config stays pickled until it is used
        assert value == VALUES[name]


def _changed(name: str, *path: Any) -> Any:
    """The stored value with the last of `path` in the place that the others lead to."""
    *way, key, wrong = path
    data = json.loads(GOLDEN.read_bytes())[name]
    place = data
    for step in way:
        place = place[step]
    place[key] = wrong
    return data


WRONG: tuple[tuple[str, tuple[Any, ...], str], ...] = (
    ("topology", ("components", 0, "parallelism", "2"), r"components\[0\]\.parallelism is '2'"),
    ("topology", ("components", 1, "inputs", 0, "grouping", "kind", "near"), "kind is 'near'"),
    ("topology", ("components", 1, "inputs", 1, "grouping", "custom", "x"), "custom is 'x'"),
    ("topology", ("config", "odd", {"__cloudpickle__": 3}), "the topology is not valid"),
    ("packing", ("containers", 0, "instances", 0, "task", "1"), r"instances\[0\]\.task is '1'"),
    ("packing", ("containers", 0, "instances", 0, "task", -1), "non-negative"),
    ("packing", ("containers", 0, "instances", 0, "task", 2), "a task occurs twice"),
    ("packing", ("containers", 0, "id", 2), "a container occurs twice"),
    ("packing", ("containers", 0, "resource", "cpu", None), "cpu is None"),
    ("plan", ("epoch", 1 << 32), "epoch 4294967296 is not in 0 to"),
    ("plan", ("state", "ENDED"), "state 'ENDED'"),
    ("plan", ("stream_managers", "one", "tcp://d:1"), "a key of the physical plan.stream_managers"),
    ("plan", ("stream_managers", "1", 3), r"stream_managers\.1 is 3"),
    ("plan, restored", ("restore", "members", "1", True), "members.1 is True"),
    ("plan, restored", ("restore", "former", "count", [None]), r"former\.count\[0\] is None"),
    ("plan, restored", ("rescaled", "count", 1.5), r"rescaled\.count is 1\.5"),
    ("plan, states moving", ("moved", "saved", 1), "moved.saved is 1"),
    ("operation", ("kind", "explode"), "kind is 'explode'"),
    ("operation", ("requester", None), "requester is None"),
)


@pytest.mark.parametrize(("name", "path", "message"), WRONG)
def test_an_edited_node_is_refused_by_its_field(
    name: str, path: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(ProtocolError, match=message):
        _reader(name)(_changed(name, *path))


@pytest.mark.parametrize("name", [each for each in VALUES if each not in ("size", "operation")])
def test_a_node_of_a_later_version_is_read(name: str) -> None:
    data = _changed(name, "not known yet", {"a": 1})
    assert to_json(_reader(name)(data)) == json.loads(GOLDEN.read_bytes())[name]
