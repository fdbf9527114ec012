"""H13: the threads of a DRPCSpout and the connections of ReturnResults, against servers: ours,
Storm's (which do not wait), and those that end."""

import ssl
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from heron_api.tuple import Tuple
from heron_connectors.requests import fetching, settings, thrift_services
from heron_connectors.requests.client import DRPCInvocationsClient, ServerAddress
from heron_connectors.requests.fetching import FetchingThread
from heron_connectors.requests.local import return_info
from heron_connectors.requests.return_results import ReturnResults
from heron_connectors.requests.returns import AWAY_SECS, ReturnClients
from heron_connectors.requests.settings import host_and_port
from heron_connectors.requests.spout import DRPCSpout
from heron_connectors.requests.table import RequestLimits
from heron_core.config import spelling
from tests.process.process_support import until
from tests.unit.certificate_support import self_signed
from tests.unit.heron_connectors.request_server_support import SECS, ServerInThread, serving

Submit = Callable[..., "Future[Any]"]


@pytest.fixture
def submit() -> Iterator[Submit]:
    with ThreadPoolExecutor(8) as pool:
        yield pool.submit


def address_of(server: ServerInThread) -> ServerAddress:
    host, port = server.addresses.topologies
    return ServerAddress(host=host, port=port)


def servers(server: ServerInThread) -> dict[str, Any]:
    return {"drpc.servers": [str(address_of(server))], "drpc.function": "f"}


class RunningSpout:
    """A DRPCSpout whose calls for the main thread the test makes."""

    def __init__(self, delegate: Any, context: Any, config: dict[str, Any]) -> None:
        self.delegate, self.errors = delegate, list[str]()
        delegate.call_soon = self._call
        delegate.record_error = lambda what, text: self.errors.append(f"{what}: {text}")
        self.spout = DRPCSpout(delegate=delegate)
        self.spout.initialize(config, context)
        self.spout.activate()

    def _call(self, function: Callable[[], None]) -> None:
        function()

    def next_id(self) -> Any:
        """The id of the next tuple."""
        self.spout.next_tuple()
        return self.delegate.emitted.pop().id if self.delegate.emitted else None


@pytest.fixture
def start(spout_delegate: Any, new_context: Callable[..., Any]) -> Iterator[Any]:
    running: list[RunningSpout] = []

    def start_spout(config: dict[str, Any], **place: Any) -> RunningSpout:
        running.append(RunningSpout(spout_delegate, new_context("requests", **place), config))
        return running[-1]

    yield start_spout
    for each in running:
        each.spout.close()


@pytest.mark.parametrize("waits", [True, False])
def test_a_spout_emits_what_callers_ask_and_fails_it(
    start: Any, submit: Submit, monkeypatch: pytest.MonkeyPatch, waits: bool
) -> None:
    """A server of Storm's knows fetchRequest alone."""
    if not waits:
        monkeypatch.setattr(thrift_services, "AWAIT_REQUESTS", "ofNoServer")
    with serving() as server:
        spout = start(servers(server))
        called = submit(server.http, "POST", "/drpc/f", b"arguments")
        request_id, *place = until(spout.next_id, "a tuple")
        assert tuple(place) == server.addresses.topologies
        spout.spout.fail((request_id, *place))
        assert called.result(SECS)[0] == 400
        assert spout.errors == []
        series = 'heron_drpc_peers_refused_total{port="topologies",why="unknown_methods"}'
        assert server.metrics()[series] == (0 if waits else 1)


def test_a_spout_that_ends_fails_what_it_has_not_emitted(start: Any, submit: Submit) -> None:
    with serving() as server:
        spout = start(servers(server))
        calls = [submit(server.http, "GET", "/drpc/f/x") for _ in range(3)]
        until(lambda: server.functions().get("f", {}).get("fetched") == 3, "they are fetched")
        emitted = until(spout.next_id, "a tuple")
        spout.spout.close()
        spout.spout.fail(emitted)
        answers = [each.result(SECS) for each in calls]
        assert [status for status, _ in answers] == [400, 400, 400]
        texts = [text for _, text in answers]
        assert sum("ended before it processed the request" in each for each in texts) == 2


def test_a_server_that_is_away_is_reported_once_and_found_again(
    start: Any, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "RETRY_SECS_MAX", 0.05)
    with serving() as first:
        spout = start(servers(first))
        until(lambda: "f" in first.functions(), "it asks")
        port = first.addresses.topologies[1]
    until(lambda: spout.errors, "its end is reported")
    with serving(topologies_port=port) as second:
        called = submit(second.http, "GET", "/drpc/f/x")
        spout.spout.fail(until(spout.next_id, "a tuple"))
        assert called.result(SECS)[0] == 400
    assert len(spout.errors) <= 2  # the end of the second one may be the next
    assert "no requests come from a server" in spout.errors[0]


