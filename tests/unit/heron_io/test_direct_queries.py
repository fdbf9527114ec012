"""A client of states, a master with the routes, stream managers and instances, silent or not."""

import select
import socket
from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest
import zmq

from heron_core.errors import HeronError
from heron_core.state.keys import owner
from heron_core.wire import message_codec
from heron_core.wire.messages import QueryOutcome, StateAnswered, StateQuestion
from heron_io import direct_queries
from heron_io.direct_queries import DirectQueries
from heron_io.local_questions import QuestionListener, questions_path

NAME = "count.count"
SECS = 30.0
ENTRY = (b"k", '{"key":"k","value":7}')
BESIDE = (b"k", '{"key":"k","value":8}')
"""The answer of the instance itself."""


class StreamManagerStandIn(Thread):
    """Answers the questions at its address by `answer`; a None is left unanswered."""

    def __init__(self, context: "zmq.Context[Any]") -> None:
        super().__init__(daemon=True)
        self.outcome: QueryOutcome | None = QueryOutcome.ANSWERED
        self.asked: list[StateQuestion] = []
        self._socket = context.socket(zmq.ROUTER)
        self.address = f"tcp://127.0.0.1:{self._socket.bind_to_random_port('tcp://127.0.0.1')}"

    def run(self) -> None:
        while True:
            try:
                client, empty, data = self._socket.recv_multipart()
            except zmq.ContextTerminated:
                self._socket.close(linger=0)
                return
            assert empty == b""
            question = message_codec.decode(data)
            self.asked.append(question)
            if self.outcome is not None:
                late = StateAnswered(question.task, 0, QueryOutcome.ANSWERED, "", (ENTRY,))
                answer = StateAnswered(question.task, question.query, self.outcome, "why", (ENTRY,))
                for each in (late, answer):
                    self._socket.send_multipart([client, b"", message_codec.encode(each)])


class MasterStandIn:
    """Tells the route, or refuses it."""

    def __init__(self, context: "zmq.Context[Any]", addresses: list[str]) -> None:
        self._context = context
        self.asked = 0
        self.error: HeronError | None = None
        tasks = [[2 + at, f"count[{at}]", address] for at, address in enumerate(addresses)]
        self.route = {
            "component": "count", "state": "count", "fields": ["word"], "epoch": 3, "tasks": tasks,
        }  # fmt: skip

    def ask(self, command: str, arguments: dict[str, Any]) -> dict[str, Any]:
        assert (command, arguments) == ("query_route", {"name": NAME})
        self.asked += 1
        if self.error is not None:
            raise self.error
        return self.route

    def connected_to(self, address: str) -> "zmq.Socket[bytes]":
        dealer: zmq.Socket[bytes] = self._context.socket(zmq.DEALER)
        dealer.connect(address)
        return dealer


class InstanceStandIn(Thread):
    """Answers the questions on the Unix socket of task 2, as many as `answers`, then ends."""

    def __init__(self, path: str, answers: int) -> None:
        super().__init__(daemon=True)
        self.asked: list[StateQuestion] = []
        self._answers = answers
        self.listener = QuestionListener(questions_path(path, 2), 2)

    def run(self) -> None:
        while len(self.asked) <= self._answers:
            select.select([self.listener.fileno()], [], [], SECS)
            for name, question in self.listener.received():
                self.asked.append(question)
                if len(self.asked) <= self._answers:
                    outcome = QueryOutcome.ANSWERED
                    answer = StateAnswered(2, question.query, outcome, "", (BESIDE,))
                    self.listener.answer(name, answer)
        self.listener.close()


class Site:
    def __init__(self, context: "zmq.Context[Any]") -> None:
        self.managers = [StreamManagerStandIn(context) for _ in range(2)]
        for each in self.managers:
            each.start()
        self.master = MasterStandIn(context, [each.address for each in self.managers])
        self.client = DirectQueries(self.master)  # type: ignore[arg-type]

    def ask(self, key: str = '"k"', secs: float = SECS) -> Any:
        return self.client.ask(NAME, key, "", secs)


