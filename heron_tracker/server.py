"""The process behind `heronpy ui`: sockets, threads, files."""

import logging
import socket
from collections.abc import Callable

import uvicorn

from heron_core.records import replace
from heron_io.http_settings import http_settings, server_tls
from heron_io.listening import listen_on
from heron_io.request_protocol import RequestProtocol
from heron_io.state_store.opening import open_store
from heron_tracker.application import Application, application
from heron_tracker.auth.access import check_options
from heron_tracker.model.collector import TrackerCollector
from heron_tracker.model.history_store import HistoryStore, history_file
from heron_tracker.model.reader import TrackerReader
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.options import (
    CONNECTIONS_MAX,
    HEADER_BYTES_MAX,
    MESSAGE_BYTES_MAX,
    TrackerOptions,
)
from heron_tracker.pages.notes import are_installed
from heron_tracker.service import Service

BACKLOG = 128
KEEP_ALIVE_SECS = 15
"""Between two requests of one connection."""
SHUTDOWN_SECS = 2
"""For answers that are being sent when the service ends."""

log = logging.getLogger("tracker")


class TrackerProtocol(RequestProtocol):
    """A connection of the service."""

    connections_max = CONNECTIONS_MAX


def serve(
    options: TrackerOptions, store_url: str, folder: str, ready: Callable[[str], None]
) -> None:
    """Serve until a signal; `folder`: of the history; `ready` is called with the address when
    requests are taken. HeronError if the address cannot be used."""
    check_options(options)
    server_tls(options.certificate, options.key)
    with listen_on(options.host, options.port, BACKLOG) as listener:
        serve_on(listener, options, store_url, folder, ready)


def serve_on(
    listener: socket.socket,
    options: TrackerOptions,
    store_url: str,
    folder: str,
    ready: Callable[[str], None] = lambda address: None,
) -> None:
    """The same on a socket that listens already."""
    with open_store(store_url) as store:
        reader = TrackerReader(store, options.answer_secs)
        history = HistoryStore(history_file(folder, store_url))

        def record(snapshot: TopologySnapshot) -> None:
            history.record(snapshot.id, snapshot.instances, snapshot.stats_at)

        collector = TrackerCollector(options, reader.find, reader.read, record, reader.forget)
        service = Service(
            collector, history, store, ask_master=reader.ask, query_master=reader.query
        )
        try:
            collector.start()
            ready(address_of(listener, options.certificate is not None))
            run(service, options, listener)
        finally:
            service.profilers.close()
            collector.stop()
            reader.close()
            history.close()


def address_of(listener: socket.socket, is_secure: bool) -> str:
    """The URL of a socket that listens."""
    host, port = listener.getsockname()[:2]
    scheme = "https" if is_secure else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def run(service: Service, options: TrackerOptions, listener: socket.socket) -> None:
    """Answer requests until a signal."""
    options = replace(options, port=listener.getsockname()[1])
    served = application(service, options)
    try:
        uvicorn.Server(uvicorn_config(served, options)).run(sockets=[listener])
    finally:
        served.close()


def uvicorn_config(app: Application, options: TrackerOptions) -> uvicorn.Config:
    """How requests are taken."""
    return http_settings(
        app,
        TrackerProtocol,
        options.certificate,
        options.key,
        lifespan="on",
        ws="websockets-sansio" if are_installed() else "none",
        ws_max_size=MESSAGE_BYTES_MAX,
        limit_concurrency=CONNECTIONS_MAX,
        h11_max_incomplete_event_size=HEADER_BYTES_MAX,
        timeout_keep_alive=KEEP_ALIVE_SECS,
        timeout_graceful_shutdown=SHUTDOWN_SECS,
    )
