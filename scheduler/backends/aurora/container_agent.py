"""`python -m scheduler.backends.aurora.container_agent`: an instance of an Aurora job.

It runs `python -m scheduler.container` with the arguments after `--`, and answers Aurora on the
port `health`: GET /health is `ok` while the container sends heartbeats; POST /quitquitquit and
/abortabortabort (HttpLifecycleConfig) end it in order, as SIGTERM does. When the container ends so
does this process, with its exit code, and Aurora starts the instance again. Only a topology whose
work is done is not to be started again: then this stays, idle and healthy, until somebody kills the
job.
"""

import os
import select
import signal
import sys
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from heron_core.errors import HeronError
from heron_core.exit_codes import ExitCode
from heron_core.plans import MASTER_CONTAINER
from heron_engine.scheduler.cluster_nodes import keep_nodes
from heron_engine.scheduler.container.agent import ContainerAgent
from heron_engine.scheduler.container.agent_arguments import (
    agent_parser,
    check_python,
    machine_arguments,
    parsed,
    remove_old_sockets,
)
from heron_engine.scheduler.container.agent_core import POLL_SECS
from heron_io.waker import Waker

MODULE = "heron_engine.scheduler.backends.aurora.container_agent"
HEALTH_PATH = "/health"
LOOPBACK = "127.0.0.1"
NODES_SECS, OTHERS_NODES_SECS = 0.5, 5.0
"""Between two looks at the topology's nodes: of the instance with the topology master, and of all
others, which do it in case that one has gone, too; a job may have a hundred of them."""
REQUEST_SECS = 10.0
"""A request that is not complete by then is dropped."""
STOP_PATHS = ("/quitquitquit", "/abortabortabort")


class AuroraInstance:
    """The container's agent, and what Aurora may know about it."""

    def __init__(self, arguments: Sequence[str], silent_secs: float) -> None:
        # A silent container is killed by Aurora's health check.
        self._agent = ContainerAgent(arguments, float("inf"))
        self.silent_secs = silent_secs
        self._waker = Waker()
        self._stopping = threading.Event()
        self.has_ended = threading.Event()
        """Set when it is to end, or the topology's work is done."""
        self._resting = False

    @property
    def stopping(self) -> bool:
        """Whether it is to end."""
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


def health_server(instance: AuroraInstance, port: int) -> ThreadingHTTPServer:
    """Answers Aurora's health checks and its requests to end."""

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
            if self.path in STOP_PATHS:
                instance.stop(self.path)
                self._answer(200, "ending")
            else:
                self._answer(404, f"only {' and '.join(STOP_PATHS)}")

        def _answer(self, code: int, text: str) -> None:
            body = text.encode()
            self.send_response(code)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """A health check every ten seconds is not worth a line."""

    # Aurora's executor asks on its own machine; from another one nothing may end a container.
    server = ThreadingHTTPServer((LOOPBACK, port), Handler)
    server.daemon_threads = True
    return server


def main(words: Sequence[str]) -> int:
    """Run one instance until it ends; returns its exit code."""
    parser = agent_parser(MODULE, __doc__)
    parser.add_argument("--health-port", required=True, type=int, metavar="PORT")
    given = parsed(parser, words)
    try:
        check_python(given.own.python, "aurora")
    except HeronError as error:
        print(error, file=sys.stderr)
        return ExitCode.UNSTARTED
    remove_old_sockets()
    os.makedirs(given.value("logs"), exist_ok=True)
    arguments = (*given.container, *machine_arguments(given.value("store")))
    instance = AuroraInstance(arguments, given.own.silent_secs)
    signal.signal(signal.SIGTERM, lambda *_: instance.stop("SIGTERM"))
    is_master = int(given.value("container")) == MASTER_CONTAINER
    watched = (given.value("store"), given.value("topology"), instance.has_ended,
            NODES_SECS if is_master else OTHERS_NODES_SECS)  # fmt: skip
    threading.Thread(target=keep_nodes, args=watched, name="nodes", daemon=True).start()
    with health_server(instance, given.own.health_port) as server:
        threading.Thread(target=server.serve_forever, name="health", daemon=True).start()
        return instance.run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
