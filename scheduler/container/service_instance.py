"""A container as a service that its cluster always restarts, with a health check.

After a finished topology a restart is not wanted: the process stays, idle and healthy, until the
cluster ends it.
"""

import select
import sys
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from heron_core.exit_codes import ExitCode
from heron_engine.scheduler.container.agent import ContainerAgent
from heron_engine.scheduler.container.agent_core import POLL_SECS
from heron_io.waker import Waker

HEALTH_PATH = "/health"
REQUEST_SECS = 10.0
"""A request that is not complete by then is dropped."""


class ServiceInstance:
    """The container's agent, and its state for the cluster."""

    def __init__(self, arguments: Sequence[str], silent_secs: float) -> None:
        # A silent container is killed by the cluster's health check.
        self._agent = ContainerAgent(arguments, float("inf"))
        self.silent_secs = silent_secs
        self._waker = Waker()
        self._stopping = threading.Event()
        self.has_ended = threading.Event()
        """Set when it is to end, or the topology's work is done."""
        self._resting = False

    @property
    def stopping(self) -> bool:
        """Whether the end was requested."""
        return self._stopping.is_set()

    def stop(self, reason: str) -> None:
        """End in order; any thread may call it."""
        self._stopping.set()
        self.has_ended.set()
        self._agent.stop(reason)
        self._waker.wake()

    @property
    def healthy(self) -> bool:
        """Whether the container sends heartbeats, or has done its work."""
        return self._resting or self._agent.silence_secs <= self.silent_secs

    def run(self) -> int:
        """From the container's start to its end, and beyond if the topology's work is done."""
        end = self._agent.run()
        print(f"the container ended with {end.code}: {end.reason}", file=sys.stderr, flush=True)
        if end.stop_reason is not None:
            return 0
        if end.code == ExitCode.ENDED:
            self._rest()
            return 0
        return end.code if end.code > 0 else ExitCode.FAILED

    def _rest(self) -> None:
        self._resting = True
        self.has_ended.set()
        while not self.stopping:
            select.select([self._waker.readable], [], [], POLL_SECS)
            self._waker.clear()


def health_server(
    instance: ServiceInstance, host: str, port: int, stop_paths: Sequence[str] = ()
) -> ThreadingHTTPServer:
    """Answers health checks, and requests to end at `stop_paths`."""

    class Handler(BaseHTTPRequestHandler):
        timeout = REQUEST_SECS

        def do_GET(self) -> None:
            if self.path == HEALTH_PATH:
                self._answer(
                    *((200, "ok") if instance.healthy else (503, "the container is silent"))
                )
            else:
                self._answer(404, f"only {HEALTH_PATH}")

        def do_POST(self) -> None:
            if self.path in stop_paths:
                instance.stop(self.path)
                self._answer(200, "ending")
            else:
                self._answer(404, f"only {' and '.join((HEALTH_PATH, *stop_paths))}")

        def _answer(self, code: int, text: str) -> None:
            body = text.encode()
            self.send_response(code)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """A health check every ten seconds is not worth a line."""

    server = ThreadingHTTPServer((host, port), Handler)
    server.daemon_threads = True
    return server
