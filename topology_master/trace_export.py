"""The topology master exports the spans of traced trees by OTLP (`topology.trace.sample`).

Problems never affect the topology: a missing package is one line in the log, and spans for an
unreachable receiver are dropped, which is reported once a minute.
"""

import logging
import threading
from collections.abc import Callable
from queue import Empty, Full, Queue

from heron_core.plans import PackingPlan, instance_name
from heron_core.report_interval import report_secs
from heron_core.topology import TopologySpec
from heron_engine.topology_master.events import ExportTrace
from heron_engine.topology_master.options import MasterOptions
from heron_engine.topology_master.spans import Span
from heron_engine.topology_master.trace_buffer import TraceBuffer
from heron_io.span_exporter import Export, ExportedSpan, NotInstalled, open_exporter

log = logging.getLogger("topology_master")

BATCHES_MAX = 64
"""Limit of batches of spans that wait for the exporter."""
SPANS_MAX = 512
"""Spans per request, as in OpenTelemetry's own batches."""
REPORTS = 2
"""Report intervals to wait for: one of the instance, one of its stream manager."""
SPARE_SECS = 1.0
LAST_SECS = 2.0
"""Timeout for remaining spans at the end."""
LOGGED_EVERY_SECS = 60.0

Open = Callable[[str, str | None], Export]


class TraceExport:
    """Export for one topology; disabled without traces. A separate thread waits for the
    receiver."""

    def __init__(
        self, topology: TopologySpec, options: MasterOptions, open_export: Open = open_exporter
    ) -> None:
        self._topology = topology.name
        self._buffer: TraceBuffer | None = None
        self._batches: Queue[list[ExportedSpan]] = Queue(BATCHES_MAX)
        self._ended = threading.Event()
        self._dropped = 0
        self._logged_at = float("-inf")
        if not options.trace_sample or not options.tracked:
            return
        try:
            self._export = open_export(topology.name, options.trace_endpoint)
        except NotInstalled as error:
            log.warning("tracing is off: %s", error)
            return
        tasks = sum(each.parallelism for each in topology.components)
        reports_secs = REPORTS * report_secs(options.metrics_interval_secs, tasks) + SPARE_SECS
        self._buffer = TraceBuffer(topology.name, reports_secs, options.trace_secs + reports_secs)
        self._thread = threading.Thread(target=self._run, name="export traces", daemon=True)
        self._thread.start()

    def take(self, each: ExportTrace, now: float) -> None:
        """Executions of an instance."""
        if self._buffer is not None:
            self._buffer.take(each.task, each.executions, now)

    def poll(self, packing: PackingPlan, now: float) -> None:
        """Hand over complete trees to the exporter."""
        if self._buffer is None or not len(self._buffer):
            return
        self._hand_over(self._buffer.ready(now), packing)
        if self._dropped and now >= self._logged_at + LOGGED_EVERY_SECS:
            self._logged_at = now
            log.warning("dropped %d spans: the collector did not accept them", self._dropped)

    def _hand_over(self, spans: list[Span], packing: PackingPlan) -> None:
        exported = [_exported(each, packing) for each in spans]
        for first in range(0, len(exported), SPANS_MAX):
            batch = exported[first : first + SPANS_MAX]
            try:
                self._batches.put_nowait(batch)
            except Full:
                self._dropped += len(batch)

    def close(self, packing: PackingPlan) -> None:
        """Send the rest within a short timeout."""
        if self._buffer is None:
            return
        self._hand_over(self._buffer.all(), packing)
        self._ended.set()
        self._thread.join(LAST_SECS)

    def _run(self) -> None:
        while True:
            try:
                batch = self._batches.get(timeout=0.2)
            except Empty:
                if self._ended.is_set():
                    return
            else:
                if not self._is_taken(batch):
                    self._dropped += len(batch)

    def _is_taken(self, batch: list[ExportedSpan]) -> bool:
        try:
            return self._export(batch)
        except Exception:  # an external package: its exceptions must not end the thread
            log.exception("spans cannot be exported")
            return False


def _exported(span: Span, packing: PackingPlan) -> ExportedSpan:
    plan = packing.instances.get(span.task)
    name = plan.component if plan is not None else f"task {span.task}"
    instance = instance_name(packing, span.task) if plan is not None else name
    return ExportedSpan(
        name=name,
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_id=span.parent_id,
        began_ns=int(span.began * 1e9),
        ended_ns=int(span.ended * 1e9),
        attributes={"heronpy.component": name, "heronpy.instance": instance, **span.attributes},
        is_error=span.is_error,
    )
