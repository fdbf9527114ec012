"""A client asks the stream manager about a key while instances die, plans change and others ask."""

from typing import Any

import pytest

from heron_core.wire import messages
from heron_core.wire.messages import QueryOutcome, QueryState, StateAnswered, StateQuestion
from heron_engine.stream_manager import events
from heron_engine.stream_manager.client_queries import NUMBERS_FROM, QUESTIONS_MAX
from tests.unit.stream_manager.manager_support import (
    FAR,
    NEAR,
    Manager,
    manager,
    of_type,
    packing_of,
    physical,
)

CLIENT, OTHER = b"client", b"other"
ENTRIES = ((b"k", '{"key":"k","value":7}'),)


def question(number: int, **changed: Any) -> StateQuestion:
    values = {"epoch": 1, "task": NEAR, "state": "count", "key": '"k"', "wait_ms": 2000, **changed}
    return StateQuestion(number, **values)


def ask(made: Manager, number: int, client: bytes = CLIENT, **changed: Any) -> list[Any]:
    return made.handle(events.FromClient(client, question(number, **changed)))


def asked_of(instructions: list[Any]) -> list[QueryState]:
    """What instances are asked."""
    sent = [each.message for each in of_type(events.ToLocalControl, instructions)]
    return [each for each in sent if isinstance(each, QueryState)]


def answers(instructions: list[Any]) -> list[tuple[bytes, int, QueryOutcome]]:
    """(client, its number, outcome) of each answer."""
    found = of_type(events.ToClient, instructions)
    return [(each.client, each.message.query, each.message.outcome) for each in found]


def counts(made: Manager) -> dict[str, int]:
    found: dict[str, int] = made.core.statistics()["live_queries"]
    return found


def test_each_client_hears_of_its_own_question() -> None:
    made = manager()
    (first,) = asked_of(ask(made, 1))
    (second,) = asked_of(ask(made, 1, OTHER, key='"l"', map_key='"m"'))
    assert (first.tasks, first.state, first.key, first.limit) == ((NEAR,), "count", '"k"', 1)
    assert (second.key, second.map_key) == ('"l"', '"m"')
    answered = QueryOutcome.ANSWERED
    out = made.control(NEAR, StateAnswered(NEAR, second.query, answered))
    assert answers(out) == [(OTHER, 1, answered)]
    out = made.control(NEAR, StateAnswered(NEAR, first.query, answered, "", ENTRIES))
    (sent,) = of_type(events.ToClient, out)
    assert (sent.client, sent.message.query, sent.message.entries) == (CLIENT, 1, ENTRIES)
    assert not of_type(events.ToMaster, out)
    assert counts(made) == {"asked": 2, "answered": 2}


def test_an_answer_to_the_master_goes_to_the_master() -> None:
    made = manager()
    ask(made, 1)
    reply = StateAnswered(NEAR, 1, QueryOutcome.ANSWERED, "", ENTRIES)
    out = made.control(NEAR, reply)
    assert [each.message for each in of_type(events.ToMaster, out)] == [reply]
    assert not answers(out)


@pytest.mark.parametrize(
    ("changed", "count"),
    [({"epoch": 2}, "moved"), ({"task": FAR}, "moved"), ({"task": 99}, "moved")],
)
def test_a_question_by_another_plan_is_refused(changed: dict[str, Any], count: str) -> None:
    made = manager()
    out = ask(made, 5, **changed)
    assert answers(out) == [(CLIENT, 5, QueryOutcome.RESTARTING)]
    assert not asked_of(out)
    assert counts(made) == {"asked": 1, count: 1}


def test_an_absent_instance_is_not_waited_for() -> None:
    made = manager(introduced=False)
    assert answers(ask(made, 5)) == [(CLIENT, 5, QueryOutcome.RESTARTING)]
    assert counts(made) == {"asked": 1, "restarting": 1}


def test_the_instance_is_replaced_and_the_late_answer_counted() -> None:
    made = manager()
    (query,) = asked_of(ask(made, 5))
    assert answers(made.hello(NEAR, 2)) == [(CLIENT, 5, QueryOutcome.RESTARTING)]
    late = StateAnswered(NEAR, query.query, QueryOutcome.ANSWERED)
    out = made.control(NEAR, late, 2)
    assert not answers(out)
    assert not of_type(events.ToMaster, out)
    assert counts(made) == {"asked": 1, "restarting": 1, "late": 1}


def test_a_question_ends_at_its_deadline() -> None:
    made = manager()
    ask(made, 5)
    made.now = 1.9
    assert not answers(made.handle(events.StreamManagerTimer()))
    made.now = 2.0
    out = made.handle(events.StreamManagerTimer())
    assert answers(out) == [(CLIENT, 5, QueryOutcome.RESTARTING)]
    assert counts(made) == {"asked": 1, "timed_out": 1}


def test_a_question_ends_when_its_task_moves() -> None:
    made = manager()
    ask(made, 5)
    moved = packing_of({1: "spout"}, {FAR: "far", FAR + 1: "far", NEAR: "near"})
    made.handle(events.FromMaster(physical(moved, 2)))
    out = made.handle(events.StreamManagerTimer())
    assert answers(out) == [(CLIENT, 5, QueryOutcome.RESTARTING)]
    assert counts(made) == {"asked": 1, "moved": 1}


def test_a_question_too_many_is_refused() -> None:
    made = manager()
    for number in range(QUESTIONS_MAX):
        assert asked_of(ask(made, number))
    out = ask(made, QUESTIONS_MAX)
    assert answers(out) == [(CLIENT, QUESTIONS_MAX, QueryOutcome.RESTARTING)]
    assert counts(made) == {"asked": QUESTIONS_MAX, "overloaded": 1}


@pytest.mark.parametrize("outcome", QueryOutcome)
def test_each_outcome_is_counted(outcome: QueryOutcome) -> None:
    made = manager()
    (query,) = asked_of(ask(made, 5))
    out = made.control(NEAR, StateAnswered(NEAR, query.query, outcome, "why"))
    assert answers(out) == [(CLIENT, 5, outcome)]
    assert sum(counts(made).values()) == 2  # asked, and its end


def test_another_task_does_not_answer() -> None:
    made = manager()
    (query,) = asked_of(ask(made, 5))
    assert query.query > NUMBERS_FROM
    assert not answers(made.control(1, StateAnswered(1, query.query, QueryOutcome.ANSWERED)))
    assert counts(made) == {"asked": 1, "late": 1}


def test_a_client_says_something_else() -> None:
    made = manager()
    made.handle(events.FromClient(CLIENT, messages.Ping()))
    assert made.core.statistics()["malformed"] == 1


def test_counts_of_instances_outlive_their_processes() -> None:
    made = manager()

    def report(incarnation: int, **numbers: int) -> None:
        made.control(NEAR, messages.InstanceHeartbeat(NEAR, {}, numbers), incarnation)

    report(1, asked=3, answered=3)
    report(1, asked=5, answered=4, moved=1)
    assert counts(made) == {"asked": 5, "answered": 4, "moved": 1}
    report(2)
    report(2, asked=1, answered=1)
    assert counts(made) == {"asked": 6, "answered": 5, "moved": 1}
    ask(made, 1)
    assert counts(made)["asked"] == 7
