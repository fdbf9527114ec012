"""`python -m scheduler.backends.aurora.container_agent`: an instance of an Aurora job.

It starts `python -m scheduler.container` with the words after `--`, holds its lifeline, hears its
heartbeats, and answers Aurora on the port `health`: GET /health is `ok` while the container beats;
POST /quitquitquit and /abortabortabort (HttpLifecycleConfig) end it in order, as SIGTERM does. When
the container ends so does this process, with its exit code, and Aurora starts the instance again.
Only a topology whose work is done is not to be started again: then this stays, idle and healthy,
until somebody kills the job.
"""

import argparse
import os
import select
import shutil
import signal
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from heron_core.exit_codes import ExitCode
from heron_io.waker import Waker
from scheduler.addresses import own_address
from scheduler.container.container_process import ContainerProcess
from scheduler.packaging.archive import this_python
from scheduler.socket_folders import sockets_in

LOOK_SECS = 1.0
HEALTH_PATH = "/health"
END_PATHS = ("/quitquitquit", "/abortabortabort")


@dataclass
class Shard:
    """The container's process and what Aurora may know about it."""

    words: Sequence[str]
    """Of scheduler.container."""
    silent_secs: float
    waker: Waker = field(default_factory=Waker)
    _began: float = field(default_factory=time.monotonic)
    _process: ContainerProcess | None = None
    _ending: bool = False
    _resting: bool = False

    def end(self) -> None:
        """End in order; any thread may call it."""
        self._ending = True
        self.waker.wake()

    @property
    def healthy(self) -> bool:
        """Whether the container beats, or has done its work."""
        heard = self._began if self._process is None else self._process.heard
        return self._resting or time.monotonic() - heard <= self.silent_secs

    def run(self) -> int:
        """From the container's start to its end, and beyond if the topology's work is done."""
        process = self._process = ContainerProcess(self.words)
        try:
            code = self._stay(process)
        finally:
            process.close()
        print(f"the container ended with {code}: {process.words}", file=sys.stderr, flush=True)
        if self._ending:
            return 0
        if code == ExitCode.ENDED:
            self._rest()
            return 0
        return code if code > 0 else 1

    def _stay(self, process: ContainerProcess) -> int:
        """Until the container has ended; a silent one is killed by Aurora's health check."""
        code = None
        while code is None:
            if self._ending:
                process.end()
            code = process.wait(LOOK_SECS, self.waker, float("inf"))
        return code

    def _rest(self) -> None:
        self._resting = True
        while not self._ending:
            select.select([self.waker.readable], [], [], LOOK_SECS)
            self.waker.clear()


def health_server(shard: Shard, port: int) -> ThreadingHTTPServer:
    """Answers Aurora's health checks and its wish for an end."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == HEALTH_PATH:
                self._answer(*((200, "ok") if shard.healthy else (503, "the container is silent")))
            else:
                self._answer(404, f"only {HEALTH_PATH}")

        def do_POST(self) -> None:
            if self.path in END_PATHS:
                shard.end()
                self._answer(200, "ending")
            else:
                self._answer(404, f"only {' and '.join(END_PATHS)}")

        def _answer(self, code: int, text: str) -> None:
            body = text.encode()
            self.send_response(code)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """A health check every ten seconds is not worth a line."""

    server = ThreadingHTTPServer(("", port), Handler)
    server.daemon_threads = True
    return server


def main(words: Sequence[str]) -> int:
    """Run one instance until it ends; returns its exit code."""
    at = words.index("--")
    parser = argparse.ArgumentParser(
        prog="python -m scheduler.backends.aurora.container_agent", description=__doc__
    )
    parser.add_argument("--health-port", required=True, type=int, metavar="PORT")
    parser.add_argument("--python", required=True, metavar="WORD", help="what was packed for")
    parser.add_argument("--silent-secs", required=True, type=float, metavar="SECONDS")
    given = parser.parse_args(words[:at])
    container = list(words[at + 1 :])
    if this_python() != given.python:
        print(
            f"its Python is {this_python()}, but the topology was submitted with {given.python}: "
            "install that on the workers, or name another by aurora: python in the cluster's file",
            file=sys.stderr,
        )
        return ExitCode.UNSTARTED
    store_url = container[container.index("--store") + 1]
    shutil.rmtree("sockets", ignore_errors=True)
    os.makedirs(container[container.index("--logs") + 1], exist_ok=True)
    placed = ["--sockets", sockets_in(os.getcwd()), "--bind-host", own_address(store_url)]
    shard = Shard([*container, *placed], given.silent_secs)
    signal.signal(signal.SIGTERM, lambda *_: shard.end())
    with health_server(shard, given.health_port) as server:
        threading.Thread(target=server.serve_forever, name="health", daemon=True).start()
        return shard.run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
