"""Nimbus over a socket: the installed streamparse's client, and foreign clients."""

import grp
import os
import pwd
import re
import socket
import ssl
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from thriftpy2.protocol import TApacheJSONProtocolFactory, TCompactProtocolFactory
from thriftpy2.protocol.binary import TBinaryProtocol
from thriftpy2.rpc import make_client
from thriftpy2.thrift import TApplicationException
from thriftpy2.transport import (
    TBufferedTransportFactory,
    TFramedTransportFactory,
    TMemoryBuffer,
)

from heron_connectors.requests.thrift_interface import METHODS as REQUESTS
from heron_core.errors import HeronError, UsageError
from heron_core.records import replace
from heron_core.state_tree import operations_path, topology_path
from heron_core.thrift.calls import (
    AuthorizationException,
    ThriftMethod,
    call_message,
    framed,
    parse_answer,
    parse_result,
)
from heron_io.http_settings import server_tls
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.nimbus.methods import METHODS
from heron_tracker.nimbus.server import NimbusOptions, check_address
from heron_tracker.nimbus.submissions import TopologyFolders
from tests.process.process_support import until
from tests.unit.certificate_support import self_signed
from tests.unit.heron_tracker.nimbus.installed_storm import installed
from tests.unit.heron_tracker.nimbus.nimbus_support import (
    UPLOAD_BYTES_MAX,
    RunningNimbus,
    jar,
    running_nimbus,
    storm_topology,
)
from tests.unit.heron_tracker.tracker_support import SUBMITTED_SECS, snapshot, stats

WORDS = f"words-{SUBMITTED_SECS}"
OPTIONS = installed.SubmitOptions(initial_status=installed.TopologyInitialStatus.INACTIVE)


@pytest.fixture
def nimbus(tmp_path: Path) -> Iterator[RunningNimbus]:
    """For this user."""
    with running_nimbus(tmp_path, [os.getuid()]) as running:
        yield running


@pytest.fixture
def client(nimbus: RunningNimbus) -> Iterator[Any]:
    """streamparse's."""
    with nimbus.client() as connected:
        yield connected


def theirs() -> Any:
    found = installed.StormTopology()
    TBinaryProtocol(TMemoryBuffer(storm_topology().write()), decode_response=True).read_struct(
        found
    )
    return found


def uploaded(client: Any, data: bytes) -> str:
    """The location of a finished upload."""
    location: str = client.beginFileUpload()
    client.uploadChunk(location, data)
    client.finishFileUpload(location)
    return location


def code(tmp_path: Path) -> bytes:
    return jar(tmp_path / "code.jar", {"resources/words.py": "", "META-INF/MANIFEST.MF": ""})


def test_the_cluster_is_told(client: Any) -> None:
    """Machines, topologies, and including this machine: sparse counts machines for its ackers."""
    cluster = client.getClusterInfo()
    assert [each.host for each in cluster.supervisors] == sorted(
        {"here", "there", socket.gethostname()}
    )
    (topology,) = cluster.topologies
    assert (topology.id, topology.name, topology.status) == (WORDS, "words", "ACTIVE")
    assert (topology.num_tasks, topology.num_workers, topology.owner) == (5, 2, "ada")
    (leader,) = cluster.nimbuses
    assert leader.isLeader
    assert client.getLeader().port == leader.port
    assert leader.version.startswith("2.0.0+heronpy.")


def test_a_topology_is_told(client: Any) -> None:
    """By id, and by name as well."""
    info = client.getTopologyInfo(WORDS)
    assert [each.component_id for each in info.executors] == [
        "lines", "split", "split", "count", "count"
    ]  # fmt: skip
    assert [each.port for each in info.executors] == [1, 1, 1, 2, 2]
    assert info.errors == {}
    options = installed.GetInfoOptions(num_err_choice=installed.NumErrorsChoice.NONE)
    assert client.getTopologyInfoWithOpts("words", options).id == WORDS


def test_a_topology_that_came_in_another_way_is_told_as_classes(client: Any) -> None:
    """With its streams and groupings."""
    topology = client.getUserTopology(WORDS)
    assert topology.spouts["lines"].spout_object.shell.script == "x.Lines"
    ((stream, grouping),) = topology.bolts["count"].common.inputs.items()
    assert (stream.componentId, grouping.fields) == ("split", ["word"])
    assert "hunter2" not in client.getTopologyConf(WORDS)
    assert "hunter2" not in topology.bolts["count"].common.json_conf


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("getTopologyInfo", "words-1"),
        ("getTopologyInfo", ""),
        ("killTopology", "word"),
        ("activate", "../words"),
    ],
)
def test_what_is_not_running_is_an_exception(client: Any, method: str, name: str) -> None:
    with pytest.raises(installed.NotAliveException):
        getattr(client, method)(name)


