"""The process behind `heronpy nimbus`: a socket, a thread for each connection.

Without a token clients are users of this machine, known by the process at the other end of their
connection. With a token a connection begins with `authenticate`, as at DRPC's server, and has the
rights of the user of Nimbus.
"""

import logging
import os
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from heron_connectors.requests.options import check_reachable
from heron_connectors.requests.thrift_interface import AUTHENTICATE
from heron_connectors.requests.thrift_interface import METHODS as METHODS_OF_REQUESTS
from heron_connectors.requests.thrift_services import TokenGate
from heron_core.errors import HeronError, TopologyError
from heron_core.operations import Requester, Way
from heron_core.thrift.calls import (
    LENGTH_BYTES,
    AuthorizationException,
    TApplicationException,
    ThriftCall,
    framed,
    parse_arguments,
    parse_call,
    refusal,
    reply,
)
from heron_core.thrift.foreign_clients import (
    ForeignClient,
    foreign_client,
    foreign_frame,
    oversized,
)
from heron_io.http_settings import server_tls
from heron_io.listening import listen_on
from heron_io.peer_user import peer_users
from heron_io.state_store.opening import open_store
from heron_tracker.auth.access import OPERATOR_TOKEN
from heron_tracker.auth.topology_access import VISITOR
from heron_tracker.model.reader import TrackerReader
from heron_tracker.nimbus.methods import METHODS
from heron_tracker.nimbus.rights import visitor_of
from heron_tracker.nimbus.service import ANSWER_SECS, NimbusService
from heron_tracker.nimbus.submissions import Submissions, TopologyFolders
from heron_tracker.nimbus.uploads import Uploads
from heron_tracker.requesters import local_user, requester_at

BACKLOG = 32
CONNECTIONS_MAX = 64
"""At once: each is a thread. sparse has one for each command."""
FRAME_BYTES_MAX = 16 * 1024 * 1024 - 1
"""Storm's nimbus.thrift.max_buffer_size is 1 MiB; a topology with large serialised objects is
beyond that. One more byte is how SASL begins."""
IDLE_SECS = 600.0
"""Between two calls of a connection."""
FRAME_SECS = 60.0
"""For a frame that has begun, for an answer to be taken, and for the handshake of TLS."""
UNKNOWN_CLIENT_BYTES_MAX = 64 * 1024
"""Of a frame on a connection that has to say the token first."""
LEAVE_SECS = 2.0
"""Time for a rejected client to read the reason."""
ROOT = 0
SERVER = "Nimbus"
"""Name of the server in its refusals."""
NO_TOKEN = f"first call {AUTHENTICATE} with the token of this Nimbus"
THROUGH_SSH = (
    "; or listen on 127.0.0.1, and let clients come through ssh, as sparse does unless "
    "use_ssh_for_nimbus is false (ssh -NL 6627:localhost:6627 THIS_HOST)"
)

log = logging.getLogger("nimbus")


@dataclass(frozen=True, slots=True, kw_only=True)
class NimbusOptions:
    """Address, limits and start command of Nimbus."""

    host: str = "127.0.0.1"
    port: int = 6627
    """Storm's nimbus.thrift.port; 0 for any that is free."""
    upload_bytes_max: int = 512 * 1024 * 1024
    submit_command: Sequence[str] = ()
    """`heronpy submit` with the options that say where topologies run."""
    token: str | None = None
    """Token required of clients; None: open to the users of this machine, by their rights."""
    certificate: str | None = None
    key: str | None = None
    """Of the certificate; with both the port speaks TLS."""


class _ClientGone(Exception):
    """The connection ended, in the middle of a frame or between two."""


def serve(
    options: NimbusOptions, store_url: str, home: str, ready: Callable[[str, int], None]
) -> None:
    """Serve until KeyboardInterrupt; `ready` is called with host and port. HeronError if the
    address cannot be used, or another Nimbus serves this state store."""
    check_address(options)
    tls = server_tls(options.certificate, options.key)
    with listen_on(options.host, options.port, BACKLOG) as listener, open_store(store_url) as store:
        host, port = listener.getsockname()[:2]
        folders = TopologyFolders(home, store_url)
        submissions = Submissions(store, folders, options.submit_command)
        reader = TrackerReader(store, ANSWER_SECS)
        service = NimbusService(
            store, reader, Uploads(folders.uploads, options.upload_bytes_max, time.monotonic),
            submissions, home, (host, port),
        )  # fmt: skip
        try:
            submissions.sweep()
            ready(host, port)
            users = {os.getuid(), ROOT}
            NimbusServer(listener, service.answer, users, options.token, tls).run()
        finally:
            service.close()
            reader.close()
            folders.close()


def check_address(options: NimbusOptions) -> None:
    """UsageError for an address that others reach, without TLS or without a token."""
    check_reachable(options.host, options.certificate, options.key, options.token, THROUGH_SSH)


