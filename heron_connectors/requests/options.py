"""Settings of a request server, and its access control."""

from typing import Any

from msgspec import Struct

from heron_connectors.requests.table import RequestLimits
from heron_core.errors import UsageError
from heron_core.loopback import is_loopback

PORT = 3772
"""Storm's `drpc.port`: callers, by Thrift."""
INVOCATIONS_PORT = 3773
"""Storm's `drpc.invocations.port`: topologies, by Thrift."""
HTTP_PORT = 3774
"""Storm's `drpc.http.port`."""
LOOPBACK = "127.0.0.1"


class RequestServerOptions(Struct, frozen=True, kw_only=True):
    """Of one server."""

    host: str = LOOPBACK
    port: int = PORT
    invocations_port: int = INVOCATIONS_PORT
    http_port: int = HTTP_PORT
    token: str | None = None
    """Token required of callers and topologies; None: open."""
    certificate: str | None = None
    key: str | None = None
    """Key of the certificate; with a certificate all three ports speak TLS."""
    limits: RequestLimits = RequestLimits()


def check_server_options(options: RequestServerOptions) -> None:
    """UsageError for an address outside of loopback without TLS or without a token."""
    check_reachable(options.host, options.certificate, options.key, options.token)


def check_reachable(
    host: str, certificate: str | None, key: str | None, token: str | None, otherwise: str = ""
) -> None:
    """UsageError for an address outside of loopback without TLS or without a token; `otherwise`
    names a further remedy behind the missing options."""
    if (certificate is None) != (key is None):
        raise UsageError("--certificate and --key go together: give both or neither")
    if is_loopback(host):
        return
    missing = [
        name
        for name, value in (
            ("--certificate FILE and --key FILE", certificate),
            ("--token-file FILE", token),
        )
        if value is None
    ]
    if missing:
        raise UsageError(
            f"--host {host} is reachable from other machines: give "
            f"{' and '.join(missing)}, so that callers authenticate and their tokens are "
            f"encrypted{otherwise}"
        )


class Addresses(Struct, frozen=True):
    """Addresses of a running server: pairs of host and port."""

    callers: tuple[str, int]
    topologies: tuple[str, int]
    http: tuple[str, int]

    @classmethod
    def of(cls, sockets: Any) -> "Addresses":
        """Ports of listening sockets, in order."""
        callers, topologies, http = (each.getsockname()[:2] for each in sockets)
        return cls(callers, topologies, http)
