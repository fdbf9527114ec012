"""H13, requests and their answers over real sockets: Storm's clients, HTTP, and whatever else
connects. Nothing hangs: each caller gets a result or an error."""

import json
import socket
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from io import StringIO
from typing import Any

import pytest
import thriftpy2.rpc
from hypothesis import given
from hypothesis import strategies as st
from thriftpy2.parser import load_fp
from thriftpy2.protocol import TBinaryProtocolFactory
from thriftpy2.thrift import TApplicationException
from thriftpy2.transport import TFramedTransportFactory

from heron_connectors.requests import thrift_listener
from heron_connectors.requests.client import (
    DRPCClient,
    DRPCInvocationsClient,
    RequestDenied,
    ServerAddress,
    ServerAway,
)
from heron_connectors.requests.http_requests import Unacceptable, call_of
from heron_connectors.requests.table import Request, RequestLimits
from heron_connectors.requests.thrift_interface import (
    FAILED_REQUEST,
    INTERNAL_ERROR,
    METHODS,
    SERVER_SHUTDOWN,
    SERVER_TIMEOUT,
    DRPCExecutionException,
)
from heron_core.thrift.calls import (
    LENGTH_BYTES,
    UNKNOWN_METHOD,
    ThriftCall,
    ThriftMethod,
    arguments,
    call_message,
    framed,
    parse_answer,
    parse_result,
    reply,
)
from heron_core.thrift.calls import TApplicationException as ProtocolError
from heron_core.thrift.structs import I32, STRING, Struct
from tests.process.process_support import until
from tests.unit.heron_connectors.request_server_support import HOST, SECS, ServerInThread, serving

IDL = """
enum DRPCExceptionType { INTERNAL_ERROR, SERVER_SHUTDOWN, SERVER_TIMEOUT, FAILED_REQUEST }
exception DRPCExecutionException { 1: required string msg; 2: optional DRPCExceptionType type; }
exception AuthorizationException { 1: required string msg; }
struct DRPCRequest { 1: required string func_args; 2: required string request_id; }
service DistributedRPC {
  string execute(1: string functionName, 2: string funcArgs)
    throws (1: DRPCExecutionException e, 2: AuthorizationException aze);
  string anotherVersion(1: string x);
}
service DistributedRPCInvocations {
  void result(1: string id, 2: string result) throws (1: AuthorizationException aze);
  DRPCRequest fetchRequest(1: string functionName) throws (1: AuthorizationException aze);
  void failRequest(1: string id) throws (1: AuthorizationException aze);
  void failRequestV2(1: string id, 2: DRPCExecutionException e)
    throws (1: AuthorizationException aze);
}
"""
storm: Any = load_fp(StringIO(IDL), "drpc_of_storm_thrift")
binary_protocol: Any = TBinaryProtocolFactory
Submit = Callable[..., "Future[Any]"]


@pytest.fixture
def server() -> Iterator[ServerInThread]:
    with serving() as made:
        yield made


@pytest.fixture
def submit() -> Iterator[Submit]:
    """Calls in threads, as they block."""
    with ThreadPoolExecutor(8) as pool:
        yield pool.submit


def storm_client(service: str, address: tuple[str, int]) -> Any:
    """A client of Storm's interface that is not ours."""
    make_client: Any = thriftpy2.rpc.make_client
    return make_client(
        getattr(storm, service), *address, timeout=int(SECS * 1000),
        proto_factory=binary_protocol(), trans_factory=TFramedTransportFactory(),
    )  # fmt: skip


def topology(server: ServerInThread, **more: Any) -> DRPCInvocationsClient:
    host, port = server.addresses.topologies
    return DRPCInvocationsClient(ServerAddress(host=host, port=port, **more), SECS)


def caller(server: ServerInThread, **more: Any) -> DRPCClient:
    return DRPCClient(*server.addresses.callers, SECS, **more)


def fetched(spout: DRPCInvocationsClient, function: str) -> Request:
    return until(lambda: spout.fetch_request(function), "a request comes")


