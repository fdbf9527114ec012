"""The listening socket of a server that people start: opened before it says that it serves."""

import os
import socket

from heron_core.errors import HeronError


def listen_on(host: str, port: int, backlog: int, option: str = "--port") -> socket.socket:
    """The socket, with an IPv6 address in brackets or without; HeronError in one line, which names
    the option of the port, if the address is in use or invalid."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host.strip("[]"), port), family=family, backlog=backlog)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise HeronError(
            f"{host} port {port} cannot be used: {reason}. Choose another {option}, or 0 for any"
            " free port"
        ) from None
