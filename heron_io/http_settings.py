"""What our servers of HTTP have in common: how uvicorn runs, and how a port speaks TLS."""

import ssl
from typing import Any

import uvicorn

from heron_core.errors import UsageError
from heron_io.request_protocol import RequestProtocol


def http_settings(
    application: Any,
    protocol: type[RequestProtocol],
    certificate: str | None,
    key: str | None,
    **more: Any,
) -> uvicorn.Config:
    """How requests are taken; `more` is what the server has of its own."""
    return uvicorn.Config(
        application,
        http=protocol,
        log_level="warning",
        log_config=None,  # its lines go where ours go
        access_log=False,
        loop="asyncio",
        server_header=False,
        proxy_headers=False,
        ssl_certfile=certificate,
        ssl_keyfile=key,
        **more,
    )


def server_tls(certificate: str | None, key: str | None) -> ssl.SSLContext | None:
    """How a port speaks TLS; UsageError in one line for files that are no certificate and its
    key."""
    if certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ValueError) as error:  # SSLError is an OSError
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise UsageError(
            f"--certificate {certificate} and --key {key} are not a certificate in PEM and its "
            f"key: {reason}"
        ) from None
    return context