@pytest.mark.parametrize(
    ("of", "says"), [("callers", "its port is not that of topologies"), ("http", "an answer of")]
)
def test_a_port_of_another_kind_is_reported(start: Any, of: str, says: str) -> None:
    with serving() as server:
        host, port = getattr(server.addresses, of)
        spout = start({"drpc.servers": f"{host}:{port}", "drpc.function": "f"})
        (error,) = until(lambda: spout.errors, "it is reported")
    assert f"no requests come from a server: {host}:{port}: " in error
    assert says in error


def test_whatever_a_fetch_raises_is_reported_and_the_next_one_is_tried(
    start: Any, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails = iter([True, False])
    fetch = FetchingThread._fetch

    def once(thread: FetchingThread) -> None:
        if next(fails, False):
            raise ValueError("a bug")
        fetch(thread)

    monkeypatch.setattr(FetchingThread, "_fetch", once)
    with serving() as server:
        spout = start(servers(server))
        called = submit(server.http, "GET", "/drpc/f/x")
        spout.spout.fail(until(spout.next_id, "a tuple"))
        assert called.result(SECS)[0] == 400
        assert spout.errors[0].endswith(f"{address_of(server)}: ValueError: a bug")


def test_a_paused_spout_leaves_calls_at_the_server(
    start: Any, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "WAIT_SECS", 0.05)
    with serving(RequestLimits(unserved_secs=0.2)) as server:
        spout = start(servers(server))
        until(lambda: "f" in server.functions(), "it asks")
        spout.spout.deactivate()
        until(lambda: server.functions()["f"]["idle_secs"] > 0.2, "it asks no more")
        assert server.http("GET", "/drpc/f/x")[0] == 404
        called = submit(server.http, "GET", "/drpc/f/x")
        spout.spout.activate()
        spout.spout.fail(until(spout.next_id, "a tuple"))
        assert called.result(SECS)[0] == 400


@pytest.mark.parametrize(("tasks", "number"), [((1,), 2), ((1, 2), 1), ((1, 2, 3), 1)])
def test_fewer_tasks_than_servers_ask_all_of_them(
    start: Any, tasks: tuple[int, ...], number: int
) -> None:
    with serving() as one, serving() as other:
        config = {"drpc.servers": f"{address_of(one)}, {address_of(other)}", "drpc.function": "f"}
        spout = start(config, tasks=tasks)
        until(lambda: "f" in one.functions(), "the first one is asked")
        if number == 2:
            until(lambda: "f" in other.functions(), "the second one, too")
        else:
            assert "f" not in other.functions()
        spout.spout.close()


def test_a_spout_that_emits_nothing_fetches_to_a_limit(
    submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "WAITING_MAX", 4)
    monkeypatch.setattr(fetching, "FETCH_MAX", 2)
    with serving(RequestLimits(calls_max=100)) as server, ThreadPoolExecutor(12) as pool:
        thread = FetchingThread(address_of(server), "f", lambda: None, lambda problem: None)
        calls = [pool.submit(server.http, "GET", "/drpc/f/x") for _ in range(12)]
        until(lambda: server.functions().get("f", {}).get("waiting") == 12, "twelve calls wait")
        thread.resume()
        until(lambda: server.functions()["f"]["fetched"] == 4, "four are fetched")
        clients = ReturnClients(servers(server), "spout")
        for _ in calls:
            request = until(thread.take, "a request")
            assert clients.results(*server.addresses.topologies, [(request.id, "done")]) is None
        assert [each.result(SECS) for each in calls] == [(200, "done")] * 12
        clients.close()
        assert thread.close() == []


def test_a_server_that_takes_no_result_is_not_tried_again_for_a_while() -> None:
    with serving() as server:
        host, port = server.addresses.topologies
    now = [100.0]
    clients = ReturnClients({"drpc.servers": f"{host}:{port}"}, "back", lambda: now[0])
    first = clients.results(host, port, [("1", "x")])
    assert first is not None
    assert f"{host}:{port}: " in first
    assert clients.results(host, port, [("1", "x")]) == first
    with serving(topologies_port=port) as again:
        assert clients.results(host, port, [("1", "x")]) == first
        now[0] += AWAY_SECS
        assert clients.results(host, port, [("1", "x")]) is None
        assert again.metrics()['heron_drpc_results_dropped_total{why="unknown"}'] == 1
    clients.close()


def test_a_result_above_the_limit_fails_its_request_by_its_size(
    bolt_delegate: Any, new_context: Callable[..., Any], start: Any, submit: Submit,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("heron_connectors.requests.return_results.TEXT_BYTES_MAX", 10)
    with serving() as server:
        spout = start(servers(server))
        called = submit(server.http, "GET", "/drpc/f/x")

        def next_tuple() -> Any:
            spout.spout.next_tuple()
            return spout.delegate.emitted

        (emitted,) = until(next_tuple, "a tuple")
        errors: list[str] = []
        bolt_delegate.record_error = lambda what, text: errors.append(f"{what}: {text}")
        bolt = ReturnResults(delegate=bolt_delegate)
        bolt.initialize(servers(server), new_context("back"))
        bolt.process(Tuple("0", "up", "default", None, ["y" * 11, emitted.values[1]]))
        status, body = called.result(SECS)
        assert status == 400
        assert "11 bytes, and 10 is the limit" in body
        assert errors == ["a result is not returned: the result has 11 bytes, and 10 is the limit"]
        bolt.close()


@pytest.mark.parametrize("takes_several", [True, False])
def test_results_of_a_message_are_returned_at_once(
    bolt_delegate: Any, new_context: Callable[..., Any], submit: Submit,
    monkeypatch: pytest.MonkeyPatch, takes_several: bool,
) -> None:  # fmt: skip
    """A server of Storm's takes one after the other."""
    if not takes_several:
        monkeypatch.setattr(thrift_services, "RETURN_RESULTS", "ofNoServer")
    soon: list[Callable[[], None]] = []
    bolt_delegate.call_soon = soon.append
    with serving() as server:
        calls = [submit(server.http, "GET", f"/drpc/f/{number}") for number in range(5)]
        until(lambda: server.functions().get("f", {}).get("waiting") == 5, "five calls wait")
        client = DRPCInvocationsClient(address_of(server))
        bolt = ReturnResults(delegate=bolt_delegate)
        bolt.initialize(servers(server), new_context("back"))
        host, port = server.addresses.topologies
        for request in client.await_requests("f", 9, SECS) or []:
            info = return_info(request.id, host, port)
            bolt.process(Tuple("0", "up", "default", None, [f"<{request.arguments}>", info]))
        assert (bolt.is_idle(), bolt_delegate.acked, len(soon)) == (False, [], 1)
        soon.pop()()
        assert (bolt.is_idle(), len(bolt_delegate.acked), bolt_delegate.failed) == (True, 5, [])
        assert [each.result(SECS) for each in calls] == [(200, f"<{each}>") for each in range(5)]
        refused = server.metrics()
        series = 'heron_drpc_peers_refused_total{port="topologies",why="unknown_methods"}'
        assert refused[series] == (0 if takes_several else 1)
        client.close()
        bolt.close()


def test_results_that_a_server_does_not_take_fail_all_their_tuples(
    bolt_delegate: Any, new_context: Callable[..., Any]
) -> None:
    with serving() as server:
        gone = servers(server)
        host, port = server.addresses.topologies
    errors: list[str] = []
    bolt_delegate.record_error = lambda what, text: errors.append(f"{what}: {text}")
    bolt_delegate.call_soon = lambda function: None
    bolt = ReturnResults(delegate=bolt_delegate)
    bolt.initialize(gone, new_context("back"))
    for number in range(3):
        info = return_info(str(number), host, port)
        bolt.process(Tuple("0", "up", "default", None, ["x", info]))
    bolt.return_waiting()
    assert (len(bolt_delegate.failed), len(errors)) == (3, 1)
    assert f"{host}:{port}" in errors[0]
    bolt.close()


def test_a_token_and_the_certificate_of_a_server_are_used(
    tmp_path: Any, start: Any, submit: Submit
) -> None:
    certificate, key = map(str, self_signed(tmp_path))
    token = tmp_path / "token.txt"
    token.write_text("a-long-token-of-a-server\n")
    with serving(token=token.read_text().strip(), certificate=certificate, key=key) as server:
        spout = start(
            {
                **servers(server),
                "drpc.token.file": str(token),
                "drpc.certificate": certificate,
            }
        )
        context = ssl.create_default_context(cafile=certificate)
        called = submit(
            server.http, "GET", "/drpc/f/x", tls=context,
            Authorization="Bearer a-long-token-of-a-server",
        )  # fmt: skip
        spout.spout.fail(until(spout.next_id, "a tuple"))
        assert called.result(SECS)[0] == 400
        assert spout.errors == []


def test_addresses_with_and_without_a_port() -> None:
    assert [host_and_port(each) for each in ("a", "a:1", "[::1]:2", "::1", "[::1]")] == [
        ("a", None), ("a", "1"), ("[::1]", "2"), ("::1", None), ("[::1]", None),
    ]  # fmt: skip


def test_the_command_line_knows_the_keys_of_requests() -> None:
    """drpc.local is none that a user gives."""
    keys = {key for name, key in vars(settings).items() if name.isupper() and "drpc." in str(key)}
    assert keys == {*spelling.OF_CONNECTORS, settings.LOCAL}