@pytest.fixture
def site() -> Iterator[Site]:
    context = zmq.Context[Any]()
    made = Site(context)
    yield made
    made.client.close()
    context.term()
    for each in made.managers:
        each.join()


def test_the_owner_of_a_key_is_asked_and_the_master_once(site: Site) -> None:
    for key in ("a", "b", "c", "d"):
        at = owner(key, 2)
        assert site.ask(f'"{key}"') == [(2 + at, f"count[{at}]", ENTRY[1])]
        assert site.managers[at].asked[-1].key == f'"{key}"'
        assert site.managers[at].asked[-1].epoch == 3
    assert site.master.asked == 1
    assert sum(len(each.asked) for each in site.managers) == 4


def test_any_other_outcome_is_for_the_master_and_the_route_is_asked_for_again(site: Site) -> None:
    for each in site.managers:
        each.outcome = QueryOutcome.RESTARTING
    assert site.ask() is None
    assert site.ask() is None
    assert site.master.asked == 2


def test_no_answer_in_time_is_for_the_master(site: Site) -> None:
    for each in site.managers:
        each.outcome = None
    assert site.ask(secs=0.02) is None
    for each in site.managers:
        each.outcome = QueryOutcome.ANSWERED
    assert site.ask() is not None


def test_a_refused_route_is_not_asked_for_with_each_question(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.master.error = HeronError("count: a key may be at any task")
    assert site.ask() is None
    assert site.ask() is None
    assert site.master.asked == 1
    monkeypatch.setattr(direct_queries, "RETRY_SECS", 0.0)
    site.client = DirectQueries(site.master)  # type: ignore[arg-type]
    assert site.ask() is None
    site.master.error = None
    assert site.ask() is not None


@pytest.mark.parametrize("key", ["", "{", '"x"' * 40_000, "[1, 2]", '{"$object": "a.B"}'])
def test_what_is_no_key_is_for_the_master(site: Site, key: str) -> None:
    site.master.route["fields"] = ["word", "day", "zone"]
    assert site.ask(key) is None
    assert not any(each.asked for each in site.managers)


@pytest.mark.parametrize("tasks", [[], [[2, "count[0]", ""]], [[1, 2]], "none"])
def test_a_route_that_leads_nowhere_is_for_the_master(site: Site, tasks: Any) -> None:
    site.master.route["tasks"] = tasks
    assert site.ask() is None


def beside(site: Site, path: str, host: str) -> None:
    """The master's route has task 2 alone, on a host with a socket."""
    site.master.route["tasks"] = [[2, "count[0]", site.managers[0].address]]
    site.master.route["sockets"] = [[host, path]]


@pytest.fixture
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A stream manager's, short: the path of a socket may have 107 characters."""
    return str(tmp_path_factory.mktemp("s") / "s")


def test_an_instance_of_this_machine_is_asked_itself(site: Site, path: str) -> None:
    instance = InstanceStandIn(path, 2)
    instance.start()
    beside(site, path, socket.gethostname())
    assert site.ask() == site.ask() == [(2, "count[0]", BESIDE[1])]
    assert [each.epoch for each in instance.asked] == [3, 3]
    assert not site.managers[0].asked
    # The process ends with the question unanswered: the master is asked, and then the successor.
    assert site.ask() is None
    instance.join()
    assert site.ask() == [(2, "count[0]", ENTRY[1])], "there is no socket yet"
    successor = InstanceStandIn(path, 1)
    successor.start()
    assert site.ask() == [(2, "count[0]", BESIDE[1])]
    assert site.ask(secs=0.02) is None
    successor.join()


def test_an_instance_of_another_machine_is_asked_by_its_stream_manager(
    site: Site, path: str
) -> None:
    instance = InstanceStandIn(path, 0)
    beside(site, path, "elsewhere")
    assert site.ask() == [(2, "count[0]", ENTRY[1])]
    instance.listener.close()