def test_storms_clients_call_fetch_and_answer(server: ServerInThread, submit: Submit) -> None:
    drpc = storm_client("DistributedRPC", server.addresses.callers)
    bolt = storm_client("DistributedRPCInvocations", server.addresses.topologies)
    nothing = bolt.fetchRequest("reach")
    assert (nothing.func_args, nothing.request_id) == ("", "")

    def next_request() -> Any:
        request = bolt.fetchRequest("reach")
        return request if request.request_id else None

    called = submit(drpc.execute, "reach", "grüße")
    request = until(next_request, "a request")
    assert request.func_args == "grüße"
    assert bolt.result(request.request_id, "sechzehn ✓") is None
    assert called.result(SECS) == "sechzehn ✓"

    error_of_bolt = storm.DRPCExecutionException("no such page", FAILED_REQUEST)
    for fail, text in (
        (bolt.failRequest, "Request failed"),
        (lambda request_id: bolt.failRequestV2(request_id, error_of_bolt), "no such page"),
    ):
        called = submit(drpc.execute, "reach", "x")
        fail(until(next_request, "a request").request_id)
        with pytest.raises(storm.DRPCExecutionException) as error:
            called.result(SECS)
        assert (error.value.msg, error.value.type) == (text, FAILED_REQUEST)
    with pytest.raises(TApplicationException) as unknown:
        drpc.anotherVersion("x")
    assert unknown.value.type == TApplicationException.UNKNOWN_METHOD
    drpc.close()
    bolt.close()


def test_http_calls_as_storm_has_them(server: ServerInThread, submit: Submit) -> None:
    spout = topology(server)
    for method, path, body, text in (
        ("POST", "/drpc/f", "käse/?".encode(), "käse/?"),
        ("POST", "/drpc/f", b"", ""),
        ("GET", "/drpc/f/a%2Fb%20c/d?e=1", b"", "a/b c/d"),
        ("GET", "/drpc/f", b"", ""),
    ):
        called = submit(server.http, method, path, body)
        request = (spout.await_requests("f", 5, SECS) or [])[0]
        assert request.arguments == text
        spout.result(request.id, f"<{text}>")
        assert called.result(SECS) == (200, f"<{text}>")
    spout.close()


def test_a_failed_call_over_http_says_why(server: ServerInThread, submit: Submit) -> None:
    called = submit(server.http, "GET", "/drpc/f/x")
    spout = topology(server)
    spout.fail_request(fetched(spout, "f").id, "no such page")
    status, body = called.result(SECS)
    assert (status, json.loads(body)) == (
        400, {"error": "FAILED_REQUEST", "errorMessage": "no such page"},
    )  # fmt: skip
    spout.close()


def test_a_function_that_is_not_served_fails_by_its_name() -> None:
    with serving(RequestLimits(unserved_secs=0.05)) as server:
        status, body = server.http("GET", "/drpc/raech/x")
        assert status == 404
        assert "'raech' is not served" in json.loads(body)["errorMessage"]
        with (
            caller(server) as drpc,
            pytest.raises(DRPCExecutionException, match="'raech'") as error,
        ):
            drpc.execute("raech", "x")
        assert error.value.type == FAILED_REQUEST
        assert server.ended("unserved") == 2


def test_a_topology_that_dies_with_a_request_leaves_a_time_out(submit: Submit) -> None:
    with serving(RequestLimits(request_secs=0.2)) as server:
        spout, drpc = topology(server), caller(server)
        calls = [submit(server.http, "GET", "/drpc/f/x"), submit(drpc.execute, "f", "x")]
        requests = [fetched(spout, "f"), fetched(spout, "f")]
        spout.close()
        status, body = calls[0].result(SECS)
        assert (status, json.loads(body)["error"]) == (504, "SERVER_TIMEOUT")
        with pytest.raises(DRPCExecutionException, match="Timed Out") as error:
            calls[1].result(SECS)
        assert error.value.type == SERVER_TIMEOUT
        drpc.close()
        late = topology(server)
        late.result(requests[0].id, "too late")
        late.result("of-another-server-7", "unknown")
        late.close()
        dropped = {name: each for name, each in server.metrics().items() if "dropped" in name}
        assert list(dropped.values()) == [1, 1]