def test_operations_are_left_for_the_scheduler(nimbus: RunningNimbus, client: Any) -> None:
    """As by REST; the scheduler is gone here, as reported."""
    for call in (client.activate, client.deactivate, client.killTopology):
        call("words")
    with pytest.raises(installed.InvalidTopologyException, match="'counts'"):
        client.rebalance("words", installed.RebalanceOptions(num_executors={"counts": 3}))
    with pytest.raises(installed.InvalidTopologyException, match="says num_workers or"):
        client.rebalance("words", installed.RebalanceOptions(wait_secs=3))
    client.rebalance("words", installed.RebalanceOptions(num_executors={"count": 3}))
    requests: list[Any] = [
        nimbus.store.get(f"{operations_path('words')}/{number}")
        for number in nimbus.store.children(operations_path("words"))
    ]
    assert sorted(each["kind"] for each in requests) == [
        "activate", "deactivate", "kill", "update"
    ]  # fmt: skip
    (kill,) = (each for each in requests if each["kind"] == "kill")
    assert kill["arguments"] == {"wait_secs": 30.0}


def test_a_submission_is_registered_before_it_is_answered(
    nimbus: RunningNimbus, client: Any, tmp_path: Path
) -> None:
    """With its code and the topology as submitted."""
    location = uploaded(client, code(tmp_path))
    client.submitTopologyWithOpts("new", location, '{"a": 1}', theirs(), OPTIONS)
    node: Any = nimbus.store.get(topology_path("new"))
    assert node["arguments"][-1] == "--deactivated"
    assert node["folders"] == ["flux.yaml", "resources", "submit.log", "submitted.thrift"]
    stored = nimbus.submissions.stored("new")
    assert stored == storm_topology()
    assert not client.isTopologyNameAllowed("new")
    assert client.isTopologyNameAllowed("another")
    assert not client.isTopologyNameAllowed("a b")
    with pytest.raises(installed.AlreadyAliveException, match="'new' is running already"):
        client.submitTopology("new", location, "{}", theirs())


def test_what_the_submission_says_is_the_clients_error(
    nimbus: RunningNimbus, client: Any, tmp_path: Path
) -> None:
    """The submission is removed."""
    location = uploaded(client, code(tmp_path))
    for name, conf, line in (
        ("refused", "{}", "the topology has a mistake"),
        ("a b", "{}", "must be a word"),
        ("other", "[]", "not an object of JSON"),
        ("other", "{", "not JSON"),
    ):
        with pytest.raises(installed.InvalidTopologyException, match=line):
            client.submitTopology(name, location, conf, theirs())
    assert nimbus.folders.of_topology("refused") is None


def test_a_topology_that_does_not_come_up_later_is_counted(
    nimbus: RunningNimbus, client: Any, tmp_path: Path
) -> None:
    """Its client already has an answer: the log names the reason."""
    client.submitTopology("late", uploaded(client, code(tmp_path)), "{}", theirs())
    until(lambda: nimbus.submissions.failed == 1, "the failure is counted")


def test_code_goes_with_its_topology(nimbus: RunningNimbus, client: Any, tmp_path: Path) -> None:
    """At the next submission."""
    location = uploaded(client, code(tmp_path))
    client.submitTopology("first", location, "{}", theirs())
    nimbus.store.delete(topology_path("first"))
    client.submitTopology("second", location, "{}", theirs())
    assert nimbus.folders.of_topology("first") is None
    assert nimbus.folders.of_topology("second") is not None


def test_a_too_large_upload_is_refused(client: Any) -> None:
    """The file is removed."""
    location = client.beginFileUpload()
    with pytest.raises(installed.AuthorizationException, match=f"at most {UPLOAD_BYTES_MAX:,}"):
        client.uploadChunk(location, b"x" * (UPLOAD_BYTES_MAX + 1))
    with pytest.raises(installed.AuthorizationException, match="there is no upload"):
        client.finishFileUpload(location)


def test_only_what_was_uploaded_is_used(client: Any) -> None:
    """Not a file of the machine, and not half of an archive."""
    with pytest.raises(installed.AuthorizationException, match="there is no upload '/etc/passwd'"):
        client.submitTopology("new", "/etc/passwd", "{}", theirs())
    with pytest.raises(installed.AuthorizationException, match="there is no upload"):
        client.beginFileDownload("/etc/passwd")
    with pytest.raises(installed.AuthorizationException, match="is not finished"):
        client.submitTopology("new", client.beginFileUpload(), "{}", theirs())


