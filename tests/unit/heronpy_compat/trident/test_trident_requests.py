"""T4: requests that query a state (Storm: newDRPCStream), with a LocalDRPC and with a server."""

import json
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from heron_connectors.requests.client import DRPCClient
from heron_connectors.requests.thrift_interface import DRPCExecutionException
from heronpy_compat.testing import LocalDRPC, TopologyTester
from heronpy_compat.trident import (
    Count,
    FilterNull,
    FixedBatchSpout,
    MapGet,
    MemoryMapState,
    Sum,
    TridentError,
    TridentTopology,
    requests,
)
from tests.unit.heron_connectors.request_server_support import HOST, serving
from tests.unit.heronpy_compat.trident.trident_support import AT_ONCE, FailBatches, Split

LINES = FixedBatchSpout("line", 2, ["cat dog"], ["cat"], ["the cat"], ["the dog"])
ROUNDS_MAX = 5_000


def word_counts(topology: TridentTopology) -> Any:
    words = topology.new_stream("lines", LINES).each("line", Split(), "word")
    counts = words.group_by("word").persistent_aggregate(
        MemoryMapState.Factory(), None, Count(), "count"
    )
    return counts.parallelism_hint(3)


def with_requests(drpc: Any = None) -> TridentTopology:
    """The sum of the counts of a request's words, as in Storm's documentation."""
    topology = TridentTopology()
    counts = word_counts(topology)
    (
        topology.newDRPCStream("words", drpc)
        .each("args", Split(), "word")
        .groupBy("word")
        .stateQuery(counts, "word", MapGet(), "count")
        .each("count", FilterNull())
        .each(None, FailBatches("request"))
        .aggregate("count", Sum(), "sum")
    )
    return topology


def test_a_request_queries_a_state_while_it_is_updated() -> None:
    with LocalDRPC() as drpc:
        builder = with_requests(drpc).build("Words", AT_ONCE)
        with TopologyTester(builder, drpc=drpc) as tester:
            assert drpc.execute("words", "cat") in ("[[0]]", "[[2]]", "[[3]]")
            tester.run_spouts()
            assert drpc.execute("words", "cat dog bird") == "[[5]]"
            assert drpc.execute("words", "bird") == "[[0]]"
            calls = [drpc.submit("words", word) for word in ("the", "dog", "the cat")]
            assert [drpc.result(call) for call in calls] == ["[[2]]", "[[2]]", "[[5]]"]


def test_a_request_that_fails_is_an_error_of_its_caller_and_of_no_other() -> None:
    with LocalDRPC() as drpc:
        builder = with_requests(drpc).build("Words", AT_ONCE)
        with TopologyTester(builder, drpc=drpc) as tester:
            tester.run_spouts()
            FailBatches.left["request"] = 1
            with pytest.raises(DRPCExecutionException):
                drpc.execute("words", "cat")
            assert drpc.execute("words", "cat") == "[[3]]"


def test_a_caller_learns_that_arguments_or_rows_are_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(requests, "TEXT_BYTES_MAX", 4)
    limit = {"topology.message.bytes.max": 2000}
    with LocalDRPC() as drpc:
        builder = with_requests(drpc).build("Words", AT_ONCE)
        with TopologyTester(builder, drpc=drpc, config=limit) as tester:
            tester.run_spouts()
            with pytest.raises(DRPCExecutionException, match="the result has 5 bytes, and 4 is"):
                drpc.execute("words", "cat")
            monkeypatch.undo()
            with pytest.raises(DRPCExecutionException, match=r"3424 .* 2000 \(topology\.message"):
                drpc.execute("words", "cat " * 600)
            assert len(tester.errors("mastercoord-bg1")) == 1
            assert drpc.execute("words", "dog") == "[[2]]"


def test_a_server_gets_the_rows_of_the_last_stream() -> None:
    """The result of a stream without an aggregation: a list of rows."""
    topology = TridentTopology()
    topology.new_drpc_stream("split").each("args", Split(), "word").project("word")
    with serving() as server, ThreadPoolExecutor(1) as pool:
        _, port = server.addresses.topologies
        config = {**AT_ONCE, "drpc.servers": f"{HOST}:{port}"}
        with TopologyTester(topology.build("Split", config), patch_time=False) as tester:
            called = pool.submit(execute, server.addresses.callers[1], "a b")
            run_until(tester, called)
        assert json.loads(called.result()) == [["a"], ["b"]]


def execute(port: int, arguments: str) -> str:
    with DRPCClient(HOST, port) as drpc:
        return drpc.execute("split", arguments)


def run_until(tester: TopologyTester, called: "Future[str]") -> None:
    for _ in range(ROUNDS_MAX):
        if called.done():
            return
        tester.run_spouts(calls=1)
        tester.advance(0.01)
    raise AssertionError("the call has not ended")


def test_a_stream_of_requests_is_not_combined_with_another() -> None:
    topology = TridentTopology()
    requests = topology.new_drpc_stream("words")
    topology.merge([requests, topology.new_stream("lines", LINES)])
    with pytest.raises(TridentError, match="drpc-words is combined with another stream"):
        topology.build("Merged")
