"""How a topology's numbers look: rows for a table, whether rich draws it or plain text does."""

from collections.abc import Mapping, Sequence
from typing import Any

HEADINGS = (
    "component", "inst", "emitted/s", "executed/s", "emitted", "executed", "acked", "failed",
    "pending", "queue", "p50", "p99", "capacity",
)  # fmt: skip

Stats = Mapping[str, Any]


def component_rows(stats: Stats) -> list[tuple[str, ...]]:
    """One row for each component, in order of the topology; see HEADINGS."""
    return [_row(name, found) for name, found in stats["components"].items()]


def _row(name: str, found: Mapping[str, Any]) -> tuple[str, ...]:
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
    )


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


def headline(stats: Stats, elapsed_secs: float) -> str:
    """Name, state and what stands out, in one line."""
    up, expected = len(stats["containers"]), len(stats["containers_expected"])
    words = [f"{stats['topology']}  {stats['state']}  {elapsed_secs:.0f} s"]
    if up != expected:
        words.append(f"{up} of {expected} containers")
    if stats["phase"] != "running":
        words.append(stats["phase"])
    causes = sorted({task for each in stats["paused"].values() for task in each["causes"]})
    if causes:
        paused = sum(1 for each in stats["paused"].values() if each["causes"])
        tasks = ", ".join(map(str, causes))
        words.append(f"{paused} instances paused by back-pressure of task {tasks}")
    return "  ".join(words)


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
