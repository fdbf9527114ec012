"""H13: Storm's topologies of requests in the tester: results of requests, and an error for the
caller of a request with a lost, failed or raising tuple."""

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from heron_api.bolt.bolt import Bolt
from heron_api.errors import WrongArgumentError
from heron_api.requests.coordinated_bolt import COORDINATED_STREAM
from heron_api.spout.spout import Spout
from heron_api.topology import TopologyBuilder
from heron_api.tuple import Tuple
from heron_connectors.requests.local import local_requests
from heron_core.errors import ComponentError, TopologyError, UsageError
from heron_frontends.loading.component_checks import check_components
from heron_frontends.loading.load import load_topology
from heron_frontends.loading.topology_sources import topology_from
from heronpy_compat.drpc import (
    BaseBasicBolt,
    BaseBatchBolt,
    DRPCExecutionException,
    DRPCSpout,
    FailedException,
    KeyedFairBolt,
    LinearDRPCTopologyBuilder,
    ReturnResults,
)
from heronpy_compat.testing import LocalDRPC, TopologyTester

EXAMPLES = Path(__file__).parents[3] / "examples"
WORDS = {
    "a": ["x", "y", "x"],
    "b": ["x"],
    "none": [],
    "many": [str(each % 37) for each in range(90)],
}


class Words(BaseBasicBolt):
    outputs = ["id", "word"]

    def execute(self, tup: Any, collector: Any) -> None:
        request_id, key = tup.values
        if key == "fails":
            raise FailedException("no such key")
        for word in WORDS[key]:
            collector.emit([request_id, word])


class Copies(BaseBasicBolt):
    outputs = ["id", "word"]

    def execute(self, tup: Any, collector: Any) -> None:
        collector.emit(tup.values)


class AutoCopies(Bolt):
    """Acks and anchors as its class says."""

    outputs = ["id", "word"]
    auto_ack = auto_anchor = True

    def process(self, tup: Any) -> None:
        self.emit(tup.values)


class FairCopies(KeyedFairBolt):
    bolt = Copies


class FairAutoCopies(KeyedFairBolt):
    bolt = AutoCopies


class Distinct(BaseBatchBolt):
    outputs = ["id", "number"]

    def prepare(self, conf: Any, context: Any, collector: Any, batch_id: Any) -> None:
        self.collector, self.id, self.words = collector, batch_id, set[str]()

    def execute(self, tup: Any) -> None:
        self.words.add(tup.values[1])

    def finish_batch(self) -> None:
        self.collector.emit([self.id, len(self.words)])


class Sum(BaseBatchBolt):
    outputs = ["id", "sum"]

    def prepare(self, conf: Any, context: Any, collector: Any, batch_id: Any) -> None:
        self.collector, self.id, self.sum = collector, batch_id, 0

    def execute(self, tup: Any) -> None:
        self.sum += tup.values[1]

    def finish_batch(self) -> None:
        if self.sum > 30:
            raise FailedException("too many")
        self.collector.emit([self.id, self.sum])


class RaisingSum(Sum):
    def finish_batch(self) -> None:
        raise ValueError("finish_batch raises")


class Nothing(Spout):
    outputs = ["id", "word"]

    def next_tuple(self) -> None:
        self.finish()


class Fails(Bolt):
    def process(self, tup: Any) -> None:
        self.fail(tup)


def builder_of(middle: Any = Copies, last: Any = Sum) -> LinearDRPCTopologyBuilder:
    builder = LinearDRPCTopologyBuilder("distinct")
    builder.add_bolt(Words, 2)
    builder.add_bolt(middle, 3).shuffle_grouping()
    builder.add_bolt(Distinct, 3).fields_grouping("id", "word")
    builder.add_bolt(last, 2).fields_grouping("id")
    return builder


@pytest.fixture
def drpc() -> Iterator[LocalDRPC]:
    with LocalDRPC() as made:
        yield made


