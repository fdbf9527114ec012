"""This machine's address as others see it."""

import socket
from collections.abc import Iterable
from contextlib import suppress

LOOPBACK = "127.0.0.1"


def own_address(store_url: str, peers: Iterable[tuple[str, int]] = ()) -> str:
    """The address from which this machine reaches one of `peers` (host, port), else ZooKeeper: from
    there others reach it, too. The loopback address if the state is in this machine's files."""
    if not store_url.startswith("zk://") and not peers:
        return LOOPBACK
    for host, port in (*peers, *_servers(store_url)):
        with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.connect((host.strip("[]"), port))
            address: str = sock.getsockname()[0]
            return address
    return socket.gethostbyname(socket.gethostname())


def _servers(store_url: str) -> list[tuple[str, int]]:
    if not store_url.startswith("zk://"):
        return []
    servers = store_url.removeprefix("zk://").partition("/")[0].split(",")
    return [(host, int(port)) for host, _, port in (each.rpartition(":") for each in servers)]
