"""Connections to the stream managers with states in memory.

One connection to each address, until the address leaves the plan. A question without an answer in
time closes its connection, together with a late answer.
"""

import time
from collections.abc import Set
from typing import Any

import zmq

from heron_core.wire import message_codec
from heron_core.wire.messages import BackupFetched, BackupStored, FetchBackup, StoreBackup
from heron_io.checkpoint_store.protocol import CheckpointStoreError
from heron_io.security import Keys
from heron_io.transport import connect_dealer

ANSWER_SECS = 3.0
"""A live stream manager answers within a turn of its loop, some milliseconds. A stopped or killed
process delays a checkpoint by this time at most; zmq's heartbeats are no faster."""


class BackupConnections:
    """For one thread at a time."""

    def __init__(self, keys: Keys, answer_secs: float = ANSWER_SECS) -> None:
        """`keys`: the topology's."""
        self._keys = keys
        self._answer_secs = answer_secs
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._sockets: dict[str, zmq.Socket[bytes]] = {}

    def ask(
        self, address: str, question: StoreBackup | FetchBackup
    ) -> BackupStored | BackupFetched:
        """A stream manager's answer; CheckpointStoreError without an answer in time."""
        deadline = time.monotonic() + self._answer_secs
        dealer = self._connected(address)
        try:
            dealer.send_multipart((b"", message_codec.encode(question)))
            answer = self._answer(dealer, question.question, deadline)
        except zmq.ZMQError as error:
            self._close(address)
            raise CheckpointStoreError(f"the stream manager at {address}: {error}") from error
        if answer is None:
            self._close(address)
            raise CheckpointStoreError(
                f"the stream manager at {address} has not answered in {self._answer_secs:g} s"
            )
        return answer

    def _answer(
        self, dealer: "zmq.Socket[bytes]", question: int, deadline: float
    ) -> BackupStored | BackupFetched | None:
        while dealer.poll(max(0, int((deadline - time.monotonic()) * 1000))):
            answer: Any = message_codec.decode(b"".join(dealer.recv_multipart()))
            if isinstance(answer, BackupStored | BackupFetched) and answer.question == question:
                return answer
        return None

    def _connected(self, address: str) -> "zmq.Socket[bytes]":
        dealer = self._sockets.get(address)
        if dealer is None:
            dealer = connect_dealer(self._context, address, 0, self._keys)
            dealer.linger = 0
            self._sockets[address] = dealer
        return dealer

    def keep_only(self, addresses: Set[str]) -> None:
        """Close the connections to replaced stream managers."""
        for address in self._sockets.keys() - addresses:
            self._close(address)

    def _close(self, address: str) -> None:
        self._sockets.pop(address).close(linger=0)

    def close(self) -> None:
        """Close all connections."""
        self._context.destroy(linger=0)
