"""What a request server says of itself, in Prometheus' text format. Pure."""

from collections.abc import Iterator, Sequence

import msgspec

from heron_connectors.requests.table import FunctionState, RequestCounts

PREFIX = "heron_drpc"
OUTCOMES = (
    "answered", "failed", "too_large", "timed_out", "unserved", "abandoned", "stopped",
)  # fmt: skip
"""How a call that was taken ends."""


def metrics_text(
    counts: RequestCounts,
    ports: Sequence[tuple[str, msgspec.Struct]],
    functions: Sequence[FunctionState],
) -> str:
    """All of it."""
    return "\n".join([*_calls(counts), *_ports(ports), *_functions(functions), ""])


def _calls(counts: RequestCounts) -> Iterator[str]:
    yield f"# TYPE {PREFIX}_calls_total counter"
    yield f"{PREFIX}_calls_total {counts.calls}"
    yield f"# TYPE {PREFIX}_calls_ended_total counter"
    for outcome in OUTCOMES:
        yield f'{PREFIX}_calls_ended_total{{outcome="{outcome}"}} {getattr(counts, outcome)}'
    yield f"# TYPE {PREFIX}_calls_refused_total counter"
    for why in ("overloaded", "arguments_too_large"):
        yield f'{PREFIX}_calls_refused_total{{why="{why}"}} {getattr(counts, why)}'
    yield f"# TYPE {PREFIX}_results_dropped_total counter"
    for why in ("late", "unknown"):
        yield f'{PREFIX}_results_dropped_total{{why="{why}"}} {getattr(counts, f"results_{why}")}'
    yield f"# TYPE {PREFIX}_answer_seconds summary"
    yield f"{PREFIX}_answer_seconds_sum {counts.answer_secs:.6f}"
    yield f"{PREFIX}_answer_seconds_count {counts.answered}"


def _ports(ports: Sequence[tuple[str, msgspec.Struct]]) -> Iterator[str]:
    yield f"# TYPE {PREFIX}_peers_refused_total counter"
    for port, counts in ports:
        for why, number in msgspec.structs.asdict(counts).items():
            yield f'{PREFIX}_peers_refused_total{{port="{port}",why="{why}"}} {number}'


def _functions(functions: Sequence[FunctionState]) -> Iterator[str]:
    yield f"# TYPE {PREFIX}_function_calls gauge"
    for function in functions:
        name = _escaped(function.name)
        for state in ("waiting", "fetched"):
            number = getattr(function, state)
            yield f'{PREFIX}_function_calls{{function="{name}",state="{state}"}} {number}'


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
