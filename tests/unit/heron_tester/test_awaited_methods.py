"""Hooks, batches, windows, elements and timers as coroutines: each does what the function does."""

import asyncio
from typing import Any

import pytest

from heron_api.bolt.batch_bolt import BatchBolt
from heron_api.state.keyed_state import value_state
from heron_api.state.stateful_component import TwoPhaseStatefulComponent
from heron_api.windows.keyed_process_bolt import KeyedProcessBolt
from heron_api.windows.window_bolt import TumblingWindowBolt
from heron_api.windows.windowed_bolt import WindowedBolt
from heron_core.errors import ComponentError
from heronpy_compat import Bolt, Grouping, Spout, Topology, pystorm, streamparse
from heronpy_compat.testing import TopologyTester


async def doubled(value: int) -> int:
    """A call to the outside."""
    await asyncio.sleep(0.001)
    if value == 13:
        raise ConnectionError("thirteen")
    return 2 * value


class OneToThree:
    """What a spout of any API emits."""

    emit: Any
    finish: Any

    def initialize(self, config: Any, context: Any) -> None:
        self.next = 0

    def next_tuple(self) -> None:
        if self.next < 3:
            self.next += 1
            self.emit([self.next, self.next * 1000], tup_id=self.next)
        else:
            self.finish()


class Numbers(OneToThree, Spout):
    outputs = {"number": "bigint", "time_ms": "bigint"}


class StormNumbers(OneToThree, streamparse.Spout):
    outputs = ["number", "time_ms"]


class Batched(BatchBolt):
    outputs = {"double": "bigint"}

    async def process_batch(self, batch: Any) -> None:
        calls = [doubled(each) for each in batch["number"].to_pylist()]
        self.emit_batch({"double": await asyncio.gather(*calls)})


class OfBatches:
    """What a batching bolt of streamparse does."""

    emit: Any

    async def process_batch(self, key: Any, tups: list[Any]) -> None:
        for each in await asyncio.gather(*[doubled(tup.values[0]) for tup in tups]):
            self.emit([each])


class Collected(OfBatches, streamparse.BatchingBolt):
    outputs = ["double"]

    def group_key(self, tup: Any) -> Any:
        return 0


class Timed(OfBatches, streamparse.TicklessBatchingBolt):
    outputs = ["double"]
    secs_between_batches = 1


class Window(TumblingWindowBolt):
    outputs = ["double"]

    async def processWindow(self, window_info: Any, tuples: list[Any]) -> None:  # noqa: N802
        for tup in tuples:
            self.emit([await doubled(tup.values[0])], anchors=[tup])


class StormWindow(WindowedBolt):
    outputs = ["double"]

    async def execute(self, window: Any) -> None:
        for tup in window.get():
            self.emit([await doubled(tup.values[0])])


class Elements(KeyedProcessBolt):
    outputs = ["double"]
    timestamp_field = "time_ms"
    auto_ack = auto_anchor = True
    total = value_state(default=0)

    async def process_element(self, tup: Any, timestamp_ms: int | None) -> None:
        self.total.put(await doubled(tup.values[0]))
        self.timers.register_event_time_timer(timestamp_ms or 0)

    async def on_timer(self, timestamp_ms: int, timer: Any) -> None:
        await asyncio.sleep(0)
        self.emit([self.total.get()])


CONFIGS: list[tuple[type, dict[str, Any]]] = [
    (Batched, {}),
    (Collected, {"topology.tick.tuple.freq.secs": 1}),
    (Timed, {}),
    (Window, {"tumblingwindowbolt_duration_secs": 1}),
    (StormWindow, {"topology.bolts.window.length.duration.ms": 1000,
                   "topology.bolts.window.sliding.interval.duration.ms": 1000}),
    (Elements, {}),
]  # fmt: skip
KINDS = pytest.mark.parametrize(
    ("kind", "config"), CONFIGS, ids=[each.__name__ for each, _ in CONFIGS]
)


def topology_of(kind: Any, config: dict[str, Any], mode: str = "ATLEAST_ONCE") -> Any:
    is_storm = issubclass(kind, pystorm.Bolt)
    spout: Any = StormNumbers if is_storm else Numbers
    numbers = spout.spec(name="numbers")
    grouping: Any = (streamparse.Grouping if is_storm else Grouping).fields("number")
    double = kind.spec(name="double", inputs={numbers: grouping}, config=config)
    members: dict[str, Any] = {
        "numbers": numbers,
        "double": double,
        "config": {"topology.reliability.mode": mode},
    }
    members["__module__"] = __name__
    base: Any = streamparse.Topology if is_storm else Topology
    return type("Doubles", (base,), members)


@KINDS
@pytest.mark.parametrize("mode", ["ATLEAST_ONCE", "EFFECTIVELY_ONCE", "ATMOST_ONCE"])
def test_batches_windows_elements_and_timers_may_be_coroutines(
    kind: type, config: dict[str, Any], mode: str
) -> None:
    with TopologyTester(topology_of(kind, config, mode)) as tester:
        tester.run_spouts()
        tester.advance(5)
        tester.finish()
        if mode == "EFFECTIVELY_ONCE":
            assert tester.checkpoint()
        assert sorted(values for (values,) in tester.values("double")) == [2, 4, 6]
        assert sorted(tester.acked("numbers")) == [1, 2, 3]