def test_a_full_queue_refuses(submit: Submit) -> None:
    with serving(RequestLimits(calls_max=2)) as server:
        waiting = [submit(server.http, "GET", "/drpc/f/x") for _ in range(2)]
        until(lambda: server.functions().get("f", {}).get("waiting") == 2, "two calls wait")
        status, body = server.http("POST", "/drpc/f", b"x")
        assert (status, json.loads(body)["error"]) == (429, "OVERLOADED")
        with caller(server) as drpc, pytest.raises(DRPCExecutionException, match="is the limit"):
            drpc.execute("f", "x")
        assert server.metrics()['heron_drpc_calls_refused_total{why="overloaded"}'] == 2
        spout = topology(server)
        for _ in waiting:
            spout.result(fetched(spout, "f").id, "done")
        assert [each.result(SECS) for each in waiting] == [(200, "done")] * 2
        spout.close()


def test_texts_above_the_limit_are_named(submit: Submit) -> None:
    with serving(RequestLimits(text_bytes_max=1000)) as server:
        assert server.http("POST", "/drpc/f", b"x" * 1001)[0] == 413
        with caller(server) as drpc:
            with pytest.raises(DRPCExecutionException, match="at most 1000 bytes") as error:
                drpc.execute("f", "x" * 1001)
            assert error.value.type == INTERNAL_ERROR
        called = submit(server.http, "POST", "/drpc/f", b"x" * 1000)
        spout = topology(server)
        spout.result(fetched(spout, "f").id, "y" * 1001)
        status, body = called.result(SECS)
        assert status == 500
        assert "1001 bytes, and 1000 is the limit" in json.loads(body)["errorMessage"]
        with pytest.raises(ServerAway):
            spout.result("any", "y" * 5000)  # a frame above all limits ends its connection
        assert spout.fetch_request("f") is None
        spout.close()


def test_a_caller_that_disconnects_is_not_worked_for(server: ServerInThread) -> None:
    call = framed(call_message("execute", METHODS["execute"], 1, "f", "x"))
    for address, request in (
        (server.addresses.http, b"GET /drpc/f/x HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        (server.addresses.callers, call),
    ):
        client = socket.create_connection(address, SECS)
        client.sendall(request)
        until(lambda: server.functions().get("f", {}).get("waiting") == 1, "the call waits")
        client.close()
        until(lambda: "f" not in server.functions(), "the call is abandoned")
    assert server.ended("abandoned") == 2
    spout = topology(server)
    assert spout.fetch_request("f") is None
    spout.close()


def test_a_topology_that_waits_gets_a_call_at_once_and_one_that_is_gone_none(
    server: ServerInThread, submit: Submit
) -> None:
    gone, spout = topology(server), topology(server)
    waits = submit(gone.await_requests, "f", 9, 9.0)
    until(lambda: "f" in server.functions(), "it asks")
    gone.interrupt()
    with pytest.raises(ServerAway):
        waits.result(SECS)
    waits = submit(spout.await_requests, "f", 9, 9.0)
    until(lambda: server.functions()["f"]["idle_secs"] < 0.5, "the other one asks")
    called = submit(server.http, "GET", "/drpc/f/x")
    (request,) = waits.result(SECS)
    spout.result(request.id, "y")
    assert called.result(SECS) == (200, "y")
    gone.close()
    spout.close()


def test_the_end_of_the_server_answers_all_calls(server: ServerInThread, submit: Submit) -> None:
    spout, drpc = topology(server), caller(server)
    calls = [submit(server.http, "GET", "/drpc/f/x"), submit(drpc.execute, "f", "y")]
    fetched(spout, "f")
    until(lambda: server.functions()["f"]["waiting"] == 1, "the other one waits")
    counts = server.end()
    status, body = calls[0].result(SECS)
    assert (status, json.loads(body)["error"]) == (503, "SERVER_SHUTDOWN")
    with pytest.raises(DRPCExecutionException, match="Shutting Down") as error:
        calls[1].result(SECS)
    assert error.value.type == SERVER_SHUTDOWN
    assert (counts.calls, counts.stopped) == (2, 2)
    with pytest.raises(ServerAway):
        spout.fetch_request("f")
    drpc.close()


@pytest.mark.parametrize(
    "data",
    [
        struct.pack(">i", 0),
        struct.pack(">i", -1),
        b"\x16\x03\x01\x02hello of TLS",
        struct.pack(">i", 2**31 - 1),
        struct.pack(">i", 4) + b"j\0nk",
        framed(reply(ThriftCall("execute", 1, b""), METHODS["execute"], "x")),
    ],
)
def test_bytes_of_another_protocol_end_their_connection_alone(
    server: ServerInThread, data: bytes
) -> None:
    for address in (server.addresses.callers, server.addresses.topologies):
        with socket.create_connection(address, SECS) as client:
            client.sendall(data)
            try:
                assert client.recv(1) == b""
            except ConnectionResetError:
                pass
    refused = server.metrics()
    for port in ("callers", "topologies"):
        assert refused[f'heron_drpc_peers_refused_total{{port="{port}",why="malformed"}}'] == 1


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b"this port is the Thrift interface of DRPC; the port of"),
        (b"\x01\0\0\0\x05PLAIN", b"DRPC takes no SASL: set storm.thrift.transport to"),
        (b"\x80\x01\0\x01\0\0\0\x07execute", b"DRPC takes Thrift's binary protocol"),
        (b"\0\0\0\x07execute\1\0\0\0\1\0", b"(TBinaryProtocol) in frames (TFramedTransport)"),
        (b"\x82!\0\x07execute\0", b"\x82a\0\0\x18RDRPC takes Thrift's binary protocol"),
        (framed(b"\x82!\0\x07execute\0"), b"\x82a\0\0\x18RDRPC takes Thrift's binary protocol"),
        (b'[1,"execute",1,0,{}]', b"""[1,"",3,0,{"1":{"str":"DRPC takes Thrift's binary"""),
        (framed(b'[1,"execute",1,0,{}]'), b"""[1,"",3,0,{"1":{"str":"DRPC takes Thrift's"""),
    ],
)
def test_clients_of_another_protocol_hear_why(
    server: ServerInThread, data: bytes, answer: bytes
) -> None:
    """A client of a Storm with SASL waited for its time-out: its first bytes are a long frame's."""
    for address in (server.addresses.callers, server.addresses.topologies):
        with socket.create_connection(address, SECS) as client:
            client.sendall(data)
            assert answer in client.makefile("rb").read()


