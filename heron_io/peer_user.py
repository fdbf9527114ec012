"""The user of the peer of a connection on this machine, by the kernel's tables.

A port on loopback is open to all users of the machine. Linux lists the user of each connection.
"""

from collections.abc import Iterable
from contextlib import suppress

TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
"""A client with a socket for both families is in the second table."""
_LOCAL, _REMOTE, _USER = 1, 2, 7


def users_of(rows: Iterable[str], client_port: int, server_port: int) -> set[int]:
    """Ids of users with a socket from the client's port to the server's."""
    users = set()
    for row in rows:
        cells = row.split()
        if len(cells) > _USER and (_port(cells[_LOCAL]), _port(cells[_REMOTE])) == (
            client_port,
            server_port,
        ):
            users.add(int(cells[_USER]))
    return users


def _port(address: str) -> int:
    with suppress(ValueError):
        return int(address.rpartition(":")[2], 16)
    return -1


def peer_users(client_port: int, server_port: int) -> set[int] | None:
    """Possible users of the client of a connection on this machine: usually one user, several if
    the two ports are in use on several addresses, empty after the end of the client. None on a
    system without the tables."""
    users: set[int] = set()
    known = False
    for path in TABLES:
        with suppress(OSError), open(path, encoding="ascii") as table:
            users |= users_of(table, client_port, server_port)
            known = True
    return users if known else None
