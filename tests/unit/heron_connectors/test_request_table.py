"""H13, requests and their answers: what becomes of a call, without a socket and on a given time."""

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from heron_connectors.requests import table as requests_table
from heron_connectors.requests.table import (
    CALL,
    ArgumentsTooLarge,
    CallState,
    Ending,
    Overloaded,
    RequestLimits,
    RequestTable,
)
from tests.transitions_seen import arrows, transitions_seen

LIMITS = RequestLimits(request_secs=10.0, unserved_secs=2.0, calls_max=3, text_bytes_max=8)


@pytest.fixture
def table() -> RequestTable:
    return RequestTable(LIMITS, "life")


def test_a_call_is_fetched_and_answered(table: RequestTable) -> None:
    first, second = table.call("f", "a", 0.0), table.call("f", "b", 0.0)
    (one,) = table.fetch("f", 1, 0.5)
    assert (one.id, one.arguments) == (first, "a")
    assert table.result(one.id, "A", 1.0) == Ending(first, CallState.ANSWERED, "A")
    (two,) = table.fetch("f", 9, 1.0)
    assert two.id == second
    assert table.fail(two.id, "why", 1.0) == Ending(second, CallState.FAILED, "why")
    assert (table.counts.answered, table.counts.failed, table.pending) == (1, 1, 0)
    table.validate()


def test_a_failure_waits_a_moment_for_its_reason(table: RequestTable) -> None:
    """The spout and the bolt report it on two ways; either may be first."""
    told, untold = table.call("f", "a", 0.0), table.call("f", "b", 0.0)
    table.fetch("f", 2, 0.0)
    assert table.fail(told, None, 1.0) is table.fail(untold, None, 1.0) is None
    assert table.result(told, "A", 1.1) is None
    assert table.fail(told, None, 1.2) is None, "reported again"
    assert table.fail(told, "why", 1.5) == Ending(told, CallState.FAILED, "why")
    assert table.expire(1.9) == []
    assert table.expire(2.0) == [Ending(untold, CallState.FAILED, "Request failed")]
    assert (table.counts.failed, table.counts.results_late, table.pending) == (2, 1, 0)
    assert table.fail(told, None, 2.0) is None
    table.validate()


def test_a_served_call_times_out_and_its_result_is_late(table: RequestTable) -> None:
    request_id = table.call("f", "a", 0.0)
    table.fetch("f", 1, 0.1)
    assert table.expire(9.9) == []
    assert table.expire(10.0) == [Ending(request_id, CallState.TIMED_OUT, "Timed Out")]
    assert table.result(request_id, "A", 10.1) is None
    assert (table.counts.timed_out, table.counts.results_late) == (1, 1)


@pytest.mark.parametrize(
    "request_id",
    ["", "life", "life-", "life-2", "life-0", "life--1", "other-1", "life-x", "life-" + "9" * 5000],
)
def test_a_result_for_an_id_that_was_never_issued_is_unknown(
    table: RequestTable, request_id: str
) -> None:
    """One of another life of the server, too: its number may be that of a call here."""
    table.call("f", "a", 0.0)
    table.fetch("f", 1, 0.0)
    assert table.result(request_id, "A", 0.1) is None
    assert (table.counts.results_unknown, table.counts.results_late) == (1, 0)


def test_a_result_for_a_call_that_was_not_fetched_is_unknown(table: RequestTable) -> None:
    assert table.result(table.call("f", "a", 0.0), "A", 0.1) is None
    assert (table.counts.results_unknown, table.pending) == (1, 1)


def test_a_function_that_no_topology_asks_for_fails_early_by_its_name(table: RequestTable) -> None:
    table.fetch("f", 1, 0.0)
    request_id = table.call("f", "a", 1.0)
    (ending,) = table.expire(3.0)
    assert (ending.id, ending.state) == (request_id, CallState.UNSERVED)
    assert "'f' is not served" in ending.text
    assert table.counts.unserved == 1