@pytest.fixture
def example(fresh_imports: None, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return import_module


def test_reach_is_the_number_of_different_followers(
    drpc: LocalDRPC, example: Callable[[str], Any]
) -> None:
    reach = example("reach")
    topology = reach.construct().create_local_topology(drpc)
    with TopologyTester(topology, drpc=drpc) as tester:
        for url in (*reach.TWEETERS, "notaurl.com"):
            people = {
                follower
                for tweeter in reach.TWEETERS.get(url, ())
                for follower in reach.FOLLOWERS.get(tweeter, ())
            }
            assert drpc.execute("reach", url) == str(len(people))
        assert (len(tester.acked("spout")), tester.failed("spout")) == (4, [])


def test_basic_drpc_adds_an_exclamation_mark(
    drpc: LocalDRPC, example: Callable[[str], Any]
) -> None:
    topology = example("basic_drpc").construct().create_local_topology(drpc)
    with TopologyTester(topology, drpc=drpc):
        assert [drpc.execute("exclamation", each) for each in ("hello", "")] == ["hello!", "!"]


def test_manual_drpc_adds_three(drpc: LocalDRPC, example: Callable[[str], Any]) -> None:
    manual = example("manual_drpc")
    builder = TopologyBuilder("Manual")
    spout = DRPCSpout.spec("drpc", function="exclamation", drpc=drpc)
    builder.add_spec(spout)
    exclaim = builder.add_bolt("exclaim", manual.ExclamationBolt, 3, [spout])
    builder.add_bolt("back", ReturnResults, 3, [exclaim])
    with TopologyTester(builder, drpc=drpc):
        assert [drpc.execute("exclamation", each) for each in ("aaa", "bbb")] == [
            "aaa!!!",
            "bbb!!!",
        ]


@pytest.mark.usefixtures("fresh_imports")
def test_the_topology_of_the_connectors_page_shouts(drpc: LocalDRPC, tmp_path: Path) -> None:
    page = (EXAMPLES.parent / "docs" / "CONNECTORS.md").read_text("utf-8")
    (block,) = re.findall(r"```python\n(# shouting\.py\n.*?)```", page, re.DOTALL)
    config = {"drpc.local": drpc.service_id}
    local = block.replace('function="shout"', f'function="shout", config={config}')
    (tmp_path / "shouting.py").write_text(local)
    with TopologyTester(str(tmp_path / "shouting.py"), drpc=drpc):
        assert drpc.execute("shout", "hello") == "HELLO"


@pytest.mark.usefixtures("fresh_imports")
def test_the_topologies_of_the_examples_for_real_servers_load() -> None:
    for name in ("reach", "basic_drpc", "manual_drpc"):
        check_components(load_topology(str(EXAMPLES / f"{name}.py")), runs_here=True)


@pytest.mark.parametrize("middle", [Copies, FairCopies, AutoCopies, FairAutoCopies])
@pytest.mark.parametrize("seed", range(4))
def test_in_any_order_a_request_is_finished_behind_its_last_tuple(
    drpc: LocalDRPC, seed: int, middle: Any
) -> None:
    topology = builder_of(middle).create_local_topology(drpc)
    with TopologyTester(topology, drpc=drpc, order="random", seed=seed) as tester:
        ids = {drpc.submit("distinct", key): key for key in ("a", "b", "none", "a") for _ in "12"}
        for request_id, key in ids.items():
            assert drpc.result(request_id) == str(len(set(WORDS[key])))
        assert len(tester.acked("spout")) == len(ids)


@pytest.mark.parametrize("fair", [FairCopies, FairAutoCopies])
def test_a_fair_bolt_by_itself_anchors_and_acks_as_the_one_inside(fair: Any) -> None:
    builder = TopologyBuilder("Fair")
    builder.set_config({"topology.reliability.mode": "ATLEAST_ONCE"})
    lines = builder.add_spout("lines", Nothing, 1)
    copies = builder.add_bolt("copies", fair, 1, [lines])
    builder.add_bolt("sink", Fails, 1, [copies])
    with TopologyTester(builder) as tester:
        tester.feed("lines", [1, "x"], tup_id="failed behind it")
        tester.run()
        assert tester.failed("lines") == ["failed behind it"]
        assert len(tester.acked("copies")) == 1


def outcome(drpc: LocalDRPC, key: str) -> str:
    try:
        return drpc.execute("distinct", key)
    except DRPCExecutionException as error:
        return f"error: {error}"


def test_a_bolt_that_fails_a_request_fails_it_at_once(drpc: LocalDRPC) -> None:
    with TopologyTester(builder_of().create_local_topology(drpc), drpc=drpc) as tester:
        began = tester.now
        assert outcome(drpc, "fails") == "error: Request failed: bolt0: no such key"
        assert outcome(drpc, "many") == "error: Request failed: bolt3: too many"  # of finish_batch
        assert (tester.now, outcome(drpc, "a")) == (began, "2")


@pytest.mark.parametrize("component", ["bolt0", "bolt1", "bolt2", "bolt3", "bolt4", "bolt5"])
def test_what_raises_fails_its_request_at_once_and_alone(drpc: LocalDRPC, component: str) -> None:
    with TopologyTester(builder_of().create_local_topology(drpc), drpc=drpc) as tester:
        tester.raise_in(component, ValueError("raised"))
        began = tester.now
        # An error in the place of a bolt without return-info in its input has no reason.
        why = ": bolt5: ValueError: raised" if component == "bolt5" else ""
        assert outcome(drpc, "a") == f"error: Request failed{why}"
        assert (tester.now, outcome(drpc, "a")) == (began, "2")
        assert len(tester.errors(component)) == 1


def test_a_finish_that_raises_fails_its_request_at_once(drpc: LocalDRPC) -> None:
    topology = builder_of(last=RaisingSum).create_local_topology(drpc)
    with TopologyTester(topology, drpc=drpc) as tester:
        assert outcome(drpc, "a") == (
            "error: Request failed: bolt3: ValueError: finish_batch raises"
        )
        assert "finish_batch raises" in str(tester.errors("bolt3")[0])


@pytest.mark.parametrize(
    ("source", "component"),
    [("spout", "prepare-request"), ("bolt0", "bolt1"), ("bolt1", "bolt2"), ("bolt2", "bolt3"),
     ("bolt3", "bolt4"), ("prepare-request", "bolt4"), ("prepare-request", "bolt3"),
     ("bolt4", "bolt5")],
)  # fmt: skip
def test_a_tuple_that_is_lost_fails_its_request_by_the_message_timeout(
    drpc: LocalDRPC, source: str, component: str
) -> None:
    with TopologyTester(builder_of().create_local_topology(drpc), drpc=drpc) as tester:
        tester.drop(source, component, when=lambda tup: tup.stream != COORDINATED_STREAM)
        assert outcome(drpc, "a") == "error: Request failed"
        assert outcome(drpc, "a") == "2"
        tester.advance(100)  # what waited for the lost one is forgotten
        assert outcome(drpc, "a") == "2"


@pytest.mark.parametrize("component", ["bolt1", "bolt2"])
def test_a_number_that_is_lost_fails_its_request(drpc: LocalDRPC, component: str) -> None:
    source = f"bolt{int(component[-1]) - 1}"
    with TopologyTester(builder_of().create_local_topology(drpc), drpc=drpc) as tester:
        tester.drop(source, component, when=lambda tup: tup.stream == COORDINATED_STREAM)
        assert outcome(drpc, "a") == "error: Request failed"
        assert outcome(drpc, "a") == "2"


@pytest.mark.parametrize("component", ["bolt0", "bolt1", "bolt2", "bolt3", "bolt4"])
def test_a_process_that_dies_with_a_request_costs_it_an_error(
    drpc: LocalDRPC, component: str
) -> None:
    with TopologyTester(builder_of().create_local_topology(drpc), drpc=drpc) as tester:
        tester.crash(component, when=lambda tup: True)
        assert outcome(drpc, "a") == "error: Request failed"
        assert outcome(drpc, "a") == "2"


def test_a_request_of_many_tuples_holds_up_none_of_few(
    bolt_delegate: Any, new_context: Callable[..., Any]
) -> None:
    """What arrives while the first one is executed has its turn before the rest of that."""
    calls: list[Callable[[], None]] = []
    bolt_delegate.call_soon = calls.append
    bolt = FairCopies(delegate=bolt_delegate)
    bolt.initialize({}, new_context("fair"))
    for number in range(100):
        bolt.process(Tuple("0", "up", "default", None, ["many", number]))
    (turns,) = calls
    turns()
    assert (len(bolt_delegate.emitted), bolt.is_idle()) == (64, False)
    for number in range(3):
        bolt.process(Tuple("0", "up", "default", None, ["few", number]))
    while len(calls) > 1:
        calls.pop()()
    keys = [each.values[0] for each in bolt_delegate.emitted]
    assert keys[64:71] == ["many", "few", "many", "few", "many", "few", "many"]
    assert (len(keys), len(bolt_delegate.acked), bolt.is_idle()) == (103, 103, True)


def test_a_request_for_a_function_that_is_not_there_times_out(drpc: LocalDRPC) -> None:
    with TopologyTester(builder_of().create_local_topology(drpc), drpc=drpc) as tester:
        began = tester.now
        with pytest.raises(DRPCExecutionException, match="Timed Out"):
            drpc.execute("distnict", "a")
        assert tester.now - began == 60.0


def test_a_call_without_a_tester_says_how(drpc: LocalDRPC) -> None:
    with pytest.raises(UsageError, match=r"TopologyTester\(topology, drpc=drpc\)"):
        drpc.execute("distinct", "a")


def test_a_topology_of_a_local_drpc_runs_nowhere_else(drpc: LocalDRPC) -> None:
    topology = builder_of().create_local_topology(drpc)
    drpc.close()
    assert local_requests(drpc.service_id) is None
    tester = TopologyTester(topology)
    with pytest.raises(ComponentError, match=r"create_remote_topology\(\)"):
        tester.__enter__()


# --- mistakes, found when the topology is made ----------------------------------------------------


class Async(BaseBasicBolt):
    outputs = ["id", "word"]

    async def execute(self, tup: Any, collector: Any) -> None:
        collector.emit(tup.values)


class ThreeFields(Copies):
    outputs = ["id", "word", "more"]


def test_mistakes_of_a_linear_topology_are_named() -> None:
    empty = LinearDRPCTopologyBuilder("f")
    with pytest.raises(TopologyError, match="'f' has no bolt"):
        empty.create_remote_topology()
    with pytest.raises(WrongArgumentError, match="takes a class derived from"):
        empty.add_bolt(Copies.spec())  # type: ignore[arg-type]
    unread = LinearDRPCTopologyBuilder("f")
    unread.add_bolt(Words)
    unread.add_bolt(Copies)
    with pytest.raises(TopologyError, match=r"bolt 1 of function 'f', Copies, reads nothing"):
        unread.create_remote_topology()
    wide = LinearDRPCTopologyBuilder("f")
    wide.add_bolt(ThreeFields)
    with pytest.raises(TopologyError, match="ThreeFields, must have one stream with two fields"):
        wide.create_remote_topology()


def test_a_coroutine_in_a_coordinated_bolt_is_refused_when_it_is_loaded() -> None:
    builder = LinearDRPCTopologyBuilder("f")
    builder.add_bolt(Async)
    topology = topology_from(builder.create_remote_topology(), None, None, {})
    with pytest.raises(TopologyError, match=r"Async\.execute.* is `async def`"):
        check_components(topology, runs_here=True)


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"drpc.servers": "host:0"}, "drpc.servers has '0', which is not a port"),
        ({"drpc.invocations.port": "x"}, "drpc.invocations.port has 'x', which is not a port"),
        ({"drpc.token.file": "/nowhere"}, "drpc.token.file /nowhere cannot be read: No such file"),
    ],
)
def test_settings_that_are_wrong_are_named_when_the_topology_is_loaded(
    config: dict[str, Any], problem: str
) -> None:
    builder = builder_of().create_remote_topology(config=config)
    topology = topology_from(builder, None, None, {})
    with pytest.raises(TopologyError, match=re.escape(problem)):
        check_components(topology, runs_here=True)


