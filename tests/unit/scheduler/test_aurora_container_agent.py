"""An instance: its answers to Aurora, and the folder of its sockets."""

import os
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from heron_engine.scheduler.addresses import own_address
from heron_engine.scheduler.backends.aurora import container_agent
from heron_engine.scheduler.backends.aurora.container_agent import LOOPBACK, STOP_PATHS
from heron_engine.scheduler.container.service_instance import ServiceInstance, health_server
from heron_engine.scheduler.packaging.archive import this_python
from heron_engine.scheduler.socket_folders import sockets_in

SILENT_SECS = 10.0


@pytest.fixture
def instance() -> ServiceInstance:
    """An instance with a recent heartbeat of its container."""
    return ServiceInstance([], SILENT_SECS)


@pytest.fixture
def address(instance: ServiceInstance) -> Iterator[str]:
    with health_server(instance, LOOPBACK, 0, STOP_PATHS) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def answer(url: str, data: bytes | None = None) -> tuple[int, str]:
    """Code and text of a GET, or of a POST of `data`."""
    try:
        with urllib.request.urlopen(url, data, timeout=5.0) as found:
            return found.status, found.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_a_container_that_beats_is_healthy(address: str) -> None:
    """For HttpHealthChecker: 200 and `ok`."""
    assert answer(f"{address}/health") == (200, "ok")


def test_a_silent_container_is_not(address: str, instance: ServiceInstance) -> None:
    """Aurora then starts the instance again."""
    instance.silent_secs = 0.0
    assert answer(f"{address}/health") == (503, "the container is silent")


@pytest.mark.parametrize("path", ["/quitquitquit", "/abortabortabort"])
def test_aurora_asks_for_an_end(address: str, path: str, instance: ServiceInstance) -> None:
    """HttpLifecycleConfig; the loop wakes up at once."""
    assert answer(f"{address}{path}", b"") == (200, "ending")
    assert instance.stopping


def test_another_machine_cannot_end_a_container(instance: ServiceInstance) -> None:
    """Any client of the machine could otherwise, without a secret."""
    with health_server(instance, LOOPBACK, 0, STOP_PATHS) as server:
        assert server.server_address[0] == "127.0.0.1"


def test_nothing_else_is_answered(address: str) -> None:
    """No files, no commands."""
    assert answer(f"{address}/") == (404, "only /health")
    assert answer(f"{address}/health", b"")[0] == 404


def test_another_python_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """Compiled packages would fail with obscure errors."""
    words = ["--health-port", "0", "--python", "cpython-2.7-linux-x86_64", "--silent-secs", "15"]
    assert container_agent.main([*words, "--", "--store", "file:///x"]) == 3
    told = capsys.readouterr().err
    assert told.startswith(f"its Python is {this_python()}, but the topology was submitted with cp")


def test_sockets_have_short_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sandbox of Mesos lies deeper than a socket's path may be long."""
    sandbox = tmp_path / ("deep" * 20)
    sandbox.mkdir()
    monkeypatch.chdir(sandbox)
    found = sockets_in(str(sandbox))
    assert len(found) < 60
    assert os.path.samefile(found, sandbox / "sockets")
    assert os.stat(found).st_mode & 0o777 == 0o700


def test_own_address() -> None:
    """The address towards ZooKeeper; a state in files is for a single machine."""
    assert own_address("file:///x") == "127.0.0.1"
    assert own_address("zk://127.0.0.1:2181,127.0.0.1:2182/heron") == "127.0.0.1"