def test_a_served_function_whose_queue_is_long_is_waited_for(table: RequestTable) -> None:
    """The topology asks, and has more to do than it gets done."""
    table.call("f", "a", 0.0)
    table.call("f", "b", 0.0)
    table.fetch("f", 1, 1.0)
    assert table.expire(5.0) == []
    assert {each.state for each in table.expire(10.0)} == {CallState.TIMED_OUT}


def test_calls_of_all_functions_together_are_limited_in_number_and_bytes() -> None:
    limits = RequestLimits(text_bytes_max=8, pending_max=3, pending_bytes_max=12)
    table = RequestTable(limits, "life")
    table.call("a", "x" * 8, 0.0)
    with pytest.raises(Overloaded, match="have 8 bytes, and 12 is the limit"):
        table.call("b", "x" * 5, 0.0)
    second = table.call("b", "x" * 4, 0.0)
    table.call("c", "", 0.0)
    with pytest.raises(Overloaded, match="3 calls of all functions are not answered"):
        table.call("d", "", 0.0)
    table.abandon(second)
    table.call("d", "x" * 4, 0.0)
    assert table.counts.overloaded == 2
    table.validate()


def test_a_full_queue_refuses_and_says_its_limit(table: RequestTable) -> None:
    for _ in range(LIMITS.calls_max):
        table.call("f", "a", 0.0)
    with pytest.raises(Overloaded, match="3 calls of 'f' wait already"):
        table.call("f", "a", 0.0)
    table.call("g", "a", 0.0)
    table.fetch("f", 1, 0.0)
    table.call("f", "a", 0.0)
    assert (table.counts.overloaded, table.counts.calls) == (1, 5)


def test_texts_above_the_limit(table: RequestTable) -> None:
    with pytest.raises(ArgumentsTooLarge, match="at most 8 bytes"):
        table.call("f", "éééé+", 0.0)
    request_id = table.call("f", "éééé", 0.0)
    table.fetch("f", 1, 0.0)
    ending = table.result(request_id, "éééé+", 0.0)
    assert ending is not None
    assert (ending.state, ending.text) == (
        CallState.TOO_LARGE,
        "the result has 9 bytes, and 8 is the limit",
    )
    assert (table.counts.arguments_too_large, table.counts.too_large) == (1, 1)


def test_the_caller_goes_away_and_the_server_ends(table: RequestTable) -> None:
    gone, fetched, waiting = (table.call("f", "a", 0.0) for _ in range(3))
    table.abandon(gone)
    table.abandon(gone)
    assert [each.id for each in table.fetch("f", 1, 0.0)] == [fetched]
    assert {each.id: each.state for each in table.stop()} == {
        fetched: CallState.STOPPED,
        waiting: CallState.STOPPED,
    }
    assert (table.counts.abandoned, table.counts.stopped) == (1, 2)
    table.validate()


def test_what_could_not_be_sent_is_the_next_to_be_fetched(table: RequestTable) -> None:
    ids = [table.call("f", str(number), 0.0) for number in range(3)]
    fetched = table.fetch("f", 2, 0.0)
    table.abandon(ids[0])
    table.put_back(fetched)
    assert [each.id for each in table.fetch("f", 9, 0.0)] == ids[1:]
    table.validate()


def test_functions_are_listed_with_what_waits(table: RequestTable) -> None:
    table.fetch("served", 1, 0.0)
    table.call("called", "a", 1.0)
    table.call("served", "a", 1.0)
    table.call("served", "b", 1.0)
    table.fetch("served", 1, 2.0)
    rows = [
        (each.name, each.waiting, each.fetched, each.idle_secs) for each in table.functions(3.0)
    ]
    assert rows == [("called", 1, 0, None), ("served", 1, 1, 1.0)]


def test_names_that_are_asked_for_do_not_grow_without_end(
    table: RequestTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests_table, "FUNCTIONS_MAX", 2)
    for name in "abc":
        table.fetch(name, 1, 0.0)
    assert [each.name for each in table.functions(0.0)] == ["b", "c"]


