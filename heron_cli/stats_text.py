"""A topology's statistics as lines for people: pauses, bottlenecks, errors, events."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from heron_core.clock_stats import BEHIND_SECS, ClockStats, MinimumClockStats
from heron_core.naming import first_of
from heron_core.number_text import counted, duration, short, whole
from heron_core.stats import BackupStats, CheckpointStats, LogLevelStats, PauseStats, TopologyStats
from heron_core.topology_events import TopologyEvent, event_text, event_time

NAMES_SHOWN = 4
"""Paused instances listed per cause in the live view: the number that fits into a line."""


HOT_SHARE = 0.1
"""Smallest share of a component's input at which a key is reported as hot."""
EPOCH = datetime(1970, 1, 1)
SILENT_SECS = 2.0
"""Report interval from which a source is called silent: watermarks depend on its reports."""


def processed(stats: TopologyStats) -> int:
    """Tuples processed by bolts, without failed tuples."""
    bolts = (each for each in stats.components.values() if each.type == "bolt")
    return sum(max(0, each.executed - each.failed) for each in bolts)


def processed_per_sec(stats: TopologyStats) -> float:
    """The rate of the moment, over all bolts."""
    return sum(x.executed_per_sec for x in stats.components.values() if x.type == "bolt")


def headline(stats: TopologyStats, elapsed_secs: float) -> str:
    """Name, state and highlights, in one line."""
    up, expected = len(stats.containers), len(stats.containers_expected)
    words = [f"{stats.topology}  {stats.state}  {elapsed_secs:.0f} s"]
    if up != expected:
        words.append(f"{up} of {counted(expected, 'container')}")
    if stats.phase not in ("running", "ended"):
        words.append(stats.phase)
    words.append(f"{short(processed(stats))} processed")
    return "  ".join(words)


def pause_lines(stats: TopologyStats) -> list[str]:
    """Pauses by back-pressure: paused task, cause, duration; by task id."""
    return [_pause_line(pauses) for pauses in _by_task(stats)]


def _by_task(stats: TopologyStats) -> Iterable[PauseStats]:
    return (stats.paused[task] for task in sorted(stats.paused))


def _pause_line(pauses: PauseStats) -> str:
    how = "was paused"
    if pauses.causes:
        because = ", ".join(pauses.because_of)
        how = f"is paused because of {because} since {duration(pauses.this_pause_secs)}"
    share = f"{pauses.share:.0%} of the time"
    return f"{pauses.instance} {how}, {duration(pauses.paused_secs)} in all ({share})"


def cause_lines(stats: TopologyStats) -> list[str]:
    """Bottlenecks: one line per overloaded instance, with the instances paused by the overload."""
    paused_by: dict[str, list[PauseStats]] = {}
    for pauses in _by_task(stats):
        for cause in pauses.because_of:
            paused_by.setdefault(cause, []).append(pauses)
    return [_cause_line(cause, paused) for cause, paused in paused_by.items()]


def _cause_line(cause: str, paused: Sequence[PauseStats]) -> str:
    names = first_of((pauses.instance for pauses in paused), NAMES_SHOWN)
    longest = duration(max(pauses.this_pause_secs for pauses in paused))
    share = max(pauses.share for pauses in paused)
    return f"{cause} pauses {names}: {longest}, {share:.0%} of the time"


def stuck_lines(stats: TopologyStats) -> list[str]:
    """Instances whose call of user code does not return."""
    return [
        f"{instance} has been in one call for {duration(secs)}: the stack is in its log"
        for instance, secs in stats.stuck.items()
    ]


def hot_key_lines(stats: TopologyStats) -> list[str]:
    """Keys with a large share of a component's input, one line per component."""
    shares = (
        (name, [hot_key for hot_key in component.hot_keys if hot_key.share >= HOT_SHARE])
        for name, component in stats.components.items()
    )
    return [
        f"frequent keys of {name}: {', '.join(f'{key.key} {key.share:.0%}' for key in keys)}"
        for name, keys in shares
        if keys
    ]


def query_lines(stats: TopologyStats) -> list[str]:
    """Counts of live queries, if any."""
    counts = dict(stats.live_queries)
    asked = counts.pop("asked", 0)
    ends = "".join(f", {number:,} {name.replace('_', ' ')}" for name, number in counts.items())
    return [f"live queries: {asked:,}{ends}"] if asked or counts else []


def log_level_lines(stats: TopologyStats) -> list[str]:
    """Log levels that differ from the config for a while."""
    return [level_line(level) for level in stats.log_levels]


def level_line(level: LogLevelStats) -> str:
    """A changed log level in one line."""
    subject = f"logger {level.logger}" if level.logger else level.target or "all processes"
    return f"log level of {subject}: {level.level} for {level.secs_left:.0f} s more"


def dropped_lines(stats: TopologyStats) -> list[str]:
    """Tuples that found a full queue in mode drop."""
    dropped = sum(manager.dropped for manager in stats.stream_managers.values())
    return [f"{whole(dropped)} deliveries dropped: their queues were full"] if dropped else []


def error_lines(stats: TopologyStats) -> list[str]:
    """Errors of user code: one line per component, with the last line of the traceback."""
    lines = []
    for name, component in stats.components.items():
        if component.last_error:
            last = component.last_error.strip().splitlines()[-1]
            lines.append(f"{name}: {counted(component.errors, 'error')}, last: {last}")
    return lines


