"""Storm's own clients in a JVM, a caller and a topology, against `heronpy drpc`, as PORTING.md
promises."""

import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from heron_connectors.requests.client import DRPCClient
from heron_connectors.requests.table import RequestLimits
from heron_connectors.requests.thrift_interface import FAILED_REQUEST, DRPCExecutionException
from tests.process.process_support import EXAMPLES, Place, until
from tests.unit.heron_connectors.request_server_support import ServerInThread, serving

PROGRAMS = [Path(__file__).parent / "storm" / f"{name}.java" for name in ("CallDrpc", "ServeDrpc")]
CLASSES = Path(__file__).parents[1] / "storm_classes.txt"
PUBLIC = re.compile(r"^public .*?(?:class|interface|enum) ([\w.$]+).*\{$", re.MULTILINE)
QUIET = "-Dlog4j2.level=OFF"
CALL_SECS = 60.0
TEXT_BYTES_MAX = 1000
UNSERVED_SECS = 1.0


@pytest.fixture(scope="session")
def class_path(storm_jars: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Storm's jars, and our programs compiled against them."""
    compiler = shutil.which("javac")
    assert compiler is not None, "this needs a Java compiler (javac)"
    classes = tmp_path_factory.mktemp("classes")
    path = f"{classes}{os.pathsep}{storm_jars}/*"
    subprocess.run([compiler, "-cp", path, "-d", classes, *PROGRAMS], check=True)
    return path


def test_the_list_of_storms_classes_is_that_of_the_jar(storm_jars: Path) -> None:
    """docs/STORM_CLASSES.md has a row for each name in the list."""
    jar = next(storm_jars.glob("storm-client-*.jar"))
    first, *listed = CLASSES.read_text().splitlines()
    assert jar.stem.removeprefix("storm-client-") in first
    packages = {name.rpartition(".")[0] for name in listed}
    with zipfile.ZipFile(jar) as opened:
        files = [Path(name) for name in opened.namelist() if name.endswith(".class")]
    names = [".".join(file.with_suffix("").parts) for file in files]
    candidates = [name for name in names if name.rpartition(".")[0] in packages]
    described = subprocess.run(
        ["javap", "-cp", jar, "-public", *candidates], capture_output=True, check=True, text=True
    ).stdout
    assert sorted(set(PUBLIC.findall(described))) == listed


@pytest.fixture
def server() -> Iterator[ServerInThread]:
    limits = RequestLimits(
        request_secs=CALL_SECS, text_bytes_max=TEXT_BYTES_MAX, unserved_secs=UNSERVED_SECS
    )
    with serving(limits) as opened:
        yield opened


def called(class_path: str, server: ServerInThread, *calls: tuple[str, str]) -> list[str]:
    """Answers to a JVM with Storm's DRPCClient, call by call."""
    host, port = server.addresses.callers
    done = subprocess.run(
        ["java", QUIET, "-cp", class_path, "CallDrpc", host, str(port)],
        input="".join(f"{function}\t{argument}\n" for function, argument in calls),
        encoding="utf-8", capture_output=True, check=False, timeout=CALL_SECS,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_storms_drpc_client_calls_a_topology(
    place: Place, server: ServerInThread, class_path: str
) -> None:
    """By `new DRPCClient` and by `getConfiguredClient`, with texts of any letters."""
    host, port = server.addresses.topologies
    run = place.start("run", EXAMPLES / "basic_drpc.py", "-o", f"drpc.servers={host}:{port}")
    until(lambda: "exclamation" in server.functions(), "the topology asks for requests")
    texts = ["aaa", "käse ✓", "", "x" * 900] * 5
    answers = called(class_path, server, *(("exclamation", text) for text in texts))
    assert answers == [f"{text}!" for text in texts]
    run.end()
    place.nothing_is_left()
    counts = server.end()
    assert (counts.calls, counts.answered) == (len(texts), len(texts))


def test_a_topology_of_storms_answers_requests(server: ServerInThread, class_path: str) -> None:
    """By fetchRequest, result, failRequest and failRequestV2."""
    host, port = server.addresses.topologies
    texts = ["aaa", "käse ✓", "fail", "refuse", ""]
    command = ["java", QUIET, "-cp", class_path, "ServeDrpc", host, str(port), "shout"]
    with subprocess.Popen([*command, str(len(texts))]) as serving_process:
        try:
            until(lambda: "shout" in server.functions(), "it asks for requests")
            with DRPCClient(*server.addresses.callers, CALL_SECS) as drpc:
                answers = [answer_of(drpc, text) for text in texts]
            assert serving_process.wait(CALL_SECS) == 0
        finally:
            serving_process.kill()
    assert answers == ["aaa!", "käse ✓!", "Request failed", "not this one", "!"]


def answer_of(drpc: DRPCClient, text: str) -> str:
    """The result, or the text of the error."""
    try:
        return drpc.execute("shout", text)
    except DRPCExecutionException as error:
        return error.msg if error.type == FAILED_REQUEST else f"{error.type}: {error}"


def test_what_fails_has_storms_kind_and_its_text(server: ServerInThread, class_path: str) -> None:
    """An unserved function, or an argument above the limit, does not hang."""
    unserved, too_large = called(
        class_path, server, ("raech", "x"), ("reach", "x" * (TEXT_BYTES_MAX + 1))
    )
    assert unserved.startswith("FAILED_REQUEST: ")
    assert "'raech' is not served" in unserved
    assert too_large.startswith("INTERNAL_ERROR: ")
    assert "at most 1000 bytes" in too_large
