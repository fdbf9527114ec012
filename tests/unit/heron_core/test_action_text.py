"""What a user asked for, as the line of an event."""

from typing import Any

import pytest

from heron_core.action_text import action_text
from heron_core.operations import OperationKind, Requester, Way
from heron_core.plans import ContainerPlan, InstancePlan, PackingPlan, Resource, packing_to_json

SIZE = Resource(1.0, 1 << 20, 1)
PLAN = PackingPlan(
    "words",
    (
        ContainerPlan(
            1, (InstancePlan(1, "lines", 0, SIZE), InstancePlan(2, "count", 0, SIZE)), SIZE
        ),
        ContainerPlan(2, (InstancePlan(3, "count", 1, SIZE),), SIZE),
    ),
)


@pytest.mark.parametrize(
    ("kind", "arguments", "text"),
    [
        (OperationKind.KILL, {"wait_secs": 5.0}, "kill, draining for at most 5 s"),
        (OperationKind.KILL, {"wait_secs": 0.0, "savepoint": ""}, "kill"),
        (OperationKind.KILL, {"savepoint": "/saved"}, "kill, with the savepoint /saved"),
        (OperationKind.RESTART, {"containers": [0, 2]}, "restart, containers 0, 2"),
        (OperationKind.UPDATE, {"packing": packing_to_json(PLAN)},
         "update, 2 containers, count=2, lines=1"),
        (OperationKind.ACTIVATE, {}, "activate"),
        # A request that somebody has written by hand: it fails with a reason of its own.
        (OperationKind.UPDATE, {"packing": [1]}, "update"),
        (OperationKind.RESTART, {"containers": 7}, "restart"),
        (OperationKind.KILL, {"wait_secs": "x"}, "kill"),
    ],
)  # fmt: skip
def test_an_action_in_one_line(kind: OperationKind, arguments: dict[str, Any], text: str) -> None:
    assert action_text(kind, arguments) == text


def test_an_action_that_waits_for_its_time() -> None:
    text = action_text(OperationKind.UPDATE, {"wanted": {}, "at": 0})
    assert text.startswith("update, at 19")


def test_who_asked_by_which_way() -> None:
    assert str(Requester("ada", "west", 7)) == "ada on west (pid 7)"
    by_ssh = Requester("ada", "west", 7, "10.0.0.3")
    assert str(by_ssh) == "ada from 10.0.0.3 on west (pid 7)"
    by_rest = Requester("ada", "west", 7, "10.0.0.3", Way.REST)
    assert str(by_rest) == "ada from 10.0.0.3 by REST on west (pid 7)"