@KINDS
def test_what_their_coroutine_raises_fails_what_a_function_would(
    kind: type, config: dict[str, Any]
) -> None:
    with TopologyTester(topology_of(kind, config)) as tester:
        tester.feed("numbers", [13, 13_000], tup_id="bad")
        tester.run()
        tester.advance(5)
        tester.finish()
        assert tester.failed("numbers") == ["bad"]
        assert tester.values("double") == []
        (problem,) = tester.errors("double")
        assert "thirteen" in problem.text


CALLS: list[str] = []


async def note(what: str) -> None:
    await asyncio.sleep(0.001)
    CALLS.append(what)


class Hooked(Spout):
    outputs = ["number"]

    async def initialize(self, config: Any, context: Any) -> None:
        self.next = 0
        await note("spout begins")

    async def activate(self) -> None:
        await note("activate")

    async def next_tuple(self) -> None:
        await asyncio.sleep(0)
        self.next += 1
        if self.next < 3:
            self.emit([self.next], tup_id=self.next)

    async def ack(self, tup_id: Any) -> None:
        await note(f"ack {tup_id}")

    async def fail(self, tup_id: Any) -> None:
        await note(f"fail {tup_id}")

    async def close(self) -> None:
        await note("spout ends")


class HookedBolt(Bolt, TwoPhaseStatefulComponent):
    async def init_state(self, stateful_state: Any) -> None:
        await note("init_state")

    async def pre_save(self, checkpoint_id: Any) -> None:
        await note("pre_save")

    async def post_save(self, checkpoint_id: Any) -> None:
        await note("post_save")

    async def process(self, tup: Any) -> None:
        await asyncio.sleep(0)
        if tup.number == 2:
            self.fail(tup)

    async def process_tick(self, tup: Any) -> None:
        await note("tick")

    async def on_finish(self) -> None:
        await note("finish")


class Hooks(Topology):
    numbers = Hooked.spec()
    hooked = HookedBolt.spec(inputs=[numbers], config={"topology.tick.tuple.freq.secs": 1})
    config = {"topology.reliability.mode": "ATLEAST_ONCE"}


def test_the_hooks_of_spouts_and_bolts_may_be_coroutines() -> None:
    CALLS.clear()
    with TopologyTester(Hooks) as tester:
        tester.run_spouts(calls=2)
        tester.advance(1.5)
        tester.finish()
    assert CALLS.count("tick") == 1
    wanted = {"spout begins", "activate", "ack 1", "fail 2", "spout ends", "init_state", "finish"}
    assert wanted - set(CALLS) == set()


def test_the_phases_of_a_checkpoint_may_be_coroutines() -> None:
    CALLS.clear()
    with TopologyTester(Hooks, config={"topology.reliability.mode": "EFFECTIVELY_ONCE"}) as tester:
        tester.run_spouts(calls=1)
        assert tester.checkpoint()
    assert [each for each in CALLS if each.endswith("_save")] == ["pre_save", "post_save"]


class StormHooks(streamparse.Bolt):
    outputs = ["number"]

    async def initialize(self, storm_conf: Any, context: Any) -> None:
        await note("storm begins")

    def process(self, tup: Any) -> None:
        self.emit([tup.values[0]])

    async def process_tick(self, tup: Any) -> None:
        await note("storm's tick")


def test_the_hooks_of_pystorm_may_be_coroutines() -> None:
    CALLS.clear()
    with TopologyTester(topology_of(StormHooks, {"topology.tick.tuple.freq.secs": 1})) as tester:
        tester.advance(1.5)
    assert CALLS == ["storm begins", "storm's tick"]


def hidden(method: Any) -> Any:
    """A decorator without functools.wraps."""

    def called(*arguments: Any) -> Any:
        return method(*arguments)

    return called


class HiddenTick(Bolt):
    @hidden
    async def process_tick(self, tup: Any) -> None:
        await note("hidden tick")

    def process(self, tup: Any) -> None:
        self.ack(tup)


class HiddenBatch(BatchBolt):
    outputs = {"double": "bigint"}

    @hidden
    async def process_batch(self, batch: Any) -> None:
        await note("hidden batch")


def test_a_coroutine_that_a_decorator_hides_runs_or_is_an_error() -> None:
    """It was dropped, with a RuntimeWarning or without."""
    CALLS.clear()
    with TopologyTester(topology_of(HiddenTick, {"topology.tick.tuple.freq.secs": 1})) as tester:
        tester.advance(1.5)
    assert CALLS == ["hidden tick"]
    with TopologyTester(topology_of(HiddenBatch, {})) as tester:
        tester.run_spouts()
        assert tester.acked("numbers") == []
        problems = tester.errors("double")
        assert isinstance(problems[0].error, ComponentError)
        assert "returns a coroutine, which is not awaited" in problems[0].text