def test_the_log_names_a_refused_client_once_in_a_while(
    server: ServerInThread, caplog: pytest.LogCaptureFixture
) -> None:
    """All are counted: a client of the wrong kind connects again and again."""
    for _ in range(3):
        with socket.create_connection(server.addresses.callers, SECS) as client:
            own = client.getsockname()[1]
            client.sendall(b"\x16\x03\x01\x02")
            with suppress(ConnectionResetError):
                client.recv(1)
    series = 'heron_drpc_peers_refused_total{port="callers",why="malformed"}'
    until(lambda: server.metrics()[series] == 3, "all are counted")
    (line,) = (record.getMessage() for record in caplog.records if record.name == "drpc")
    assert line.startswith("a client with TLS at 127.0.0.1:")
    assert line.endswith(
        "DRPC takes Thrift's binary protocol (TBinaryProtocol) in frames (TFramedTransport)"
    )
    assert f":{own} " not in line  # the first client's


def test_half_a_frame_is_not_waited_for(
    server: ServerInThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thrift_listener, "FRAME_SECS", 0.05)
    with socket.create_connection(server.addresses.callers, SECS) as client:
        client.sendall(struct.pack(">i", 100) + b"half")
        try:
            assert client.recv(1) == b""
        except ConnectionResetError:
            pass


_FUNCTION, _TEXT = (1, "functionName", STRING), (2, "funcArgs", STRING)


@pytest.mark.parametrize(
    "given",
    [
        arguments()(),
        arguments((1, "functionName", I32), _TEXT)(5, "x"),
        arguments(_FUNCTION)("f"),
        arguments((1, "functionName", arguments(_FUNCTION)), _TEXT)(arguments(_FUNCTION)("f"), "x"),
    ],
)
def test_a_call_without_its_arguments_is_refused(server: ServerInThread, given: Struct) -> None:
    for address, method in (
        (server.addresses.callers, "execute"),
        (server.addresses.topologies, "result"),
        (server.addresses.topologies, "awaitRequests"),
        (server.addresses.topologies, "returnResults"),
    ):
        with pytest.raises(ProtocolError, match=f"the arguments of {method} are malformed"):
            called(address, method, given)
    for port in ("callers", "topologies"):
        series = f'heron_drpc_peers_refused_total{{port="{port}",why="malformed"}}'
        assert server.metrics()[series] == (1 if port == "callers" else 3)


