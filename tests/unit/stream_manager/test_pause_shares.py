"""Pauses, causes and shares of time; pauses by a cycle; mode drop."""

from array import array

import pytest

from heron_core import config as keys
from heron_core.plans import (
    PackingPlan,
    PhysicalPlan,
    TopologyState,
    physical_to_json,
)
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heron_core.wire import messages
from heron_core.wire.frames import ROOT_COUNTER_BITS, Flag, FrameKind, header, header_of
from heron_core.wire.packets import decode_roots, encode_control
from heron_engine.stream_manager import events
from heron_engine.stream_manager.backpressure import BackPressure, QueueOrigin
from heron_engine.stream_manager.core import StreamManager
from heron_engine.stream_manager.options import StreamManagerOptions
from heron_engine.stream_manager.upstream import upstream_of
from tests.unit.stream_manager.manager_support import link_frame, packing_of


def topology_of(**inputs: str) -> TopologySpec:
    """component -> its sources, separated by blanks; empty for a spout."""
    shuffle = GroupingSpec(GroupingKind.SHUFFLE)
    return TopologySpec(
        "test",
        tuple(
            ComponentSpec(
                name,
                not sources,
                "test.Component",
                1,
                (StreamSpec("default", ("value",)),),
                tuple(InputSpec(each, "default", shuffle) for each in sources.split()),
            )
            for name, sources in inputs.items()
        ),
        {},
    )


def packed(topology: TopologySpec, *containers: str) -> PackingPlan:
    """One instance of each component; `containers` names the components in each, from 1 on."""
    tasks = {each.name: at for at, each in enumerate(topology.components, 1)}
    return packing_of(*({tasks[each]: each for each in names.split()} for names in containers))


REGISTERED = events.FromInstanceControl(
    1, 9, messages.RegisterInstance(task=1, incarnation=9, pid=78)
)
CHAIN = topology_of(spout="", middle="spout", last="middle")
TOGETHER = packed(CHAIN, "spout middle last")


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ({"s": "", "a": "s", "b": "a"}, {"s": "", "a": "s", "b": "a"}),
        # For either slow bolt the spout waits; the two do not wait for each other.
        ({"s": "", "a": "s b", "b": "a"}, {"s": "", "a": "s", "b": "s"}),
        ({"s": "", "a": "s a"}, {"s": "", "a": "s"}),
        ({"s": "", "t": "", "a": "s c", "b": "a t", "c": "b"}, dict.fromkeys("abc", "s t")),
        # Behind the cycle: its last bolt waits, and fills the cycle, until the spout stops.
        ({"s": "", "a": "s b", "b": "a", "c": "b"}, {"a": "s", "b": "s", "c": "b"}),
    ],
)
def test_who_pauses_for_whom(inputs: dict[str, str], expected: dict[str, str]) -> None:
    """A retry loop hangs at its far end: the loop goes on turning, input from outside has to wait,
    or the queue at the far end grows for ever."""
    found = upstream_of(topology_of(**inputs))
    for name, sources in expected.items():
        assert found[name] == set(sources.split()), name


def test_time_of_back_pressure_counts_for_the_task_that_causes_it() -> None:
    """Of our own queues alone: another stream manager counts pauses by its queues. Two queues with
    one task count once, and the time of a removed task is dropped."""
    pressure = BackPressure(CHAIN, TOGETHER, 1)
    assert pressure.caused_ms(100.0) == {}
    pressure.on(QueueOrigin(1, 1), {2}, now=100.0)
    pressure.on(QueueOrigin(1, 2), {2}, now=101.0)
    pressure.on(QueueOrigin(2), {3}, now=101.0)
    assert pressure.caused_ms(101.5) == {2: 1500}
    pressure.off(QueueOrigin(1, 1), {2}, now=102.0)
    assert pressure.caused_ms(103.0) == {2: 3000}
    pressure.off(QueueOrigin(1, 2), {2}, now=104.0)
    assert pressure.caused_ms(110.0) == {2: 4000}
    pressure.on(QueueOrigin(1, 1), {2}, now=110.0)
    assert pressure.caused_ms(110.25) == {2: 4250}


def test_time_of_a_stream_manager_counts_while_there_is_a_cause_here_or_anywhere() -> None:
    """Heron's `…_initiated` and `…_aggr`: overlapping causes count once."""
    pressure = BackPressure(CHAIN, TOGETHER, 1)
    pressure.on(QueueOrigin(2), {3}, now=100.0)
    pressure.on(QueueOrigin(1, 1), {2}, now=101.0)
    pressure.on(QueueOrigin(1, 1), {3}, now=102.0)
    pressure.off(QueueOrigin(1, 1), {2}, now=103.0)
    pressure.off(QueueOrigin(1, 1), {3}, now=104.0)
    pressure.validate(105.0, {1, 2})
    assert list(pressure.times_ms(105.0).values()) == [3000, 5000]
    pressure.forget(2, now=106.0)
    pressure.validate(107.0, {1, 2})
    assert list(pressure.times_ms(110.0).values()) == [3000, 6000]


