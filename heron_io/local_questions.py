"""Questions about a key of a state between two processes of a machine: a client, and an instance.

An instance listens on a Unix socket in the folder of its stream manager's socket. The main thread
takes a question between two tuples and answers by the same connection. Other threads and processes
take no part: each would need a core, and on a busy machine a wait for a core lasts several
milliseconds. Clients on other machines ask the stream manager.

A connection has a single question at a time. After any error the connection is closed, and the
client asks the topology master, whose errors have texts.
"""

import logging
import os
import random
import socket
import time
from collections.abc import Iterator

from heron_core.errors import ProtocolError
from heron_core.wire import message_codec
from heron_core.wire.local_stream import QUESTIONS, ConnectionName, MessageReader, encoded
from heron_core.wire.messages import StateAnswered, StateQuestion
from heron_io.local_connection import scratch
from heron_io.local_listener import LocalListener

log = logging.getLogger("heron_instance")

CLIENTS_MAX = 64
"""Connections of clients to one instance, as many as questions of the topology master."""


def questions_path(stream_manager: str, task: int) -> str:
    """Path of the socket of a task, by the path of its stream manager."""
    return os.path.join(os.path.dirname(stream_manager), f"task-{task}.sock")


class QuestionListener:
    """The instance's end; for its main thread."""

    def __init__(self, path: str, task: int) -> None:
        """OSError if the socket cannot be made."""
        self._task = task
        self._listener = LocalListener(path, (QUESTIONS,), log)

    def fileno(self) -> int:
        """To be polled for input; then `received` has something to do."""
        return self._listener.fileno()

    @property
    def clients(self) -> int:
        """Connections at present."""
        return len(self._listener)

    def received(self) -> Iterator[tuple[ConnectionName, StateQuestion]]:
        """Available questions, each with the connection for the answer."""
        for name, frames in self._listener.received():
            question = self._question(name, frames[0])
            if question is not None:
                yield name, question
        while self._listener.errors:
            log.warning("closed the connection of a client: %s", self._listener.errors.popleft())
        self._listener.resume()

    def _question(self, name: ConnectionName, data: bytes) -> StateQuestion | None:
        """None: the connection is closed."""
        try:
            question = message_codec.decode(data)
            if not isinstance(question, StateQuestion) or name.task != self._task:
                raise ProtocolError(f"not a question to task {self._task}: {question!r:.100}")
            if self.clients > CLIENTS_MAX:
                raise ProtocolError(f"{CLIENTS_MAX} clients are connected")
            if self._listener.waiting(name):
                raise ProtocolError("the client has not read the answer before")
        except ProtocolError as error:
            log.warning("closed the connection of a client: %s", error)
            self._listener.cut(name, str(error))
            return None
        return question

    def answer(self, name: ConnectionName, answer: StateAnswered) -> None:
        """Send an answer; of an ended connection the client waits no longer."""
        self._listener.send(name, [message_codec.encode(answer)])

    def close(self) -> None:
        """Close all connections, and remove the socket."""
        self._listener.close()


class QuestionConnection:
    """A client's end, to one instance; for one thread at a time."""

    def __init__(self, path: str, task: int) -> None:
        """OSError if the instance does not listen there."""
        self._reader = MessageReader(scratch())
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.connect(path)
            self._socket.sendall(ConnectionName(QUESTIONS, task, random.getrandbits(63)).hello)
        except OSError:
            self._socket.close()
            raise

    def ask(self, question: StateQuestion, deadline: float) -> StateAnswered | None:
        """The answer; None after `deadline` (of time.monotonic): a late answer may still arrive, so
        the caller closes the connection. OSError or ProtocolError after the connection's end."""
        self._socket.settimeout(_left_secs(deadline))
        try:
            self._socket.sendall(b"".join(encoded([message_codec.encode(question)])))
            while True:
                self._socket.settimeout(_left_secs(deadline))
                count = self._socket.recvmsg_into(self._reader.receive_buffers())[0]
                if not count:
                    raise ProtocolError("the instance has closed the connection")
                for frames in self._reader.take(count):
                    answer = message_codec.decode(frames[0])
                    if isinstance(answer, StateAnswered) and answer.query == question.query:
                        return answer
                if self._reader.error:
                    raise ProtocolError(self._reader.error)
        except TimeoutError:
            return None

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


def _left_secs(deadline: float) -> float:
    """Above 0: a socket with the time-out 0 does not wait."""
    return max(0.001, deadline - time.monotonic())
