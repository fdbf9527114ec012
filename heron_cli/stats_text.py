"""How a topology's numbers look: rows for a table, whether rich draws it or plain text does."""

from collections.abc import Mapping, Sequence
from typing import Any

HEADINGS = (
    "component", "inst", "emitted/s", "executed/s", "emitted", "executed", "acked", "failed",
    "pending", "queue", "p50", "p99", "capacity", "paused",
)  # fmt: skip

NAMES_SHOWN = 4
"""Paused instances that the live view names for one cause: what fits into a line."""

Stats = Mapping[str, Any]


def component_rows(stats: Stats) -> list[tuple[str, ...]]:
    """One row for each component, in order of the topology; see HEADINGS."""
    return [
        _row(name, found, paused_share(stats, name)) for name, found in stats["components"].items()
    ]


def _row(name: str, found: Mapping[str, Any], paused: str) -> tuple[str, ...]:
    up, instances = found["up"], found["instances"]
    # A spout's latency is the complete one where tuples are tracked, a bolt's is its execute one.
    complete = found["latency"]["complete"]
    latency = complete if complete["p50_ms"] is not None else found["latency"]["execute"]
    return (
        name,
        str(instances) if up == instances else f"{up}/{instances}",
        whole(found["emitted_per_sec"]),
        whole(found["executed_per_sec"]) if found["type"] == "bolt" else "",
        whole(found["emitted"]),
        whole(found["executed"]) if found["type"] == "bolt" else "",
        whole(found["acked"]),
        whole(found["failed"]),
        whole(found["pending"]) if found["type"] == "spout" else "",
        size(found["queue_bytes"]),
        milliseconds(latency["p50_ms"]),
        milliseconds(latency["p99_ms"]),
        f"{found['capacity']:.0%}",
        paused,
    )


def paused_share(stats: Stats, component: str) -> str:
    """Share of its time that the component's most paused instance was paused; empty for never."""
    shares = [
        each["share"]
        for each in stats["paused"].values()
        if each["instance"].rpartition("[")[0] == component
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


def headline(stats: Stats, elapsed_secs: float) -> str:
    """Name, state and what stands out, in one line."""
    up, expected = len(stats["containers"]), len(stats["containers_expected"])
    words = [f"{stats['topology']}  {stats['state']}  {elapsed_secs:.0f} s"]
    if up != expected:
        words.append(f"{up} of {expected} containers")
    if stats["phase"] != "running":
        words.append(stats["phase"])
    return "  ".join(words)


def pause_lines(stats: Stats) -> list[str]:
    """Who is or was paused by back-pressure, because of whom, for how long; by task id."""
    return [_pause_line(each) for _, each in sorted(stats["paused"].items())]


def _pause_line(found: Mapping[str, Any]) -> str:
    how = "was paused"
    if found["causes"]:
        because = ", ".join(found["because_of"])
        how = f"is paused because of {because} since {duration(found['this_pause_secs'])}"
    share = f"{found['share']:.0%} of its time"
    return f"{found['instance']} {how}, {duration(found['paused_secs'])} in all ({share})"


def cause_lines(stats: Stats) -> list[str]:
    """What holds up what now: one line for each instance that cannot keep up."""
    held: dict[str, list[Mapping[str, Any]]] = {}
    for _, each in sorted(stats["paused"].items()):
        for cause in each["because_of"]:
            held.setdefault(cause, []).append(each)
    return [_cause_line(cause, paused) for cause, paused in held.items()]


def _cause_line(cause: str, paused: Sequence[Mapping[str, Any]]) -> str:
    names = ", ".join(each["instance"] for each in paused[:NAMES_SHOWN])
    more = len(paused) - NAMES_SHOWN
    others = f" and {more} more" if more > 0 else ""
    longest = duration(max(each["this_pause_secs"] for each in paused))
    share = max(each["share"] for each in paused)
    return f"{cause} pauses {names}{others}: {longest}, {share:.0%} of the time"


def dropped_lines(stats: Stats) -> list[str]:
    """What found a queue full in mode drop."""
    dropped = sum(each["dropped"] for each in stats["stream_managers"].values())
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


def components_text(stats: Stats) -> str:
    """The table of components as plain text."""
    return text_table(HEADINGS, component_rows(stats))


def error_lines(stats: Stats) -> list[str]:
    """What went wrong in user code: one line for each component, the last line of its traceback."""
    lines = []
    for name, found in stats["components"].items():
        if found["last_error"]:
            last = found["last_error"].strip().splitlines()[-1]
            lines.append(f"{name}: {whole(found['errors'])} errors, last: {last}")
    return lines
