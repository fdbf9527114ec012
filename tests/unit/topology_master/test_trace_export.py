"""Reports of instances become the spans of a trace, and go to a receiver of OTLP."""

import time
from collections.abc import Sequence

import pytest

from heron_core.plans import ContainerPlan, InstancePlan, PackingPlan, Resource
from heron_core.topology import ComponentSpec, TopologySpec
from heron_core.traces import ACKED, EXECUTED, EXPIRED, NO_TASK, RAISED, Execution
from heron_engine.topology_master.events import ExportTrace
from heron_engine.topology_master.options import MasterOptions
from heron_engine.topology_master.spans import Executed, spans_of
from heron_engine.topology_master.trace_buffer import EXECUTIONS_MAX, TREES_MAX, TraceBuffer
from heron_engine.topology_master.trace_export import TraceExport
from heron_io.span_exporter import NOT_INSTALLED, ExportedSpan, NotInstalled
from tests.otlp_support import receiver

DEADLINE_SECS = 30.0
ROOT = (1 << 44) | 99
SPOUT, SPLIT, COUNT, OTHER = 1, 2, 3, 4
RESOURCE = Resource(0.0, 0, 0)
TOPOLOGY = TopologySpec(
    "words",
    (
        ComponentSpec("lines", True, "m.S", 1),
        ComponentSpec("split", False, "m.B", 1),
        ComponentSpec("count", False, "m.C", 2),
    ),
)
PACKING = PackingPlan(
    "words",
    (
        ContainerPlan(
            1,
            (
                InstancePlan(SPOUT, "lines", 0, RESOURCE),
                InstancePlan(SPLIT, "split", 0, RESOURCE),
                InstancePlan(COUNT, "count", 0, RESOURCE),
                InstancePlan(OTHER, "count", 1, RESOURCE),
            ),
            RESOURCE,
        ),
    ),
)
WHOLE = Execution(ROOT, NO_TASK, 10.0, 10.0, 10.5, 0.0, 1, ACKED)
SPLIT_UP = Execution(ROOT, SPOUT, 10.09, 10.1, 10.2, 0.1, 1, EXECUTED)
COUNTED = Execution(ROOT, SPLIT, 10.29, 10.3, 10.4, 0.02, 8, EXECUTED)


def test_a_tree_becomes_spans_below_each_other() -> None:
    """Reported in any order; the time between two of them is the wait."""
    found = [Executed(COUNT, COUNTED), Executed(SPLIT, SPLIT_UP), Executed(SPOUT, WHOLE)]
    spout, split, count = spans_of("words", ROOT, found)
    assert [each.task for each in (spout, split, count)] == [SPOUT, SPLIT, COUNT]
    assert {each.trace_id & ((1 << 64) - 1) for each in (spout, split, count)} == {ROOT}
    assert spout.trace_id != spans_of("others", ROOT, found)[0].trace_id
    assert (spout.parent_id, split.parent_id, count.parent_id) == (
        None, spout.span_id, split.span_id
    )  # fmt: skip
    assert split.attributes["heronpy.queue_wait_ms"] == pytest.approx(100.0)
    assert count.attributes["heronpy.queue_wait_ms"] == pytest.approx(100.0)
    assert count.attributes["heronpy.execute_ms"] == pytest.approx(20.0)
    assert count.attributes["heronpy.tuples"] == 8
    assert (count.began, count.ended) == (10.3, 10.4)
    assert not any(each.is_error for each in (spout, split, count))


def test_the_execution_that_sent_the_tuples_is_the_parent() -> None:
    """Split had two tuples of the root: what came between them is of the first."""
    later = SPLIT_UP._replace(came=10.32, began=10.33, ended=10.34, outcome=RAISED)
    last = COUNTED._replace(came=10.4, began=10.41, ended=10.42)
    found = [(SPOUT, WHOLE), (SPLIT, SPLIT_UP), (SPLIT, later), (COUNT, COUNTED), (OTHER, last)]
    spans = spans_of("words", ROOT, [Executed(*each) for each in found])
    by_start = {each.began: each for each in spans}
    assert by_start[10.3].parent_id == by_start[10.1].span_id
    assert by_start[10.41].parent_id == by_start[10.33].span_id
    assert by_start[10.33].is_error
    assert len({each.span_id for each in spans}) == 5


def test_what_is_missing_leaves_the_rest_as_it_is() -> None:
    """Split's report is lost, or the spout's."""
    spout, count = spans_of("words", ROOT, [Executed(COUNT, COUNTED), Executed(SPOUT, WHOLE)])
    assert count.parent_id == spout.span_id
    (orphan,) = spans_of("words", ROOT, [Executed(COUNT, COUNTED)])
    assert orphan.parent_id is None
    failed = WHOLE._replace(outcome=EXPIRED, ended=9.0)
    (span,) = spans_of("words", ROOT, [Executed(SPOUT, failed)])
    assert span.is_error
    assert span.ended == span.began, "a clock that was set back makes no negative span"


