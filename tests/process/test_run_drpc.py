"""H13: topologies that answer requests, on real processes; what dies costs its requests an error,
and never a caller that waits for ever."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from heron_connectors.requests.client import DRPCClient
from heron_connectors.requests.table import RequestLimits
from heron_connectors.requests.thrift_interface import DRPCExecutionException
from tests.process.process_support import EXAMPLES, TOPOLOGIES, Place, Running, until
from tests.unit.heron_connectors.request_server_support import ServerInThread, serving

FILE = TOPOLOGIES / "answering.py"
SECS = 40.0
REACH = {
    "foo.com/blog/1": "16",
    "engineering.twitter.com/blog/5": "14",
    "tech.backtype.com/blog/123": "7",
    "notaurl.com": "0",
}


@pytest.fixture
def server() -> Iterator[ServerInThread]:
    with serving(RequestLimits(request_secs=SECS)) as made:
        yield made


def started(place: Place, server: ServerInThread, *arguments: object) -> Running:
    """A topology whose requests come from the server."""
    host, port = server.addresses.topologies
    return place.start("run", *arguments, "-o", f"drpc.servers={host}:{port}")


def client(server: ServerInThread) -> DRPCClient:
    return DRPCClient(*server.addresses.callers, SECS)


def in_parallel(server: ServerInThread, function: str, texts: list[str]) -> list[str]:
    """The results, or the errors, of calls from eight clients."""

    def call(text: str) -> str:
        with client(server) as drpc:
            try:
                return drpc.execute(function, text)
            except DRPCExecutionException as error:
                return str(error)

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(call, texts))


@pytest.mark.parametrize(
    ("example", "function", "answers"),
    [
        ("reach.py", "reach", REACH),
        ("basic_drpc.py", "exclamation", {"aaa": "aaa!", "": "!", "käse": "käse!"}),
        ("manual_drpc.py", "exclamation", {"aaa": "aaa!!!", "bbb": "bbb!!!"}),
    ],
)
def test_storms_examples_answer_as_storms_do(
    place: Place, server: ServerInThread, example: str, function: str, answers: dict[str, str]
) -> None:
    run = started(place, server, EXAMPLES / example)
    texts = list(answers) * 20
    assert in_parallel(server, function, texts) == [answers[each] for each in texts]
    status, body = server.http("POST", f"/drpc/{function}", next(iter(answers)).encode())
    assert (status, body) == (200, next(iter(answers.values())))
    run.end()
    counts = server.end()
    assert (counts.calls, counts.answered) == (len(texts) + 1, len(texts) + 1)
    place.nothing_is_left()


def test_requests_are_answered_in_effectively_once(place: Place, server: ServerInThread) -> None:
    """A request is not data that comes again: a process that dies costs its requests an error."""
    mode = "topology.reliability.mode=EFFECTIVELY_ONCE"
    run = started(place, server, EXAMPLES / "reach.py", "-o", mode)
    assert in_parallel(server, "reach", list(REACH)) == list(REACH.values())
    killed(run, "bolt1")
    until(lambda: in_parallel(server, "reach", list(REACH)) == list(REACH.values()), "it answers")
    run.end()
    place.nothing_is_left()


def killed(run: Running, component: str) -> None:
    process = run.until(lambda: run.process_called(f"heron: {component}["), f"{component} runs")
    process.kill()


@pytest.mark.parametrize("component", ["slow", "back", "requests"])
def test_a_process_that_is_killed_costs_no_caller_its_answer_or_error(
    place: Place, server: ServerInThread, component: str
) -> None:
    """With a time-out of the message of three seconds; the function answers again afterwards."""
    run = started(place, server, FILE)
    assert in_parallel(server, "slow", ["0"]) == ["0"]
    with ThreadPoolExecutor(1) as pool:
        calls = pool.submit(in_parallel, server, "slow", ["0.2"] * 24)
        until(lambda: server.functions()["slow"]["fetched"] > 4, "requests are under way")
        killed(run, component)
        answers = calls.result(SECS * 2)
    assert set(answers) <= {"0.2", "Request failed", "Timed Out"}
    until(lambda: in_parallel(server, "slow", ["0"]) == ["0"], "it answers again")
    run.end()
    place.nothing_is_left()
    assert server.end().stopped == 0


def test_a_server_that_ends_and_comes_again_is_found_again(place: Place) -> None:
    with serving() as first:
        run = started(place, first, EXAMPLES / "manual_drpc.py")
        assert in_parallel(first, "exclamation", ["a"]) == ["a!!!"]
        port = first.addresses.topologies[1]
    run.until(
        lambda: "no requests come from a server" in place.log("ManualDRPC", "drpc-1"),
        "its end is reported",
    )
    with serving(topologies_port=port) as second:
        assert in_parallel(second, "exclamation", ["b"]) == ["b!!!"]
        run.end()
    place.nothing_is_left()


def test_what_user_code_raises_fails_its_request_alone_and_says_why(
    place: Place, server: ServerInThread
) -> None:
    run = started(place, server, FILE)
    texts = ["0", "raise", "0", "fail", "0", "loses", "large"]
    *answers, large = in_parallel(server, "slow", texts)
    raised, failed = "slow: ValueError: told to raise", "slow: told to fail"
    reasons = [f"Request failed: {raised}", f"Request failed: {failed}", "Request failed"]
    assert answers == ["0", reasons[0], "0", reasons[1], "0", reasons[2]]
    over = "is over the limit of 10485760 (topology.message.bytes.max)"
    assert over in large
    status, body = server.http("POST", "/drpc/slow", b"large")
    assert status == 400
    assert over in body
    status, body = server.http("POST", "/drpc/slow", b"x" * (11 << 20))
    assert status == 400
    assert over in body
    run.end()
    place.nothing_is_left()
