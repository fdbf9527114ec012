"""Result of a run: success or failure, and the last lines. Pure."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from heron_cli.component_table import component_table
from heron_cli.stats_text import error_lines, event_lines, processed
from heron_core.algorithms.user_metrics import LATE_DROPPED
from heron_core.exit_codes import describe_end
from heron_core.naming import component_of, first_of
from heron_core.number_text import counted, short
from heron_core.plans import TopologyState
from heron_core.stats import TopologyStats

EVENTS_SHOWN = 8
"""At the end of a run; events.log has all."""


def shortfalls(stats: TopologyStats) -> list[str]:
    """Incomplete processing: tuples failed permanently, lost, discarded or dropped on emit, and
    errors outside of tuples. Empty if every tuple was processed."""
    components = stats.components.values()
    texts = []
    if failed := sum(each.failed_for_good for each in components):
        texts.append(f"{counted(failed, 'tuple')} failed for good")
    if stats.lost:
        texts.append(f"up to {counted(stats.lost, 'delivery')} lost")
    if stats.lost_uncounted:
        texts.append("the queues of a stream manager were lost when its process ended")
    if discarded := _discarded(stats):
        about = "" if not _has_crashed(stats) else "about "
        text = counted(discarded, "delivery")
        is_retained = stats.checkpoints is not None and stats.checkpoints.completed
        what = "to be processed again by the next run" if is_retained else "and discarded"
        texts.append(f"{about}{text} still in flight, {what}")
    if stats.stuck and not _is_over(stats):
        names = ", ".join(sorted(stats.stuck))
        texts.append(f"{names}: still in a call, whose output is lost")
    for name, component in stats.components.items():
        if component.callback_errors:
            errors = counted(component.callback_errors, "error")
            texts.append(f"{name}: {errors} outside of a tuple")
        if component.undeclared:
            number = counted(component.undeclared, "tuple")
            texts.append(f"{name}: {number} emitted without declared outputs, and dropped")
        if component.malformed:
            number = counted(component.malformed, "malformed message")
            texts.append(f"{name}: {number} dropped")
        if component.forgotten:
            names = ", ".join(sorted(component.forgotten_by_attribute))
            times = counted(component.forgotten, "time")
            texts.append(f"{name}: {names} could not be saved, and were reset {times}")
    return texts


def _discarded(stats: TopologyStats) -> int:
    return 0 if _is_over(stats) else stats.in_flight or 0


def _is_over(stats: TopologyStats) -> bool:
    return stats.drained or stats.state in TopologyState.OVER


def _has_crashed(stats: TopologyStats) -> bool:
    return any(each.kind == "crash" for each in stats.events)


def shortfall_line(stats: TopologyStats) -> str:
    """The highlighted line at the end; empty on success."""
    found = shortfalls(stats)
    return f"INCOMPLETE: {'; '.join(found)}" if found else ""


def stored_line(stats: TopologyStats, state: str) -> str:
    """Initial state of the next run, after an end in `state`; empty without state."""
    checkpoints = stats.checkpoints
    is_exact = state != TopologyState.ENDED and not failure_line(stats)
    if checkpoints is None or not checkpoints.completed or not is_exact:
        return ""
    return (
        f"{stats.topology} keeps checkpoint {checkpoints.completed}: the same command resumes "
        "from the checkpoint, --fresh starts from scratch"
    )


def failure_line(stats: TopologyStats) -> str:
    """The line at the end of a topology whose results may be wrong though they have to be exact;
    empty for any other."""
    if stats.checkpoints is None or not stats.lost:
        return ""
    lost = counted(stats.lost, "delivery")
    return (
        f"FAILED: {lost} sent and not processed in time, so neither results nor checkpoints are"
        " exact: start from scratch, with --fresh"
    )


@dataclass(frozen=True, slots=True)
class RunEnding:
    """The end of a run, for the last lines."""

    stats: TopologyStats
    secs: float
    is_done: bool
    """Whether the run ended by itself."""
    logs: str
    is_complete: bool = True
    """Whether the numbers are final, not the last received."""

    def lines(self, width: int | None, with_events: bool = True) -> list[str]:
        """Table, errors, events, totals."""
        stats, total = self.stats, processed(self.stats)
        rate = short(total / self.secs) if self.secs else "0"
        how = "ended" if self.is_done else "stopped"
        events = stats.events if with_events else ()
        newest: Sequence[str] = event_lines(events, EVENTS_SHOWN)
        more = len(events) - len(newest)
        lines = [str(component_table(stats, width, rates=False)), *error_lines(stats), *newest]
        if more > 0:
            lines.append(f"{counted(more, 'earlier event')}: see events.log")
        if not self.is_complete:
            lines.append("the numbers are from the last reports; the final reports are missing")
        lines += warning_lines(self.stats)
        lines.append(
            f"{stats.topology} {how} after {self.secs:.1f} s: "
            f"{counted(total, 'tuple')} processed, {rate}/s. Logs: {self.logs}"
        )
        return lines


def without_outcome(name: str, wait_status: int, logs: str, shortage: str) -> str:
    """Why a run failed whose scheduler has not left how it ended; `shortage` of its disk, if any,
    is the likeliest reason."""
    if os.WIFSIGNALED(wait_status):
        how = f"its scheduler {describe_end(os.waitstatus_to_exitcode(wait_status))}"
    else:
        how = "its scheduler could not record the end of the run"
    return f"{name} failed: {how} ({shortage or f'logs: {logs}'})"


def has_working_bolts(stats: TopologyStats) -> bool:
    """Whether a stop waits for bolts, none of them in a call that may never return."""
    names = {component_of(each) for each in stats.waiting_for} & stats.components.keys()
    found = [stats.components[name] for name in names]
    has_worked = any(each.type == "bolt" and each.executed + each.ticks for each in found)
    return has_worked and not stats.stuck


def warning_lines(stats: TopologyStats) -> list[str]:
    """Remarks on a run that do not make the run incomplete."""
    return [*late_lines(stats), *unsaved_lines(stats)]


def unsaved_lines(stats: TopologyStats) -> list[str]:
    """For each component, the attributes that cannot be saved."""
    return [
        f"{name}: {', '.join(each.unsaved_attributes)} cannot be saved between batches: after a "
        "restart the attributes have their values from initialize"
        for name, each in stats.components.items()
        if each.unsaved_attributes
    ]


def late_lines(stats: TopologyStats) -> list[str]:
    """For each component whose windows have dropped late tuples: how many."""
    found = ((name, each.user_totals.get(LATE_DROPPED)) for name, each in stats.components.items())
    return [
        f"{name}: {counted(int(number), 'tuple')} came too late for a window and were dropped"
        f" ({LATE_DROPPED}); a late stream or more lag keeps them"
        for name, number in found
        if isinstance(number, int | float) and number
    ]


def waiting_text(stats: TopologyStats) -> str:
    """Components that delay a stop, and tuples in flight; empty if none."""
    names = []
    for each in stats.waiting_for:
        secs = stats.stuck.get(each)
        names.append(f"{each} (in one call for {secs:.0f} s)" if secs else each)
    if not names:
        return ""
    flight = f", {short(stats.in_flight)} deliveries in flight" if stats.in_flight else ""
    return f"waiting for {first_of(names, EVENTS_SHOWN)}{flight}"
