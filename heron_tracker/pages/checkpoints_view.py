"""Checkpoints and clocks: how long they take, who was late, how far event time has come."""

from dataclasses import dataclass
from datetime import datetime

from heron_core.clock_stats import ClockStats
from heron_core.number_text import NOTHING, duration, milliseconds, size
from heron_core.stats import BackupStats, CheckpointStats
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.pages.cells import (
    BAD,
    GOOD,
    QUIET,
    WARNING,
    PageCell,
    PageColumn,
    PageRow,
    PageTable,
)

NONE_TAKEN = (
    "It takes no checkpoints: they are taken with topology.reliability.mode EFFECTIVELY_ONCE"
)
ALIGNMENT = (
    PageColumn("instance", "Instance"),
    PageColumn("ms", "Waited for its last barrier", is_number=True),
)
CLOCKS = (
    PageColumn("instance", "Instance"),
    PageColumn("watermark", "Watermark"),
    PageColumn("behind", "Behind", is_number=True),
    PageColumn("waits", "Held back by"),
    PageColumn("silent", "Silent for", is_number=True),
    PageColumn("idle", "Idle sources"),
)
SILENT_WARNING_SECS = 10.0


@dataclass(frozen=True, slots=True)
class CheckpointsPage:
    """What it shows."""

    sentence: str
    tone: str
    summary: tuple[tuple[str, str], ...]
    alignment: PageTable
    clocks: PageTable


def checkpoints_page(snapshot: TopologySnapshot, now: float) -> CheckpointsPage:
    """The page; `now` in seconds since 1970."""
    checkpoints = snapshot.stats.checkpoints if snapshot.stats is not None else None
    sentence, tone = _sentence(checkpoints)
    return CheckpointsPage(
        sentence,
        tone,
        () if checkpoints is None else tuple(_summary(checkpoints)),
        PageTable(ALIGNMENT, () if checkpoints is None else _alignment(checkpoints)),
        PageTable(CLOCKS, _clocks(snapshot, now)),
    )


def _sentence(checkpoints: CheckpointStats | None) -> tuple[str, str]:
    if checkpoints is None:
        return NONE_TAKEN, QUIET
    if checkpoints.restore_failure:
        return f"Its state cannot be restored: {checkpoints.restore_failure}", BAD
    late = f", waiting for {', '.join(checkpoints.waiting_for)}" if checkpoints.waiting_for else ""
    if checkpoints.failure:
        return f"The last checkpoint failed: {checkpoints.failure}{late}", WARNING
    if checkpoints.under_way is not None:
        return f"Checkpoint {checkpoints.under_way} is under way{late}", GOOD
    if not checkpoints.completed:
        return "No checkpoint is complete yet", QUIET
    return f"Checkpoint {checkpoints.completed} is complete", GOOD


def _summary(checkpoints: CheckpointStats) -> list[tuple[str, str]]:
    return [
        ("Newest", str(checkpoints.completed or NOTHING)),
        ("Age", NOTHING if checkpoints.age_secs is None else duration(checkpoints.age_secs)),
        (
            "Duration",
            NOTHING if checkpoints.secs is None else milliseconds(checkpoints.secs * 1000),
        ),
        ("Size", NOTHING if checkpoints.size_bytes is None else size(checkpoints.size_bytes)),
        ("Input saved", _saved_input(checkpoints)),
        ("Failed", str(checkpoints.failed)),
        ("Restored from", str(checkpoints.restored or NOTHING)),
        *_backup(checkpoints.backup),
        ("Late", ", ".join(checkpoints.waiting_for) or NOTHING),
    ]


def _backup(backup: BackupStats | None) -> list[tuple[str, str]]:
    """Rows of a backup in the memory of other containers."""
    if backup is None:
        return []
    return [
        ("Newest in the store", str(backup.durable or NOTHING)),
        ("Copies in memory", NOTHING if backup.copies is None else str(backup.copies)),
        ("Not held in memory", backup.shortfall or NOTHING),
        ("States written to the store instead", f"{backup.spilled:,}"),
        ("Rolled back", str(backup.rolled_back)),
    ]


def _saved_input(found: CheckpointStats) -> str:
    """What its barriers have overtaken, for slow instances."""
    if not found.input_messages:
        return NOTHING
    return f"{found.input_messages:,} messages, {size(found.input_bytes)}"


def _alignment(checkpoints: CheckpointStats) -> tuple[PageRow, ...]:
    longest = max(checkpoints.alignment_ms.values(), default=0)
    latest_first = sorted(checkpoints.alignment_ms.items(), key=lambda item: -item[1])
    return tuple(
        PageRow(
            name,
            {
                "instance": PageCell(name),
                "ms": PageCell(ms, milliseconds(ms), share=ms / longest if longest else None),
            },
        )
        for name, ms in latest_first
    )


def _clocks(snapshot: TopologySnapshot, now: float) -> tuple[PageRow, ...]:
    return tuple(
        _clock(each.instance, each.clock, now)
        for each in snapshot.instances
        if each.clock is not None
    )


def _clock(name: str, clock: ClockStats, now: float) -> PageRow:
    silent = (
        PageCell(clock.silent_secs, duration(clock.silent_secs))
        if clock.waits_for
        else PageCell("")
    )
    if clock.waits_for and clock.silent_secs > SILENT_WARNING_SECS:
        silent = PageCell(clock.silent_secs, duration(clock.silent_secs), tone=WARNING)
    return PageRow(
        name,
        {
            "instance": PageCell(name),
            "watermark": _watermark(clock),
            "behind": _behind(clock, now),
            "waits": PageCell(clock.waits_for or NOTHING),
            "silent": silent,
            "idle": PageCell(", ".join(clock.idle) or NOTHING),
        },
    )


def _watermark(clock: ClockStats) -> PageCell:
    if clock.complete:
        return PageCell("all sources have finished", tone=QUIET)
    if clock.watermark_ms is None:
        return PageCell("none yet", tone=QUIET)
    try:
        shown = datetime.fromtimestamp(clock.watermark_ms / 1000).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):  # event times are the user's own numbers
        shown = f"{clock.watermark_ms} ms"
    return PageCell(clock.watermark_ms, shown)


def _behind(clock: ClockStats, now: float) -> PageCell:
    if clock.complete or clock.watermark_ms is None:
        return PageCell(-1.0, NOTHING)
    secs = now - clock.watermark_ms / 1000
    return PageCell(secs, duration(secs))