class NimbusServer:
    """Accepts connections and answers their calls, one at a time per connection."""

    def __init__(
        self,
        listener: socket.socket,
        answer: Callable[[ThriftCall, Requester], bytes],
        users: Iterable[int],
        token: str | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`users` have all rights, as the clients with the token."""
        self._listener, self._answer, self._users = listener, answer, frozenset(users)
        self._token, self._tls = token, tls
        self._free = threading.Semaphore(CONNECTIONS_MAX)
        self._closed = False

    def run(self) -> None:
        """Until `close`, or KeyboardInterrupt."""
        while not self._closed:
            try:
                client, address = self._listener.accept()
            except OSError as error:
                if not self._closed:
                    raise HeronError(f"no client can connect any more: {error}") from None
                return
            if not self._free.acquire(blocking=False):
                log.warning("a client is refused: %d are connected already", CONNECTIONS_MAX)
                client.close()
                continue
            threading.Thread(
                target=self._serve, args=(client, address), name="client", daemon=True
            ).start()

    def close(self) -> None:
        """Take no more connections."""
        self._closed = True
        self._listener.shutdown(socket.SHUT_RDWR)

    def _serve(self, client: socket.socket, address: tuple[str, int]) -> None:
        host, port = address[:2]
        try:
            with client, self._secured(client) as secured:
                secured.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                asked_by = self._begin(host, port, secured.getsockname()[1])
                gate = TokenGate(self._token)
                while self._answered(secured, asked_by, gate):
                    pass
        except _ClientGone:
            return
        except ssl.SSLError as error:
            why = error.reason or error
            log.warning("a client at %s:%d is refused: it speaks no TLS (%s)", host, port, why)
        except OSError as error:
            log.warning("a client is lost: %s", error)
        finally:
            self._free.release()

    def _secured(self, client: socket.socket) -> socket.socket:
        if self._tls is None:
            return client
        client.settimeout(FRAME_SECS)
        return self._tls.wrap_socket(client, server_side=True)

    def _begin(self, host: str, port: int, server_port: int) -> Requester:
        """The client in events, and its rights: those of a user of this machine, or of the token.
        A connection without the token reaches no method."""
        user = local_user(host, port, server_port) if self._token is None else OPERATOR_TOKEN
        is_owner = self._token is not None or self._is_owner(port, server_port)
        VISITOR.set(visitor_of(user, host, port, server_port, is_owner))
        return requester_at(user, host, Way.THRIFT)

    def _is_owner(self, port: int, server_port: int) -> bool:
        """Whether the client is of the user of Nimbus, or root; the kernel may not tell."""
        users = peer_users(port, server_port)
        return users is None or bool(users and users <= self._users)

    def _answered(self, client: socket.socket, asked_by: Requester, gate: TokenGate) -> bool:
        """Whether a call was answered and the next one may come."""
        first = _received(client, LENGTH_BYTES, time.monotonic() + IDLE_SECS)
        (size,) = struct.unpack("!I", first)
        foreign = foreign_client(first, SERVER, "`heronpy ui`")
        size_max, limit = FRAME_BYTES_MAX, "a limit of this server"
        if not gate.is_passed:
            size_max, limit = UNKNOWN_CLIENT_BYTES_MAX, f"before {AUTHENTICATE}"
        if foreign is None and size > size_max:
            foreign = oversized(size, size_max, limit)
        if foreign is not None:
            _refuse(client, foreign)
            return False
        frame = _received(client, size, time.monotonic() + FRAME_SECS)
        try:
            call = parse_call(frame)
        except TopologyError:
            _refuse(client, foreign_frame(frame, SERVER))
            return False
        is_open = gate.is_passed and (call.method != AUTHENTICATE or self._token is None)
        answer = self._answer(call, asked_by) if is_open else _authenticated(client, call, gate)
        client.settimeout(FRAME_SECS)
        client.sendall(framed(answer))
        return True


def _authenticated(client: socket.socket, call: ThriftCall, gate: TokenGate) -> bytes:
    """The answer to a client that says the token, or has to say it first."""
    method = METHODS_OF_REQUESTS[AUTHENTICATE]
    if call.method != AUTHENTICATE:
        return refusal(call, METHODS.get(call.method), AuthorizationException(NO_TOKEN))
    try:
        gate.present(parse_arguments(method, call)["token"])
    except TApplicationException as error:
        return refusal(call, method, error)
    if gate.is_passed:
        return reply(call, method, None)
    log.warning("a client at %s:%d says a wrong token", *client.getpeername()[:2])
    return refusal(call, method, AuthorizationException(NO_TOKEN))


def _refuse(client: socket.socket, foreign: ForeignClient) -> None:
    host, port = client.getpeername()[:2]
    log.warning("%s", foreign.line(SERVER, f"{host}:{port}"))
    _leave(client, foreign.answer)


def _leave(client: socket.socket, answer: bytes) -> None:
    """Say a last thing: what a client has sent and is not read yet would have the kernel reset the
    connection before that is taken."""
    client.settimeout(LEAVE_SECS)
    client.sendall(answer)
    client.shutdown(socket.SHUT_WR)
    deadline = time.monotonic() + LEAVE_SECS
    try:
        while time.monotonic() < deadline and client.recv(65536):
            pass
    except TimeoutError:
        return


def _received(client: socket.socket, size: int, deadline: float) -> bytes:
    """So many bytes; _ClientGone if they do not come."""
    data = bytearray()
    while len(data) < size:
        client.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            chunk = client.recv(min(size - len(data), 1024 * 1024))
        except TimeoutError:
            raise _ClientGone from None
        if not chunk:
            if data:
                log.warning("a client went in the middle of a call")
            raise _ClientGone
        data += chunk
    return bytes(data)
