"""Clients of all kinds on the Unix socket of an instance."""

import logging
import select
import socket
import time
from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any

import pytest

from heron_core.errors import ProtocolError
from heron_core.wire import message_codec
from heron_core.wire.local_stream import CONTROL, QUESTIONS, ConnectionName, encoded
from heron_core.wire.messages import Ping, QueryOutcome, StateAnswered, StateQuestion
from heron_io import local_questions
from heron_io.local_questions import QuestionConnection, QuestionListener, questions_path

TASK = 7
DEADLINE_SECS = 30.0
LARGE = "x" * (1 << 20)
QUESTION = StateQuestion(5, 1, TASK, "count", '"k"')


def answer_to(question: StateQuestion, text: str = "1") -> StateAnswered:
    entries = ((b"k", text),)
    return StateAnswered(question.task, question.query, QueryOutcome.ANSWERED, "", entries)


class Place:
    """The listener of task 7, and what it has received."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.listener = QuestionListener(path, TASK)
        self.asked: list[tuple[ConnectionName, StateQuestion]] = []

    def turn_until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + DEADLINE_SECS
        while not condition():
            assert time.monotonic() < end
            select.select([self.listener.fileno()], [], [], 0.01)
            self.asked += self.listener.received()

    def asking(self, question: StateQuestion) -> tuple[Thread, list[StateAnswered | None]]:
        """A client that puts a question, and its answer."""
        answers: list[StateAnswered | None] = []

        def ask() -> None:
            client = QuestionConnection(self.path, TASK)
            answers.append(client.ask(question, time.monotonic() + DEADLINE_SECS))
            client.close()

        thread = Thread(target=ask, daemon=True)
        thread.start()
        return thread, answers

    def stranger(self, hello: bytes, *messages: Any) -> socket.socket:
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(self.path)
        sock.sendall(hello + b"".join(b"".join(encoded([each])) for each in messages))
        sock.settimeout(0.0)
        return sock

    def is_cut_off(self, sock: socket.socket) -> bool:
        try:
            return sock.recv(1) == b""
        except BlockingIOError:
            return False
        except ConnectionResetError:
            return True


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Its path is short: that of a socket may have 107 characters."""
    made = Place(questions_path(str(tmp_path_factory.mktemp("s") / "container-1.sock"), TASK))
    yield made
    made.listener.close()


@pytest.mark.parametrize("text", ["1", LARGE])
def test_each_client_has_the_answers_to_its_own_questions(place: Place, text: str) -> None:
    clients = [place.asking(StateQuestion(5, 1, TASK, "count", f'"{n}"')) for n in range(3)]
    place.turn_until(lambda: len(place.asked) == 3)
    for name, question in place.asked:
        place.listener.answer(name, answer_to(question, f"{question.key}{text}"))
    place.turn_until(lambda: not any(thread.is_alive() for thread, _ in clients))
    for number, (_, answers) in enumerate(clients):
        (answer,) = answers
        assert answer is not None
        assert answer.entries == ((b"k", f'"{number}"{text}'),)


def test_an_answer_after_the_client_has_ended_is_for_nothing(place: Place) -> None:
    client = QuestionConnection(place.path, TASK)
    assert client.ask(QUESTION, time.monotonic()) is None
    client.close()
    place.turn_until(lambda: bool(place.asked))
    place.turn_until(lambda: place.listener.clients == 0)
    name, question = place.asked.pop()
    place.listener.answer(name, answer_to(question))
    thread, answers = place.asking(QUESTION)
    place.turn_until(lambda: bool(place.asked))
    place.listener.answer(place.asked[0][0], answer_to(QUESTION))
    thread.join(DEADLINE_SECS)
    assert answers == [answer_to(QUESTION)]


@pytest.mark.parametrize(
    ("hello", "messages", "reason"),
    [
        (ConnectionName(CONTROL, TASK, 1).hello, (), "unknown connection"),
        (b"GET / HTTP/1.1\r\n\r\n", (), "unknown connection"),
        (ConnectionName(QUESTIONS, 8, 1).hello, [QUESTION], "not a question to task 7"),
        (ConnectionName(QUESTIONS, TASK, 1).hello, [Ping()], "not a question to task 7"),
        (ConnectionName(QUESTIONS, TASK, 1).hello, [b"\xff"], "message"),
    ],
)
def test_what_is_not_a_question_ends_its_connection_with_a_line(
    place: Place, caplog: pytest.LogCaptureFixture, hello: bytes, messages: Any, reason: str
) -> None:
    encode = message_codec.encode
    sent = [each if isinstance(each, bytes) else encode(each) for each in messages]
    with caplog.at_level(logging.WARNING):
        sock = place.stranger(hello, *sent)
        place.turn_until(lambda: place.is_cut_off(sock))
    sock.close()
    assert not place.asked
    (line,) = caplog.messages
    assert line.startswith("closed the connection of a client: ")
    assert reason in line


def test_a_client_that_does_not_read_is_cut_off(place: Place) -> None:
    data = message_codec.encode(QUESTION)
    sock = place.stranger(ConnectionName(QUESTIONS, TASK, 1).hello, data)
    place.turn_until(lambda: bool(place.asked))
    for _ in range(2):  # more than the kernel keeps
        place.listener.answer(place.asked[0][0], answer_to(QUESTION, LARGE))
    assert place.listener.clients == 1
    sock.sendall(b"".join(encoded([data])))
    place.turn_until(lambda: place.listener.clients == 0)
    sock.close()


def test_a_client_too_many_is_cut_off(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_questions, "CLIENTS_MAX", 1)
    first = QuestionConnection(place.path, TASK)
    second = QuestionConnection(place.path, TASK)
    place.turn_until(lambda: place.listener.clients == 2)
    assert first.ask(QUESTION, time.monotonic()) is None
    place.turn_until(lambda: place.listener.clients == 1)
    first.close()
    second.close()


def test_the_end_of_the_instance_is_an_error_of_the_question(place: Place) -> None:
    client = QuestionConnection(place.path, TASK)
    place.turn_until(lambda: place.listener.clients == 1)
    place.listener.close()
    with pytest.raises((ProtocolError, OSError)):
        client.ask(QUESTION, time.monotonic() + DEADLINE_SECS)
    client.close()
    with pytest.raises(OSError, match="No such file"):
        QuestionConnection(place.path, TASK)
