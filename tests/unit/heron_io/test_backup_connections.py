"""Connections to the stream managers that hold states: real sockets with the topology's key."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import zmq

from heron_core.wire import message_codec
from heron_core.wire.messages import BackupFetched, FetchBackup
from heron_io.backup_connections import BackupConnections
from heron_io.checkpoint_store.protocol import CheckpointStoreError
from heron_io.security import CurveAuthenticator, Keys
from heron_io.transport import tcp_router

KEYS = Keys.new()
ASKED = FetchBackup(2, 7, 3, 0, 10)


@contextmanager
def server(*answers: BackupFetched) -> Iterator[str]:
    """A stream manager that gives the answers to its first question."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    authenticator = CurveAuthenticator(context, KEYS)
    router, address = tcp_router(context, "127.0.0.1", 0, 1 << 20, authenticator)
    is_over = threading.Event()
    poller = zmq.Poller()
    for each in (router, *authenticator.sockets):
        poller.register(each, zmq.POLLIN)

    def serve() -> None:
        while not is_over.is_set():
            ready = dict(poller.poll(10))
            authenticator.serve(ready, 0.0)
            if router in ready:
                sender, *_ = router.recv_multipart()
                for each in answers:
                    router.send_multipart([sender, b"", message_codec.encode(each)])

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield address
    finally:
        is_over.set()
        thread.join()
        context.destroy(linger=0)


def test_the_answer_to_another_question_is_not_taken() -> None:
    late, wanted = BackupFetched(1, 4, b"late"), BackupFetched(2, 5, b"state")
    with server(late, wanted) as address:
        holders = BackupConnections(KEYS)
        try:
            assert holders.ask(address, ASKED) == wanted
        finally:
            holders.close()


def test_a_stream_manager_without_an_answer_is_named() -> None:
    with server() as address:
        holders = BackupConnections(KEYS, answer_secs=0.05)
        with pytest.raises(CheckpointStoreError, match=f"{address} has not answered in 0.05 s"):
            holders.ask(address, ASKED)
        holders.keep_only({address})  # its connection is closed already
        holders.close()
