"""H13: `heronpy drpc` as a user starts it, calls it and ends it."""

import json
import re
import signal
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from tests.process.process_support import Place, Running

PORTS = ("--port", "0", "--invocations-port", "0", "--http-port", "0")


def address(server: Running) -> str:
    """Where its functions are called, once it says it."""
    line = server.until(lambda: re.search(r"serving at (\S+)/FUNCTION", server.out), "it serves")
    return line[1]


def waiting(url: str) -> bool:
    """Whether a call waits to be fetched."""
    with urllib.request.urlopen(f"{url.removesuffix('/drpc')}/functions", None, 40) as answer:
        return any(each["waiting"] for each in json.load(answer))


def test_ctrl_c_answers_the_calls_that_are_under_way_and_says_so(place: Place) -> None:
    server = place.start("drpc", *PORTS)
    url = address(server)
    with ThreadPoolExecutor(1) as pool:
        called = pool.submit(urllib.request.urlopen, f"{url}/f/x", None, 40)
        server.until(lambda: waiting(url), "the call waits")
        server.signal(signal.SIGTERM)
        error = called.exception()
    assert isinstance(error, urllib.error.HTTPError)
    with error:
        assert error.code == 503
        assert json.load(error)["error"] == "SERVER_SHUTDOWN"
    finished = server.wait()
    assert (finished.code, finished.err) == (3, "")
    assert finished.out.splitlines()[-1] == "1 call, 0 answered, 1 ended with the server"


def test_a_server_without_calls_ends_with_0_and_frees_its_ports(place: Place) -> None:
    server = place.start("drpc", *PORTS)
    port = address(server).rpartition(":")[2].removesuffix("/drpc")
    taken = place.heronpy("drpc", "--port", "0", "--invocations-port", "0", "--http-port", port)
    assert taken.code == 1
    assert re.fullmatch(
        r"heronpy: 127\.0\.0\.1 port \d+ cannot be used: .*Choose another --http-port.*\n",
        taken.err,
    )
    server.signal(signal.SIGINT)
    finished = server.wait()
    assert (finished.code, finished.out.splitlines()[-1]) == (0, "0 calls, 0 answered")


def test_an_address_for_others_wants_tls_and_a_token(place: Place) -> None:
    refused = place.heronpy("drpc", "--host", "0.0.0.0")
    assert refused.code == 2
    assert "--certificate FILE and --key FILE and --token-file FILE" in refused.err


def test_a_server_that_is_killed_leaves_no_caller_waiting(place: Place) -> None:
    server = place.start("drpc", *PORTS)
    url = address(server)
    with ThreadPoolExecutor(1) as pool:
        called = pool.submit(urllib.request.urlopen, f"{url}/f/x", None, 40)
        server.until(lambda: waiting(url), "the call waits")
        server.signal(signal.SIGKILL)
        error = called.exception(40)
    assert isinstance(error, (ConnectionError, urllib.error.URLError))
    assert server.wait().code == -signal.SIGKILL
    place.nothing_is_left()
