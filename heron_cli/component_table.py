"""The table of components: as many columns as are in use and fit, the most important first.

`run` draws it live, `stats` and the summary print it; all from the same cells.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from heron_core.naming import component_of
from heron_core.number_text import NOTHING, milliseconds, short, size
from heron_core.stats import BUSY_SHARE, ComponentStats, InstanceStats, LatencyStats, TopologyStats

GAP = "  "
BAD, WARNING, PAUSED, PLAIN = "bold red", "yellow", "magenta", ""
"""Styles of cells, in rich's words."""
DELAY_SECS_MIN = 0.05
"""Queue length below which a working topology is unremarkable."""
ALWAYS = 2
EMPTY = ("", NOTHING, "0", "0%", "0 B")
"""Values that make a column omittable."""


@dataclass(frozen=True, slots=True)
class ComponentCell:
    """Text of a row in a column."""

    text: str
    style: str = PLAIN


@dataclass(frozen=True, slots=True)
class ComponentColumn:
    """One column, shown if in use and if the width suffices."""

    heading: str
    priority: int
    """Priority: low numbers first; 0 always, up to ALWAYS wherever the width suffices."""
    cells: tuple[ComponentCell, ...]

    @property
    def width(self) -> int:
        """In characters."""
        return max(len(self.heading), *(len(each.text) for each in self.cells), 1)

    @property
    def is_in_use(self) -> bool:
        """Whether any row has a value."""
        return self.priority <= ALWAYS or any(each.text not in EMPTY for each in self.cells)


@dataclass(frozen=True, slots=True)
class ComponentTable:
    """The visible columns, in order."""

    columns: tuple[ComponentColumn, ...]

    def rows(self) -> list[list[ComponentCell]]:
        """Headings and aligned cells: all columns except the first are right-aligned."""
        padded = [_padded(column, at == 0) for at, column in enumerate(self.columns)]
        return [list(row) for row in zip(*padded, strict=True)]

    def __str__(self) -> str:
        rows = (GAP.join(each.text for each in row).rstrip() for row in self.rows())
        return "\n".join(rows)


def _padded(column: ComponentColumn, is_first: bool) -> list[ComponentCell]:
    align: Callable[[str, int], str] = str.ljust if is_first else str.rjust
    cells = (ComponentCell(column.heading, "bold"), *column.cells)
    return [ComponentCell(align(each.text, column.width), each.style) for each in cells]


def table_of(columns: Sequence[ComponentColumn], width: int | None) -> ComponentTable:
    """The columns in use that fit into `width` characters, by priority; None: all columns. The
    first column is never cut."""
    used = [column for column in columns if column.is_in_use]
    if width is None:
        return ComponentTable(tuple(used))
    width_left, chosen = width, set[str]()
    for candidate in sorted(used, key=lambda column: column.priority):
        needed = candidate.width + (len(GAP) if chosen else 0)
        if candidate.priority == 0 or needed <= width_left:
            chosen.add(candidate.heading)
            width_left -= needed
        else:
            break
    return ComponentTable(tuple(column for column in used if column.heading in chosen))


def component_table(
    stats: TopologyStats, width: int | None = None, rates: bool = True
) -> ComponentTable:
    """One row per component; without `rates` for an ended topology."""
    rows = list(stats.components.items())

    def column(
        heading: str, priority: int, cell: Callable[[str, ComponentStats], ComponentCell | str]
    ) -> ComponentColumn:
        cells = (cell(name, each) for name, each in rows)
        return ComponentColumn(
            heading,
            priority,
            tuple(
                cell if isinstance(cell, ComponentCell) else ComponentCell(cell) for cell in cells
            ),
        )

    columns = [
        column("component", 0, lambda name, each: _name_cell(stats, name, each)),
        column("inst", 1, lambda name, each: _instances_cell(each)),
        column("exec/s", 2, lambda name, each: _of_bolt(each, short(each.executed_per_sec))),
        column("emit/s", 3, lambda name, each: short(each.emitted_per_sec)),
        column("executed", 5, lambda name, each: _of_bolt(each, short(each.executed))),
        column("emitted", 6, lambda name, each: short(each.emitted)),
        column("acked", 11, lambda name, each: short(each.acked)),
        column("failed", 4, lambda name, each: _count_cell(each.failed)),
        column("errors", 8, lambda name, each: _count_cell(each.errors)),
        column("pending", 10, lambda name, each: short(each.pending)),
        column("queue", 9, lambda name, each: short(each.queue_tuples)),
        column("delay", 9, lambda name, each: _delay(each.queue_secs)),
        column("p50", 13, lambda name, each: milliseconds(_shown_latency(each).p50_ms)),
        column("p99", 12, lambda name, each: milliseconds(_shown_latency(each).p99_ms)),
        column("capacity", 6, lambda name, each: _capacity_cell(each.capacity)),
        column("paused", 7, lambda name, each: _paused_cell(stats, name)),
    ]
    if not rates:
        columns = [x for x in columns if x.heading not in ("exec/s", "emit/s", "capacity")]
    return table_of(columns, width)