def test_a_tree_waits_for_the_reports_of_all_and_not_for_ever() -> None:
    buffer = TraceBuffer("words", report_secs=3.0, tree_secs=30.0)
    buffer.take(SPLIT, [SPLIT_UP], 100.0)
    assert buffer.ready(110.0) == []
    buffer.take(SPOUT, [WHOLE], 110.0)
    buffer.take(COUNT, [COUNTED], 111.0)
    assert buffer.ready(112.9) == []
    assert len(buffer.ready(113.0)) == 3
    assert len(buffer) == 0
    buffer.take(COUNT, [COUNTED], 200.0)
    assert len(buffer.ready(230.0)) == 1


def test_more_trees_than_there_is_room_for_go_as_they_are() -> None:
    buffer = TraceBuffer("words", 3.0, 30.0)
    many = [SPLIT_UP._replace(root=ROOT + at) for at in range(TREES_MAX + 7)]
    buffer.take(SPLIT, many, 0.0)
    assert len(buffer.ready(0.0)) == 7
    assert len(buffer) == TREES_MAX


def test_a_tree_of_very_many_executions_is_shown_without_the_last_ones() -> None:
    buffer = TraceBuffer("words", 3.0, 30.0)
    buffer.take(SPLIT, [SPLIT_UP] * (EXECUTIONS_MAX + 7), 0.0)
    buffer.take(SPOUT, [WHOLE], 0.0)
    assert len(buffer.ready(3.0)) == EXECUTIONS_MAX + 1, "with the spout's, which is the whole"


@pytest.mark.parametrize("raises", [False, True])
def test_spans_that_a_collector_does_not_accept_are_told_of(
    raises: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def exports(spans: Sequence[ExportedSpan]) -> bool:
        if raises:
            raise ConnectionResetError("it is away")
        return False

    config = {"topology.trace.sample": 1, "topology.reliability.mode": "ATLEAST_ONCE"}
    export = TraceExport(TOPOLOGY, MasterOptions.of(config), lambda topology, endpoint: exports)
    deadline, now = time.monotonic() + DEADLINE_SECS, 0.0
    while "spans: the collector did not accept them" not in caplog.text:
        assert time.monotonic() < deadline
        export.take(ExportTrace(SPOUT, (WHOLE,)), now)
        now += 1000.0
        export.poll(PACKING, now)
    export.close(PACKING)


def test_the_spans_reach_a_receiver_of_otlp() -> None:
    """By OpenTelemetry's own exporter; what is left at the end goes, too."""
    with receiver() as received:
        config = {
            "topology.trace.sample": 1, "topology.trace.endpoint": received.endpoint,
            "topology.reliability.mode": "ATLEAST_ONCE",
        }  # fmt: skip
        export = TraceExport(TOPOLOGY, MasterOptions.of(config))
        for task, each in ((SPOUT, WHOLE), (SPLIT, SPLIT_UP), (COUNT, COUNTED)):
            export.take(ExportTrace(task, (each,)), 0.0)
        export.poll(PACKING, 1000.0)
        export.take(ExportTrace(OTHER, (COUNTED._replace(root=ROOT + 1),)), 1000.0)
        export.close(PACKING)
        spans = {each.attributes["heronpy.instance"]: each for each in received.spans}
    assert spans.keys() == {"lines[0]", "split[0]", "count[0]", "count[1]"}
    count, split = spans["count[0]"], spans["split[0]"]
    assert (count.service, count.name, count.parent) == ("words", "count", split.id)
    assert count.trace[-8:] == ROOT.to_bytes(8, "big")
    assert count.secs == pytest.approx(0.1, abs=1e-5)
    assert count.attributes["heronpy.tuples"] == 8
    assert spans["lines[0]"].parent == b""


def test_without_traces_or_without_roots_nothing_is_loaded() -> None:
    def refused(topology: str, endpoint: str | None) -> object:
        raise AssertionError("nobody asked for an exporter")

    for config in (
        {"topology.reliability.mode": "ATLEAST_ONCE"},
        {"topology.trace.sample": 5, "topology.reliability.mode": "ATMOST_ONCE"},
    ):
        export = TraceExport(TOPOLOGY, MasterOptions.of(config), refused)  # type: ignore[arg-type]
        export.take(ExportTrace(SPOUT, (WHOLE,)), 0.0)
        export.poll(PACKING, 1000.0)
        export.close(PACKING)


def test_without_the_extra_it_is_one_line_and_the_topology_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def missing(topology: str, endpoint: str | None) -> object:
        raise NotInstalled(NOT_INSTALLED)

    config = {"topology.trace.sample": 5, "topology.reliability.mode": "ATLEAST_ONCE"}
    export = TraceExport(TOPOLOGY, MasterOptions.of(config), missing)  # type: ignore[arg-type]
    export.take(ExportTrace(SPOUT, (WHOLE,)), 0.0)
    export.close(PACKING)
    (record,) = caplog.records
    assert "pip install 'heronpy-topologies[otel]'" in record.getMessage()
