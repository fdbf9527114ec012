"""`heronpy drpc`: the server that topologies answer requests through."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from heron_cli.options.common import Function, stacked
from heron_cli.options.login import token_in_file
from heron_cli.options.serving import host_option, port_option, serve_function
from heron_connectors.requests.options import Addresses, RequestServerOptions
from heron_connectors.requests.table import RequestCounts, RequestLimits
from heron_core.exit_codes import INCOMPLETE
from heron_io.logs import log_text_to

Serve = Callable[[RequestServerOptions, Callable[[Addresses], None]], RequestCounts]
_OPTIONS, _LIMITS = RequestServerOptions(), RequestLimits()


def _secs(name: str, default: float, text: str) -> Any:
    secs = click.FloatRange(0, min_open=True)
    return click.option(
        name, type=secs, default=default, show_default=True, metavar="SECS", help=text
    )


def _file(name: str, text: str) -> Any:
    return click.option(name, type=click.Path(), metavar="FILE", help=text)


_options: Callable[[Function], Function] = stacked(
    host_option(
        _OPTIONS.host, "Address to serve on; an address outside loopback needs TLS and a token."
    ),
    port_option(_OPTIONS.http_port, "--http-port", "Port for callers by HTTP"),
    port_option(_OPTIONS.port, of="Port for callers by Thrift"),
    port_option(_OPTIONS.invocations_port, "--invocations-port", "Port for topologies"),
    _secs("--timeout", _LIMITS.request_secs, "Timeout of a call, from its arrival to its result."),
    _secs(
        "--unserved-timeout", _LIMITS.unserved_secs,
        "Timeout of a call of a function that is not served by any topology.",
    ),
    click.option(
        "--queue", type=click.IntRange(1), default=_LIMITS.calls_max, show_default=True,
        metavar="N", help=(
            "Maximum calls of a function that wait to be fetched; further calls are rejected."
        ),
    ),
    click.option(
        "--bytes", "text_bytes", type=click.IntRange(1), default=_LIMITS.text_bytes_max,
        show_default=True, metavar="N", help="Largest arguments and largest result of a call.",
    ),
    _file("--token-file", "Callers and topologies have to send the token in FILE."),
    _file("--certificate", "Serve TLS with the certificate (chain) in FILE, as PEM."),
    _file("--key", "The certificate's private key, as PEM."),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Given:
    """What the command line says."""

    host: str
    http_port: int
    port: int
    invocations_port: int
    timeout: float
    unserved_timeout: float
    queue: int
    text_bytes: int
    token_file: str | None
    certificate: str | None
    key: str | None

    def options(self) -> RequestServerOptions:
        return RequestServerOptions(
            host=self.host,
            port=self.port,
            invocations_port=self.invocations_port,
            http_port=self.http_port,
            token=token_in_file("--token-file", self.token_file),
            certificate=self.certificate,
            key=self.key,
            limits=RequestLimits(
                request_secs=self.timeout,
                unserved_secs=self.unserved_timeout,
                calls_max=self.queue,
                text_bytes_max=self.text_bytes,
                pending_max=max(_LIMITS.pending_max, 4 * self.queue),
                pending_bytes_max=max(_LIMITS.pending_bytes_max, self.text_bytes),
            ),
        )


@click.command("drpc")
@_options
def drpc_command(**given: Any) -> None:
    """Take requests that topologies answer (Storm: DRPC), until Ctrl-C.

    A caller names a function and waits. A topology whose DRPCSpout asks for that function gets the
    request and returns the result. Callers use HTTP, or Storm's Thrift client; /functions lists
    what is served, and /metrics counts what became of each call. docs/CONNECTORS.md has the
    errors.

    \b
    heronpy drpc
    heronpy run examples/reach.py                      # in another shell
    curl -d foo.com/blog/1 http://127.0.0.1:3774/drpc/reach
    curl http://127.0.0.1:3774/functions
    heronpy drpc --host 0.0.0.0 --certificate c.pem --key k.pem --token-file token.txt

    A topology finds its servers by `drpc.servers` and `drpc.invocations.port`. Exit code 3: calls
    were under way when the server ended; each got an error.
    """
    log_text_to(logging.StreamHandler(), logging.WARNING)
    options = _Given(**given).options()
    is_secure = options.certificate is not None
    serve: Serve = serve_function("heron_connectors.requests.server", "drpc")
    counts = serve(options, lambda addresses: _ready(addresses, is_secure))
    click.echo(summary(counts))
    if counts.stopped:
        raise SystemExit(INCOMPLETE)


def _ready(addresses: Addresses, is_secure: bool) -> None:
    scheme = "https" if is_secure else "http"
    click.echo(
        f"serving at {scheme}://{_shown(addresses.http)}/drpc/FUNCTION; Thrift: callers at"
        f" {_shown(addresses.callers)}, topologies at {_shown(addresses.topologies)};"
        " Ctrl-C ends it"
    )


def _shown(address: tuple[str, int]) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def summary(counts: RequestCounts) -> str:
    """What became of all calls, in a line."""
    parts = [f"{counts.calls} call{'s' * (counts.calls != 1)}", f"{counts.answered} answered"]
    named = (
        (counts.failed, "failed"),
        (counts.timed_out, "timed out"),
        (counts.unserved, "of functions without a topology"),
        (counts.too_large, "whose result was too large"),
        (counts.abandoned, "whose caller was gone"),
        (counts.stopped, "ended with the server"),
    )
    parts += [f"{number} {what}" for number, what in named if number]
    text = ", ".join(parts)
    refused = counts.overloaded + counts.arguments_too_large
    dropped = counts.results_late + counts.results_unknown
    if refused:
        text += f"; {refused} were refused (queue full, or arguments too large)"
    if dropped:
        text += f"; {dropped} results came for calls that had ended or are unknown"
    return text
