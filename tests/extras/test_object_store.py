"""Code and checkpoints in an object store: a server with S3's interface (moto), and s3fs."""

import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.extras.clean_environment import CleanEnvironment, Installed
from tests.extras.test_extras import LINES, copied, in_store, some_lines
from tests.leftovers import leftovers
from tests.process.process_support import until

pytestmark = pytest.mark.timeout(3600)

START_SECS = 60.0
CODE_BYTES = 12_000_000
"""More than a state store takes."""
TRAVELS = """
import os, pathlib, sys
from heron_engine.scheduler.packaging import stored_code
from heron_engine.scheduler.packaging.code_folder import CodeFolder
from heron_engine.scheduler.registration import forget
from heron_io.state_store.opening import open_store

project = pathlib.Path("project")
project.mkdir()
(project / "large.bin").write_bytes(os.urandom(int(sys.argv[1])))
folder = CodeFolder("s3://heronpy/code")
archives = stored_code.packed_code([str(project.resolve())], folder)
url = f"file://{os.getcwd()}/state"
with open_store(url) as store:
    stored_code.put_code(store, "words", archives, folder)
((_, unpacked),) = stored_code.fetched(url, "words", [archives[0].path], "container")
(large,) = pathlib.Path(unpacked).rglob("large.bin")
assert large.read_bytes() == (project / "large.bin").read_bytes()
with open_store(url) as store:
    forget(store, "words")
try:
    folder.read("words", archives[0].digest)
except Exception as error:
    print(error)
"""


@pytest.fixture
def bucket(installed: Installed) -> Iterator[CleanEnvironment]:
    """An environment with the extra `stores` and s3fs, and a server with a bucket."""
    environment = installed("stores")
    environment.install("s3fs", "moto[server]")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    environment.variables.update(
        {
            "AWS_ENDPOINT_URL": url,
            "AWS_ACCESS_KEY_ID": "tests",
            "AWS_SECRET_ACCESS_KEY": "tests",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
    )
    server = subprocess.Popen(
        [Path(environment.python).parent / "moto_server", "-H", "127.0.0.1", "-p", str(port)],
        env=environment.variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    leftovers().add(session=server.pid)
    try:
        until(lambda: _answers(url), "the object store answers", START_SECS)
        program = "import s3fs; s3fs.S3FileSystem().mkdir('heronpy')"
        environment.run("python", "-c", program).succeeded()
        yield environment
    finally:
        server.kill()
        server.wait()
        leftovers().discard(session=server.pid)


def _answers(url: str) -> bool:
    try:
        urllib.request.urlopen(url, timeout=5.0).close()
    except OSError:
        return False
    return True


def test_code_and_checkpoints_are_in_an_object_store(bucket: CleanEnvironment) -> None:
    """A topology's code that no state store takes comes back whole, and is removed with the
    topology; its checkpoints are there as well."""
    gone = bucket.run("python", "-c", TRAVELS, CODE_BYTES).succeeded()
    assert "cannot be read" in gone.out
    some_lines(bucket)
    bucket.heronpy("run", "copy_lines.py", *in_store("s3://heronpy/states")).succeeded()
    assert copied(bucket) == LINES
    program = "import s3fs; print(s3fs.S3FileSystem().find('heronpy'))"
    found = bucket.run("python", "-c", program).succeeded().out
    assert "heronpy/states/" in found
    assert "heronpy/code/" not in found
