"""Whose process is at the other end of a connection."""

import os
import socket

from heron_io.peer_user import peer_users, users_of

ROWS = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:19E3 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1
   1: 0100007F:8D2C 0100007F:19E3 01 00000000:00000000 00:00000000 00000000  1000        0 2 1
   2: 0100007F:19E3 0100007F:8D2C 01 00000000:00000000 00:00000000 00000000     0        0 3 1
   3: 0200007F:8D2C 0100007F:19E3 01 00000000:00000000 00:00000000 00000000  1001        0 4 1
"""


def test_the_clients_end_is_looked_up() -> None:
    """Not ours, and all that may be meant."""
    assert users_of(ROWS.splitlines(), 0x8D2C, 0x19E3) == {1000, 1001}
    assert users_of(ROWS.splitlines(), 0x8D2D, 0x19E3) == set()


def test_a_connection_here_is_ours() -> None:
    """By both families; and nobody's before it is made."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            assert peer_users(client.getsockname()[1], port) == {os.getuid()}
        with socket.socket(socket.AF_INET6) as both:
            both.connect(("::ffff:127.0.0.1", port))
            assert peer_users(both.getsockname()[1], port) == {os.getuid()}