def called(address: tuple[str, int], name: str, given: Struct) -> Any:
    """What a call with any arguments returns."""
    method = ThriftMethod(type(given))
    with socket.create_connection(address, SECS) as client, client.makefile("rb") as answers:
        client.sendall(framed(call_message(name, method, 1, *vars(given).values())))
        size = int.from_bytes(answers.read(LENGTH_BYTES), "big")
        return parse_result(method, parse_answer(answers.read(size)))


def test_a_method_of_another_version_is_unknown(server: ServerInThread) -> None:
    for address in (server.addresses.callers, server.addresses.topologies):
        with pytest.raises(ProtocolError, match="Invalid method name: 'fetchAll'") as error:
            called(address, "fetchAll", arguments()())
        assert error.value.type == UNKNOWN_METHOD


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/drpc/f", b"\xff", 400),
        ("GET", "/drpc/%ff", b"", 400),
        ("GET", "/drpc/", b"", 404),
        ("GET", "/drpc", b"", 404),
        ("PUT", "/drpc/f", b"x", 405),
        ("POST", "/drpc/f/x", b"x", 405),
        ("POST", "/functions", b"", 405),
    ],
)
def test_a_request_that_is_no_call(
    server: ServerInThread, method: str, path: str, body: bytes, status: int
) -> None:
    got, text = server.http(method, path, body)
    assert (got, json.loads(text)["error"]) == (status, "BAD_REQUEST")
    assert server.metrics()['heron_drpc_peers_refused_total{port="http",why="malformed"}'] == 1


@given(method=st.sampled_from(["GET", "POST", "PUT"]), path=st.binary())
def test_any_path_is_a_call_or_is_refused(method: str, path: bytes) -> None:
    try:
        function, arguments = call_of(method, b"/drpc/" + path)
    except Unacceptable as error:
        status = error.status
    else:
        status = 200
        assert function
        assert (arguments is None) == (method == "POST")
    assert status in (200, 400, 404, 405)


def test_on_loopback_a_browser_is_no_way_in(server: ServerInThread) -> None:
    assert server.http("GET", "/drpc/f", Host="evil.example")[0] == 421
    assert server.http("GET", "/drpc/f", Sec_Fetch_Site="cross-site")[0] == 403
    assert server.http("POST", "/drpc/f", b"x", Origin="http://evil.example")[0] == 403
    assert server.http("GET", "/health") == (200, "ok")
    assert server.metrics()['heron_drpc_peers_refused_total{port="http",why="refused"}'] == 3


def test_with_a_token_all_ports_want_it(submit: Submit) -> None:
    with serving(token="a-long-token-of-a-server") as server:
        assert server.http("GET", "/drpc/f")[0] == 401
        assert server.http("GET", "/metrics", Authorization="Bearer another")[0] == 401
        for token in (None, "another"):
            with caller(server, token=token) as drpc, pytest.raises(RequestDenied, match="token"):
                drpc.execute("f", "x")
            spout = topology(server, token=token)
            with pytest.raises(RequestDenied, match="token"):
                spout.await_requests("f", 1, 0.0)
            spout.close()
        storms = storm_client("DistributedRPC", server.addresses.callers)
        with pytest.raises(storm.AuthorizationException):
            storms.execute("f", "x")
        storms.close()
        known = topology(server, token="a-long-token-of-a-server")
        called = submit(
            server.http, "GET", "/drpc/f/x", Authorization="Bearer a-long-token-of-a-server"
        )
        known.result(fetched(known, "f").id, "y")
        assert called.result(SECS) == (200, "y")
        known.close()
        with socket.create_connection(server.addresses.callers, SECS) as client:
            client.sendall(struct.pack(">i", 1 << 20))  # a large frame of nobody
            try:
                assert client.recv(1) == b""
            except ConnectionResetError:
                pass


def test_a_server_that_is_away_is_named() -> None:
    with socket.create_server((HOST, 0)) as unused:
        port = unused.getsockname()[1]
    with DRPCClient(HOST, port) as drpc, pytest.raises(ServerAway, match=f"{HOST}:{port}: "):
        drpc.execute("f", "x")