def test_what_was_uploaded_is_downloaded(client: Any) -> None:
    """Until an empty chunk."""
    number = client.beginFileDownload(uploaded(client, b"some bytes"))
    assert client.downloadChunk(number) == b"some bytes"
    assert client.downloadChunk(number) == b""
    with pytest.raises(installed.AuthorizationException, match="there is no download"):
        client.downloadChunk(number)


def test_what_is_not_an_archive_is_an_invalid_topology(client: Any) -> None:
    with pytest.raises(installed.InvalidTopologyException, match="is not a zip archive or jar"):
        client.submitTopology("new", uploaded(client, b"not a zip"), "{}", theirs())


def test_a_method_that_is_not_there_is_an_error(client: Any) -> None:
    with pytest.raises(TApplicationException, match="has no method 'listBlobs', it has: activate"):
        client.listBlobs("")
    assert client.getNimbusConf()  # the connection goes on


STRANGERS = [os.getuid() + 1]
"""Users of a Nimbus to which the tests' own user is a stranger."""


def with_rights(**config: Any) -> dict[str, TopologySnapshot]:
    """The topology `words` with separate rights, and a topology for its Nimbus only."""
    words = snapshot(stats())
    assert words.spec is not None
    settings = {key.replace("_", "."): value for key, value in config.items()}
    named = replace(words, spec=replace(words.spec, config=settings))
    return {"words": named, "other": replace(words, name="other")}


def test_another_user_may_call_nothing(tmp_path: Path) -> None:
    """The port is open to all users of the machine."""
    with running_nimbus(tmp_path, STRANGERS) as nimbus, nimbus.client() as client:
        with pytest.raises(installed.AuthorizationException, match="may call nothing here"):
            client.getClusterInfo()
        with pytest.raises(TApplicationException, match="may not call listBlobs here"):
            client.listBlobs("")
        with pytest.raises(installed.AuthorizationException, match="may not see words: the user"):
            client.killTopology("words")


@pytest.mark.parametrize("key", ["topology_users", "topology_groups"])
def test_a_user_that_a_topology_names_may_see_it_and_act_on_it(tmp_path: Path, key: str) -> None:
    """The list is limited to the allowed topology, and a submission belongs to the user of
    Nimbus."""
    name = pwd.getpwuid(os.getuid()).pw_name
    if key == "topology_groups":
        name = grp.getgrgid(os.getgid()).gr_name
    snapshots = with_rights(**{key: [name]})
    with running_nimbus(tmp_path, STRANGERS, snapshots) as nimbus, nimbus.client() as client:
        assert [each.name for each in client.getClusterInfo().topologies] == ["words"]
        client.deactivate("words")
        with pytest.raises(installed.AuthorizationException, match="may not see other"):
            client.deactivate("other")
        with pytest.raises(installed.AuthorizationException, match="may not call beginFileUpload"):
            client.beginFileUpload()


def test_a_reader_of_a_topology_may_not_act_on_it(tmp_path: Path) -> None:
    name = pwd.getpwuid(os.getuid()).pw_name
    snapshots = with_rights(topology_readonly_users=[name])
    # The submitter of the tests' topology is another user.
    with running_nimbus(tmp_path, STRANGERS, snapshots) as nimbus, nimbus.client() as client:
        assert client.getTopologyInfo(WORDS).name == "words"
        with pytest.raises(installed.AuthorizationException, match="may not act on words"):
            client.killTopology("words")


def answered(port: int, data: bytes) -> bytes:
    """All that comes back until Nimbus closes the connection."""
    with socket.create_connection(("127.0.0.1", port), 20.0) as raw:
        raw.sendall(data)
        found = b""
        while chunk := raw.recv(65536):
            found += chunk
    return found


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b"`heronpy ui` serves HTTP"),
        (b"\x01\0\0\0\x08GSSAPI__", b"Nimbus takes no SASL"),
        (b"\x80\x01\0\x01\0\0\0\x0dgetNimbusConf\0\0\0\1\0", b"Nimbus takes Thrift's binary"),
        (b"\0\0\0\x0dgetNimbusConf\1\0\0\0\1\0", b"Nimbus takes Thrift's binary"),
        (b"\x7f\xff\xff\xff", b""),
        (struct.pack("!i", 3) + b"abc", b""),
        (b"", b""),
    ],
)
def test_a_client_of_another_kind_is_left(
    nimbus: RunningNimbus, data: bytes, answer: bytes
) -> None:
    """With a line in a readable protocol; further clients are served."""
    if data:
        assert answer in answered(nimbus.port, data)
    else:
        socket.create_connection(("127.0.0.1", nimbus.port)).close()
    with nimbus.client() as client:
        assert client.getLeader().isLeader


