"""The client of a service as the Requester of an action: user, address, and the way it came."""

import os
import pwd
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from heron_core.loopback import is_loopback
from heron_core.operations import Requester, Way
from heron_io.peer_user import peer_users
from heron_tracker.auth.access import CALLER, Caller

if TYPE_CHECKING:  # Nimbus runs without the packages of the pages
    from fastapi import Request

UNKNOWN_USER = "unknown"
"""On loopback, of a client whose connection has ended, or where the system does not say."""


def client_of(request: "Request", way: Way) -> Requester:
    """The client that a request has come from."""
    caller: Caller | None = getattr(request.state, CALLER, None)
    host, port = request.client or ("", 0)
    server = request.scope.get("server") or ("", 0)
    user = caller.user if caller is not None and caller.user else local_user(host, port, server[1])
    return requester_at(user, host, way)


def requester_at(user: str, address: str, way: Way) -> Requester:
    """A client of this process."""
    return Requester(user, socket.gethostname(), os.getpid(), address, way)


def local_user(host: str, port: int, server_port: Any) -> str:
    """The user whose process is at the other end of a connection on this machine."""
    if not is_loopback(host) or not isinstance(server_port, int):
        return UNKNOWN_USER
    users = peer_users(port, server_port) or set()
    return ", ".join(sorted(map(_name_of, users))) or UNKNOWN_USER


def _name_of(number: int) -> str:
    with suppress(KeyError):
        return pwd.getpwuid(number).pw_name
    return str(number)
