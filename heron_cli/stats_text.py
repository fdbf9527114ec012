"""How a topology's numbers look: rows for a table, whether rich draws it or plain text does."""

from collections.abc import Iterable, Sequence

from heron_core.stats import ComponentStats, PauseStats, TopologyStats

HEADINGS = (
    "component", "inst", "emitted/s", "executed/s", "emitted", "executed", "acked", "failed",
    "pending", "queue", "p50", "p99", "capacity", "paused",
)  # fmt: skip

NAMES_SHOWN = 4
"""Paused instances that the live view names for one cause: what fits into a line."""


def component_rows(stats: TopologyStats) -> list[tuple[str, ...]]:
    """One row for each component, in order of the topology; see HEADINGS."""
    return [
        _row(name, component, paused_share(stats, name))
        for name, component in stats.components.items()
    ]


def _row(name: str, component: ComponentStats, paused: str) -> tuple[str, ...]:
    up, instances, is_bolt = component.up, component.instances, component.type == "bolt"
    # A spout's latency is the complete one where tuples are tracked, a bolt's is its execute one.
    complete = component.latency.complete
    latency = complete if complete.p50_ms is not None else component.latency.execute
    return (
        name,
        str(instances) if up == instances else f"{up}/{instances}",
        whole(component.emitted_per_sec),
        whole(component.executed_per_sec) if is_bolt else "",
        whole(component.emitted),
        whole(component.executed) if is_bolt else "",
        whole(component.acked),
        whole(component.failed),
        "" if is_bolt else whole(component.pending),
        size(component.queue_bytes),
        milliseconds(latency.p50_ms),
        milliseconds(latency.p99_ms),
        f"{component.capacity:.0%}",
        paused,
    )


def paused_share(stats: TopologyStats, component: str) -> str:
    """Share of its time that the component's most paused instance was paused; empty for never."""
    shares = [
        pauses.share
        for pauses in stats.paused.values()
        if pauses.instance.rpartition("[")[0] == component
    ]
    return f"{max(shares):.0%}" if shares else ""


def whole(number: float) -> str:
    """A count or a rate."""
    return f"{round(number):,}"


def size(number: int) -> str:
    """Bytes, in KiB or MiB from there on; empty for none."""
    if number < 1024:
        return str(number) if number else ""
    return f"{number / 1024:,.0f} KiB" if number < 1024**2 else f"{number / 1024**2:,.1f} MiB"


def milliseconds(value: float | None) -> str:
    """A latency with the unit that suits it; empty without samples."""
    if value is None:
        return ""
    if value < 1:
        return f"{value * 1000:.0f} µs"
    return f"{value:.1f} ms" if value < 1000 else f"{value / 1000:.1f} s"


def duration(secs: float) -> str:
    """Seconds, in minutes or hours from there on."""
    if secs < 60:
        return f"{secs:.1f} s"
    return f"{secs / 60:.1f} min" if secs < 3600 else f"{secs / 3600:.1f} h"


def headline(stats: TopologyStats, elapsed_secs: float) -> str:
    """Name, state and what stands out, in one line."""
    up, expected = len(stats.containers), len(stats.containers_expected)
    words = [f"{stats.topology}  {stats.state}  {elapsed_secs:.0f} s"]
    if up != expected:
        words.append(f"{up} of {expected} containers")
    if stats.phase != "running":
        words.append(stats.phase)
    return "  ".join(words)


def pause_lines(stats: TopologyStats) -> list[str]:
    """Who is or was paused by back-pressure, because of whom, for how long; by task id."""
    return [_pause_line(pauses) for pauses in _by_task(stats)]


def _by_task(stats: TopologyStats) -> Iterable[PauseStats]:
    return (stats.paused[task] for task in sorted(stats.paused))


def _pause_line(pauses: PauseStats) -> str:
    how = "was paused"
    if pauses.causes:
        because = ", ".join(pauses.because_of)
        how = f"is paused because of {because} since {duration(pauses.this_pause_secs)}"
    share = f"{pauses.share:.0%} of its time"
    return f"{pauses.instance} {how}, {duration(pauses.paused_secs)} in all ({share})"


def cause_lines(stats: TopologyStats) -> list[str]:
    """Bottlenecks: one line for each instance that cannot keep up, with those that it pauses."""
    paused_by: dict[str, list[PauseStats]] = {}
    for pauses in _by_task(stats):
        for cause in pauses.because_of:
            paused_by.setdefault(cause, []).append(pauses)
    return [_cause_line(cause, paused) for cause, paused in paused_by.items()]


def _cause_line(cause: str, paused: Sequence[PauseStats]) -> str:
    names = ", ".join(pauses.instance for pauses in paused[:NAMES_SHOWN])
    more = len(paused) - NAMES_SHOWN
    others = f" and {more} more" if more > 0 else ""
    longest = duration(max(pauses.this_pause_secs for pauses in paused))
    share = max(pauses.share for pauses in paused)
    return f"{cause} pauses {names}{others}: {longest}, {share:.0%} of the time"


def dropped_lines(stats: TopologyStats) -> list[str]:
    """What found a queue full in mode drop."""
    dropped = sum(manager.dropped for manager in stats.stream_managers.values())
    return [f"{whole(dropped)} deliveries dropped: their queues were full"] if dropped else []


def text_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as they need; the first one left, the others right."""
    widths = [max(len(row[at]) for row in (headings, *rows)) for at in range(len(headings))]
    lines = []
    for row in (headings, *rows):
        first, *rest = (cell for cell in row)
        cells = [first.ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def components_text(stats: TopologyStats) -> str:
    """The table of components as plain text."""
    return text_table(HEADINGS, component_rows(stats))


def error_lines(stats: TopologyStats) -> list[str]:
    """What went wrong in user code: one line for each component, the last line of its traceback."""
    lines = []
    for name, component in stats.components.items():
        if component.last_error:
            last = component.last_error.strip().splitlines()[-1]
            lines.append(f"{name}: {whole(component.errors)} errors, last: {last}")
    return lines
