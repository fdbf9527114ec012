"""Spans to an OpenTelemetry collector: OTLP over HTTP, by OpenTelemetry's own exporter.

The exporter is an extra (`otel`), imported only by processes that export: the import takes 0.3 s
and 20 MiB.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from msgspec import Struct

from heron_core.errors import HeronError
from heron_core.version import version_of_heronpy

PACKAGES = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
NOT_INSTALLED = (
    "topology.trace.sample needs OpenTelemetry: pip install 'heronpy-topologies[otel]', or leave "
    "the key away"
)
TIMEOUT_SECS = 5.0
"""Time limit of one request with its retries: a collector is near, and waiting spans are
dropped."""


class NotInstalled(HeronError):
    """The packages of the extra are missing."""


class ExportedSpan(Struct, frozen=True):
    """The exported fields of a span."""

    name: str
    trace_id: int
    span_id: int
    parent_id: int | None
    began_ns: int
    ended_ns: int
    attributes: Mapping[str, Any]
    is_error: bool


Export = Callable[[Sequence[ExportedSpan]], bool]
"""Exports spans; returns whether the collector took them."""


def check_installed() -> None:
    """NotInstalled, in one line, without the extra; imports no part of the extra."""
    try:
        missing = [each for each in PACKAGES if find_spec(each) is None]
    except ModuleNotFoundError:
        missing = list(PACKAGES)
    if missing:
        raise NotInstalled(NOT_INSTALLED)


def open_exporter(topology: str, endpoint: str | None) -> Export:
    """Exporter of a topology's spans; NotInstalled without the extra. Without an `endpoint`,
    OTEL_EXPORTER_OTLP_ENDPOINT and similar variables give the address."""
    check_installed()
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExportResult

    # One line a minute says it (topology_master.trace_export), not one for each request.
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
    exporter = OTLPSpanExporter(endpoint=endpoint, timeout=TIMEOUT_SECS)
    resource = Resource.create(
        {"service.name": topology, "telemetry.source": f"heronpy {version_of_heronpy()}"}
    )

    def export(spans: Sequence[ExportedSpan]) -> bool:
        readable: list[ReadableSpan] = [_readable(span, resource) for span in spans]
        return exporter.export(readable) is SpanExportResult.SUCCESS

    return export


def _readable(span: ExportedSpan, resource: Any) -> Any:
    """The span in the form of OpenTelemetry's SDK for an ended span."""
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext, SpanKind, TraceFlags
    from opentelemetry.trace.status import Status, StatusCode

    def context(span_id: int) -> SpanContext:
        sampled = TraceFlags(TraceFlags.SAMPLED)
        return SpanContext(span.trace_id, span_id, is_remote=False, trace_flags=sampled)

    is_root = span.parent_id is None
    return ReadableSpan(
        name=span.name,
        context=context(span.span_id),
        parent=None if span.parent_id is None else context(span.parent_id),
        resource=resource,
        attributes=span.attributes,
        kind=SpanKind.PRODUCER if is_root else SpanKind.CONSUMER,
        instrumentation_scope=InstrumentationScope("heronpy", version_of_heronpy()),
        status=Status(StatusCode.ERROR if span.is_error else StatusCode.UNSET),
        start_time=span.began_ns,
        end_time=span.ended_ns,
    )
