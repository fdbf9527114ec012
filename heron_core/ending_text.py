"""What the end of a finite run waits for, in a line for people."""

from heron_core.naming import component_of, first_of
from heron_core.number_text import counted
from heron_core.plans import Phase
from heron_core.stats import TopologyStats

NAMES_SHOWN = 4
"""What fits into a line."""


def end_lines(stats: TopologyStats) -> list[str]:
    """One line, if the spouts have finished and something keeps the run from its end."""
    if stats.phase in (Phase.RUNNING, Phase.ENDED) or not stats.waiting_for:
        return []
    waiting = f"the end waits for {first_of(stats.waiting_for, NAMES_SHOWN)}"
    names = dict.fromkeys(map(component_of, stats.waiting_for))
    kept = {name: _kept(stats, name) for name in names}
    parts = [f"{name} keeps {counted(number, 'tuple')}" for name, number in kept.items() if number]
    return [f"{waiting} ({first_of(parts, NAMES_SHOWN)})" if parts else waiting]


def _kept(stats: TopologyStats, name: str) -> int:
    """Tuples that a bolt has taken, and neither acked nor failed."""
    component = stats.components.get(name)
    if component is None or component.type != "bolt" or not stats.tracked:
        return 0
    return max(0, component.executed - component.acked - component.failed)
