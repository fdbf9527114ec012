"""`heronpy run --ui`: the service with the pages beside a run, for as long as the run lasts."""

import importlib.util
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import click

from heron_core.errors import HeronError
from heron_engine.scheduler.user_folder import Home
from heron_io.processes import ForkedChild, fork_child

HOST = "127.0.0.1"
PORT = 8889
"""As `heronpy ui`; another free one if somebody has it."""
BACKLOG = 128
NEEDED = ("fastapi", "prometheus_client", "uvicorn")
END_SECS = 4.0
"""For pages that are open to be told of the end."""
POLL_SECS = 0.02


@contextmanager
def service_beside(store_url: str) -> Iterator[None]:
    """Serve while the block runs; call it while this process has no threads yet."""
    for package in NEEDED:
        if importlib.util.find_spec(package) is None:
            raise HeronError(f"--ui needs {package}: pip install 'heronpy-topologies[ui]'")
    with _listener() as listener:
        child = fork_child(
            "heron: ui", lambda lifeline: _serve(listener, store_url), killed_with_parent=True
        )
        click.echo(f"pages at http://{HOST}:{listener.getsockname()[1]}", err=True)
    try:
        yield
    finally:
        _end(child)


def _listener() -> socket.socket:
    """Requests wait there until the service has started."""
    for port in (PORT, 0):
        with suppress(OSError):
            return socket.create_server((HOST, port), backlog=BACKLOG)
    raise HeronError(f"no port of {HOST} is free for --ui")


def _serve(listener: socket.socket, store_url: str) -> int:
    from heron_tracker.options import TrackerOptions
    from heron_tracker.server import serve_on

    folder = os.path.join(Home.of_user().path, "tracker")
    serve_on(listener, TrackerOptions(host=HOST), store_url, folder)
    return 0


def _end(child: ForkedChild) -> None:
    """In order, or after a while without."""
    with suppress(ProcessLookupError):
        os.kill(child.pid, signal.SIGTERM)
    deadline = time.monotonic() + END_SECS
    while os.waitpid(child.pid, os.WNOHANG)[0] == 0:
        if time.monotonic() > deadline:
            os.kill(child.pid, signal.SIGKILL)
            os.waitpid(child.pid, 0)
            break
        time.sleep(POLL_SECS)
    os.close(child.lifeline)