def test_a_spout_of_requests_needs_a_function() -> None:
    with pytest.raises(WrongArgumentError, match="needs function="):
        DRPCSpout.spec()


# --- bolts by themselves --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (["x", "no json"], "'no json' is not that of a DRPCSpout"),
        (["x", 5], "is not that of a DRPCSpout"),
        (["x", "[1]"], "is not that of a DRPCSpout"),
        (["x", '{"id": 1, "host": "h", "port": 1}'], "is not that of a DRPCSpout"),
        ([5, '{"id": "1", "host": "h", "port": 1}'], "the result is 5, and not a text"),
        (["x", '{"id": "1", "host": "local-7", "port": 0}'], "is closed"),
    ],
)
def test_a_result_that_cannot_be_returned_is_an_error_and_fails(
    bolt_delegate: Any, new_context: Callable[..., Any], values: list[Any], problem: str
) -> None:
    errors: list[str] = []
    bolt_delegate.record_error = lambda what, text: errors.append(f"{what}: {text}")
    bolt = ReturnResults(delegate=bolt_delegate)
    bolt.initialize({}, new_context("back"))
    tup = Tuple("0", "up", "default", None, values)
    bolt.process(tup)
    assert (bolt_delegate.acked, bolt_delegate.failed) == ([], [tup])
    assert len(errors) == 1
    assert problem in errors[0]
    bolt.process(Tuple("0", "up", "default", None, ["x", None]))
    assert len(bolt_delegate.acked) == 1
