"""Configuration keys of a topology that answers requests; the first four are Storm's."""

from collections.abc import Mapping
from typing import Any

from heron_connectors.requests.client import ServerAddress
from heron_connectors.requests.options import INVOCATIONS_PORT, LOOPBACK
from heron_core.errors import ComponentError

SERVERS = "drpc.servers"
"""Config key: hosts of the servers, as a list or a comma-separated text, optionally with ports,
as `host:3773`. Default: localhost."""
SERVERS_PORT = "drpc.invocations.port"
"""Config key: port of hosts without a port (3773)."""
FUNCTION = "drpc.function"
"""Config key of a DRPCSpout: the function it serves."""
LOCAL = "drpc.local"
"""Config key of a DRPCSpout: the LocalDRPC whose requests it takes."""
TOKEN_FILE = "drpc.token.file"
"""Config key: file with the token, for servers that require a token."""
AUTHORITY = "drpc.certificate"
"""Config key: file with the certificate, or its authority's, for servers with TLS."""


def servers_of(config: Mapping[str, Any], component: str) -> list[ServerAddress]:
    """The servers of a topology; ComponentError for a setting that is wrong."""
    given = config.get(SERVERS) or [LOOPBACK]
    names = given.split(",") if isinstance(given, str) else list(given)
    port = _port(config.get(SERVERS_PORT, INVOCATIONS_PORT), component, SERVERS_PORT)
    token = token_of(config, component)
    addresses = []
    for name in names:
        host, own_port = host_and_port(str(name).strip())
        addresses.append(
            ServerAddress(
                host=host,
                port=port if own_port is None else _port(own_port, component, SERVERS),
                token=token,
                authority=config.get(AUTHORITY),
            )
        )
    return addresses


def host_and_port(name: str) -> tuple[str, str | None]:
    """HOST, HOST:PORT, [ADDRESS]:PORT or an address of IPv6."""
    host, colon, port = name.rpartition(":")
    if not colon or (":" in host and not host.endswith("]")):
        return name, None
    return host, port


def token_of(config: Mapping[str, Any], component: str) -> str | None:
    """Read the token file; ComponentError if unreadable."""
    path = config.get(TOKEN_FILE)
    if path is None:
        return None
    try:
        with open(str(path), encoding="utf-8") as file:
            return file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "the file is not text"
        raise ComponentError(f"{component}: {TOKEN_FILE} {path} cannot be read: {reason}") from None


def _port(value: Any, component: str, key: str) -> int:
    text = str(value)
    if not text.isdecimal() or not 0 < int(text[:6]) < 65536:
        raise ComponentError(f"{component}: {key} has {text!r:.60}, which is not a port")
    return int(text)