def test_share_of_time_is_that_of_the_last_ten_seconds() -> None:
    """At first since the process came; a pause of an hour ago has no part in it."""
    pressure = BackPressure(CHAIN, TOGETHER, 1)
    pressure.seen(1, now=100.0)
    pressure.on(QueueOrigin(1), {2}, now=106.0)
    assert pressure.statistics(108.0) == {1: messages.PauseStatistics((2,), 2.0, 2.0, 2 / 8)}
    pressure.seen(1, now=109.0)  # it was restarted: its time goes on
    pressure.off(QueueOrigin(1), {2}, now=110.0)
    shares = [pressure.statistics(float(now))[1].share for now in range(110, 122)]
    assert (shares[2], shares[8], shares[10], shares[11]) == (4 / 12, 2 / 10, 0.0, 0.0)
    pressure.on(QueueOrigin(1), {2}, now=130.0)
    for now in range(131, 150):
        share = pressure.statistics(float(now))[1].share
    assert share == 1.0
    assert pressure.statistics(150.0)[1].paused_secs == 24.0


def test_share_of_a_task_that_nobody_serves() -> None:
    """A pause may come before the first process does, and then be longer than its life."""
    pressure = BackPressure(CHAIN, TOGETHER, 1)
    pressure.on(QueueOrigin(1), {2}, now=10.0)
    assert pressure.statistics(20.0)[1].share == 0.0
    pressure.seen(1, now=20.0)
    assert pressure.statistics(21.0)[1].share == 1.0


def manager_of(packing: PackingPlan, container: int = 1, **options: object) -> StreamManager:
    identity = messages.RegisterStreamManager(
        container=container, incarnation=5, address="tcp://here:1", host="here", pid=77, epoch=0
    )
    config = {f"topology.{key.replace('_', '.')}": value for key, value in options.items()}
    return StreamManager(CHAIN, packing, identity, StreamManagerOptions.of(config))


def test_an_instance_hears_of_its_pause_before_the_plan() -> None:
    """A paused spout is restarted: if the plan came first, it would emit until the pause does."""
    packing = packed(CHAIN, "spout", "middle last")
    manager = manager_of(packing)
    addresses = {1: "tcp://1", 2: "tcp://2"}
    physical = PhysicalPlan("test", 1, TopologyState.RUNNING, packing, addresses)
    plan = messages.Plan(physical_to_json(physical))
    manager.handle(events.FromMaster(plan), 0.0)
    cause = messages.BackPressureCause(2, True)
    message = [link_frame(1), *encode_control(1, 2, 2, cause)]
    manager.handle(events.FromPeer(message), 0.0)
    out = manager.handle(REGISTERED, 0.0)
    sent = [each.message for each in out if isinstance(each, events.ToLocalControl)]
    assert sent[:2] == [messages.Pause(True), plan]


BATCH_BYTES = 1000


def failed_roots(manager: StreamManager) -> list[int]:
    """Failed roots reported to the spout at its registration."""
    out = [*manager.handle(REGISTERED, 0.0), *manager.handle(events.InputTaken(), 0.0)]
    results = [each for each in out if isinstance(each, events.ToLocal)]
    assert all(header_of(each.frames).kind == FrameKind.FAILED for each in results)
    return [root for each in results for root in decode_roots(header_of(each.frames), each.frames)]


def waiting_batches(manager: StreamManager) -> int:
    """How many batches wait for the peer."""
    return len([task for task, _ in manager.state.peers[2].waiting() if task])


def blocked_batches(mode: str, batches: int) -> StreamManager:
    """A stream manager with a full peer, after so many fan-outs to two tasks there."""
    manager = manager_of(
        packed(CHAIN, "spout", "middle last"),
        backpressure_mode=mode,
        backpressure_high_bytes=5 * BATCH_BYTES,
        backpressure_low_bytes=BATCH_BYTES,
        reliability_mode=keys.ATLEAST_ONCE,
    )
    manager.handle(events.PeerBlocked(2, 0), 0.0)
    for number in range(1, batches + 1):
        ids = array("Q", [1 << ROOT_COUNTER_BITS | number, number]).tobytes()
        begin = [header(FrameKind.INIT, 0, 1, 1, 1), ids]
        targets = array("I", [2, 3]).tobytes()
        first = header(FrameKind.FANOUT, 0, 1, 2, 1, 0, Flag.TRACKED)
        for frames in (begin, [first, targets, b"x" * BATCH_BYTES, ids * 2]):
            manager.handle(events.FromInstance(1, 9, frames), 0.0)
    assert manager.state.counters["malformed"] == 0
    return manager


def test_mode_drop_bounds_the_queue_to_a_peer_too() -> None:
    """The network between two containers hangs, without pauses: the queue must be bounded too, and
    the spout gets dropped roots at once."""
    manager = blocked_batches(keys.DROP, 100)
    assert manager.statistics()["peer_bytes"][2] < 7 * BATCH_BYTES
    kept = waiting_batches(manager)
    assert manager.state.counters["dropped"] == 2 * (100 - kept)
    failed = failed_roots(manager)
    assert len(failed) == len(set(failed)) == 100 - kept > 90


def test_mode_stage_drops_nothing() -> None:
    """In the default mode: tuples wait, senders are paused."""
    manager = blocked_batches(keys.STAGE, 100)
    assert manager.state.counters["dropped"] == 0
    assert waiting_batches(manager) == 100
    assert manager.heartbeat().paused[1].causes == (2,)