def instance_table(
    stats: TopologyStats, instances: Sequence[InstanceStats], width: int | None = None
) -> ComponentTable:
    """One row per instance of a component."""

    def column(
        heading: str, priority: int, cell: Callable[[InstanceStats], str]
    ) -> ComponentColumn:
        return ComponentColumn(
            heading, priority, tuple(ComponentCell(cell(row)) for row in instances)
        )

    shares = {task: f"{pauses.share:.0%}" for task, pauses in stats.paused.items()}
    name_cells = tuple(
        ComponentCell(row.instance, BAD if row.stuck_secs or not row.up else PLAIN)
        for row in instances
    )
    columns = [
        ComponentColumn("instance", 0, name_cells),
        column("task", 0, lambda row: str(row.task)),
        column("container", 1, lambda row: str(row.container)),
        column("pid", 2, lambda row: _pid_text(stats, row)),
        column("restarts", 4, lambda row: str(row.restarts)),
        column("exec/s", 3, lambda row: short(row.executed_per_sec)),
        column("emit/s", 5, lambda row: short(row.emitted_per_sec)),
        column("executed", 6, lambda row: short(row.executed)),
        column("acked", 11, lambda row: short(row.acked)),
        column("failed", 5, lambda row: short(row.failed)),
        column("pending", 10, lambda row: short(row.pending)),
        column("queue", 8, lambda row: short(row.queue_tuples)),
        column("delay", 8, lambda row: _delay(row.queue_secs)),
        column("capacity", 7, lambda row: f"{row.capacity:.0%}"),
        column("cpu", 8, lambda row: f"{row.cpu_share:.0%}"),
        column("memory", 8, lambda row: size(row.memory_bytes)),
        column("paused", 9, lambda row: shares.get(row.task, "")),
        column("stuck", 4, lambda row: f"{row.stuck_secs:.0f} s" if row.stuck_secs else ""),
    ]
    return table_of(columns, width)


def _pid_text(stats: TopologyStats, each: InstanceStats) -> str:
    if each.next_try_secs:
        return f"next try in {each.next_try_secs:.0f} s"
    if each.instance in stats.starting:
        return "starting"
    return str(each.pid or "") if each.up else "down"


def plain_table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int | None = None,
    first: Sequence[str] = (),
) -> str:
    """A table of text. If `width` is too small, columns in `first` take precedence, in order;
    the first of them is always shown."""
    ranks = {heading: rank for rank, heading in enumerate(dict.fromkeys((*first, *headings)))}
    columns = [
        ComponentColumn(heading, ranks[heading], tuple(ComponentCell(row[at]) for row in rows))
        for at, heading in enumerate(headings)
    ]
    if width is None:
        return str(ComponentTable(tuple(columns)))
    return str(table_of(columns, width))


def _name_cell(stats: TopologyStats, name: str, component: ComponentStats) -> ComponentCell:
    if any(component_of(instance) == name for instance in stats.stuck):
        return ComponentCell(name, BAD)
    losses = (
        component.failed_for_good + component.undeclared + component.malformed + component.forgotten
    )
    if component.up < component.instances or losses:
        return ComponentCell(name, BAD)
    is_paused = any(pauses.causes and pauses.component == name for pauses in stats.paused.values())
    if is_paused:
        return ComponentCell(name, PAUSED)
    return ComponentCell(name, WARNING if component.capacity >= BUSY_SHARE else PLAIN)


def _instances_cell(component: ComponentStats) -> ComponentCell:
    up, instances = component.up, component.instances
    return (
        ComponentCell(str(instances))
        if up == instances
        else ComponentCell(f"{up}/{instances}", BAD)
    )


def _of_bolt(component: ComponentStats, text: str) -> str:
    return text if component.type == "bolt" else ""


def _count_cell(number: int) -> ComponentCell:
    return ComponentCell(short(number), BAD if number else PLAIN)


def _delay(secs: float) -> str:
    """Time to process the queue; less than a clock tick counts as zero."""
    return milliseconds(secs * 1000) if secs >= DELAY_SECS_MIN else ""


def _capacity_cell(capacity: float) -> ComponentCell:
    return ComponentCell(f"{capacity:.0%}", WARNING if capacity >= BUSY_SHARE else PLAIN)


def _paused_cell(stats: TopologyStats, component: str) -> ComponentCell:
    pauses = [x for x in stats.paused.values() if x.component == component]
    is_now = any(each.causes for each in pauses)
    return ComponentCell(paused_share(stats, component), PAUSED if is_now else PLAIN)


def paused_share(stats: TopologyStats, component: str) -> str:
    """Paused share of time of the component's most paused instance; empty for never."""
    shares = [x.share for x in stats.paused.values() if x.component == component]
    return f"{max(shares):.0%}" if shares else ""


def _shown_latency(component: ComponentStats) -> LatencyStats:
    """A spout's complete latency if tuples are tracked, else the execute latency."""
    complete = component.latency.complete
    return complete if complete.p50_ms is not None else component.latency.execute
