"""Requests of operations as values: their states, and what stands in the state store."""

from collections.abc import Callable
from typing import Any

import pytest

from heron_core.errors import ProtocolError
from heron_core.operations import (
    Operation,
    OperationKind,
    OperationState,
    Requester,
)
from heron_core.typed_json import from_json, to_json

REQUEST = Operation(
    OperationKind.KILL, {"wait_secs": 5.0}, Requester("mia", "west", 7), "2026-11-22T08:00:00+0000"
)


def test_a_request_is_asked_runs_and_is_done() -> None:
    running = REQUEST.running("waiting").running(note="slow", result={"step": 1})
    assert (running.state, running.progress, running.notes) == (
        OperationState.RUNNING,
        "",
        ("slow",),
    )
    done = running.done({"changed": True})
    assert (done.state, done.result) == (OperationState.DONE, {"step": 1, "changed": True})
    assert done.is_over
    assert not running.is_over


def test_one_that_never_began_may_fail_but_is_not_done() -> None:
    assert REQUEST.failed("no").reason == "no"
    with pytest.raises(ValueError, match="PENDING cannot change to DONE"):
        REQUEST.done({})


@pytest.mark.parametrize("over", [REQUEST.failed("no"), REQUEST.running().done({})])
def test_what_is_over_stays_so(over: Operation) -> None:
    changes: tuple[Callable[[], Operation], ...] = (
        over.running,
        lambda: over.done({}),
        lambda: over.failed("later"),
    )
    for change in changes:
        with pytest.raises(ValueError, match="cannot change to"):
            change()


def test_the_state_store_has_all_of_it() -> None:
    request = REQUEST.running("a", {"b": [1]}, "c").failed("d")
    assert from_json(Operation, to_json(request), "a request") == request


STORED = to_json(REQUEST)
NONSENSE: tuple[Any, ...] = (
    None,
    3,
    {},
    {**STORED, "kind": "explode"},
    {**STORED, "requester": None},
    {**STORED, "notes": 1},
)


@pytest.mark.parametrize("value", NONSENSE)
def test_what_is_no_request_is_said_to_be_none(value: object) -> None:
    with pytest.raises(ProtocolError, match="a request"):
        from_json(Operation, value, "a request")