FACTORIES = {"compact": TCompactProtocolFactory, "json": TApacheJSONProtocolFactory}
TRANSPORTS = {"framed": TFramedTransportFactory, "plain": TBufferedTransportFactory}


@pytest.mark.parametrize("protocol", FACTORIES)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_client_of_another_protocol_of_thrift_gets_the_sentence_in_its_own_form(
    nimbus: RunningNimbus, caplog: pytest.LogCaptureFixture, protocol: str, transport: str
) -> None:
    """The sentence names the remedy; the log names the client's address besides."""
    client = make_client(
        installed.Nimbus, "127.0.0.1", nimbus.port, timeout=20_000,
        proto_factory=FACTORIES[protocol](), trans_factory=TRANSPORTS[transport](),
    )  # fmt: skip
    with pytest.raises(TApplicationException, match=r"\(TBinaryProtocol\) in frames \(TFramed"):
        client.getClusterInfo()
    client.close()
    (line,) = (record.getMessage() for record in caplog.records)
    named = "TCompactProtocol" if protocol == "compact" else "TJSONProtocol"
    assert re.fullmatch(rf"a Thrift client with {named} at 127\.0\.0\.1:\d+ is refused: .*", line)


def test_an_address_of_others_takes_tls_and_a_token() -> None:
    """Without either the line names the options, and sparse's own way."""
    check_address(NimbusOptions())
    open_address = NimbusOptions(host="0.0.0.0", token=TOKEN)
    missing = r"give --certificate FILE and --key FILE, .* through ssh, as sparse does .* -NL 6627:"
    with pytest.raises(UsageError, match=missing):
        check_address(open_address)
    check_address(replace(open_address, certificate="c.pem", key="k.pem"))
    with pytest.raises(UsageError, match="--certificate and --key go together"):
        check_address(NimbusOptions(certificate="c.pem"))


TOKEN = "a-token-of-some-length"


def client_with_tls(port: int, certificate: Path) -> socket.socket:
    """A connection that trusts the certificate of the server."""
    context = ssl.create_default_context(cafile=str(certificate))
    raw = socket.create_connection(("127.0.0.1", port), 20.0)
    return context.wrap_socket(raw, server_hostname="localhost")


def called(client: socket.socket, method: str, known: ThriftMethod, *values: Any) -> Any:
    """The result of a call over a connection."""
    client.sendall(framed(call_message(method, known, 1, *values)))
    with client.makefile("rb") as stream:
        size = int.from_bytes(stream.read(4), "big")
        return parse_result(known, parse_answer(stream.read(size)))


def test_a_client_with_the_token_has_all_rights_over_tls(tmp_path: Path) -> None:
    """Also where the process of the client is of another user; further clients reach no method."""
    certificate, key = self_signed(tmp_path)
    authenticate, list_topologies = REQUESTS["authenticate"], METHODS["getTopologySummaries"]
    tls = server_tls(str(certificate), str(key))
    with running_nimbus(tmp_path, STRANGERS, token=TOKEN, tls=tls) as nimbus:
        with client_with_tls(nimbus.port, certificate) as client:
            for _ in range(2):
                with pytest.raises(AuthorizationException, match="first call authenticate with"):
                    called(client, "getTopologySummaries", list_topologies)
                with pytest.raises(AuthorizationException, match="first call authenticate with"):
                    called(client, "authenticate", authenticate, "a wrong one")
            assert called(client, "authenticate", authenticate, TOKEN) is None
            (words,) = called(client, "getTopologySummaries", list_topologies)
            assert words.name == "words"
        with client_with_tls(nimbus.port, certificate) as client:
            client.sendall(struct.pack("!i", 1024 * 1024))
            assert client.recv(1) == b""  # too large without the token


def test_a_client_without_tls_is_left(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    certificate, key = self_signed(tmp_path)
    tls = server_tls(str(certificate), str(key))
    with running_nimbus(tmp_path, [os.getuid()], token=TOKEN, tls=tls) as nimbus:
        with suppress(ConnectionResetError):
            answered(nimbus.port, framed(call_message("getLeader", METHODS["getLeader"], 1)))
        until(lambda: bool(caplog.records), "the log has a line")
    (line,) = (record.getMessage() for record in caplog.records)
    assert re.match(r"a client at 127\.0\.0\.1:\d+ is refused: it speaks no TLS", line)


def test_a_second_nimbus_of_a_state_store_is_refused(nimbus: RunningNimbus, tmp_path: Path) -> None:
    """Two would remove each other's code."""
    with pytest.raises(HeronError, match="another `heronpy nimbus` serves the state store"):
        TopologyFolders(str(tmp_path), f"file://{tmp_path}/state")