def start_error_lines(stats: TopologyStats) -> list[str]:
    """Instances that cannot start."""
    return [f"task {task} cannot start: {error}" for task, error in stats.errors.items()]


def event_lines(events: Sequence[TopologyEvent], most: int) -> list[str]:
    """The newest events, the newest last."""
    newest = events[-most:] if most > 0 else ()
    return [f"{event_time(each)}  {event_text(each)}" for each in newest]


def clock_lines(stats: TopologyStats) -> list[str]:
    """The slowest event-time clock, then the clock of each component in event time."""
    if stats.clock is None:
        return []
    clocks = [(name, each.clock) for name, each in stats.components.items() if each.clock]
    others = [f"  {name}: {_clock_text(clock)}" for name, clock in clocks if len(clocks) > 1]
    return [f"event time: {_clock_text(stats.clock)}", *others]


def _clock_text(clock: ClockStats) -> str:
    if clock.complete:
        return "complete: all sources have finished"
    parts = ["none yet" if clock.watermark_ms is None else _event_time(clock.watermark_ms)]
    if clock.waits_for is not None:
        silent = (
            f", silent for {duration(clock.silent_secs)}"
            if clock.silent_secs >= SILENT_SECS
            else ""
        )
        parts.append(f"{clock.instance} waits for {clock.waits_for}{silent}")
    else:
        parts.append(f"{clock.instance} has the lowest watermark")
    if clock.idle:
        parts.append(f"idle and left out: {', '.join(clock.idle)}")
    return "; ".join(parts)


def minimum_clock_lines(stats: TopologyStats) -> list[str]:
    """Minimum clock and its holder, in one line."""
    clock = stats.minimum_clock
    if clock is None:
        return []
    parts = [f"minimum clock: {_event_time(clock.clock_ms)}"]
    if clock.behind_secs < BEHIND_SECS:
        return [f"{parts[0]}; nothing in flight is older than {BEHIND_SECS:.0f} s"]
    parts.append(f"{duration(clock.behind_secs)} behind")
    parts.append(holder_text(clock))
    behind = {name: secs for name, secs in clock.components.items() if secs >= BEHIND_SECS}
    if len(behind) > 1:
        oldest = sorted(behind.items(), key=lambda each: -each[1])
        parts.append(", ".join(f"{name} {duration(secs)}" for name, secs in oldest))
    return ["; ".join(parts)]


def holder_text(clock: MinimumClockStats) -> str:
    """Holder of a minimum clock."""
    what = {"trees": "a tuple that is not acked", "queue": "a message", "links": "a message"}
    kind = what.get(clock.location, clock.location)
    return f"{kind} at {clock.holder}" if clock.holder else f"{kind}, in no queue"


def _event_time(time_ms: int) -> str:
    """UTC; the bare number outside the calendar's range."""
    try:
        time = EPOCH + timedelta(milliseconds=time_ms)
    except OverflowError:
        return f"{time_ms} ms"
    return time.isoformat(sep=" ", timespec="milliseconds")


def alignment_text(alignment_ms: Mapping[str, int]) -> str:
    """Longest wait for barriers among some instances."""
    instance = max(alignment_ms, key=lambda each: alignment_ms[each])
    return f"aligned after {alignment_ms[instance] / 1000:.2f} s at most ({instance})"


def input_text(checkpoints: CheckpointStats) -> str:
    """Data overtaken by barriers."""
    number, size = checkpoints.input_messages, checkpoints.input_bytes
    return f"{number:,} messages, {size:,} bytes of input saved"


def backup_texts(backup: BackupStats) -> Iterator[str]:
    """The backup of states in memory, and what it could not do."""
    if backup.copies is not None:
        copies = counted(backup.copies, "other container")
        durable = f"checkpoint {backup.durable}" if backup.durable else "no checkpoint yet"
        yield f"in the memory of {copies}, {durable} in the store"
    if backup.shortfall:
        yield f"too few containers hold the states: {backup.shortfall}"
    if backup.spilled:
        yield f"{counted(backup.spilled, 'state')} written to the store instead"
    if backup.rolled_back:
        yield f"rolled back {counted(backup.rolled_back, 'time')} to the store"


def checkpoint_line(checkpoints: CheckpointStats) -> str:
    """The newest checkpoint, and problems with checkpoints."""
    parts = ["no checkpoint yet"]
    if checkpoints.completed:
        size, secs = checkpoints.size_bytes or 0, checkpoints.secs or 0.0
        age = checkpoints.age_secs or 0.0
        parts = [
            f"checkpoint {checkpoints.completed}: {size:,} bytes in {secs:.2f} s, {age:.0f} s ago"
        ]
        if checkpoints.alignment_ms:
            parts.append(alignment_text(checkpoints.alignment_ms))
        if checkpoints.input_messages:
            parts.append(input_text(checkpoints))
    if checkpoints.backup is not None:
        parts += backup_texts(checkpoints.backup)
    if not checkpoints.released:
        back = checkpoints.restored
        parts.append(f"restoring {f'checkpoint {back}' if back else 'the start'}")
    if checkpoints.restore_failure:
        parts.append(f"the checkpoint cannot be read: {checkpoints.restore_failure}")
        if checkpoints.restore_remedy:
            parts.append(checkpoints.restore_remedy)
    if checkpoints.failure:
        parts.append(f"the last checkpoint failed: {checkpoints.failure}")
    if checkpoints.waiting_for:
        parts.append(f"waiting for {', '.join(checkpoints.waiting_for)}")
    return "; ".join(parts)
