"""A receiver of OpenTelemetry's spans: OTLP over HTTP, decoded by OpenTelemetry's own messages."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True, slots=True)
class ReceivedSpan:
    """What came of a span."""

    service: str
    trace: bytes
    id: bytes
    parent: bytes
    name: str
    secs: float
    is_error: bool
    attributes: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Receiver:
    """What came so far."""

    endpoint: str
    spans: list[ReceivedSpan]

    def complete(self, *names: str) -> list[ReceivedSpan] | None:
        """The spans of a trace with components of these names, the spout's first; None if none has
        come."""
        traces: dict[bytes, list[ReceivedSpan]] = {}
        for each in list(self.spans):
            traces.setdefault(each.trace, []).append(each)
        wanted = set(names)
        fitting = (each for each in traces.values() if {span.name for span in each} == wanted)
        return next(fitting, None)


@contextmanager
def receiver() -> Iterator[Receiver]:
    """One that listens on a free port."""
    spans: list[ReceivedSpan] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                data = gzip.decompress(data)
            spans.extend(_spans_of(ExportTraceServiceRequest.FromString(data)))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Not into the test's output."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield Receiver(f"http://127.0.0.1:{server.server_port}/v1/traces", spans)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _spans_of(request: Any) -> Iterator[ReceivedSpan]:
    for of_resource in request.resource_spans:
        resource = _attributes(of_resource.resource.attributes)
        for scope in of_resource.scope_spans:
            for span in scope.spans:
                yield ReceivedSpan(
                    resource["service.name"],
                    span.trace_id,
                    span.span_id,
                    span.parent_span_id,
                    span.name,
                    (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
                    span.status.code == 2,
                    _attributes(span.attributes),
                )


def _attributes(pairs: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in pairs}