def test_deadlines_of_calls_that_have_ended_are_removed(
    table: RequestTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests_table, "DEADLINES_SPARE", 4)
    for number in range(22):
        table.abandon(table.call("f", "a", float(number)))
    assert table.next_deadline == 20.0 + LIMITS.unserved_secs  # of the last two alone
    table.validate()


def test_each_arrow_of_the_drawing_is_taken(table: RequestTable) -> None:
    with transitions_seen() as seen:
        one, two, three = (table.call("f", "a", 0.0) for _ in range(3))
        explained, alone = table.call("g", "a", 0.0), table.call("g", "a", 0.0)
        for request in table.fetch("g", 2, 0.0):
            table.fail(request.id, None, 0.5)
        table.fail(explained, "why", 0.6)
        table.abandon(alone)
        table.put_back(table.fetch("f", 3, 0.0))
        table.fetch("f", 3, 0.0)
        table.result(one, "A", 0.0)
        table.fail(two, "why", 1.0)
        table.result(three, "A" * 9, 0.0)
        for _ in range(2):
            table.call("f", "a", 0.0)
        table.fetch("f", 1, 0.0)  # the other one waits
        table.expire(10.0)
        table.call("unserved", "a", 10.0)
        table.expire(12.0)
        waiting, fetched = table.call("f", "a", 12.0), table.call("g", "a", 12.0)
        table.fetch("g", 1, 12.0)
        table.abandon(waiting)
        table.abandon(fetched)
        table.call("f", "a", 12.0)
        table.call("g", "a", 12.0)
        table.fetch("g", 1, 12.0)
        unexplained = table.call("h", "a", 12.0)
        table.fetch("h", 1, 12.0)
        table.fail(unexplained, None, 12.0)
        table.stop()
    assert seen == arrows(CALL)


class TableMachine(RuleBasedStateMachine):
    """Any order of calls, fetches, results and time: each call that was taken ends once."""

    def __init__(self) -> None:
        super().__init__()
        self.table = RequestTable(LIMITS, "life")
        self.now = 0.0
        self.open: dict[str, Any] = {}
        self.fetched: list[str] = []
        self.ended = 0

    def end(self, *endings: Ending | None) -> None:
        for ending in endings:
            if ending is not None:
                del self.open[ending.id]
                self.ended += 1

    @rule(function=st.sampled_from("fg"), text=st.text(max_size=5))
    def call(self, function: str, text: str) -> None:
        try:
            self.open[self.table.call(function, text, self.now)] = function
        except (Overloaded, ArgumentsTooLarge):
            pass

    @rule(function=st.sampled_from("fgh"), most=st.integers(1, 3), back=st.booleans())
    def fetch(self, function: str, most: int, back: bool) -> None:
        requests = self.table.fetch(function, most, self.now)
        assert all(self.open[each.id] == function for each in requests)
        if back:
            self.table.put_back(requests)
        self.fetched += [each.id for each in requests]

    @precondition(lambda self: self.fetched)
    @rule(data=st.data(), text=st.text(max_size=9), works=st.booleans())
    def settle(self, data: Any, text: str, works: bool) -> None:
        request_id = data.draw(st.sampled_from(self.fetched))
        if works:
            self.end(self.table.result(request_id, text, self.now))
        else:
            self.end(self.table.fail(request_id, text or None, self.now))

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def abandon(self, data: Any) -> None:
        request_id = data.draw(st.sampled_from(sorted(self.open)))
        self.table.abandon(request_id)
        del self.open[request_id]
        self.ended += 1

    @rule(secs=st.floats(0, 12))
    def advance(self, secs: float) -> None:
        self.now += secs
        self.end(*self.table.expire(self.now))
        due = self.table.next_deadline
        assert due is None or due > self.now

    @invariant()
    def fits_together(self) -> None:
        self.table.validate()
        assert self.table.pending == len(self.open)
        assert self.table.counts.calls == self.ended + len(self.open)


TestTable = TableMachine.TestCase
TestTable.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
