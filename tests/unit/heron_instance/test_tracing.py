"""Reports of instances about traced trees, and about a sampled stream."""

from typing import Any

from heron_core import config as keys
from heron_core.traces import ACKED, EXECUTED, FAILED, NO_TASK, RAISED, dated, executions_of
from heron_core.wire import messages
from heron_core.wire.frames import FrameKind
from heron_core.wire.packets import encode_roots
from heron_instance.events import (
    InputEmpty,
    InstanceReceived,
    InstanceTimer,
    Instruction,
    SendControl,
    Turn,
)
from heron_instance.input.bolt import BoltDriver
from heron_instance.input.spout import SpoutDriver
from tests.unit.heron_instance.instance_support import (
    FIRST_READER,
    OTHER,
    READERS,
    SOURCE,
    Middle,
    Source,
)
from tests.unit.heron_instance.test_core import ROOT, Process, running

TRACED = {keys.TRACE_SAMPLE: 1}


def sent(out: list[Instruction], kind: type) -> list[Any]:
    """The control messages of a kind among some instructions."""
    found = (each.message for each in out if isinstance(each, SendControl))
    return [each for each in found if isinstance(each, kind)]


def executions(process: Process) -> list[Any]:
    """The next heartbeat's report about traced trees."""
    process.now += 1000.0
    reports = sent(process.handle(InstanceTimer()), messages.TraceReport)
    return [each for x in reports for each in executions_of(dated(x.report, 0.0))]


def test_a_bolt_reports_what_it_has_executed_of_traced_trees() -> None:
    process = running(Middle, **TRACED)
    process.component.script = process.component.ack
    process.receive(["x"], ["y"])
    process.handle(InputEmpty())
    first, second = executions(process)
    assert (first.root, first.source, first.tuples, first.outcome) == (ROOT, OTHER, 1, EXECUTED)
    assert second.root == ROOT + 1
    assert executions(process) == [], "each is told once"
    assert FrameKind.ACK in process.kinds(), "and they are acked as ever"


def test_a_tuple_that_raises_fails_alone_and_its_span_says_so() -> None:
    process = running(Middle, **TRACED)

    def script(tup: Any) -> None:
        if tup.values[0] == "y":
            raise ValueError("no y")
        process.component.ack(tup)

    process.component.script = script
    process.receive(["x"], ["y"], ["z"])
    process.handle(InputEmpty())
    assert [each.outcome for each in executions(process)] == [EXECUTED, RAISED, EXECUTED]
    assert process.core.control.report(0.0).failed == 1
    assert process.core.control.report(0.0).acked == 2


def test_a_spout_reports_the_tree_when_it_hears_of_its_end() -> None:
    process = running(Source, **TRACED)
    ids = [1, 2, 3]
    process.component.script = lambda: (
        process.component.emit([1, 2], tup_id=ids.pop()) if ids else None
    )
    process.handle(InputEmpty())
    roots = list(process.core.driver.collector.pending)  # type: ignore[attr-defined]
    assert len(roots) == 3
    assert executions(process) == []
    process.now += 5.0
    process.handle(InstanceReceived(encode_roots(FrameKind.ACKED, 1, 0, SOURCE, roots[:1])))
    process.hear(messages.Resync())
    process.handle(Turn())
    acked, *failed = executions(process)
    assert (acked.root, acked.source, acked.outcome) == (roots[0], NO_TASK, ACKED)
    assert acked.ended - acked.began >= 5.0
    assert {(each.root, each.outcome) for each in failed} == {(x, FAILED) for x in roots[1:]}


def test_without_traces_an_instance_is_as_it_was() -> None:
    """The usual driver, without reports, and at most once even with traces configured."""
    for process in (
        running(Middle),
        running(Middle, **TRACED, **{keys.RELIABILITY_MODE: keys.ATMOST_ONCE}),
    ):
        assert type(process.core.driver) is BoltDriver
        process.receive(["x"])
        assert executions(process) == []
    assert type(running(Source).core.driver) is SpoutDriver


# --- samples of a stream --------------------------------------------------------------------------


def sampling(count: int, kind: type = Source, **config: Any) -> Process:
    """A process with a request for samples of its default stream."""
    process = running(kind, **config)
    process.hear(messages.SampleTuples(5, (SOURCE,), "default", count, 10))
    process.component.script = lambda: None
    process.handle(Turn())
    return process


def emit(process: Process, *values: list[Any]) -> list[dict[str, Any]]:
    """Reports about sent tuples."""
    left = list(values)
    process.component.script = lambda: process.component.emit(left.pop(0)) if left else None
    out = process.handle(InputEmpty())
    process.now += 0.01
    out += process.handle(InputEmpty())
    return [
        each for message in sent(out, messages.TuplesSampled) for each in message.tuples["tuples"]
    ]


def test_the_next_tuples_of_a_stream_are_reported_and_then_nobody_looks() -> None:
    process = sampling(3)
    assert emit(process, [1, "x"], [2, "y"]) == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    assert emit(process, [3, None], [4, "z"]) == [{"a": 3, "b": None}]
    assert emit(process, [5, "z"]) == []
    assert process.core.driver.outbox.watch is None


def test_a_sample_ends_with_its_time() -> None:
    process = sampling(3)
    process.now += 11.0
    assert emit(process, [1, "x"]) == []
    assert process.core.driver.outbox.watch is None


def test_values_are_cut_and_what_json_has_not_is_shown_as_python_does() -> None:
    process = sampling(4)
    ((first), (second)) = emit(process, ["x" * 1000, {"k": (1, 2)}], [float("nan"), 1 << 70])
    assert len(first["a"]) == 200
    assert first["a"].endswith("x…")
    assert first["b"] == "{'k': (1, 2)}"
    assert second == {"a": "nan", "b": str(1 << 70)}


def test_a_tuple_for_all_readers_is_seen_once() -> None:
    """A direct task beside the grouping, and a second reader, get the same tuple."""
    process = sampling(9, Middle)
    process.component.script = lambda tup: [
        process.component.emit([at, "x"], direct_task=FIRST_READER + at % READERS)
        for at in range(3)
    ]
    process.receive(["go"])
    found = sent(process.handle(InputEmpty()), messages.TuplesSampled)
    rows = [each["a"] for message in found for each in message.tuples["tuples"]]
    assert sorted(rows) == [0, 1, 2]
    assert {each.task for each in found} == {SOURCE}
    assert {each.sample for each in found} == {5}
